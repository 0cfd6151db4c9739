"""Coins that land True with probability exp(-g), many exponents g at once, exactly and without an exponential.

Write g in binary: exp(-g) is the product of exp(-2**k) over its set digits. One word of independent "kill" coins per
lane, digit k being 1 with probability 1 - exp(-2**k), decides: a lane survives if and only if `digits & kill == 0`.

The digits come from a floating-point g that is rounded down by more than its error. What was cut off is less than
2**-_REST, so a coin with that probability tells when exact arithmetic must finish the decision (docs/proofs/noise.md).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.noise.probability import bernoulli, complement, exponential, magnify, ratio
from hetdp.noise.slices import CHUNK_WORDS, TAIL_BITS, Coins, kernel, toss, transpose

__all__ = ["survive"]

_FRACTION_BITS = 40
_WHOLE_BITS = 8
_DIGITS = _FRACTION_BITS + _WHOLE_BITS
_SATURATED = (1 << _DIGITS) - 1
#: Callers know their exponents to within 2**-41 (below saturation); rounded down by 2**-40, then to 40 digits.
_ROUNDING = 2.0**-40
_REST = 38


def survive(rough: NDArray[np.float64], exact: Callable[[int], Fraction], stream: Stream) -> NDArray[np.bool_]:
    """Toss one coin of probability exp(-g) per lane.

    Parameters
    ----------
    rough
        The exponents g >= 0, each off by less than 2**-41 where it is below 256; above, only "large" matters.
    exact
        The exponent of a lane as an exact fraction; hardly ever called.
    stream
        Where the random bits come from. How many are drawn does not depend on the exponents, but for the exact rest.
    """
    out = np.empty(rough.size, dtype=np.bool_)
    for begin in range(0, rough.size, 64 * CHUNK_WORDS):
        part = slice(begin, begin + 64 * CHUNK_WORDS)
        out[part] = _survive(rough[part], lambda lane, begin=begin: exact(begin + lane), stream)  # type: ignore[misc]
    return out


def _survive(rough: NDArray[np.float64], exact: Callable[[int], Fraction], stream: Stream) -> NDArray[np.bool_]:
    words = -(-rough.size // 64)
    kill = np.empty(64 * words, dtype=np.int64)
    rows = np.zeros((64, words), dtype=np.uint64)
    rows[: _DIGITS + 1] = toss(_kill_coins(), words, stream)
    kernel(transpose, words)(rows, kill)
    kill = kill[: rough.size]

    lowered = np.clip(rough - _ROUNDING, 0.0, 2.0**_WHOLE_BITS)
    digits = np.minimum(np.floor(lowered * 2.0**_FRACTION_BITS), _SATURATED).astype(np.int64)
    alive: NDArray[np.bool_] = (digits & kill) == 0

    unsure = alive & ((digits == _SATURATED) | (kill >> _DIGITS != 0))
    for lane in np.flatnonzero(unsure):
        rest = exact(int(lane)) - Fraction(int(digits[lane]), 2**_FRACTION_BITS)
        if digits[lane] == _SATURATED:
            alive[lane] = bernoulli(exponential(rest), stream)
        else:
            # The coin of probability 2**-_REST has fallen; given that, death has 2**_REST times its chance.
            alive[lane] = not bernoulli(magnify(complement(exponential(rest)), _REST), stream)
    return alive


@lru_cache(maxsize=1)
def _kill_coins() -> Coins:
    digits = [complement(exponential(Fraction(2) ** (place - _FRACTION_BITS))) for place in range(_DIGITS)]
    return Coins.of([*digits, ratio(Fraction(1, 2**_REST))], tail_bits=TAIL_BITS)
