"""The exact discrete Gaussian distribution: P[X = x] proportional to exp(-x**2 / (2 * variance)).

A discrete Laplace candidate Y of scale t is kept with probability exp(-g), g = (|Y| - variance/t)**2 / (2 * variance),
as Canonne, Kamath and Steinke do. The coin exp(-g) is tossed without an exponential: write g in binary; exp(-g) is the
product of exp(-2**k) over its set digits. One word of independent "kill" coins per candidate, digit k being 1 with
probability 1 - exp(-2**k), decides: keep if and only if `digits_of_g & kill == 0`.

g itself is computed in floating point with basic operations only, and rounded down by more than their error. What was
cut off is less than 2**-REST, so a coin with that probability tells when exact arithmetic must finish the decision.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hetdp.checks import Real, fraction, whole
from hetdp.errors import InvalidInput
from hetdp.mechanisms.noise.laplace import MAXIMUM_SCALE, laplace_integers
from hetdp.mechanisms.noise.probability import bernoulli, complement, exponential, magnify, ratio
from hetdp.mechanisms.noise.slices import CHUNK_WORDS, TAIL_BITS, Coins, kernel, toss, transpose
from hetdp.randomness import RandomState, Stream, as_stream

__all__ = ["discrete_gaussian", "gaussian_integers"]

_FRACTION_BITS = 40
_WHOLE_BITS = 8
_DIGITS = _FRACTION_BITS + _WHOLE_BITS
#: The exponent is known to within 2**-_REST (docs/proofs/noise.md counts the roundings).
_REST = 38
_ROUNDING = 2.0**-40
_SATURATED = (1 << _DIGITS) - 1


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
        raise InvalidInput(f"sigma must be below 2**52. Got {sigma!r} instead.")
    stream = as_stream(random_state)
    if size is None:
        return int(gaussian_integers(exact**2, 1, stream)[0])
    shape = tuple(whole("size", part, minimum=0) for part in (size if isinstance(size, tuple) else (size,)))
    return gaussian_integers(exact**2, math.prod(shape), stream).reshape(shape)


def gaussian_integers(variance: Fraction, count: int, stream: Stream) -> NDArray[np.int64]:
    """Draw `count` exact samples of the given rational variance (the core of `discrete_gaussian`)."""
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
class _Design:
    """Constants of one variance, and the kill coins followed by the coin that calls for exact arithmetic."""

    variance: Fraction
    candidate_scale: Fraction
    kill: Coins

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
def _design(variance: Fraction) -> _Design:
    return _Design(variance, Fraction(_whole_root(variance) + 1), _kill_coins(TAIL_BITS))


@lru_cache(maxsize=4)
def _kill_coins(tail_bits: int) -> Coins:
    digits = [complement(exponential(Fraction(2) ** (place - _FRACTION_BITS))) for place in range(_DIGITS)]
    return Coins.of([*digits, ratio(Fraction(1, 2**_REST))], tail_bits=tail_bits)


def _whole_root(variance: Fraction) -> int:
    return math.isqrt(variance.numerator // variance.denominator)


def _keep(design: _Design, candidates: NDArray[np.int64], stream: Stream) -> NDArray[np.bool_]:
    words = candidates.size // 64
    kill = np.empty(candidates.size, dtype=np.int64)
    rows = np.zeros((64, words), dtype=np.uint64)
    rows[: _DIGITS + 1] = toss(design.kill, words, stream)
    kernel(transpose, words)(rows, kill)

    distance = np.abs(candidates) - float(design.peak)
    rough = distance * distance * design.steepness - _ROUNDING
    rough = np.clip(rough, 0.0, 2.0**_WHOLE_BITS)
    digits = np.minimum(np.floor(rough * 2.0**_FRACTION_BITS), _SATURATED).astype(np.int64)
    keep: NDArray[np.bool_] = (digits & kill) == 0

    unsure = keep & ((digits == _SATURATED) | (kill >> _DIGITS != 0))
    for position in np.flatnonzero(unsure):
        rest = design.exponent(int(candidates[position])) - Fraction(int(digits[position]), 2**_FRACTION_BITS)
        if digits[position] == _SATURATED:
            keep[position] = bernoulli(exponential(rest), stream)
        else:
            # The coin of probability 2**-_REST has fallen; given that, death has 2**_REST times its chance.
            keep[position] = not bernoulli(magnify(complement(exponential(rest)), _REST), stream)
    return keep
