"""Bits have the exact law, wherever they are drawn, and nothing else moves them.

Statistical tests use fixed seeds and a false-alarm rate of at most 1e-6.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.support.sketch_helpers import bits_of_rows, coded_of, dense_bits, exact, random_profiles, runs, same_profile
from tests.support.statistics_helpers import FALSE_ALARM

from hetdp import audit, errors, mechanisms
from hetdp.core.randomness import seeded_stream
from hetdp.node import dials as node_dials
from hetdp.profiles.steps import WEIGHT_STEPS, code_profiles, weight_codes
from hetdp.sketching import _kernels, bits as sketch_bits
from hetdp.sketching.bits import Sketches, pack, toss_bits, unpack
from hetdp.sketching.law import chance_of_one, sketch_tables

CODES = (0, 1, 60, 127, 200, 255)  # 0 stands for absent


def law_pvalue(bits, probabilities):
    """Chi-square test of the number of ones in each column."""
    n = bits.shape[0]
    ones, expected = bits.sum(axis=0), n * np.asarray(probabilities)
    statistic = ((ones - expected) ** 2 / (expected * (1 - expected / n))).sum()
    return stats.chi2.sf(statistic, len(probabilities))


# --- the law of the bits


# At 8, q < 1/256: every one comes from the digits behind the first eight. Ones are rare, so only larger errors show.
@pytest.mark.parametrize(
    ("epsilon", "wrong"), [(Fraction(1, 10), 1.1), (Fraction(1), 1.1), (Fraction(3), 1.1), (Fraction(8), 3.0)]
)
def test_bits_have_the_exact_probability_and_no_other(epsilon, wrong):
    row = {place: code for place, code in enumerate(CODES) if code}
    bits = runs(row, len(CODES), 400_000, epsilon=epsilon, stream=seeded_stream(5))
    probabilities = np.array([exact(epsilon, code) for code in CODES])
    assert law_pvalue(bits, probabilities) > FALSE_ALARM
    for factor in (wrong, 1 / wrong):
        for place, probability in enumerate(probabilities):
            altered = probabilities.copy()
            odds = factor * probability / (1 - probability)
            altered[place] = odds / (1 + odds)
            assert law_pvalue(bits, altered) < FALSE_ALARM


def test_bits_are_independent_across_items_and_users():
    """Number of ones per user and per item: sums of independent bits, false-alarm rate 1e-6 each."""
    bits = runs({}, 600, 600, epsilon=Fraction(1), stream=seeded_stream(6))
    chance = exact(Fraction(1), 0)
    for axis in (0, 1):
        spread = ((bits.sum(axis=axis) - 600 * chance) ** 2 / (600 * chance * (1 - chance))).sum()
        assert FALSE_ALARM / 2 < stats.chi2.sf(spread, 600) < 1 - FALSE_ALARM / 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_library_engine_and_node_draw_from_one_law(epsilon):
    """40,000 bits of eleven weights in each of three ways: each fits p(code / 255), and no way has a step more."""
    dials = np.arange(0, 101, 10)
    codes = [dial * WEIGHT_STEPS // 100 for dial in dials.tolist()]
    weights = np.array([float(Fraction(code, WEIGHT_STEPS)) for code in codes])
    weights = np.where(weight_codes(weights) < codes, np.nextafter(weights, 1), weights)
    probabilities = [exact(epsilon, code) for code in codes]
    runs_each = 40_000
    plan = mechanisms.sketch(weights).plan(noise="laplace", amount=epsilon)
    everything = np.ones(dials.size, dtype=bool)
    row = {place: code for place, code in enumerate(codes) if code}
    drawn = {
        "library": plan.answers(np.ones(dials.size), everything, seeded_stream(21), count=runs_each),
        "engine": runs(row, dials.size, runs_each, epsilon=epsilon, stream=seeded_stream(22)),
        "node": node_dials.draw_bits(
            np.tile(dials, runs_each).astype(np.uint8), epsilon=epsilon, stream=seeded_stream(23)
        ).reshape(runs_each, -1),
        "one profile": toss_bits(
            np.tile(codes, runs_each).astype(np.uint8), epsilon=epsilon, stream=seeded_stream(24)
        ).reshape(runs_each, -1),
    }
    for way, bits in drawn.items():
        assert law_pvalue(bits, probabilities) > FALSE_ALARM, way
        assert law_pvalue(bits, [exact(epsilon * 11 / 10, code) for code in codes]) < FALSE_ALARM, way


def test_library_and_node_toss_the_same_coins():
    """Bit by bit from the same stream: a dial is the largest step of 1/255 below it, and so is a weight."""
    dials = np.arange(101, dtype=np.uint8)
    codes = np.array([dial * 255 // 100 for dial in range(101)], dtype=np.uint8)
    least = np.array([float(Fraction(int(code), 255)) for code in codes])
    least = np.where(weight_codes(least) < codes, np.nextafter(least, 1), least)
    plan = mechanisms.sketch(least).plan(noise="laplace", amount=2)
    of_library = plan.answer(np.ones(101), np.ones(101, dtype=bool), seeded_stream(3))
    of_node = node_dials.draw_bits(dials, epsilon=Fraction(2), stream=seeded_stream(3))
    assert of_node.tolist() == of_library.astype(bool).tolist()
    assert of_node.tolist() == toss_bits(codes, epsilon=Fraction(2), stream=seeded_stream(3)).tolist()
    assert all(Fraction(int(code), 255) <= Fraction(dial, 100) for dial, code in enumerate(codes))


def test_bytes_are_read_back():
    bits = seeded_stream(1).words(77) < 2**63
    assert unpack(pack(bits), 77).tolist() == bits.tolist()
    assert len(pack(bits)) == 10
    assert pack(np.array([True, False, True])) == b"\x05"


def test_ties_of_the_first_digits_are_settled_by_the_next():
    tables = sketch_tables(Fraction(1))
    high, low = tables.tail
    one = np.uint64(1)
    digits = np.array([[high, low - one], [high, low], [high - one, low], [high + one, 0]], dtype=np.uint64)
    bits = np.zeros((1, 8), dtype=np.uint64)
    _kernels.settle(digits, tables.tail, np.zeros(4, np.int64), np.arange(64, 68), 64, bits)
    assert bits[0, 0] == 0b0101
    high, low = tables.extra[200]
    digits = np.array([[high, low - one], [high, low], [high - one, low], [high + one, 0]], dtype=np.uint64)
    landed = np.empty(4, dtype=np.bool_)
    _kernels.land(digits, np.full(4, 200, np.uint8), tables, landed)
    assert landed.tolist() == [True, False, True, False]


# --- audits


EPSILON = Fraction(2)
AUDITED = {0: 255, 1: 128, 2: 51}  # weights 1, about 1/2 and 1/5


def mechanism_with(epsilon, tuned_for=Fraction(1)):
    def sketch(profile, size, random_state):
        row = {item: AUDITED[item] for item, present in enumerate(profile) if present}
        stream = seeded_stream(random_state)
        return runs(row, 3, size, epsilon=epsilon, tuned_for=tuned_for, stream=stream).astype(np.float64)

    return sketch


def neighbours_of(item):
    one = [1, 1, 1]
    two = one.copy()
    two[item] = 0
    return one, two


CLAIMS = {item: float(EPSILON) * code / WEIGHT_STEPS for item, code in AUDITED.items()}
CONFIDENT = 1 - 1e-7


@pytest.mark.parametrize("tuned_for", [Fraction(1), Fraction(3, 4), Fraction(1, 4)])
def test_the_sketch_passes_the_audit_item_by_item(tuned_for):
    report = audit(
        mechanism_with(EPSILON, tuned_for),
        adjacent=[neighbours_of(item) for item in AUDITED],
        claimed=CLAIMS,
        confidence=CONFIDENT,
        random_state=3,
    )
    assert report.verdict == "no violation found", str(report)
    assert all(row.lower_bound > 0.8 * CLAIMS[row.item] for row in report.rows)


def test_a_sketch_that_ignores_weights_is_caught(monkeypatch):
    def flat(epsilon, tuned_for):
        tables = sketch_tables(epsilon, tuned_for)
        return tables._replace(extra=np.repeat(tables.extra[-1:], 256, axis=0))

    monkeypatch.setattr(sketch_bits, "sketch_tables", flat)
    report = audit(
        mechanism_with(EPSILON), adjacent=[neighbours_of(1)], claimed=CLAIMS, confidence=CONFIDENT, random_state=3
    )
    assert report.verdict == "violated"


def test_a_sketch_that_takes_the_larger_term_is_caught(monkeypatch):
    """Up to the weight it is tuned for, zeros tell too much; the second coin of heavier items is used for all."""

    def larger(epsilon, tuned_for):
        return sketch_tables(epsilon, tuned_for)._replace(extra=sketch_tables(epsilon, Fraction(1, 1000)).extra)

    monkeypatch.setattr(sketch_bits, "sketch_tables", larger)
    report = audit(
        mechanism_with(EPSILON, Fraction(3, 4)),
        adjacent=[neighbours_of(2)],
        claimed=CLAIMS,
        confidence=CONFIDENT,
        random_state=3,
    )
    assert report.verdict == "violated"


@pytest.mark.parametrize("tuned_for", [Fraction(1), Fraction(3, 5), Fraction(1, 5)])
def test_ones_are_as_frequent_as_the_law_says(tuned_for):
    """Both ways of drawing, four weights, 200,000 bits each: 5 standard errors (false-alarm rate 6e-7 each)."""
    codes, copies = [0, 51, 128, 255], 50_000
    drawn = toss_bits(
        np.repeat(codes, copies).astype(np.uint8), epsilon=EPSILON, tuned_for=tuned_for, stream=seeded_stream(11)
    ).reshape(len(codes), copies)
    row = {place: code for place, code in enumerate(codes) if code}
    many = Sketches(
        same_profile(row, len(codes), copies), epsilon=EPSILON, tuned_for=tuned_for, stream=seeded_stream(12)
    )
    rows = bits_of_rows(many, range(len(codes)))[:, :copies]
    for place, code in enumerate(codes):
        p = chance_of_one(EPSILON, code / WEIGHT_STEPS, tuned_for=tuned_for)
        error = 5 * np.sqrt(p * (1 - p) / copies)
        assert abs(drawn[place].mean() - p) < error
        assert abs(rows[place].mean() - p) < error


def test_weight_0_leaves_every_bit_the_same_whatever_the_tuning():
    without, with_it = (
        dense_bits(Sketches(coded_of([row], 9), epsilon=EPSILON, tuned_for=Fraction(2, 5), stream=seeded_stream(1)))
        for row in ({1: 255}, {1: 255, 4: 0})
    )
    np.testing.assert_array_equal(without, with_it)


def test_a_sketch_with_a_tenth_more_epsilon_is_caught():
    report = audit(
        mechanism_with(EPSILON * 11 / 10),
        adjacent=[neighbours_of(0)],
        claimed=CLAIMS,
        confidence=CONFIDENT,
        random_state=3,
    )
    assert report.verdict == "violated"


# --- what a bit depends on


def test_an_item_moves_only_its_own_bit_and_only_upward():
    rows = [{1: 255, 3: 100}, {2: 50}, {}]
    moved = 0
    for seed in range(20):
        before, after = (
            dense_bits(Sketches(coded_of([first, *rows[1:]], 30), epsilon=Fraction(1), stream=seeded_stream(seed)))
            for first in (rows[0], rows[0] | {7: 255})
        )
        changed = np.argwhere(before != after)
        assert changed.tolist() in ([], [[0, 7]])
        assert (after >= before).all()
        moved += len(changed)
    assert moved > 0


def test_rows_are_the_same_however_they_are_asked_for():
    coded = code_profiles(random_profiles(1300, 50, 8))
    sketches = Sketches(coded, epsilon=Fraction(1), stream=seeded_stream(3))
    whole = bits_of_rows(sketches, range(50))
    assert not whole[:, 1300:].any()
    np.testing.assert_array_equal(bits_of_rows(sketches, [17, 3]), whole[[17, 3]])
    part = np.empty((50, 8), dtype=np.uint64)
    sketches.rows(np.arange(50), part, first_group=1)
    np.testing.assert_array_equal(np.unpackbits(part.view(np.uint8), axis=1, bitorder="little"), whole[:, 512:1024])
    for user in (0, 511, 512, 1299):
        mine = np.unpackbits(sketches.published_sketch(user), bitorder="little")[:50]
        np.testing.assert_array_equal(mine, whole[:, user])
    assert (bits_of_rows(sketches, range(50), bare=True) <= whole).all()


def test_published_sketches_refuse_other_users_and_hide_their_insides():
    sketches = Sketches(coded_of([{}, {}], 3), epsilon=Fraction(1), stream=seeded_stream(3))
    with pytest.raises(errors.InvalidInput, match=r"user must be below the number of users \(2\) [(]got 2[)]."):
        sketches.published_sketch(2)
    assert repr(sketches) == "Sketches(2 users, 3 items)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        sketches.__reduce__()
    assert sketches.simulated
