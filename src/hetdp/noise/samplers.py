"""Exact noise on the integers: discrete Laplace, the same truncated, and discrete Gaussian, for any rational scale.

**Laplace**: P[X = x] proportional to exp(-|x| / scale). Two facts make it fast, both proved in docs/proofs/noise.md.

1. The binary digits of a geometric variable G are independent: digit j is 1 with probability 1/(1+exp(2**j/scale)).
   Above the 2**J digits that matter, G // 2**J is geometric again, and almost always 0.
2. With a sign that is 1 with probability 1/(1+exp(1/scale)), "G if the sign is 0, else ~G" is discrete Laplace
   exactly. No sample is ever rejected, and ~G is what two's complement does by itself.

So a sample is a fixed number of independent coins, and the time to draw it does not depend on its value.

**Truncated Laplace** never leaves [-bound, bound]: samples outside are drawn again, which is exact. How many are drawn
depends on the noise alone.

**Gaussian**: P[X = x] proportional to exp(-x**2 / (2 * variance)). Magnitudes are cut into blocks of 2**m numbers. One
random word chooses a block from a table; a second one chooses a number of the block and accepts or rejects it, so that
the density comes out exactly. Floats decide where their error cannot matter, and exact arithmetic elsewhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.exact_coins import (
    CHUNK_WORDS,
    TAIL_BITS,
    Coins,
    bernoulli,
    exponential,
    finish,
    kernel,
    lane_position,
    logistic,
    marked_lanes,
    ratio,
    times,
    toss,
    transpose,
)

Integers = NDArray[np.int64]
#: A number of samples, or the shape of an array of them.
Shape = int | tuple[int, ...]

#: Beyond this, a sample would not always fit into 64 bits.
MAXIMUM_SCALE = 2**52
_INT64_MAX = 2**63 - 1

#: Laplace: G >= 2**J happens with probability below exp(-24) and is settled one by one.
_OVERFLOW_EXPONENT = 24

#: Gaussian: blocks per standard deviation, at least. More of them mean fewer rejections and a longer table.
_BLOCKS = 8
#: The table ends where the density is below exp(-44) < 2**-63 of its peak; what is beyond is settled one by one.
_REACH = 44
#: Densities have this number of bits, and are off by less than _SLACK in the last place.
_PRECISION = 192
_SLACK = 2**18
#: Of a random word, 8 bits choose a cell of the table, 1 bit the sign, and 55 bits one of the cell's two blocks.
_CELLS = 256
_SHARE_BITS = 55
#: Acceptance probabilities in floats are off by less than this (docs/proofs/noise.md).
_FLOAT_ERROR = 2.0**-32
_REJECTED, _ACCEPTED, _UNDECIDED = 0, 1, 2


# --- Laplace ----------------------------------------------------------------------------------------------------------


@overload
def discrete_laplace(scale: Real, size: None = None, *, random_state: RandomState = None) -> int: ...
@overload
def discrete_laplace(scale: Real, size: Shape, *, random_state: RandomState = None) -> Integers: ...
def discrete_laplace(scale: Real, size: Shape | None = None, *, random_state: RandomState = None) -> int | Integers:
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
    >>> noise = discrete_laplace(scale=1000, size=100_000, random_state=1)
    >>> noise.dtype, round(float(abs(noise).mean()))
    (dtype('int64'), 1003)
    """
    exact = fraction("scale", scale)
    if exact > MAXIMUM_SCALE:
        raise InvalidInput("must be at most 2**52", parameter="scale", got=scale)
    return _shaped(partial(laplace_integers, exact), size, as_stream(random_state))


def laplace_integers(scale: Fraction, count: int, stream: Stream) -> Integers:
    """Draw `count` exact samples from the given stream (the core of `discrete_laplace`)."""
    if not 0 < scale <= MAXIMUM_SCALE:  # beyond it the kernels would run out of digits
        raise InvalidInput("the scale of the noise must be above 0 and at most 2**52 steps", got=float(scale))
    coins = _laplace_design(scale)
    out = np.empty(64 * -(-count // 64), dtype=np.int64)
    for begin in range(0, count, 64 * CHUNK_WORDS):
        _fill_with_laplace(coins, stream, out[begin : begin + 64 * CHUNK_WORDS])
    return out[:count]


@lru_cache(maxsize=256)
def _laplace_design(scale: Fraction, overflow_exponent: int = _OVERFLOW_EXPONENT, tail_bits: int = TAIL_BITS) -> Coins:
    """Return the coins of one scale: one for each digit of G, then the sign, then the overflow G >= 2**digits."""
    digits = 0
    while 2**digits < overflow_exponent * scale:
        digits += 1
    coins = [logistic(2**digit / scale) for digit in range(digits)]
    return Coins.of([*coins, logistic(1 / scale), exponential(2**digits / scale)], tail_bits=tail_bits)


def _fill_with_laplace(coins: Coins, stream: Stream, out: Integers) -> None:
    words = out.size // 64
    bits = toss(coins, words, stream)
    digits, sign, overflow = bits[:-2], bits[-2], bits[-1]
    width = max(8, 1 << len(digits).bit_length())  # more rows than digits, so that the top row carries the sign
    rows = np.empty((width, words), dtype=np.uint64)
    np.bitwise_xor(digits, sign, out=rows[: len(digits)])
    rows[len(digits) :] = sign
    kernel(transpose, words)(rows, out)
    if overflow.any():
        _add_overflow(coins, width, overflow, out, stream)


def _add_overflow(coins: Coins, width: int, overflow: NDArray[np.uint64], out: Integers, stream: Stream) -> None:
    """Add 2**digits * (1 + geometric) to the magnitude of the marked lanes."""
    digits = len(coins.probabilities) - 2
    for word, lane in marked_lanes(overflow):
        multiple = 1
        while bernoulli(coins.probabilities[-1], stream):
            multiple += 1
        position = lane_position(lane, word, width, overflow.size)
        small = int(out[position])
        out[position] = _saturated(small + (multiple << digits) * (-1 if small < 0 else 1))


def truncated_laplace_integers(scale: Fraction, bound: int, count: int, stream: Stream) -> Integers:
    """Draw `count` exact samples of discrete Laplace noise, given that it lies in [-bound, bound].

    A bound far below the scale is slow: about scale / bound samples are drawn for each.
    """
    if whole("bound", bound, minimum=0) >= _INT64_MAX:  # where samples saturate
        raise InvalidInput("must be below 2**63 - 1", parameter="bound", got=bound)

    def inside(wanted: int) -> Integers:
        drawn = laplace_integers(scale, wanted, stream)
        return drawn[(drawn >= -bound) & (drawn <= bound)]

    return _filled(count, inside)


def _filled(count: int, draw: Callable[[int], Integers]) -> Integers:
    """Return `count` samples; `draw` is told how many are missing, and may return fewer or more."""
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        drawn = draw(count - filled)[: count - filled]
        out[filled : filled + drawn.size] = drawn
        filled += drawn.size
    return out


# --- Gaussian ---------------------------------------------------------------------------------------------------------


@overload
def discrete_gaussian(sigma: Real, size: None = None, *, random_state: RandomState = None) -> int: ...
@overload
def discrete_gaussian(sigma: Real, size: Shape, *, random_state: RandomState = None) -> Integers: ...
def discrete_gaussian(sigma: Real, size: Shape | None = None, *, random_state: RandomState = None) -> int | Integers:
    """Draw exact discrete Gaussian noise: P[X = x] proportional to exp(-x**2 / (2 * sigma**2)).

    Parameters
    ----------
    sigma
        Positive, below 2**52; taken exactly.
    size, random_state
        As for `discrete_laplace`.

    Privacy
    -------
    Adding it to an integer that one item can change by at most k is (k**2 / (2 * sigma**2))-zCDP, exactly.

    Examples
    --------
    >>> noise = discrete_gaussian(sigma=1000, size=100_000, random_state=1)
    >>> noise.dtype, round(float(noise.std()))
    (dtype('int64'), 1000)
    """
    exact = fraction("sigma", sigma)
    if exact >= MAXIMUM_SCALE:
        raise InvalidInput("must be below 2**52", parameter="sigma", got=sigma)
    return _shaped(partial(gaussian_integers, exact**2), size, as_stream(random_state))


def _shaped(draw: Callable[[int, Stream], Integers], size: Shape | None, stream: Stream) -> int | Integers:
    if size is None:
        return int(draw(1, stream)[0])
    shape = tuple(whole("size", part, minimum=0) for part in (size if isinstance(size, tuple) else (size,)))
    return draw(math.prod(shape), stream).reshape(shape)


def gaussian_integers(variance: Fraction, count: int, stream: Stream) -> Integers:
    """Draw `count` exact samples of the given rational variance (the core of `discrete_gaussian`)."""
    if not 0 < variance < MAXIMUM_SCALE**2:
        raise InvalidInput("the standard deviation of the noise must be above 0 and below 2**52 steps")
    design = _gaussian_design(variance)
    # At least 95 % of the candidates are accepted, or about half of them where nearly all noise is 0.
    return _filled(count, lambda left: _gaussian_batch(design, 4 + 17 * min(left, 32 * CHUNK_WORDS) // 16, stream))


class _Table(NamedTuple):
    """What `propose` needs, so that compiled code takes it as it is."""

    #: Block j holds the magnitudes x with x >> low_bits == j; the last entry stands for all blocks from there on.
    low_bits: int
    #: How many bits of a word are left out of V, the uniform number that is compared with probabilities.
    head_shift: int
    #: Of the 2**55 words of a cell, the first `shares[cell]` mean the block `cell`, the rest the block `others[cell]`.
    shares: NDArray[np.uint64]
    others: Integers
    #: The acceptance probability at the lower end of each block; nan for the last entry, so that floats decide nothing.
    ratios: NDArray[np.float64]
    #: 1 / (2 * variance), cut off where blocks hold a single magnitude and it has no influence.
    steepness: float
    #: Floats decide where V and the probability are at least so far apart.
    doubt: float


@dataclass(frozen=True)
class _GaussianDesign:
    """The table of one variance, and what exact decisions need.

    A magnitude x of block j is accepted with probability peak * exp(-x**2 / (2 * variance)) / weights[j].
    """

    variance: Fraction
    peak: int
    weights: tuple[int, ...]
    table: _Table


@lru_cache(maxsize=256)
def _gaussian_design(
    variance: Fraction,
    *,
    blocks: int = _BLOCKS,
    reach: int = _REACH,
    table_bits: int = 63,
    float_error: float = _FLOAT_ERROR,
) -> _GaussianDesign:
    """Build the table of one variance, in integers. Tests make it coarse, to corner the tail and the slow paths."""
    low_bits = 0
    while variance >= (2 * blocks << low_bits) ** 2:
        low_bits += 1
    slope = Fraction(4**low_bits) / (2 * variance)  # the density at the lower end of block j is exp(-slope * j**2)
    # From `last` on, the density is small enough, and at least halves from block to block: 7/10 > ln 2.
    last = max(math.isqrt(math.floor(reach / slope)) + 1, math.ceil((Fraction(7, 10) / slope - 1) / 2))
    densities = _densities(slope, last + 1)
    densities[last] *= 2
    # Every weight is rounded up, by one unit at most; the first block takes what is left.
    unit = 1 << (63 - table_bits)
    limits = [density + 2 * _SLACK for density in densities]
    peak = (((1 << table_bits) - last - 1) << _PRECISION) // sum(limits) * unit
    weights = [((peak * limit >> _PRECISION) // unit + 1) * unit for limit in limits]
    weights[0] += (1 << 63) - sum(weights)
    ratios = [peak * density / (weight << _PRECISION) for density, weight in zip(densities, weights, strict=True)]
    ratios[last] = math.nan
    shares, others = _alias_table(weights)
    head_shift = max(low_bits, 11)  # 53 bits at most: a float holds them exactly
    doubt = float_error + 2.0 ** (head_shift - 64)
    steepness = float(min(1 / (2 * variance), Fraction(1)))
    table = _Table(low_bits, head_shift, shares, others, np.array(ratios), steepness, doubt)
    return _GaussianDesign(variance, peak, tuple(weights), table)


def _densities(slope: Fraction, count: int) -> list[int]:
    """Return 2**_PRECISION * exp(-slope * j**2) for j = 0 ... count - 1, each too small by less than _SLACK."""
    step, change = (exponential(exponent)(_PRECISION)[0] for exponent in (slope, 2 * slope))
    densities = [1 << _PRECISION]
    for _ in range(count - 1):
        densities.append(densities[-1] * step >> _PRECISION)
        step = step * change >> _PRECISION
    return densities


def _alias_table(weights: list[int]) -> tuple[NDArray[np.uint64], Integers]:
    """Spread weights over cells of equal size, at most two to a cell (Walker's alias method, in integers)."""
    size = 1 << _SHARE_BITS
    left = weights + [0] * (_CELLS - len(weights))
    others = list(range(_CELLS))
    small = [cell for cell in others if left[cell] < size]
    large = [cell for cell in others if left[cell] > size]
    while small:
        cell, other = small.pop(), large[-1]
        others[cell] = other
        left[other] -= size - left[cell]
        if left[other] <= size:
            large.pop()
        if left[other] < size:
            small.append(other)
    return np.array(left, dtype=np.uint64), np.array(others, dtype=np.int64)


def propose(table: _Table, words: NDArray[np.uint64], out: Integers, verdicts: NDArray[np.int8]) -> None:
    """Kernel: turn pairs of words into candidates; accept or reject those for which floats are certain."""
    share_mask = np.uint64((1 << _SHARE_BITS) - 1)
    sign_bit = np.uint64(1 << _SHARE_BITS)
    low_mask = np.uint64((1 << table.low_bits) - 1)
    head_shift = np.uint64(table.head_shift)
    head_unit = 2.0 ** (table.head_shift - 64)
    eighth = table.steepness / 8
    # Conditional expressions, because a branch that nobody can predict takes longer than both of its sides.
    for lane in range(out.size):
        choice, detail = words[2 * lane], words[2 * lane + 1]
        cell = np.int64(choice >> np.uint64(_SHARE_BITS + 1))
        other = table.others[cell]
        block = cell if (choice & share_mask) < table.shares[cell] else other
        low = np.int64(detail & low_mask)
        start = block << np.int64(table.low_bits)
        magnitude = start + low
        negative = (choice & sign_bit) == sign_bit
        out[lane] = -magnitude if negative else magnitude

        # exp(-8 * x) is Taylor's series of exp(-x), squared three times.
        x = float(low) * float(magnitude + start) * eighth
        power = 1 - x * (1 - x * (1 / 2 - x * (1 / 6 - x * (1 / 24 - x * (1 / 120 - x * (1 / 720 - x * (1 / 5040)))))))
        power *= power
        power *= power
        chance = table.ratios[block] * (power * power)
        head = float(np.int64(detail >> head_shift)) * head_unit
        otherwise = _REJECTED if head >= chance + table.doubt else _UNDECIDED
        verdict = _ACCEPTED if head <= chance - table.doubt else otherwise
        verdicts[lane] = _REJECTED if negative and magnitude == 0 else verdict  # 0 must not count twice


def _gaussian_batch(design: _GaussianDesign, candidates: int, stream: Stream) -> Integers:
    """Draw some candidates and return those that are accepted, in the order in which they were drawn."""
    words = stream.words(2 * candidates)
    out, verdicts = np.empty(candidates, dtype=np.int64), np.empty(candidates, dtype=np.int8)
    kernel(propose, candidates / 64)(design.table, words, out, verdicts)
    for lane in np.flatnonzero(verdicts == _UNDECIDED):
        value, verdicts[lane] = _decide(design, int(out[lane]), int(words[2 * lane + 1]), stream)
        out[lane] = _saturated(value)
    accepted: Integers = out[verdicts == _ACCEPTED]
    return accepted


def _decide(design: _GaussianDesign, value: int, detail: int, stream: Stream) -> tuple[int, bool]:
    """Decide exactly whether to accept a candidate; one in the last entry moves on by a geometric number of blocks."""
    block = abs(value) >> design.table.low_bits
    scale = Fraction(design.peak, design.weights[block])
    if block == len(design.weights) - 1:
        scale *= 2
        while int(stream.words(1)[0]) & 1:
            scale *= 2
            value += (1 if value > 0 else -1) << design.table.low_bits
    chance = times(exponential(value**2 / (2 * design.variance)), scale) if value else ratio(scale)
    shift = design.table.head_shift
    return value, finish(chance, detail >> shift, 64 - shift, stream)


def _saturated(value: int) -> int:
    return max(-_INT64_MAX - 1, min(_INT64_MAX, value))
