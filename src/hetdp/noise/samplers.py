"""Exact noise on the integers: discrete Laplace, the same truncated, and discrete Gaussian, for any rational scale.

**Laplace**: P[X = x] proportional to exp(-|x| / scale). Two facts make it fast, both proved in docs/proofs/noise.md.

1. The binary digits of a geometric variable G are independent: digit j is 1 with probability 1/(1+exp(2**j/scale)).
   Above the 2**J digits that matter, G // 2**J is geometric again, and almost always 0.
2. With a sign that is 1 with probability 1/(1+exp(1/scale)), "G if the sign is 0, else ~G" is discrete Laplace
   exactly. No sample is ever rejected, and ~G is what two's complement does by itself.

So a sample is a fixed number of independent coins, and the time to draw it does not depend on its value.

**Truncated Laplace** is Laplace noise that never leaves [-bound, bound]. Samples outside are drawn again, which is
exact: a sample, given that it lies inside, has this distribution. How many are drawn depends on the noise alone.

**Gaussian**: P[X = x] proportional to exp(-x**2 / (2 * variance)). A discrete Laplace candidate Y of scale t is kept
with probability exp(-g), g = (|Y| - variance/t)**2 / (2 * variance), as Canonne, Kamath and Steinke do;
`exact_coins.survive` tosses that coin exactly.
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
from hetdp.noise.exact_coins import (
    CHUNK_WORDS,
    TAIL_BITS,
    Coins,
    Probability,
    bernoulli,
    exponential,
    kernel,
    lane_position,
    logistic,
    survive,
    toss,
    transpose,
)

#: Beyond this, a sample would not always fit into 64 bits.
MAXIMUM_SCALE = 2**52
#: G >= 2**J happens with probability below exp(-24) and is settled one by one.
_OVERFLOW_EXPONENT = 24
_INT64_MAX = 2**63 - 1


@overload
def discrete_laplace(scale: Real, size: None = None, *, random_state: RandomState = None) -> int: ...
@overload
def discrete_laplace(
    scale: Real, size: int | tuple[int, ...], *, random_state: RandomState = None
) -> NDArray[np.int64]: ...
def discrete_laplace(
    scale: Real, size: int | tuple[int, ...] | None = None, *, random_state: RandomState = None
) -> int | NDArray[np.int64]:
    """Draw exact discrete Laplace noise: P[X = x] proportional to exp(-abs(x) / scale).

    Parameters
    ----------
    scale
        Positive, at most 2**52; a `fractions.Fraction` is taken exactly, a float for the binary fraction it is.
    size
        Number of samples or a shape; None for one plain int.
    random_state
        None draws from the secure stream; a whole number seeds a simulation.

    Returns
    -------
    int or array of int64
        Saturated at the ends of int64, which happens with probability below exp(-1500).

    Privacy
    -------
    Adding it to an integer that one item can change by at most k is (k / scale)-differentially private, exactly:
    there is no rounding and no floating-point inverse CDF (docs/proofs/noise.md).

    Examples
    --------
    >>> discrete_laplace(scale=10, size=5, random_state=1).dtype
    dtype('int64')
    >>> noise = discrete_laplace(scale=1000, size=100_000, random_state=1)
    >>> round(float(abs(noise).mean()))
    1004
    """
    exact = fraction("scale", scale)
    if exact > MAXIMUM_SCALE:
        raise InvalidInput("must be at most 2**52", parameter="scale", got=scale)
    stream = as_stream(random_state)
    if size is None:
        return int(laplace_integers(exact, 1, stream)[0])
    shape = tuple(whole("size", part, minimum=0) for part in (size if isinstance(size, tuple) else (size,)))
    return laplace_integers(exact, math.prod(shape), stream).reshape(shape)


def laplace_integers(scale: Fraction, count: int, stream: Stream) -> NDArray[np.int64]:
    """Draw `count` exact samples from the given stream (the core of `discrete_laplace`)."""
    if not 0 < scale <= MAXIMUM_SCALE:  # beyond it the kernels would run out of digits
        raise InvalidInput("the scale of the noise must be above 0 and at most 2**52 steps", got=float(scale))
    design = _laplace_design(scale)
    out = np.empty(count, dtype=np.int64)
    for begin in range(0, count, 64 * CHUNK_WORDS):
        part = out[begin : begin + 64 * CHUNK_WORDS]
        part[:] = _laplace_chunk(design, -(-part.size // 64), stream)[: part.size]
    return out


@dataclass(frozen=True)
class _LaplaceDesign:
    """The coins of one scale: `digits` coins for G, then the sign, then the overflow G >= 2**digits."""

    digits: int
    width: int
    coins: Coins
    overflow: Probability


@lru_cache(maxsize=256)
def _laplace_design(
    scale: Fraction, overflow_exponent: int = _OVERFLOW_EXPONENT, tail_bits: int = TAIL_BITS
) -> _LaplaceDesign:
    digits = 0
    while 2**digits < overflow_exponent * scale:
        digits += 1
    overflow = exponential(2**digits / scale)
    coins = [logistic(2**digit / scale) for digit in range(digits)]
    coins += [logistic(1 / scale), overflow]
    width = max(8, 1 << digits.bit_length())  # at least digits + 1, so that the top row carries the sign
    return _LaplaceDesign(digits, width, Coins.of(coins, tail_bits=tail_bits), overflow)


def _laplace_chunk(design: _LaplaceDesign, words: int, stream: Stream) -> NDArray[np.int64]:
    bits = toss(design.coins, words, stream)
    sign, overflow = bits[design.digits], bits[design.digits + 1]
    rows = np.empty((design.width, words), dtype=np.uint64)
    rows[: design.digits] = bits[: design.digits] ^ sign
    rows[design.digits :] = sign
    out = np.empty(64 * words, dtype=np.int64)
    kernel(transpose, words)(rows, out)
    if overflow.any():
        _add_overflow(design, overflow, out, stream)
    return out


def _add_overflow(design: _LaplaceDesign, overflow: NDArray[np.uint64], out: NDArray[np.int64], stream: Stream) -> None:
    """Add 2**digits * (1 + geometric) to the magnitude of the marked lanes."""
    words = overflow.size
    for word in range(words):
        for lane in range(64):
            if not int(overflow[word]) >> lane & 1:
                continue
            multiple = 1
            while bernoulli(design.overflow, stream):
                multiple += 1
            position = lane_position(lane, word, design.width, words)
            small = int(out[position])
            large = small + (multiple << design.digits) * (-1 if small < 0 else 1)
            out[position] = max(-_INT64_MAX - 1, min(_INT64_MAX, large))


def truncated_laplace_integers(scale: Fraction, bound: int, count: int, stream: Stream) -> NDArray[np.int64]:
    """Draw `count` exact samples of discrete Laplace noise, given that it lies in [-bound, bound].

    Parameters
    ----------
    scale
        Positive, at most 2**52. A bound far below it is slow: about scale / bound samples are drawn for each.
    bound
        At least 0, below 2**63.
    count
        How many.
    stream
        Where the random words come from.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> noise = truncated_laplace_integers(Fraction(10), 15, 1000, seeded_stream(1))
    >>> int(noise.min()), int(noise.max())
    (-15, 15)
    """
    if whole("bound", bound, minimum=0) >= _INT64_MAX:  # where samples saturate
        raise InvalidInput("must be below 2**63 - 1", parameter="bound", got=bound)
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        drawn = laplace_integers(scale, count - filled, stream)
        inside = drawn[(drawn >= -bound) & (drawn <= bound)]
        out[filled : filled + inside.size] = inside
        filled += inside.size
    return out


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
    design = _gaussian_design(variance)
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
def _gaussian_design(variance: Fraction) -> _GaussianDesign:
    return _GaussianDesign(variance, Fraction(math.isqrt(variance.numerator // variance.denominator) + 1))


def _keep(design: _GaussianDesign, candidates: NDArray[np.int64], stream: Stream) -> NDArray[np.bool_]:
    distance = np.abs(candidates) - float(design.peak)
    rough = distance * distance * design.steepness
    return survive(rough, lambda lane: design.exponent(int(candidates[lane])), stream)
