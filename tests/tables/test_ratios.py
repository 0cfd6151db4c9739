"""Estimates from noisy sums: quantiles of noise, and whether intervals cover the truth as often as they say."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.support.errors import refused

from hetdp.tables.ratios import (
    Estimate,
    NoisySum,
    noise_quantile,
    scaled_count,
    scaled_total,
    weighted_mean,
    weighted_variance,
)

FALSE_ALARM = 1e-7  # of each simulated check; some thirty of them stay below 1e-5 together, with fixed seeds
LEVELS, SHARES = np.array([0, 0.5, 1, 0.5, 0.75, 1, 1]), np.array([0.34, 0.34, 0.34, 0.43, 0.43, 0.43, 0.69]) / 3
MANY = NoisySum(700.0, 1.0)


def not_more_often(misses, runs, chance):
    return stats.binom.sf(misses - 1, runs, chance) >= FALSE_ALARM


@pytest.mark.parametrize(
    ("scales", "variance"), [([1.0], 0), ([1, 1], 0), ([1, 2], 0), ([1, 0.01], 4), ([3, 1, 0.5], 1), ([1e-6, 1], 2)]
)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_quantiles_of_noise(scales, variance, confidence):
    runs, generator = 400_000, np.random.default_rng(3)
    noise = sum(generator.laplace(0, scale, runs) for scale in scales) + math.sqrt(variance) * generator.normal(
        size=runs
    )
    quantile = noise_quantile([(1.0, NoisySum(0, scale)) for scale in scales], confidence, variance=variance)
    assert not_more_often(int((np.abs(noise) > quantile).sum()), runs, 1 - confidence)
    # And no wider than it must be: 4 % less would miss more often. (Equal scales are moved apart by 2 %.)
    assert not not_more_often(int((np.abs(noise) > 0.94 * quantile).sum()), runs, 1 - confidence)


def test_a_quantile_of_gaussian_noise_is_the_normal_one():
    noisy = [(2.0, NoisySum(0, 3.0, "gaussian")), (1.0, NoisySum(0, 8.0, "gaussian"))]
    assert noise_quantile(noisy, 0.95) == pytest.approx(10 * 1.959964, rel=1e-6)
    assert noise_quantile([(1.0, NoisySum(0, 0.0))], 0.95) == 0


def dials(kind, size, generator):
    if kind == "westin":
        return generator.choice(LEVELS, size, p=SHARES)
    if kind == "ones":
        return np.ones(size)
    return (generator.random(size) < {"coin": 0.5, "rare": 0.02}[kind]).astype(float)


def values(share, size, generator):
    """So many ones among zeros, which leaves chance the most room; without a share, something like ages."""
    if share is None:
        return np.clip(generator.gamma(2, 0.1, size), 0, 1)
    return generator.permutation((np.arange(size) < round(share * size)).astype(float))


SETTINGS = [
    # epsilon, noise, people, dials, share of ones, population is public, centre
    (1, "laplace", 1000, "westin", 0.3, True, 0.0),
    (1, "laplace", 1000, "westin", 0.3, False, 0.0),
    (0.1, "laplace", 1000, "westin", 0.3, True, 0.0),
    (0.05, "gaussian", 1000, "westin", 0.3, True, 0.5),
    (10, "laplace", 1000, "rare", 0.01, True, 0.0),
    (10, "laplace", 1000, "rare", 0.5, False, 0.5),
    (10, "gaussian", 60, "coin", 0.5, True, 0.5),
    (1, "laplace", 60, "coin", 0.5, True, 0.5),
    (1, "laplace", 60, "coin", 1.0, True, 0.0),
    (1, "laplace", 24, "ones", 0.5, True, 0.0),
    (0.1, "laplace", 150, "ones", 0.5, True, 0.0),
    (1, "laplace", 500, "westin", None, True, 0.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["mean", "variance"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_cover(what, setting):
    """With dials that do not go with values; a missing estimate misses nothing."""
    epsilon, noise, size, kind, share, public, center = setting
    runs, misses, generator = 500, 0, np.random.default_rng(11)
    draw = generator.laplace if noise == "laplace" else generator.normal
    population = size if public else None
    for _ in range(runs):
        weights, own = dials(kind, size, generator), values(share, size, generator)
        sums = (weights @ (own - center), weights @ ((own - center) ** 2 - 0.25), weights.sum())
        first, second, weight = (NoisySum(float(one + draw(0, 1 / epsilon)), 1 / epsilon, noise) for one in sums)
        if what == "mean":
            found = weighted_mean(first, weight, center=center, lower=0, upper=1, population=population)
        else:
            found = weighted_variance(
                first, second, weight, shift=0.25, center=center, lower=0, upper=1, population=population
            )
        if found.value is None:
            continue
        assert 0 <= found.low <= found.value <= found.high <= 1
        misses += not found.low - 1e-12 <= (own.mean() if what == "mean" else own.var()) <= found.high + 1e-12
    assert not_more_often(misses, runs, 0.05)


@pytest.mark.slow
def test_an_interval_is_no_wider_than_noise_and_chance_demand():
    """Where dials are coins and values ones and zeros, what is taken as the worst case is the case."""
    runs, misses, generator = 4000, 0, np.random.default_rng(2)
    for _ in range(runs):
        weights, own = dials("coin", 1000, generator), values(0.4, 1000, generator)
        total, weight = (NoisySum(float(one + generator.laplace()), 1.0) for one in (weights @ own, weights.sum()))
        found = weighted_mean(total, weight, center=0, lower=0, upper=1, population=1000, confidence=0.9)
        misses += not found.low <= own.mean() <= found.high
    assert 0.065 < misses / runs < 0.1  # expected 0.085: 19/20 of 0.1, and half a person


def test_more_is_known_where_more_is_public():
    def width(**more):
        found = weighted_mean(NoisySum(210.0, 1.0), MANY, center=0, lower=0, upper=1, **more)
        return found.high - found.low

    assert width(distorted=False) < width(population=1000) < width()
    assert width(variance=0.01) < width(variance=0.1) < width(variance=0.25) == width()
    assert width(confidence=0.5) < width(confidence=0.95) < width(confidence=0.999)
    exact = weighted_mean(NoisySum(210, 0), NoisySum(700, 0), center=0, lower=0, upper=1, distorted=False)
    assert (exact.low, exact.value, exact.high) == pytest.approx((0.3, 0.3, 0.3), abs=1e-6)


def test_the_room_that_values_take_makes_an_interval_narrower_and_no_less_true():
    """All values in the middle of the range, so that nothing is left to chance."""
    total, room = NoisySum(350.0, 1.0), NoisySum(700 * 0.25, 1.0)
    wide = weighted_mean(total, MANY, center=0, lower=0, upper=1)
    narrow = weighted_mean(total, MANY, center=0, lower=0, upper=1, room=room)
    assert narrow.low < 0.5 < narrow.high
    assert narrow.high - narrow.low < 0.6 * (wide.high - wide.low)
    public = weighted_mean(total, NoisySum(1000.0, 0.0), center=0, lower=0, upper=1, room=room, distorted=False)
    alone = weighted_mean(total, NoisySum(1000.0, 0.0), center=0, lower=0, upper=1, distorted=False)
    assert public == alone


@pytest.mark.parametrize("place", [0.0, 0.25, 0.3, 0.5, 0.75, 1.0])
def test_ends_are_found_where_they_are_known(place):
    """Without chance and without noise below, an interval is the quantile of one Laplace variable."""
    found = weighted_mean(
        NoisySum(1000 * place, 1.0), NoisySum(1000.0, 0.0), center=0, lower=0, upper=1, distorted=False
    )
    reach = 2.99573227355 / 1000
    assert found.low == pytest.approx(max(0.0, place - reach), abs=1e-6)
    assert found.high == pytest.approx(min(1.0, place + reach), abs=1e-6)


def test_a_weight_that_is_all_noise_gives_no_estimate():
    for weight in (NoisySum(11.0, 1.0), NoisySum(-3.0, 1.0), NoisySum(0.0, 0.0), NoisySum(5.0, 1.0, "gaussian")):
        found = weighted_mean(NoisySum(5.0, 1.0), weight, center=0, lower=0, upper=1)
        assert found.value is found.low is found.high is None
        assert "not well above its noise" in found.reason
        assert weighted_variance(
            NoisySum(5.0, 1.0), NoisySum(5.0, 1.0), weight, shift=0, center=0, lower=0, upper=1
        ).reason
    assert weighted_mean(NoisySum(5.0, 1.0), NoisySum(13.0, 1.0), center=0, lower=0, upper=1).value is not None


def test_estimates_stay_in_the_public_range():
    far = weighted_mean(NoisySum(1e9, 1.0), MANY, center=40, lower=0, upper=80)
    assert far.value == far.high == 80 > far.low > 70
    assert weighted_mean(NoisySum(-1e9, 1.0), MANY, center=40, lower=0, upper=80).value == 0
    many = scaled_count(NoisySum(9000.0, 1.0), MANY, population=1000)
    assert many.value == many.high == 1000 > many.low > 900
    assert scaled_count(NoisySum(-4.0, 1.0), None, population=10) == Estimate(0.0, 0.0, 0.0)
    squares = weighted_variance(NoisySum(0, 1.0), NoisySum(1e9, 1.0), MANY, shift=0, center=0, lower=-1, upper=1)
    assert squares.value == squares.high == 1.0


def test_counts_and_totals_are_scaled_up_by_a_public_number_only():
    share = weighted_mean(NoisySum(200.0, 1.0), MANY, center=0, lower=0, upper=1, population=1000)
    assert scaled_count(NoisySum(200.0, 1.0), MANY, population=1000) == share.times(1000)
    assert "population= tells it" in scaled_count(NoisySum(200.0, 1.0), MANY).reason
    assert scaled_total(NoisySum(5.0, 1.0), None, center=3, lower=0, upper=6, population=10).value == 35
    assert "cannot be added back" in scaled_total(NoisySum(5.0, 1.0), None, center=3, lower=0, upper=6).reason
    assert Estimate.none("why").times(3) == Estimate.none("why")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: noise_quantile([], 1.0), ("confidence", "strictly between 0 and 1")),
        (lambda: NoisySum(math.nan, 1.0), ("value", "a finite number")),
        (lambda: NoisySum(1.0, -1.0), ("scale", "a number of at least 0")),
        (lambda: NoisySum(1.0, 1.0, "uniform"), ("noise", "one of 'laplace', 'gaussian'")),
        (
            lambda: weighted_mean(MANY, MANY, center=9, lower=0, upper=1),
            ("center", "between 0 and 1"),
        ),
        (lambda: scaled_count(MANY, MANY, population=0), ("population", "a number above 0")),
    ],
)
def test_bad_input(call, words):
    with refused(*words):
        call()
