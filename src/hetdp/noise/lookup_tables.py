"""Exact discrete Laplace noise as tables that compiled loops use: one draw, and which of many exceed a threshold.

One draw. As in `samplers`, noise is a geometric variable and a sign, but in base 256: digit j has P[d] proportional to
exp(-d 256**j / scale), so one random word and one look into a table of 256 numbers give one digit.

Many at once. X is discrete Laplace, r(m) = P[X >= m] = p**m / (1 + p) with p = exp(-1 / scale) and m >= 1. Of B
candidates with independent noise, Binomial(B, r(m)) reach m; which ones is uniformly random, and by how much each
exceeds m is geometric. The thresholds are a ladder of levels m_h. To exceed m, a kernel uses the highest level up to m
and checks the outcome.

All tables hold floor(2**128 p) in two words, computed in integer arithmetic.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.noise.exact_coins import binary_digits, exponential, logistic

#: Digits kept of every probability. Beyond them, two words in a row would have to agree with the table.
BITS = 128
#: Digits carried while computing, so that accumulated errors stay far below the last digit kept.
_PRECISION = 320
_BASE = 256
_LARGEST_SCALE = 2**40
#: More than this many of a block reach its level with probability below 2**-128 (the mean is at most 1).
LARGEST_COUNT = 40
#: Levels per halving of the probability.
_LEVELS_PER_OCTAVE = 4
#: The highest level is reached with a probability of 2**-64; candidates in need of more use it and mostly fail.
_OCTAVES = 64
#: Blocks of this many bits at most: positions within a block are the low bits of a word.
_LARGEST_BLOCK_BITS = 16


class LaplaceTables(NamedTuple):
    """What a kernel needs to draw discrete Laplace noise: arrays only, which compiled code takes as they are."""

    sign: NDArray[np.uint64]  # P[negative], two words
    #: `high[j, d]` and `low[j, d]` are the two words of P[digit j <= d].
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    #: `guides[j, b]` is the smallest digit that a word with the first byte b can mean; the search starts there.
    guides: NDArray[np.uint8]

    @property
    def words_per_draw(self) -> int:
        """Words that a draw takes at most, with one to spare for the draw in 2**55 that ties with the table."""
        return 2 + len(self.high)


@lru_cache(maxsize=64)
def laplace_tables(scale: Fraction) -> LaplaceTables:
    """Return the tables for a scale in grid steps, computed in integers.

    A draw differs from the exact distribution by less than 2**-120 in total, as much as guessing a key of AES-256 in
    2**136 tries would help.
    """
    if not 0 < scale <= _LARGEST_SCALE:
        raise InvalidInput("the scale of the noise must be above 0 and at most 2**40", got=float(scale))
    places = 1
    while _BASE**places < BITS * scale:  # beyond it, exp(-128) < 2**-184 is left
        places += 1
    high, low = _halves([_digit_table(_BASE**place / scale) for place in range(places)])
    first_bytes = np.arange(_BASE, dtype=np.uint64) << np.uint64(56)
    guides = np.array([np.searchsorted(row, first_bytes) for row in high]).astype(np.uint8)
    tables = LaplaceTables(as_words([binary_digits(logistic(1 / scale), BITS)])[0], high, low, guides)
    for array in tables:
        array.flags.writeable = False
    return tables


def _digit_table(exponent: Fraction) -> NDArray[np.uint64]:
    """Return P[digit <= d] = (1 - r**(d+1)) / (1 - r**256), r = exp(-exponent), for d = 0 ... 255."""
    one = 1 << _PRECISION
    ratio = binary_digits(exponential(exponent), _PRECISION)
    powers = [one]
    for _ in range(_BASE):
        powers.append(powers[-1] * ratio >> _PRECISION)
    whole = one - powers[_BASE]
    return as_words([((one - power) << BITS) // whole for power in powers[1:]])


class ThresholdTables(NamedTuple):
    """The ladder of levels, as arrays that compiled code takes as they are."""

    ladder: NDArray[np.int64]  # the lowest level and the distance between levels
    coins: NDArray[np.uint64]  # P[X >= level], two words per level
    #: Candidates in a block of each level, as a power of two; about one of them is expected to reach it.
    block_bits: NDArray[np.int64]
    #: The two words of P[at most c of the block reach the level].
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]


@lru_cache(maxsize=64)
def threshold_tables(scale: Fraction) -> ThresholdTables:
    """Return the tables for a scale in grid steps; exact to 2**-120, in integer arithmetic, as `laplace_tables`."""
    octave = float(scale) * np.log(2.0)
    # At the lowest level at most a quarter of the candidates pass; below it, noise is simply drawn.
    lowest, distance = max(1, int(np.ceil(octave))), max(1, int(octave / _LEVELS_PER_OCTAVE))
    levels = range(lowest, lowest + max(1, int(_OCTAVES * octave)) + distance, distance)
    ratio = binary_digits(exponential(1 / scale), _PRECISION)
    one = 1 << _PRECISION
    first = binary_digits(exponential(lowest / scale), _PRECISION)
    climb = binary_digits(exponential(distance / scale), _PRECISION)
    coins, bits, counts = [], [], []
    for _ in levels:
        reached = (first << _PRECISION) // (one + ratio)
        first = first * climb >> _PRECISION
        # The largest block in which about one candidate passes.
        wanted = max(1, one // (reached + 1)).bit_length() - 1
        bits.append(min(_LARGEST_BLOCK_BITS, wanted))
        coins.append(reached >> (_PRECISION - BITS))
        counts.append(as_words(_binomial(reached, bits[-1])))
    return ThresholdTables(np.array([lowest, distance]), as_words(coins), np.array(bits), *_halves(counts))


def _binomial(success: int, bits: int) -> list[int]:
    """Return P[count <= c] for c = 0 ... LARGEST_COUNT, of 2**bits trials, as numbers below 2**128."""
    failure = (1 << _PRECISION) - success
    mass = failure
    for _ in range(bits):
        mass = mass * mass >> _PRECISION
    total, cumulated = 0, []
    for count in range(LARGEST_COUNT):
        total += mass
        cumulated.append(total >> (_PRECISION - BITS))
        mass = mass * max(0, (1 << bits) - count) * success // (failure * (count + 1))
    return [*cumulated, 1 << BITS]


def as_words(values: list[int]) -> NDArray[np.uint64]:
    """Return floor(2**128 p) as rows of two words, high word first; p = 1 becomes the largest number below."""
    largest = (1 << BITS) - 1
    halves = [divmod(min(value, largest), 1 << 64) for value in values]
    return np.array(halves, dtype=np.uint64).reshape(-1, 2)


def _halves(tables: list[NDArray[np.uint64]]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the high and the low words of tables of the same size, a row for each table."""
    high, low = np.array(tables).transpose(2, 0, 1).copy()
    return high, low
