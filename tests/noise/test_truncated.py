"""Truncated noise against its exact distribution; a wrong bound or scale must show. False alarms at 1e-6 per test."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.statistics_helpers import FALSE_ALARM, fit_pvalue, laplace_log_weights

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.noise.truncated import truncated_laplace_integers

SAMPLES = 400_000
CASES = [(Fraction(1, 2), 1), (Fraction(10, 3), 2), (Fraction(10), 0), (Fraction(10), 25), (Fraction(100), 20)]


def truncated_pvalue(samples, scale, bound):
    def log_weights(support):
        return np.where(np.abs(support) <= bound, laplace_log_weights(support, float(scale)), -np.inf)

    return fit_pvalue(samples, log_weights, float(scale))


@pytest.mark.parametrize(("scale", "bound"), CASES)
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
