"""The probabilities of a sketch, as binary digits that compiled loops compare with random ones.

A bit of an absent item is 1 with probability q = 1 / (1 + exp(epsilon)). For an item of weight v, a second coin with
probability r(v) = exp(-epsilon (1 - v)) - exp(-epsilon) may set the bit too, and q + (1 - q) r(v) = q exp(epsilon v) is
what it should be. Digits end somewhere; q is rounded up and r down, and with these directions the promise of the sketch
holds without any slack (docs/proofs/sketch_engine.md).
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.noise.coins import Probability, binary_digits, exponential, logistic
from hetdp.noise.tables import BITS, as_words
from hetdp.profiles.weights import WEIGHT_STEPS

__all__ = ["GROUP_WORDS", "ROUNDS", "SketchTables", "sketch_tables"]

#: Digits of q compared for 64 users at once; one coin in 256 needs the next 128, and gets them for itself.
ROUNDS = 8
#: Words of 64 users whose random digits come together; columns are made in multiples of it.
GROUP_WORDS = 8


class SketchTables(NamedTuple):
    """What the kernels compare random digits with: arrays only.

    Attributes
    ----------
    head
        The first `ROUNDS` digits of q, each spread over a word: all ones or all zeros.
    tail
        The next 128 digits of q, two words; rounded up.
    extra
        `extra[c]` holds 128 digits of r(c / 255), two words; rounded down.
    """

    head: NDArray[np.uint64]
    tail: NDArray[np.uint64]
    extra: NDArray[np.uint64]


@lru_cache(maxsize=64)
def sketch_tables(epsilon: Fraction) -> SketchTables:
    """Return the tables for a level.

    Privacy
    -------
    Bits have their probability to within 2**-128, and the likelihood ratios never exceed exp(epsilon v): rounding is
    directed. Nothing is computed in floating point.

    Examples
    --------
    >>> tables = sketch_tables(Fraction(3))  # q = 0.0474 = 0.00001100... in binary
    >>> "".join(str(int(word) & 1) for word in tables.head), tables.extra.shape
    ('00001100', (256, 2))
    """
    base = binary_digits(logistic(epsilon), ROUNDS + BITS) + 1  # q is irrational: one more is its ceiling
    head, tail = base >> BITS, base & ((1 << BITS) - 1)
    digits = [head >> (ROUNDS - 1 - place) & 1 for place in range(ROUNDS)]
    tables = SketchTables(
        head=np.array([(2**64 - 1) * digit for digit in digits], dtype=np.uint64),
        tail=as_words([tail])[0],
        extra=as_words([0] + [binary_digits(_extra(epsilon, code), BITS) for code in range(1, WEIGHT_STEPS + 1)]),
    )
    for array in tables:
        array.flags.writeable = False
    return tables


def _extra(epsilon: Fraction, code: int) -> Probability:
    """Return exp(-epsilon (1 - code / 255)) - exp(-epsilon)."""
    near, far = exponential(epsilon * (WEIGHT_STEPS - code) / WEIGHT_STEPS), exponential(epsilon)

    def bounds(bits: int) -> tuple[int, int]:
        (low, high), (least, most) = near(bits), far(bits)
        return max(low - most, 0), high - least

    return bounds
