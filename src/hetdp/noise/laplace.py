"""The exact discrete Laplace distribution: P[X = x] proportional to exp(-|x| / scale), for any rational scale.

Two facts make it fast, both proved in docs/proofs/noise.md.

1. The binary digits of a geometric variable G are independent: digit j is 1 with probability 1/(1+exp(2**j/scale)).
   Above the 2**J digits that matter, G // 2**J is geometric again, and almost always 0.
2. With a sign that is 1 with probability 1/(1+exp(1/scale)), "G if the sign is 0, else ~G" is discrete Laplace
   exactly. No sample is ever rejected, and ~G is what two's complement does by itself.

So a sample is a fixed number of independent coins, and the time to draw it does not depend on its value.
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
from hetdp.noise.coins import (
    CHUNK_WORDS,
    TAIL_BITS,
    Coins,
    Probability,
    bernoulli,
    exponential,
    kernel,
    lane_position,
    logistic,
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
    design = _design(scale)
    out = np.empty(count, dtype=np.int64)
    for begin in range(0, count, 64 * CHUNK_WORDS):
        part = out[begin : begin + 64 * CHUNK_WORDS]
        part[:] = _chunk(design, -(-part.size // 64), stream)[: part.size]
    return out


@dataclass(frozen=True)
class _LaplaceDesign:
    """The coins of one scale: `digits` coins for G, then the sign, then the overflow G >= 2**digits."""

    digits: int
    width: int
    coins: Coins
    overflow: Probability


@lru_cache(maxsize=256)
def _design(scale: Fraction, overflow_exponent: int = _OVERFLOW_EXPONENT, tail_bits: int = TAIL_BITS) -> _LaplaceDesign:
    digits = 0
    while 2**digits < overflow_exponent * scale:
        digits += 1
    overflow = exponential(2**digits / scale)
    coins = [logistic(2**digit / scale) for digit in range(digits)]
    coins += [logistic(1 / scale), overflow]
    width = max(8, 1 << digits.bit_length())  # at least digits + 1, so that the top row carries the sign
    return _LaplaceDesign(digits, width, Coins.of(coins, tail_bits=tail_bits), overflow)


def _chunk(design: _LaplaceDesign, words: int, stream: Stream) -> NDArray[np.int64]:
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
