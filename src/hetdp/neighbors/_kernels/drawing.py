"""Kernels: exact draws from random words and the tables of `noise.lookup_tables`.

Each takes the words and the position of the next unused one, and returns the outcome and the position after it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, inner
from hetdp.noise.lookup_tables import LaplaceTables

Words = NDArray[np.uint64]


@inlined
def toss(words: Words, position: int, high: Any, low: Any) -> tuple[bool, int]:  # noqa: ANN401  (uint64 scalars)
    """Return True with probability (2**64 high + low) / 2**128."""
    word = words[position]
    if word != high:
        return word < high, position + 1
    return words[position + 1] < low, position + 2


@inner
def draw_geometric(words: Words, position: int, tables: LaplaceTables) -> tuple[int, int]:
    """Return G with P[G >= g] = exp(-g / scale), one word per digit in base 256."""
    high, low, guides = tables.high, tables.low, tables.guides
    value = 0
    for place in range(high.shape[0]):
        word = words[position]
        position += 1
        # The digit is the smallest d with word < table[d]; the guide starts the search one or two short of it.
        digit = int(guides[place, word >> np.uint64(56)])
        while word > high[place, digit]:
            digit += 1
        if word == high[place, digit]:  # one word in 2**56: the next word decides
            second = words[position]
            position += 1
            while digit < 255 and word == high[place, digit] and second >= low[place, digit]:  # noqa: PLR2004
                digit += 1
        value += digit << (8 * place)
    return value, position


@inner
def draw_laplace(words: Words, position: int, tables: LaplaceTables) -> tuple[int, int]:
    """Return discrete Laplace noise: G, or ~G = -1 - G where the sign lands True."""
    negative, position = toss(words, position, tables.sign[0], tables.sign[1])
    value, position = draw_geometric(words, position, tables)
    return (-1 - value if negative else value), position
