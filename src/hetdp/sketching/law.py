"""The law of a sketch: with which probability a bit is 1, and what a bit tells.

The bit of an absent item is 1 with probability q = 1 / (1 + exp(epsilon)), that of an item of weight v with probability
p(v) = q exp(epsilon v). So p(0) = q and p(1) = 1 - q. Weights are counted in steps of 1/255 (`profiles.coded`).

Bits are drawn exactly, in one of two ways. For one profile, `coins` gives p(v) of every weight, digit by digit. For
many profiles at once, compiled loops compare random digits with those of `sketch_tables`: a bit that is 1 with
probability q for everybody may be set by a second coin of probability r(v) = exp(-epsilon (1 - v)) - exp(-epsilon), and
q + (1 - q) r(v) = p(v). Digits end somewhere; q is rounded up and r down, and with these directions the promise holds
without any slack (docs/proofs/sketch_engine.md).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.noise.coins import Probability, binary_digits, exponential, logistic
from hetdp.noise.tables import BITS, as_words
from hetdp.profiles.coded import WEIGHT_STEPS

__all__ = [
    "GROUP_WORDS",
    "ROUNDS",
    "SketchTables",
    "chance_of_one",
    "coins",
    "contrast",
    "exact_chance_of_one",
    "most_odds_factor",
    "odds_factor",
    "sketch_tables",
]

#: Digits of q compared for 64 users at once; one coin in 256 needs the next 128, and gets them for itself.
ROUNDS = 8
#: Words of 64 users whose random digits come together; columns are made in multiples of it.
GROUP_WORDS = 8
#: Beyond it, exp overflows.
_LARGEST_EXPONENT = 700.0


def chance_of_one(epsilon: Fraction | float, weight: float = 0.0) -> float:
    """Return p(weight) as a float, for estimates; bits are drawn with the exact probability."""
    level = float(epsilon)
    return math.exp(-level * (1.0 - weight)) / (1.0 + math.exp(-level))


def contrast(epsilon: Fraction | float) -> float:
    """Return how much more likely a bit is 1 for an item of weight 1 than for an absent one: p(1) - q = 1 - 2q."""
    return math.tanh(float(epsilon) / 2.0)


def exact_chance_of_one(epsilon: Fraction, weight: Fraction) -> Probability:
    """Return p(weight) = exp(-epsilon (1 - weight)) / (1 + exp(-epsilon)), to any number of digits."""
    above, below = exponential(epsilon * (1 - weight)), exponential(epsilon)

    def bounds(bits: int) -> tuple[int, int]:
        (low, high), (least, most) = above(bits + 4), below(bits + 4)
        one = 1 << (bits + 4)
        return (low << bits) // (one + most), -(-(high << bits) // (one + least))

    return lru_cache(maxsize=4)(bounds)  # the first digits are asked for with every sketch, later ones almost never


@lru_cache(maxsize=8)
def coins(epsilon: Fraction) -> tuple[Probability, ...]:
    """Return p(code / 255) for every code. All of them, whatever the profile: the work must not tell which it needs."""
    return tuple(exact_chance_of_one(epsilon, Fraction(code, WEIGHT_STEPS)) for code in range(WEIGHT_STEPS + 1))


class SketchTables(NamedTuple):
    """What the kernels compare random digits with: arrays only."""

    #: The first `ROUNDS` digits of q, each spread over a word: all ones or all zeros.
    head: NDArray[np.uint64]
    #: The next 128 digits of q, two words; rounded up.
    tail: NDArray[np.uint64]
    #: `extra[c]` holds 128 digits of r(c / 255), two words; rounded down.
    extra: NDArray[np.uint64]


@lru_cache(maxsize=64)
def sketch_tables(epsilon: Fraction) -> SketchTables:
    """Return the tables for a level, computed in integers.

    Bits have their probability to within 2**-127, and the likelihood ratios never exceed exp(epsilon v): rounding is
    directed.
    """
    base = binary_digits(logistic(epsilon), ROUNDS + BITS) + 1  # q is irrational: one more is its ceiling
    head, tail = base >> BITS, base & ((1 << BITS) - 1)
    digits = [head >> (ROUNDS - 1 - place) & 1 for place in range(ROUNDS)]
    second_coins = [binary_digits(_second_coin(epsilon, code), BITS) for code in range(1, WEIGHT_STEPS + 1)]
    tables = SketchTables(
        head=np.array([(2**64 - 1) * digit for digit in digits], dtype=np.uint64),
        tail=as_words([tail])[0],
        extra=as_words([0, *second_coins]),
    )
    for array in tables:
        array.flags.writeable = False
    return tables


def _second_coin(epsilon: Fraction, code: int) -> Probability:
    """Return r = exp(-epsilon (1 - code / 255)) - exp(-epsilon)."""
    near, far = exponential(epsilon * (WEIGHT_STEPS - code) / WEIGHT_STEPS), exponential(epsilon)

    def bounds(bits: int) -> tuple[int, int]:
        (low, high), (least, most) = near(bits), far(bits)
        return max(low - most, 0), high - least

    return bounds


def odds_factor(epsilon: Fraction, weight: float, bit: bool) -> float:  # noqa: FBT001  (a bit of a sketch is a value)
    """Return by how much one published bit multiplies anybody's odds that the item is there with this weight.

    Never above exp(epsilon v), never below its inverse; 1 for weight 0. Epochs are independent, so factors multiply.
    """
    absent, present = chance_of_one(epsilon), chance_of_one(epsilon, weight)
    return present / absent if bit else (1.0 - present) / (1.0 - absent)


def most_odds_factor(epsilon: Fraction, weight: float, epochs: int = 1) -> float:
    """Return the most that so many sketches can multiply the odds by: exp(epochs epsilon v), the promise itself."""
    return math.exp(min(_LARGEST_EXPONENT, epochs * float(epsilon) * weight))
