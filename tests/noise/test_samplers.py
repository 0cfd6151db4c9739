"""Every sampler against its exact distribution, with the power to reject a wrong scale."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from tests.support.statistics_helpers import FALSE_ALARM, fit_pvalue, gaussian_log_weights, laplace_log_weights

import hetdp
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.noise import exact_coins, samplers
from hetdp.noise.samplers import truncated_laplace_integers

SAMPLES = 400_000
SCALES = [Fraction(1, 10), Fraction(1, 2), 1, Fraction(10, 3), 10, 1000, 0.7]
BOUNDS = [(Fraction(1, 2), 1), (Fraction(10, 3), 2), (Fraction(10), 0), (Fraction(10), 25), (Fraction(100), 20)]
SIGMAS = [Fraction(1, 4), 0.5, 1, Fraction(7, 3), 10, 1000]


def laplace_pvalue(samples, scale):
    return fit_pvalue(samples, partial(laplace_log_weights, scale=float(scale)), float(scale))


def laplace_samples(design, count, *, seed):
    out = np.empty(count, dtype=np.int64)
    samplers._fill_with_laplace(design, seeded_stream(seed), out)
    return out


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
    samples = laplace_samples(samplers._laplace_design(Fraction(5), tail_bits=tail_bits), 12 * 4096, seed=17)
    assert laplace_pvalue(samples, 5) > FALSE_ALARM


def test_the_overflow_path_does_not_bend_the_distribution():
    # exp(-1/2): two samples in five have digits above the coins and go through `_add_overflow`.
    design = samplers._laplace_design(Fraction(7), overflow_exponent=Fraction(1, 2))
    samples = laplace_samples(design, 8 * 4096, seed=18)
    assert laplace_pvalue(samples, 7) > FALSE_ALARM


def test_dropping_the_overflow_would_be_noticed(monkeypatch):
    monkeypatch.setattr(samplers, "_add_overflow", lambda *_: None)
    design = samplers._laplace_design(Fraction(7), overflow_exponent=Fraction(1, 2))
    samples = laplace_samples(design, 8 * 4096, seed=18)
    assert laplace_pvalue(samples, 7) < FALSE_ALARM


def test_tiny_parameters_give_zero():
    assert not hetdp.discrete_laplace(Fraction(1, 10**6), 1000).any()
    assert not hetdp.discrete_gaussian(Fraction(1, 10**6), 1000).any()
    assert not hetdp.discrete_gaussian(1e-200, 100).any()


def test_compiled_and_interpreted_kernels_agree_bit_for_bit(monkeypatch):
    def draw():
        return (
            samplers.laplace_integers(Fraction(1000), 1000, seeded_stream(3)),
            samplers.gaussian_integers(Fraction(1000), 500, seeded_stream(3)),
        )

    kernels = exact_coins._Kernels()
    for name in ("compare", "settle", "transpose"):
        kernels.get(getattr(exact_coins, name), 10**6)
    monkeypatch.setattr(exact_coins, "_kernels", kernels)
    fast = draw()
    monkeypatch.setattr(exact_coins, "_kernels", exact_coins._Kernels())
    monkeypatch.setattr(exact_coins, "_INTERPRET_TOTAL", 10**9)
    slow = draw()
    assert not exact_coins._kernels.compiled
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
            expected[exact_coins.lane_position(lane, word, width, words)] = number
    out = np.empty(64 * words, dtype=np.int64)
    exact_coins.transpose(rows.copy(), out)
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


def truncated_pvalue(samples, scale, bound):
    def log_weights(support):
        return np.where(np.abs(support) <= bound, laplace_log_weights(support, float(scale)), -np.inf)

    return fit_pvalue(samples, log_weights, float(scale))


@pytest.mark.parametrize(("scale", "bound"), BOUNDS)
def test_it_fits_its_distribution_and_stays_inside(scale, bound):
    samples = truncated_laplace_integers(scale, bound, SAMPLES, seeded_stream(31))
    assert samples.size == SAMPLES
    assert int(np.abs(samples).max()) == bound
    assert bound == 0 or truncated_pvalue(samples, scale, bound) > FALSE_ALARM


@pytest.mark.parametrize(("scale", "bound"), [(9.7, 25), (10.3, 25), (10, 24), (10, 26), (10, 10**6)])
def test_a_wrong_scale_and_a_wrong_bound_are_rejected(scale, bound):
    """Clipping to the bound, or drawing from another law, would show just as these do."""
    samples = truncated_laplace_integers(Fraction(10), 25, SAMPLES, seeded_stream(32))
    assert truncated_pvalue(samples, scale, bound) < FALSE_ALARM


def test_large_scales_end_at_the_bound():
    scale, bound = Fraction(2**40), 3 * 2**40
    samples = truncated_laplace_integers(scale, bound, SAMPLES, seeded_stream(33)) / 2.0**40
    assert np.abs(samples).max() <= 3
    # Given |X| <= 3 an exponential has mean 1 - 3/(e^3 - 1) and standard deviation below 1: 5.2 standard errors, 2e-7.
    assert abs(np.abs(samples).mean() - (1 - 3 / np.expm1(3))) < 5.2 / SAMPLES**0.5
    assert abs((samples < 0).mean() - 0.5) < 5.2 * 0.5 / SAMPLES**0.5


def test_no_sample_is_drawn_for_nothing():
    stream = seeded_stream(34)
    assert truncated_laplace_integers(Fraction(1), 5, 0, stream).size == 0
    assert stream.drawn == 0


@pytest.mark.parametrize("bad", [-1, 2**63 - 1, 2.5, True])
def test_bad_bounds_are_refused(bad):
    with pytest.raises(InvalidInput, match=r"bound must be"):
        truncated_laplace_integers(Fraction(1), bad, 1, seeded_stream(1))
