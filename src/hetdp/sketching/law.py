"""The law of a sketch: with which probability a bit is 1, and what a bit tells.

The bit of an absent item is 1 with probability q, that of an item of weight v with the largest probability that keeps
both likelihood ratios within exp(epsilon v): p(v) = min(q exp(epsilon v), 1 - (1 - q) exp(-epsilon v)). So p(0) = q.
Weights are counted in steps of 1/255 (`profiles.steps`).

Which q is a public choice: q = 1 / (1 + exp(epsilon t)) for the weight t in (0, 1] that sketches are `tuned_for`. Then
p(t) = 1 - q; the first term is the smaller one up to t, the second from there on. With t = 1, as usual, weights of 1
are told best, and the others hardly; where nearly everybody chooses less, a lower t tells more of them. A lower q than
with t = 1 would be worse for every weight: its bits could be made from the others by forgetting some.

Bits are drawn exactly, in one of two ways. For one profile, `coins` gives p(v) of every weight, digit by digit. For
many profiles at once, compiled loops compare random digits with those of `sketch_tables`: a bit that is 1 with
probability q for everybody may be set by a second coin of probability r(v), so that q + (1 - q) r(v) = p(v). That is
r(v) = exp(-epsilon (t - v)) - exp(-epsilon t) up to t, and 1 - exp(-epsilon v) from there on. Digits end somewhere; q
is rounded up and r down, and with these directions the promise holds without any slack
(docs/proofs/sketch_engine.md).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.noise.exact_coins import Probability, binary_digits, complement, exponential, logistic
from hetdp.noise.lookup_tables import BITS, as_words
from hetdp.profiles.steps import WEIGHT_STEPS

#: Digits of q compared for 64 users at once; one coin in 256 needs the next 128, and gets them for itself.
ROUNDS = 8
#: Words of 64 users whose random digits come together; columns are made in multiples of it.
GROUP_WORDS = 8
#: The weight that sketches are tuned for where nobody says otherwise.
USUAL_TUNING = Fraction(1)
#: Beyond it, exp overflows.
_LARGEST_EXPONENT = 700.0


def chance_of_one(
    epsilon: Fraction | float, weight: float = 0.0, *, tuned_for: Fraction | float = USUAL_TUNING
) -> float:
    """Return how likely the bit of an item of some weight is 1: p(weight) as a float, for estimates.

    Bits are drawn with the exact probability.

    Parameters
    ----------
    epsilon
        The level of the sketches.
    weight
        In [0, 1]; 0 for an item that is not there.
    tuned_for
        The public weight that they are tuned for.

    Examples
    --------
    >>> round(chance_of_one(1), 3), round(chance_of_one(1, 1.0), 3)
    (0.269, 0.731)
    """
    level, best = float(epsilon), float(tuned_for)
    below = 1.0 + math.exp(-level * best)
    return math.exp(-level * (best - weight)) / below if weight <= best else 1.0 - math.exp(-level * weight) / below


def contrast(epsilon: Fraction | float, *, tuned_for: Fraction | float = USUAL_TUNING) -> float:
    """Return how much more likely a bit is 1 for an item of weight 1 than for an absent one: p(1) - q.

    That is (1 - q) (1 - exp(-epsilon)), and 1 - 2q for sketches tuned for weight 1.

    Parameters
    ----------
    epsilon
        The level of the sketches.
    tuned_for
        The public weight that they are tuned for.
    """
    return -math.expm1(-float(epsilon)) / (1.0 + math.exp(-float(epsilon) * float(tuned_for)))


def exact_chance_of_one(epsilon: Fraction, weight: Fraction, *, tuned_for: Fraction = USUAL_TUNING) -> Probability:
    """Return p(weight), to any number of digits."""
    above = exponential(epsilon * (tuned_for - weight if weight <= tuned_for else weight))
    below = exponential(epsilon * tuned_for)

    def bounds(bits: int) -> tuple[int, int]:
        (low, high), (least, most) = above(bits + 4), below(bits + 4)
        one = 1 << (bits + 4)
        return (low << bits) // (one + most), -(-(high << bits) // (one + least))

    # The first digits are asked for with every sketch, later ones almost never.
    return lru_cache(maxsize=4)(bounds if weight <= tuned_for else complement(bounds))


@lru_cache(maxsize=8)
def coins(epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> tuple[Probability, ...]:
    """Return p(code / 255) for every code. All of them, whatever the profile: the work must not tell which it needs."""
    weights = (Fraction(code, WEIGHT_STEPS) for code in range(WEIGHT_STEPS + 1))
    return tuple(exact_chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in weights)


class SketchTables(NamedTuple):
    """What the kernels compare random digits with: arrays only."""

    #: The first `ROUNDS` digits of q, each spread over a word: all ones or all zeros.
    head: NDArray[np.uint64]
    #: The next 128 digits of q, two words; rounded up.
    tail: NDArray[np.uint64]
    #: `extra[c]` holds 128 digits of r(c / 255), two words; rounded down.
    extra: NDArray[np.uint64]


@lru_cache(maxsize=64)
def sketch_tables(epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> SketchTables:
    """Return the tables for a level, computed in integers.

    Bits have their probability to within 2**-127, and the likelihood ratios never exceed exp(epsilon v): rounding is
    directed.
    """
    base = binary_digits(logistic(epsilon * tuned_for), ROUNDS + BITS) + 1  # q is irrational: one more is its ceiling
    head, tail = base >> BITS, base & ((1 << BITS) - 1)
    digits = [head >> (ROUNDS - 1 - place) & 1 for place in range(ROUNDS)]
    weights = (Fraction(code, WEIGHT_STEPS) for code in range(1, WEIGHT_STEPS + 1))
    second_coins = [binary_digits(_second_coin(epsilon, weight, tuned_for), BITS) for weight in weights]
    tables = SketchTables(
        head=np.array([(2**64 - 1) * digit for digit in digits], dtype=np.uint64),
        tail=as_words([tail])[0],
        extra=as_words([0, *second_coins]),
    )
    for array in tables:
        array.flags.writeable = False
    return tables


def _second_coin(epsilon: Fraction, weight: Fraction, tuned_for: Fraction) -> Probability:
    """Return r = (p - q) / (1 - q)."""
    if weight > tuned_for:
        return complement(exponential(epsilon * weight))
    near, far = exponential(epsilon * (tuned_for - weight)), exponential(epsilon * tuned_for)

    def bounds(bits: int) -> tuple[int, int]:
        (low, high), (least, most) = near(bits), far(bits)
        return max(low - most, 0), high - least

    return bounds


def odds_factor(
    epsilon: Fraction,
    weight: float,
    bit: bool,  # noqa: FBT001  (a bit of a sketch is a value)
    *,
    tuned_for: Fraction = USUAL_TUNING,
) -> float:
    """Return by how much one published bit multiplies anybody's odds that the item is there with this weight.

    Never above exp(epsilon v), never below its inverse; 1 for weight 0. Epochs are independent, so factors multiply.
    """
    absent, present = (chance_of_one(epsilon, each, tuned_for=tuned_for) for each in (0.0, weight))
    return present / absent if bit else (1.0 - present) / (1.0 - absent)


def most_odds_factor(epsilon: Fraction, weight: float, epochs: int = 1) -> float:
    """Return the most by which `epochs` sketches can multiply the odds: exp(epochs epsilon v), the promise itself."""
    return math.exp(min(_LARGEST_EXPONENT, epochs * float(epsilon) * weight))
