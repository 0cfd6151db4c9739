"""What a curious peer can learn about one item from published bits, as factors on the odds it had before."""

import math
from collections.abc import Iterable
from fractions import Fraction

from hetdp.node.protocol.sketches import FULL_DIAL, chance_of_one

__all__ = ["most_odds_factor", "odds_factor", "total_odds_factor"]


def odds_factor(epsilon: Fraction, dial: int, bit: bool) -> float:  # noqa: FBT001  (a bit of a sketch is a value)
    """Return by how much one published bit multiplies the odds that the item is in the profile with this dial.

    Privacy
    -------
    Never above exp(epsilon dial/100), never below its inverse; 1 for dial 0.

    Examples
    --------
    >>> round(odds_factor(Fraction(1), 100, True), 3), round(odds_factor(Fraction(1), 100, False), 3)
    (2.718, 0.368)
    >>> odds_factor(Fraction(1), 0, True)
    1.0
    """
    absent, present = chance_of_one(epsilon), chance_of_one(epsilon, dial)
    return present / absent if bit else (1.0 - present) / (1.0 - absent)


def total_odds_factor(observed: Iterable[tuple[int, bool]], epsilon: Fraction) -> float:
    """Return the factor of several epochs together, from the (dial, bit) of each.

    Privacy
    -------
    Epochs are independent draws, so factors multiply.

    Examples
    --------
    >>> round(total_odds_factor([(100, True), (100, False)], Fraction(1)), 6)
    1.0
    """
    return math.prod(odds_factor(epsilon, dial, bit) for dial, bit in observed)


def most_odds_factor(epsilon: Fraction, dial: int, epochs: int = 1) -> float:
    """Return the most that so many epochs can multiply the odds by: exp(epochs epsilon dial/100).

    Privacy
    -------
    The promise itself, in words of odds.

    Examples
    --------
    >>> round(most_odds_factor(Fraction(1), 50, epochs=2), 3)
    2.718
    """
    return math.exp(min(700.0, epochs * float(epsilon) * dial / FULL_DIAL))
