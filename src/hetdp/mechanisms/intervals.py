"""How far noise reaches: quantiles of sums of noises, and the level at which an interval is narrow enough."""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from hetdp.core.checks import finite, one_of, positive
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.mechanism import Mechanism

#: Levels that are tried.
_LEAST, MOST_LEVEL = 1e-6, 1e6
_THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
#: Misses rarer than this are drowned by the rounding of the transform.
_RAREST = 1e-9
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
        From 0 to 1 - 1e-9, both excluded.
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
    # Halfway between two steps the lattice and the continuous law agree best; logarithms of tails are nearly straight.
    place = int(np.argmax(2 * tails <= miss))
    above, below = (math.log(2 * tails[at] / miss) for at in (place - 1, place))
    return step * (place - 0.5 - below / (below - above)) * (1 + _BEYOND)


def check_confidence(confidence: float) -> float:
    """Return a confidence, or explain that it is none."""
    if not 0 < finite("confidence", confidence) <= 1 - _RAREST:
        raise InvalidInput("must be above 0 and at most 0.999999999", parameter="confidence", got=confidence)
    return confidence


def level_within(mechanism: Mechanism, within: float, *, noise: str, confidence: float) -> float:
    """Return the smallest level, in three digits, whose noise reaches no farther than `within`; see `hetdp.plan`.

    From public numbers alone.
    """
    goal = positive("within", within)
    reach = mechanism.plan(noise=noise, amount=1).reach(check_confidence(confidence))
    if reach is None:
        raise InvalidInput(
            "must be asked of a stretched query other than a variance, or of weight classes",
            parameter="within",
            got=mechanism.name,
            hint="Only these add noise of a known scale to the answer.",
        )
    # Laplace noise is inversely proportional to epsilon, Gaussian noise to the root of rho.
    least = MOST_LEVEL if noise == "laplace" else math.sqrt(MOST_LEVEL)
    if reach / goal > least:
        raise InvalidInput(
            f"must be at least {up(reach / least):f}, which takes a level of a million", parameter="within", got=within
        )
    return max(_LEAST, float(up((reach / goal) ** (1 if noise == "laplace" else 2))))


def up(value: float) -> Decimal:
    """Return a number in three digits, rounded up."""
    return _THREE_DIGITS.create_decimal(repr(value)).normalize()
