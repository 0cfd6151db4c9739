"""Every sampler against its exact distribution, with the power to reject a wrong scale."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from tests.support.statistics_helpers import FALSE_ALARM, fit_pvalue, gaussian_log_weights, laplace_log_weights

import hetdp
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.noise import coins, gaussian, laplace

SAMPLES = 400_000
SCALES = [Fraction(1, 10), Fraction(1, 2), 1, Fraction(10, 3), 10, 1000, 0.7]
SIGMAS = [Fraction(1, 4), 0.5, 1, Fraction(7, 3), 10, 1000]


def laplace_pvalue(samples, scale):
    return fit_pvalue(samples, partial(laplace_log_weights, scale=float(scale)), float(scale))


def gaussian_pvalue(samples, sigma):
    return fit_pvalue(samples, partial(gaussian_log_weights, sigma=float(sigma)), float(sigma))


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_fits_its_distribution(scale):
    samples = hetdp.discrete_laplace(scale, SAMPLES, random_state=11)
    assert laplace_pvalue(samples, scale) > FALSE_ALARM


@pytest.mark.parametrize("sigma", SIGMAS)
def test_discrete_gaussian_fits_its_distribution(sigma):
    samples = hetdp.discrete_gaussian(sigma, SAMPLES, random_state=12)
    assert gaussian_pvalue(samples, sigma) > FALSE_ALARM


@pytest.mark.parametrize("wrong", [0.97, 1.03])
@pytest.mark.parametrize("scale", [1, 10, 1000])
def test_a_scale_wrong_by_three_percent_is_rejected(scale, wrong):
    assert laplace_pvalue(hetdp.discrete_laplace(scale, SAMPLES, random_state=13), scale * wrong) < FALSE_ALARM
    assert gaussian_pvalue(hetdp.discrete_gaussian(scale, SAMPLES, random_state=13), scale * wrong) < FALSE_ALARM


def test_scale_used_as_standard_deviation_is_rejected():
    samples = hetdp.discrete_laplace(10 / 2**0.5, SAMPLES, random_state=14)
    assert laplace_pvalue(samples, 10) < FALSE_ALARM


def test_an_off_by_one_in_the_sign_is_rejected():
    # "-G instead of ~G" counts zero twice: the classic mistake of signed geometric samplers.
    samples = hetdp.discrete_laplace(3, SAMPLES, random_state=15)
    broken = np.where(samples < 0, samples + 1, samples)
    assert laplace_pvalue(broken, 3) < FALSE_ALARM


@pytest.mark.parametrize("scale", [2**20, 2**40, 2**52, Fraction(2**41, 3)])
def test_large_scales_have_exponential_magnitude(scale):
    samples = hetdp.discrete_laplace(scale, SAMPLES, random_state=16)
    mean = np.abs(samples / float(scale)).mean()
    # |X|/scale is exponential up to 1/scale, standard deviation 1: 5.2 standard errors, false-alarm rate 2e-7.
    assert abs(mean - 1) < 5.2 / SAMPLES**0.5
    assert abs((samples < 0).mean() - 0.5) < 5.2 * 0.5 / SAMPLES**0.5
    low = samples & 1  # the last digit of a wide distribution is fair
    assert abs(low.mean() - 0.5) < 5.2 * 0.5 / SAMPLES**0.5


@pytest.mark.parametrize("tail_bits", [1, 4])
def test_the_exact_continuation_does_not_bend_the_distribution(tail_bits):
    design = laplace._design(Fraction(5), tail_bits=tail_bits)
    stream = seeded_stream(17)
    samples = np.concatenate([laplace._chunk(design, 64, stream) for _ in range(12)])
    assert laplace_pvalue(samples, 5) > FALSE_ALARM


def test_the_overflow_path_does_not_bend_the_distribution():
    # exp(-1/2): two samples in five have digits above the coins and go through `_add_overflow`.
    design = laplace._design(Fraction(7), overflow_exponent=Fraction(1, 2))
    stream = seeded_stream(18)
    samples = np.concatenate([laplace._chunk(design, 64, stream) for _ in range(8)])
    assert laplace_pvalue(samples, 7) > FALSE_ALARM


def test_dropping_the_overflow_would_be_noticed(monkeypatch):
    monkeypatch.setattr(laplace, "_add_overflow", lambda *_: None)
    design = laplace._design(Fraction(7), overflow_exponent=Fraction(1, 2))
    samples = np.concatenate([laplace._chunk(design, 64, seeded_stream(18)) for _ in range(8)])
    assert laplace_pvalue(samples, 7) < FALSE_ALARM


@pytest.mark.parametrize("rest", [2, 6])
def test_the_gaussian_exact_rest_does_not_bend_the_distribution(monkeypatch, rest):
    # Pretend the exponent is known to `rest` bits only, so that exact arithmetic finishes most decisions.
    monkeypatch.setattr(coins, "_REST", rest)
    monkeypatch.setattr(coins, "_ROUNDING", 2.0 ** -(rest + 2))
    coins._kill_coins.cache_clear()
    samples = hetdp.discrete_gaussian(3, 20_000, random_state=19)
    coins._kill_coins.cache_clear()
    assert gaussian_pvalue(samples, 3) > FALSE_ALARM


def test_ignoring_the_gaussian_rest_would_be_noticed(monkeypatch):
    monkeypatch.setattr(coins, "_ROUNDING", 0.25)  # the exponent rounded down by up to a quarter, and left there
    samples = hetdp.discrete_gaussian(3, SAMPLES, random_state=20)
    assert gaussian_pvalue(samples, 3) < FALSE_ALARM


def test_tiny_parameters_give_zero():
    assert not hetdp.discrete_laplace(Fraction(1, 10**6), 1000).any()
    assert not hetdp.discrete_gaussian(Fraction(1, 10**6), 1000).any()
    assert not hetdp.discrete_gaussian(1e-200, 100).any()


def test_saturated_exponents_are_still_exact(monkeypatch):
    # With one whole bit, exponents above 2 saturate and exact arithmetic decides the survivors.
    monkeypatch.setattr(coins, "_WHOLE_BITS", 1)
    monkeypatch.setattr(coins, "_DIGITS", coins._FRACTION_BITS + 1)
    monkeypatch.setattr(coins, "_SATURATED", (1 << (coins._FRACTION_BITS + 1)) - 1)
    coins._kill_coins.cache_clear()
    samples = hetdp.discrete_gaussian(2, 40_000, random_state=21)
    coins._kill_coins.cache_clear()
    assert gaussian_pvalue(samples, 2) > FALSE_ALARM


def test_compiled_and_interpreted_kernels_agree_bit_for_bit(monkeypatch):
    def draw():
        return (
            laplace.laplace_integers(Fraction(1000), 1000, seeded_stream(3)),
            gaussian.gaussian_integers(Fraction(1000), 500, seeded_stream(3)),
        )

    kernels = coins._Kernels()
    for name in ("compare", "settle", "transpose"):
        kernels.get(getattr(coins, name), 10**6)
    monkeypatch.setattr(coins, "_kernels", kernels)
    fast = draw()
    monkeypatch.setattr(coins, "_kernels", coins._Kernels())
    monkeypatch.setattr(coins, "_INTERPRET_TOTAL", 10**9)
    slow = draw()
    assert not coins._kernels.compiled
    for one, two in zip(fast, slow, strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_transpose_puts_every_lane_where_lane_position_says(width):
    rng = np.random.default_rng(0)
    words = 3
    rows = rng.integers(0, 2**64, size=(width, words), dtype=np.uint64)
    expected = np.empty(64 * words, dtype=np.int64)
    for word in range(words):
        for lane in range(64):
            number = sum(((int(rows[row, word]) >> lane) & 1) << row for row in range(width))
            number -= (number >> (width - 1)) << width
            expected[coins.lane_position(lane, word, width, words)] = number
    out = np.empty(64 * words, dtype=np.int64)
    coins.transpose(rows.copy(), out)
    assert np.array_equal(out, expected)


def test_shapes_and_types():
    assert isinstance(hetdp.discrete_laplace(3), int)
    assert isinstance(hetdp.discrete_gaussian(3), int)
    assert hetdp.discrete_laplace(3, (2, 5)).shape == (2, 5)
    assert hetdp.discrete_gaussian(3, (0,)).shape == (0,)
    assert hetdp.discrete_laplace(3, 7).dtype == np.int64


def test_same_seed_same_noise_and_secure_draws_differ():
    assert np.array_equal(
        hetdp.discrete_laplace(50, 5000, random_state=4), hetdp.discrete_laplace(50, 5000, random_state=4)
    )
    assert not np.array_equal(hetdp.discrete_laplace(2**40, 50), hetdp.discrete_laplace(2**40, 50))


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "3", None, True, 2**53])
def test_bad_scales_are_refused_by_name(bad):
    with pytest.raises(InvalidInput, match=r"scale must be"):
        hetdp.discrete_laplace(bad)
    with pytest.raises(InvalidInput, match=r"sigma must be"):
        hetdp.discrete_gaussian(bad)


def test_bad_sizes_are_refused():
    with pytest.raises(InvalidInput, match="size must be a whole number of at least 0"):
        hetdp.discrete_laplace(1, -1)
