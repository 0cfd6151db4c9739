"""The exact discrete Gaussian distribution: P[X = x] proportional to exp(-x**2 / (2 * variance)).

A discrete Laplace candidate Y of scale t is kept with probability exp(-g), g = (|Y| - variance/t)**2 / (2 * variance),
as Canonne, Kamath and Steinke do; `coins.survive` tosses that coin exactly.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.coins import CHUNK_WORDS, survive
from hetdp.noise.laplace import MAXIMUM_SCALE, laplace_integers


@overload
def discrete_gaussian(sigma: Real, size: None = None, *, random_state: RandomState = None) -> int: ...
@overload
def discrete_gaussian(
    sigma: Real, size: int | tuple[int, ...], *, random_state: RandomState = None
) -> NDArray[np.int64]: ...
def discrete_gaussian(
    sigma: Real, size: int | tuple[int, ...] | None = None, *, random_state: RandomState = None
) -> int | NDArray[np.int64]:
    """Draw exact discrete Gaussian noise: P[X = x] proportional to exp(-x**2 / (2 * sigma**2)).

    Parameters
    ----------
    sigma
        Positive, below 2**52; taken exactly.
    size
        Number of samples or a shape; None for one plain int.
    random_state
        None draws from the secure stream; a whole number seeds a simulation.

    Privacy
    -------
    Adding it to an integer that one item can change by at most k is (k**2 / (2 * sigma**2))-zCDP, exactly.

    Examples
    --------
    >>> noise = discrete_gaussian(sigma=1000, size=100_000, random_state=1)
    >>> noise.dtype, round(float(noise.std()))
    (dtype('int64'), 999)
    """
    exact = fraction("sigma", sigma)
    if exact >= MAXIMUM_SCALE:
        raise InvalidInput("must be below 2**52", parameter="sigma", got=sigma)
    stream = as_stream(random_state)
    if size is None:
        return int(gaussian_integers(exact**2, 1, stream)[0])
    shape = tuple(whole("size", part, minimum=0) for part in (size if isinstance(size, tuple) else (size,)))
    return gaussian_integers(exact**2, math.prod(shape), stream).reshape(shape)


def gaussian_integers(variance: Fraction, count: int, stream: Stream) -> NDArray[np.int64]:
    """Draw `count` exact samples of the given rational variance (the core of `discrete_gaussian`)."""
    if not 0 < variance < MAXIMUM_SCALE**2:
        raise InvalidInput("the standard deviation of the noise must be above 0 and below 2**52 steps")
    design = _design(variance)
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        wanted = min(count - filled, 32 * CHUNK_WORDS)
        candidates = laplace_integers(design.candidate_scale, 64 * -(-wanted // 40), stream)
        kept = candidates[_keep(design, candidates, stream)][: count - filled]
        out[filled : filled + kept.size] = kept
        filled += kept.size
    return out


@dataclass(frozen=True)
class _GaussianDesign:
    """Constants of one variance."""

    variance: Fraction
    candidate_scale: Fraction

    @property
    def peak(self) -> Fraction:
        """Where the candidate's excess over the target is largest."""
        return self.variance / self.candidate_scale

    @property
    def steepness(self) -> float:
        """1 / (2 * variance) as a float; cut off far beyond saturation, where only "large" matters."""
        return float(min(1 / (2 * self.variance), Fraction(2) ** 900))

    def exponent(self, candidate: int) -> Fraction:
        """Return g exactly."""
        return (abs(candidate) - self.peak) ** 2 / (2 * self.variance)


@lru_cache(maxsize=256)
def _design(variance: Fraction) -> _GaussianDesign:
    return _GaussianDesign(variance, Fraction(math.isqrt(variance.numerator // variance.denominator) + 1))


def _keep(design: _GaussianDesign, candidates: NDArray[np.int64], stream: Stream) -> NDArray[np.bool_]:
    distance = np.abs(candidates) - float(design.peak)
    rough = distance * distance * design.steepness
    return survive(rough, lambda lane: design.exponent(int(candidates[lane])), stream)
