"""The table, the float bounds and the slow paths of discrete Gaussian noise. False alarms at 1e-6 per test."""

import inspect
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from tests.support.statistics_helpers import FALSE_ALARM, fit_pvalue, gaussian_log_weights

from hetdp.core.compiled import kernel
from hetdp.core.randomness import seeded_stream
from hetdp.noise import exact_coins, samplers
from hetdp.noise.exact_coins import binary_digits, exponential, ratio, times

SMALL = [Fraction(1, 9), Fraction(1, 2), Fraction(1), Fraction(49, 25), Fraction(100), Fraction(10**6)]
LARGE = [Fraction(2**40), Fraction(2**80), Fraction(2**101, 3), Fraction(2**52 - 1) ** 2]
#: Just below and at the standard deviations where blocks double, and the extremes.
EDGES = [Fraction(1, 10**400), Fraction(255), Fraction(256), Fraction(2**48) - Fraction(1, 3), Fraction(2**48)]
VARIANCES = [*SMALL, *LARGE, *EDGES, Fraction(1, 3), Fraction(10**13, 7)]
SAMPLES = 200_000

#: Ways to make rare decisions common: the table ends after a few blocks, holds few bits, or floats are trusted less.
CORNERS = {
    "tail": {"blocks": 1, "reach": 0},
    "coarse table": {"table_bits": 9},
    "exact": {"float_error": 0.4},
    "everything": {"blocks": 1, "reach": 0, "table_bits": 6, "float_error": 0.1},
}


def pvalue(samples, variance):
    sigma = float(variance) ** 0.5
    return fit_pvalue(samples, partial(gaussian_log_weights, sigma=sigma), sigma)


def batches(design, count, *, seed):
    stream, drawn = seeded_stream(seed), np.empty(0, dtype=np.int64)
    while drawn.size < count:
        drawn = np.append(drawn, samplers._gaussian_batch(design, 4096, stream))
    return drawn


# --- The distribution ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", SMALL, ids=str)
def test_noise_fits_its_distribution(variance):
    assert pvalue(samplers.gaussian_integers(variance, SAMPLES, seeded_stream(41)), variance) > FALSE_ALARM


@pytest.mark.parametrize("variance", LARGE, ids=str)
def test_wide_noise_fits_its_distribution(variance):
    """A cell's probability is an integral of the normal density, up to a share of 1 / variance < 2**-39."""
    samples = samplers.gaussian_integers(variance, SAMPLES, seeded_stream(42))
    cells = (stats.norm.cdf(samples / float(variance) ** 0.5) * 100).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=100)).pvalue > FALSE_ALARM
    # The last digits of a wide distribution are uniform, and so are those of its blocks.
    assert stats.chisquare(np.bincount(samples & 63, minlength=64)).pvalue > FALSE_ALARM
    assert stats.chisquare(np.bincount((samples >> 11) & 15, minlength=16)).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(2), Fraction(300)], ids=str)
def test_slow_paths_do_not_bend_the_distribution(corner, variance, monkeypatch):
    decided = []
    decide = samplers._decide
    monkeypatch.setattr(samplers, "_decide", lambda *given: decided.append(1) or decide(*given))
    design = samplers._gaussian_design(variance, **CORNERS[corner])
    samples = batches(design, 8_000, seed=43)
    assert pvalue(samples, variance) > FALSE_ALARM
    assert corner == "coarse table" or len(decided) > samples.size / 200


@pytest.mark.slow
def test_single_draws_from_the_slow_paths_fit_too(monkeypatch):
    """A batch returns candidates in the order in which they were drawn, slow ones too: else its first would be bent."""
    design = samplers._gaussian_design(Fraction(2), **CORNERS["everything"])
    monkeypatch.setattr(samplers, "_gaussian_design", lambda _: design)
    stream = seeded_stream(44)
    samples = np.array([int(samplers.gaussian_integers(Fraction(2), 1, stream)[0]) for _ in range(4_000)])
    assert pvalue(samples, Fraction(2)) > FALSE_ALARM


# --- The table, exactly ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corner", [{}, CORNERS["coarse table"], CORNERS["everything"]], ids=str)
@pytest.mark.parametrize("variance", VARIANCES, ids=lambda variance: f"{float(variance):.3g}")
def test_the_table_is_exactly_as_the_proof_needs_it(variance, corner):
    design = samplers._gaussian_design(variance, **corner)
    low_bits, last = design.table.low_bits, len(design.weights) - 1
    slope = Fraction(4**low_bits) / (2 * variance)
    assert sum(design.weights) == 2**63
    assert last < 256
    for block, weight in enumerate(design.weights[:-1]):
        assert design.peak * exponential(slope * block**2)(200)[1] < weight << 200
    for further in range(40):  # the tail: half of its weight for its first block, a quarter for the next one, ...
        height = design.peak * exponential(slope * (last + further) ** 2)(200)[1]
        assert height * 2 ** (further + 1) < design.weights[last] << 200
    assert low_bits == 0 or (2 * last - 1) * slope <= Fraction(5, 4)  # the largest exponent for floats
    assert sum(masses(design)) == 2**63
    assert masses(design) == list(design.weights)


def masses(design):
    """Return how many of 2**63 words mean each block."""
    found = [0] * 256
    for cell, (share, other) in enumerate(zip(design.table.shares.tolist(), design.table.others.tolist(), strict=True)):
        found[cell] += share
        found[other] += 2**55 - share
    assert not any(found[len(design.weights) :])
    return found[: len(design.weights)]


def test_no_more_than_a_twentieth_is_rejected():
    for variance in (Fraction(100), Fraction(256), Fraction(2**80)):
        accepted = samplers._gaussian_batch(samplers._gaussian_design(variance), 100_000, seeded_stream(45)).size
        assert accepted > 94_500  # 95.2 % at least, and 5.2 standard errors of 70 candidates


@pytest.mark.parametrize("slope", [Fraction(1, 511), Fraction(1, 128), Fraction(2, 7), Fraction(50)])
def test_densities_are_too_small_by_less_than_the_slack(slope):
    for block, density in enumerate(samplers._densities(slope, 181)):
        low, high = exponential(slope * block**2)(samplers._PRECISION)
        assert density <= high
        assert low < density + samplers._SLACK


# --- Floats, certified -----------------------------------------------------------------------------------------------


def candidates(design, rng, count):
    """Return blocks and low bits, random ones and the extreme ones of every block."""
    blocks, size = len(design.weights) - 1, 1 << design.table.low_bits
    lows = np.unique([0, 1, 2, size // 2, size - 2, size - 1] if size > 4 else range(size))
    pairs = np.array([(block, low) for block in range(blocks) for low in lows])
    chosen = np.column_stack([rng.integers(0, blocks, count), rng.integers(0, size, count)])
    return np.concatenate([pairs, chosen])


@pytest.mark.parametrize("variance", [2**8, 999, 10**6, 2**40, 2**50 + 1, 2**60], ids=str)
def test_floats_are_as_close_to_the_exact_probability_as_the_proof_says(variance):
    """Bisection finds the float probability of a candidate: the largest V that is still accepted without doubt."""
    design = samplers._gaussian_design(Fraction(variance), float_error=0.0)
    propose, table = kernel(samplers.propose), design.table
    blocks, lows = candidates(design, np.random.default_rng(46), 2000).T
    # Cells that mean themselves whatever the word, so that the test can choose the block.
    table = table._replace(shares=np.full(256, 2**55, dtype=np.uint64))
    words = np.empty(2 * blocks.size, dtype=np.uint64)
    words[::2] = blocks.astype(np.uint64) << np.uint64(56)
    out, verdicts = np.empty(blocks.size, dtype=np.int64), np.empty(blocks.size, dtype=np.int8)
    head_bits = 64 - table.head_shift
    floor = np.zeros(blocks.size, dtype=np.uint64)
    for bit in range(head_bits - 1, -1, -1):
        higher = floor + np.uint64(1 << bit)
        words[1::2] = (higher << np.uint64(table.head_shift)) | lows.astype(np.uint64)
        propose(table, words, out, verdicts)
        floor = np.where(verdicts == samplers._ACCEPTED, higher, floor)
    assert np.array_equal(out, (blocks << table.low_bits) + lows)
    unit = Fraction(1, 2**head_bits)
    for block, value, low in zip(blocks.tolist(), out.tolist(), floor.tolist(), strict=True):
        scale = Fraction(design.peak, design.weights[block])
        chance = times(exponential(Fraction(value**2, 2 * variance)), scale) if value else ratio(scale)
        exact = Fraction(binary_digits(chance, 80), 2**80)
        assert abs(exact - (low + 1) * unit) < Fraction(samplers._FLOAT_ERROR) / 2 + 2 * unit


@pytest.mark.parametrize("variance", [Fraction(2), Fraction(2**60, 3), Fraction(2**103)], ids=str)
@pytest.mark.parametrize("float_error", [samplers._FLOAT_ERROR, 2.0**-10])
def test_what_floats_decide_is_right(variance, float_error):
    """Random numbers V as close to the probability as the margin: accepted means below, rejected means above."""
    design = samplers._gaussian_design(variance, float_error=float_error)
    table = design.table
    rng = np.random.default_rng(47)
    places = candidates(design, rng, 500)
    words, bounds = [], []
    head_bits = 64 - table.head_shift
    for block, low in places.tolist():
        value = (block << table.low_bits) + low
        scale = Fraction(design.peak, design.weights[block])
        chance = times(exponential(Fraction(value**2) / (2 * variance)), scale) if value else ratio(scale)
        digits = binary_digits(chance, head_bits)
        margin = int(table.doubt * 2**head_bits)
        for offset in (-margin - 2, -margin, -margin + 2, -2, -1, 0, 1, 2, margin - 2, margin, margin + 2):
            head = min(max(digits + offset, 0), 2**head_bits - 1)
            words += [block << 56, head << table.head_shift | low]
            bounds.append((head, digits))
    out, verdicts = np.empty(len(bounds), dtype=np.int64), np.empty(len(bounds), dtype=np.int8)
    table = table._replace(shares=np.full(256, 2**55, dtype=np.uint64))
    kernel(samplers.propose)(table, np.array(words, dtype=np.uint64), out, verdicts)
    for verdict, (head, digits) in zip(verdicts.tolist(), bounds, strict=True):
        assert verdict != samplers._ACCEPTED or head < digits
        assert verdict != samplers._REJECTED or head > digits
    assert len(set(verdicts.tolist())) == 3


# --- One law, however it is computed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("corner", [{}, *CORNERS.values()], ids=str)
def test_compiled_and_interpreted_draws_agree_bit_for_bit(corner, monkeypatch):
    for variance in (Fraction(1, 9), Fraction(2), Fraction(10**6, 7), Fraction(2**103)):
        design = samplers._gaussian_design(variance, **corner)
        drawn = []
        for chosen in (kernel(samplers.propose), samplers.propose):
            monkeypatch.setattr(samplers, "kernel", lambda *_, chosen=chosen: chosen)
            drawn.append(samplers._gaussian_batch(design, 500, seeded_stream(48)))
        assert np.array_equal(*drawn)


def test_small_draws_do_not_load_the_compiler(monkeypatch):
    monkeypatch.setattr(exact_coins, "_kernels", exact_coins._Kernels())
    samplers.gaussian_integers(Fraction(10), 1000, seeded_stream(49))
    assert not exact_coins._kernels.compiled


# --- Broken on purpose -----------------------------------------------------------------------------------------------


def mutated(function, before, after):
    source = inspect.getsource(function)
    assert before in source
    scope = dict(vars(samplers))
    exec(source.replace(before, after), scope)  # noqa: S102  (source of our own)
    return scope[function.__name__]


def test_zero_counted_twice_would_be_noticed(monkeypatch):
    broken = mutated(samplers.propose, "negative and magnitude == 0", "False")
    monkeypatch.setattr(samplers, "kernel", lambda *_: broken)
    assert pvalue(batches(samplers._gaussian_design(Fraction(2)), 4_000, seed=50), Fraction(2)) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("        scale *= 2\n        while", "        while"),  # the tail's share of its first block
        ("            scale *= 2\n", ""),  # ... and of the next ones
        ("return value, finish", "return value, True or finish"),
        ("detail >> shift", "0"),  # V not the one that was undecided
    ],
)
def test_a_wrong_exact_decision_would_be_noticed(before, after, monkeypatch):
    monkeypatch.setattr(samplers, "_decide", mutated(samplers._decide, before, after))
    design = samplers._gaussian_design(Fraction(3, 2), **CORNERS["everything"])
    assert pvalue(batches(design, 8_000, seed=51), Fraction(3, 2)) < FALSE_ALARM


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_a_wrong_peak_would_be_noticed(factor):
    """In blocks of many numbers a peak above its limit makes probabilities above 1, which cut the bell's shape."""
    design = samplers._gaussian_design(Fraction(10**4), blocks=1)
    wrong = replace(design, table=design.table._replace(ratios=design.table.ratios * factor))
    fits = pvalue(batches(wrong, SAMPLES, seed=52), Fraction(10**4)) > FALSE_ALARM
    assert fits == (factor < 1)  # a smaller peak rejects more, and nothing else


def test_a_table_of_another_variance_would_be_noticed():
    design = samplers._gaussian_design(Fraction(100))
    for wrong in (Fraction(95), Fraction(105)):
        assert pvalue(batches(design, SAMPLES, seed=53), wrong) < FALSE_ALARM


def test_fair_coins_of_the_tail_are_the_stream_s():
    """In the last entry, a candidate moves on by one block per odd word."""
    design = samplers._gaussian_design(Fraction(2), reach=0)
    last = len(design.weights) - 1
    words = iter([3, 5, 8])
    stream = SimpleNamespace(words=lambda _: np.array([next(words)], dtype=np.uint64))
    value, _ = samplers._decide(design, -last, 0, stream)
    assert value == -last - 2
