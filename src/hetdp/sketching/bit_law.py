"""The probability that a bit of a sketch is 1, and the odds that follow from a published bit.

The bit of an absent item is 1 with probability q. The bit of an item of weight v is 1 with the largest probability that
keeps both likelihood ratios within exp(epsilon v): p(v) = min(q exp(epsilon v), 1 - (1 - q) exp(-epsilon v)). So
p(0) = q. Weights are counted in steps of 1/255 (`profiles.steps`).

q is a public choice: q = 1 / (1 + exp(epsilon t)) for the weight t in (0, 1] that sketches are `tuned_for`. Then
p(t) = 1 - q. The first term of p is the smaller one up to t, the second from there on. With t = 1, the default, p - q
is largest for weight 1 and, at a large epsilon, small for all smaller weights. A smaller t makes it larger for these. A
q below that of t = 1 would be worse for every weight: such bits can be made from the others by turning some ones into
zeros.

Bits are drawn exactly, in one of two ways. For one profile, `coins` gives p(v) of every weight, digit by digit. For
many profiles at once, compiled loops compare random digits with those of `sketch_tables`. There a bit is 1 if one of
two coins is: the first has probability q for everybody, the second probability r(v) for owners of weight v, where
q + (1 - q) r(v) = p(v). That is r(v) = exp(-epsilon (t - v)) - exp(-epsilon t) up to t, and 1 - exp(-epsilon v) from
there on. The tables hold finitely many digits; q is rounded up and r down, and then the likelihood ratios stay within
exp(epsilon v) without any slack (docs/proofs/sketch_engine.md).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction
from hetdp.core.errors import InvalidInput
from hetdp.noise.exact_coins import Probability, binary_digits, complement, exponential, logistic
from hetdp.noise.lookup_tables import BITS, as_words
from hetdp.profiles.steps import WEIGHT_STEPS

Number = Fraction | float

#: Digits of q compared for 64 users at once; one coin in 256 needs the next 128, and gets them for itself.
ROUNDS = 8
#: Words of 64 users whose random digits come together; columns are made in multiples of it.
GROUP_WORDS = 8
#: The weight that sketches are tuned for by default.
USUAL_TUNING = Fraction(1)
#: exp overflows above it.
_LARGEST_EXPONENT = 700.0


def as_tuning(tuned_for: Real) -> Fraction:
    """Return the weight that sketches are tuned for as an exact fraction, or refuse it."""
    weight = fraction("tuned_for", tuned_for)
    if weight > 1:
        raise InvalidInput("must be above 0 and at most 1", parameter="tuned_for", got=tuned_for)
    return weight


def chance_of_one(epsilon: Number, weight: float = 0.0, *, tuned_for: Number = USUAL_TUNING) -> float:
    """Return p(weight), the probability that the bit of an item of some weight is 1, as a float for estimates.

    Parameters
    ----------
    epsilon
        Privacy loss of an item of weight 1.
    weight
        In [0, 1]; 0 for an absent item.
    tuned_for
        The public weight that sketches are tuned for.

    Examples
    --------
    >>> round(chance_of_one(1), 3), round(chance_of_one(1, 1.0), 3)
    (0.269, 0.731)
    """
    level, best = float(epsilon), float(tuned_for)
    below = 1.0 + math.exp(-level * best)
    return math.exp(-level * (best - weight)) / below if weight <= best else 1.0 - math.exp(-level * weight) / below


def contrast(epsilon: Number, *, tuned_for: Number = USUAL_TUNING) -> float:
    """Return p(1) - q: how much likelier a one is for an item of weight 1 than for an absent item.

    That is (1 - q) (1 - exp(-epsilon)), and 1 - 2q for sketches tuned for weight 1.

    Parameters
    ----------
    epsilon, tuned_for
        As for `chance_of_one`.
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
    """Return p(code / 255) for every code, whatever the profile: running time must not depend on its weights."""
    weights = (Fraction(code, WEIGHT_STEPS) for code in range(WEIGHT_STEPS + 1))
    return tuple(exact_chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in weights)


class SketchTables(NamedTuple):
    """The digits that kernels compare random digits with."""

    #: The first `ROUNDS` digits of q, each spread over a word: all ones or all zeros.
    head: NDArray[np.uint64]
    #: The next 128 digits of q, two words; rounded up.
    tail: NDArray[np.uint64]
    #: `extra[c]` holds 128 digits of r(c / 255), two words; rounded down.
    extra: NDArray[np.uint64]


@lru_cache(maxsize=64)
def sketch_tables(epsilon: Fraction, tuned_for: Fraction = USUAL_TUNING) -> SketchTables:
    """Return the tables for an epsilon, computed in integers: bits have their probability to within 2**-127."""
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
    """Return the factor by which one published bit changes the odds that its item is there with this weight.

    It lies between exp(-epsilon v) and exp(epsilon v), and is 1 for weight 0. Bits of different epochs are independent,
    so their factors multiply.
    """
    absent, present = (chance_of_one(epsilon, each, tuned_for=tuned_for) for each in (0.0, weight))
    return present / absent if bit else (1.0 - present) / (1.0 - absent)


def most_odds_factor(epsilon: Fraction, weight: float, epochs: int = 1) -> float:
    """Return exp(epochs epsilon v), the largest factor by which the sketches of some epochs can change the odds."""
    return math.exp(min(_LARGEST_EXPONENT, epochs * float(epsilon) * weight))
