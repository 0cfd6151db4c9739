"""Quantiles of sums of noises, and the level that makes an interval narrow enough."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from tests.support.errors import refused

import hetdp
from hetdp import Box, mechanisms, queries
from hetdp.mechanisms.intervals import noise_quantile


def tail(point, terms):
    """Return P[abs(sum) > point] for equal Laplace terms: the difference of two gamma variables, integrated."""
    gamma = stats.gamma(terms)

    def density(one):
        return gamma.pdf(one) * gamma.sf(one + point)

    edges = gamma.ppf([0, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-15])
    return 2 * sum(integrate.quad(density, low, high)[0] for low, high in pairwise(edges))


@pytest.mark.parametrize("terms", [1, 2, 30, 100, 1000])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.9999, 0.999999])
def test_quantiles_of_equal_terms_are_exact_and_never_too_small(terms, confidence):
    found = tail(noise_quantile([2.5] * terms, confidence) / 2.5, terms) / (1 - confidence)
    assert 1 - 2e-4 < found <= 1 + 1e-7


@pytest.mark.parametrize("scales", [(1, 2, 4), (1, 1.0001), (1, 1e-6), (3, 3, 0.2, 40)])
def test_quantiles_of_different_terms_hold_as_often_as_stated(scales):
    """A binomial test; false-alarm rate 1e-6."""
    draws = np.random.default_rng(1).laplace(size=(len(scales), 400_000)) * np.array(scales)[:, None]
    inside = int((np.abs(draws.sum(axis=0)) <= noise_quantile(scales, 0.95)).sum())
    assert stats.binomtest(inside, 400_000, 0.95).pvalue > 1e-6


def test_terms_that_do_not_matter_do_not_matter():
    assert noise_quantile([1, 1e-9], 0.95) == pytest.approx(-math.log(0.05), rel=1e-4)
    assert noise_quantile([1e200, 2e200], 0.95) == pytest.approx(1e200 * noise_quantile([1, 2], 0.95))


def test_gaussian_noises_add_up_in_squares():
    assert noise_quantile([3, 4], 0.95, noise="gaussian") == pytest.approx(5 * stats.norm.isf(0.025))


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, 1e-9, 1 - 1e-9, "a", float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence):
    with refused("confidence"):
        noise_quantile([1.0], confidence)


AGES = Box.uniform(0, 100, size=4000)
WEIGHTS = np.resize([1.0, 0.5, 0.3, 0.1], 4000)
MECHANISMS = {
    "classes of a mean": mechanisms.weight_classes(queries.mean(AGES), WEIGHTS),
    "classes of a histogram": mechanisms.weight_classes(queries.histogram(AGES, 4), WEIGHTS, [1, 0.1]),
    "stretched total": mechanisms.stretch(queries.total(AGES), WEIGHTS, multiplier=2),
    "stretched norm": mechanisms.stretch(queries.norm(AGES), WEIGHTS),
    "stretched histogram": mechanisms.stretch(queries.histogram(AGES, 4), 1.0),
}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())
def test_a_level_that_was_found_reaches_the_width_and_2_percent_less_does_not(mechanism, noise, confidence):
    for within in (0.37, 12.0):
        planned = hetdp.plan(mechanism, within=within, noise=noise, confidence=confidence)
        assert planned.reach(confidence) <= within * (1 + 1e-9)
        assert mechanism.plan(noise=noise, amount=0.98 * planned.amount).reach(confidence) > within


@pytest.mark.parametrize("make", [mechanisms.stretch, mechanisms.weight_classes])
def test_a_level_depends_on_public_numbers_only(make):
    found = {hetdp.plan(make(queries.mean(AGES), own), within=1.0).amount for own in (np.ones(4000), np.zeros(4000))}
    assert len(found) == 1


def test_what_cannot_be_reached_is_said_with_what_can():
    asked = mechanisms.stretch(queries.total(AGES), WEIGHTS)
    with refused("within", "at least 0.0003") as error:
        hetdp.plan(asked, within=1e-9)
    assert "level of a million" in str(error.error)
    assert hetdp.plan(asked, within=0.0003).amount < 1e6


@pytest.mark.parametrize(
    ("mechanism", "arguments", "parameter"),
    [
        (mechanisms.stretch(queries.variance(AGES), WEIGHTS), {"within": 1.0}, "within"),
        (mechanisms.median(AGES, WEIGHTS), {"within": 1.0}, "within"),
        (mechanisms.sample(queries.mean(AGES), WEIGHTS), {"within": 1.0}, "within"),
        (MECHANISMS["classes of a mean"], {"within": 0}, "within"),
        (MECHANISMS["classes of a mean"], {"within": 1, "epsilon": 1}, "within"),
        (MECHANISMS["classes of a mean"], {"within": 1, "confidence": 2}, "confidence"),
    ],
)
def test_what_has_no_level_is_refused(mechanism, arguments, parameter):
    with refused(parameter):
        hetdp.plan(mechanism, **arguments)
