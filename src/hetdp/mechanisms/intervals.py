"""How far noise reaches: quantiles of sums of independent noises."""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from hetdp.core.checks import finite, one_of, positive
from hetdp.core.errors import InvalidInput

#: The largest level that is tried for a width.
MOST_LEVEL = 1e6
_THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
#: Confidences between these have quantiles of full accuracy. Rarer misses are drowned by the rounding of the transform.
_LEAST_CONFIDENCE, _MOST_CONFIDENCE = 0.01, 0.999999
#: Points of the transform; its window is so wide that this share of the misses lies beyond.
_POINTS, _BEYOND = 2**16, 1e-5


def noise_quantile(scales: Sequence[float], confidence: float, *, noise: str = "laplace") -> float:
    """Return what the sum of independent noises stays below, in absolute value, with a given confidence.

    Laplace noises are put on a fine lattice, where one Fourier transform of their characteristic functions gives the
    distribution of the sum. It is exact to about 1e-5 of the result, rounded up, whatever the number of terms is.

    Parameters
    ----------
    scales
        Scales of the Laplace noises, or standard deviations of the Gaussian ones, all above 0.
    confidence
        From 0.01 to 0.999999.
    noise
        "laplace" or "gaussian".

    Examples
    --------
    >>> round(noise_quantile([1.0], 0.95), 4), round(noise_quantile([1.0] * 100, 0.95), 2)
    (2.9957, 27.75)
    >>> round(noise_quantile([3.0, 4.0], 0.95, noise="gaussian"), 3)
    9.8
    """
    one_of("noise", noise, ("laplace", "gaussian"))
    miss, terms = 1 - check_confidence(confidence), [positive("scales", scale) for scale in scales]
    if noise == "gaussian":
        return -NormalDist().inv_cdf(miss / 2) * math.hypot(*terms)
    if len(terms) == 1:
        return -math.log(miss) * terms[0]
    largest = max(terms)
    return largest * _quantile(tuple(sorted(Counter(scale / largest for scale in terms).items())), miss)


@lru_cache(maxsize=256)
def _quantile(terms: tuple[tuple[float, int], ...], miss: float) -> float:
    """Return t with P[abs(sum) > t] = miss, for Laplace terms: pairs of a scale, at most 1, and how often it occurs."""
    scales, often = np.array(terms).T
    # Chernoff: P[sum > t] <= E[exp(s sum)] exp(-s t), at the best of some exponents s.
    tilts = np.geomspace(1e-3, 0.99, 200)
    log_moments = -np.log1p(-((tilts[:, None] * scales) ** 2)) @ often
    half = float(((log_moments - math.log(miss * _BEYOND)) / tilts).min())
    step = 2 * half / _POINTS
    # On a lattice, discrete Laplace noise of variance 2 scale^2 has this characteristic function.
    turned = 2 * (1 - np.cos(np.linspace(0, np.pi, _POINTS // 2 + 1)))
    spectrum = np.exp(-np.log1p(np.outer(turned, (scales / step) ** 2)) @ often)
    masses = np.fft.irfft(spectrum, n=_POINTS)[: _POINTS // 2]
    tails = np.cumsum(masses[::-1])[::-1]  # P[sum >= k], for the steps k = 0, 1, ...
    # Halfway between two steps the lattice and the continuous law agree best, and at 0 both have the tail 1/2.
    points = np.maximum(np.arange(tails.size) - 0.5, 0.0)
    tails[0] = 0.5
    # Logarithms of tails are nearly straight.
    place = int(np.argmax(2 * tails <= miss))
    above, below = (math.log(2 * tails[at] / miss) for at in (place - 1, place))
    share = above / (above - below)
    return float(step * (points[place - 1] + share * (points[place] - points[place - 1])) * (1 + _BEYOND))


def check_confidence(confidence: float) -> float:
    """Return a confidence as a float, or explain that it is none."""
    if not _LEAST_CONFIDENCE <= (number := finite("confidence", confidence)) <= _MOST_CONFIDENCE:
        raise InvalidInput("must be from 0.01 to 0.999999", parameter="confidence", got=confidence)
    return number


def up(value: float) -> Decimal:
    """Return a number in three digits, rounded up."""
    return _THREE_DIGITS.create_decimal(repr(value)).normalize()
