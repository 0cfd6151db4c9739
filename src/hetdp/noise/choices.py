"""Exact coins for many lanes, each with a probability of its own kind, and exact uniform choices."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.noise.probability import Probability, bernoulli, binary_digits

__all__ = ["choose_one", "toss_kinds", "weight_kinds"]

_WORD_BITS = 64
_MOST_KINDS = 4096


def weight_kinds(weights: NDArray[np.float64]) -> tuple[list[Fraction], NDArray[np.intp]]:
    """Return the different weights and which of them each item has.

    Each kind costs an exact probability, so with more than 4096 items weights are rounded down to multiples of 1/4096:
    an item then counts for a little less than it might, never for more. The public number of items decides; the number
    of different weights would let one secret weight change the coins of all others.
    """
    if weights.size > _MOST_KINDS:
        weights = np.floor(weights * _MOST_KINDS) / _MOST_KINDS
    kinds, which = np.unique(weights, return_inverse=True)
    return [Fraction(float(kind)) for kind in kinds], which


def toss_kinds(kinds: Sequence[Probability], which: NDArray[np.intp], stream: Stream) -> NDArray[np.bool_]:
    """Toss one coin per lane; lane i has the probability `kinds[which[i]]`.

    A random word is compared with the first 64 digits of the probability; where all agree, exact arithmetic goes on.
    """
    digits = [binary_digits(kind, _WORD_BITS) for kind in kinds]
    certain = np.array([digit >> _WORD_BITS for digit in digits], dtype=np.bool_)
    thresholds = np.array([digit & (2**_WORD_BITS - 1) for digit in digits], dtype=np.uint64)[which]
    words = stream.words(which.size)
    outcome: NDArray[np.bool_] = (words < thresholds) | certain[which]
    for lane in np.flatnonzero((words == thresholds) & ~certain[which]):
        outcome[lane] = bernoulli(kinds[which[lane]], stream, skip_bits=_WORD_BITS)
    return outcome


def choose_one(eligible: NDArray[np.bool_], stream: Stream) -> int:
    """Return a uniformly random position among the eligible ones.

    Every position draws a priority, eligible or not, so that the number of random words tells nothing; the largest
    eligible priority wins. A tie for the largest, of probability below 2**-64 times a square, is drawn again.
    """
    while True:
        priorities = stream.words(eligible.size)
        candidates = priorities[eligible]
        winners = np.flatnonzero(eligible & (priorities == candidates.max()))
        if winners.size == 1:
            return int(winners[0])
