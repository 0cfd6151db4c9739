"""Exact discrete Laplace noise as tables that a compiled loop can draw from with a few words.

A geometric variable G with P[G >= g] = exp(-g / scale) is written in base 256. Its digits are independent (the argument
of docs/proofs/noise.md, eight binary digits at a time): digit j has P[d] proportional to exp(-d 256**j / scale). So one
random word and one look into a table of 256 numbers give one digit. With a sign that is 1 with probability
1/(1+exp(1/scale)), "G if the sign is 0, else ~G" is discrete Laplace.

All tables hold floor(2**128 p) in two words, computed in integer arithmetic.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.noise.coins import binary_digits, exponential, logistic

__all__ = ["BITS", "PRECISION", "LaplaceTables", "as_words", "laplace_tables"]

#: Digits kept of every probability. Beyond them, two words in a row would have to agree with the table.
BITS = 128
#: Digits carried while computing, so that accumulated errors stay far below the last digit kept.
PRECISION = 320
_BASE = 256
_LARGEST_SCALE = 2**40


class LaplaceTables(NamedTuple):
    """What a kernel needs to draw discrete Laplace noise: arrays only, so that compiled code takes it as it is.

    Attributes
    ----------
    sign
        P[negative], two words.
    high, low
        `high[j, d]` and `low[j, d]` are the two words of P[digit j <= d].
    guides
        `guides[j, b]` is the smallest digit that a word with the first byte b can mean; the search starts there.
    """

    sign: NDArray[np.uint64]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    guides: NDArray[np.uint8]

    @property
    def words_per_draw(self) -> int:
        """Words that a draw takes at most, with one to spare for the draw in 2**55 that ties with the table."""
        return 2 + len(self.high)


@lru_cache(maxsize=64)
def laplace_tables(scale: Fraction) -> LaplaceTables:
    """Return the tables for a scale in grid steps.

    Privacy
    -------
    A draw differs from the exact distribution by less than 2**-120 in total, as much as guessing a key of AES-256 in
    2**136 tries would help; nothing is computed in floating point.

    Examples
    --------
    >>> laplace_tables(Fraction(255)).high.shape
    (2, 256)
    """
    if not 0 < scale <= _LARGEST_SCALE:
        raise InvalidInput(f"the scale of the noise must be above 0 and at most 2**40. Got {float(scale):g} instead.")
    places = 1
    while _BASE**places < BITS * scale:  # beyond it, exp(-128) < 2**-184 is left
        places += 1
    rows = np.array([_digit_table(_BASE**place / scale) for place in range(places)])
    high, low = np.ascontiguousarray(rows[..., 0]), np.ascontiguousarray(rows[..., 1])
    first_bytes = np.arange(_BASE, dtype=np.uint64) << np.uint64(56)
    guides = np.array([np.searchsorted(row, first_bytes) for row in high]).astype(np.uint8)
    tables = LaplaceTables(as_words([binary_digits(logistic(1 / scale), BITS)])[0], high, low, guides)
    for array in tables:
        array.flags.writeable = False
    return tables


def _digit_table(exponent: Fraction) -> NDArray[np.uint64]:
    """Return P[digit <= d] = (1 - r**(d+1)) / (1 - r**256), r = exp(-exponent), for d = 0 ... 255."""
    one = 1 << PRECISION
    ratio = binary_digits(exponential(exponent), PRECISION)
    powers = [one]
    for _ in range(_BASE):
        powers.append(powers[-1] * ratio >> PRECISION)
    whole = one - powers[_BASE]
    return as_words([((one - power) << BITS) // whole for power in powers[1:]])


def as_words(values: list[int]) -> NDArray[np.uint64]:
    """Return floor(2**128 p) as rows of two words, high word first; p = 1 becomes the largest number below."""
    largest = (1 << BITS) - 1
    halves = [divmod(min(value, largest), 1 << 64) for value in values]
    return np.array(halves, dtype=np.uint64).reshape(-1, 2)
