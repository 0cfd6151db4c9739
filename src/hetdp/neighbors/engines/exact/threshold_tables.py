"""Which of many candidates draw more noise than a threshold? Exact tables that answer without drawing the rest.

X is discrete Laplace, r(m) = P[X >= m] = p**m / (1 + p) with p = exp(-1 / scale) and m >= 1. Of B candidates with
independent noise, Binomial(B, r(m)) reach m; which ones is uniformly random, and by how much each exceeds m is
geometric.
The thresholds are a ladder of levels m_h; whoever needs m uses the highest level not above it and checks the outcome.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.noise.coins import binary_digits, exponential
from hetdp.noise.tables import BITS, PRECISION, as_words

__all__ = ["LARGEST_COUNT", "ThresholdTables", "threshold_tables"]

#: More than this many of a block reach its level with probability below 2**-128 (the mean is at most 1).
LARGEST_COUNT = 40
#: Levels per halving of the probability.
_LEVELS_PER_OCTAVE = 4
#: The highest level is reached with a probability of 2**-64; candidates in need of more use it and mostly fail.
_OCTAVES = 64
#: Blocks of this many bits at most: positions within a block are the low bits of a word.
_LARGEST_BLOCK_BITS = 16


class ThresholdTables(NamedTuple):
    """The ladder of levels, as arrays that compiled code takes as they are.

    Attributes
    ----------
    ladder
        The lowest level (an int) and the distance between levels.
    coins
        P[X >= level], two words per level.
    block_bits
        Candidates in a block of each level, as a power of two; about one of them is expected to reach it.
    high, low
        The two words of P[at most c of the block reach the level].
    """

    ladder: NDArray[np.int64]
    coins: NDArray[np.uint64]
    block_bits: NDArray[np.int64]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]


@lru_cache(maxsize=64)
def threshold_tables(scale: Fraction) -> ThresholdTables:
    """Return the tables for a scale in grid steps.

    Privacy
    -------
    Exact to 2**-120, in integer arithmetic, as `noise.tables`.

    Examples
    --------
    >>> tables = threshold_tables(Fraction(255))
    >>> tables.ladder.tolist(), tables.block_bits[:3].tolist()
    ([177, 44], [1, 2, 2])
    """
    octave = float(scale) * np.log(2.0)
    # At the lowest level at most a quarter of the candidates pass; below it, noise is simply drawn.
    lowest, distance = max(1, int(np.ceil(octave))), max(1, int(octave / _LEVELS_PER_OCTAVE))
    levels = range(lowest, lowest + max(1, int(_OCTAVES * octave)) + distance, distance)
    ratio = binary_digits(exponential(1 / scale), PRECISION)
    one = 1 << PRECISION
    first = binary_digits(exponential(lowest / scale), PRECISION)
    climb = binary_digits(exponential(distance / scale), PRECISION)
    coins, bits, counts = [], [], []
    for _ in levels:
        reached = (first << PRECISION) // (one + ratio)
        first = first * climb >> PRECISION
        # The largest block in which about one candidate passes.
        wanted = max(1, one // (reached + 1)).bit_length() - 1
        bits.append(min(_LARGEST_BLOCK_BITS, wanted))
        coins.append(reached >> (PRECISION - BITS))
        counts.append(as_words(_binomial(reached, bits[-1])))
    table = np.array(counts)
    return ThresholdTables(
        np.array([lowest, distance]),
        as_words(coins),
        np.array(bits),
        np.ascontiguousarray(table[..., 0]),
        np.ascontiguousarray(table[..., 1]),
    )


def _binomial(success: int, bits: int) -> list[int]:
    """Return P[count <= c] for c = 0 ... LARGEST_COUNT, of 2**bits trials, as numbers below 2**128."""
    failure = (1 << PRECISION) - success
    mass = failure
    for _ in range(bits):
        mass = mass * mass >> PRECISION
    total, cumulated = 0, []
    for count in range(LARGEST_COUNT):
        total += mass
        cumulated.append(total >> (PRECISION - BITS))
        mass = mass * max(0, (1 << bits) - count) * success // (failure * (count + 1))
    return [*cumulated, 1 << BITS]
