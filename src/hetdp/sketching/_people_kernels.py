"""Kernels: the bits of people who are known by a key, one row per person, 64 items to a word.

Blocks of AES are (first 64 bits of the key, last 24 bits | purpose << 24 | counter << 32).
"""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import kernel
from hetdp.sketching.law import GROUP_WORDS, ROUNDS

Keys = NDArray[np.uint64]
Matrix = NDArray[np.uint64]

_ONE = np.uint64(1)
_COUNTER = np.uint64(32)
_PURPOSE = np.uint64(24)


@kernel
def coin_blocks(keys: Keys, groups: int, purpose: int, out: Matrix) -> None:
    """Write the blocks for the first digits of `groups` groups of words of each person, in the order of `compare`."""
    each = groups * GROUP_WORDS * ROUNDS // 2
    place = 0
    for person in range(keys.shape[0]):
        first = keys[person, 0]
        rest = keys[person, 1] | (np.uint64(purpose) << _PURPOSE)
        for counter in range(each):
            out[place, 0] = first
            out[place, 1] = rest | (np.uint64(counter) << _COUNTER)
            place += 1


@kernel
def own_blocks(keys: Keys, people: NDArray[np.int64], items: NDArray[np.int64], purpose: int, out: Matrix) -> None:
    """Write one block for each (person, item)."""
    for place in range(items.size):
        out[place, 0] = keys[people[place], 0]
        rest = keys[people[place], 1] | (np.uint64(purpose) << _PURPOSE)
        out[place, 1] = rest | (np.uint64(items[place]) << _COUNTER)


@kernel
def set_own_bits(people: NDArray[np.int64], items: NDArray[np.int64], landed: NDArray[np.bool_], bits: Matrix) -> None:
    """Set the bits of items whose second coin landed."""
    for place in range(items.size):
        if landed[place]:
            bits[people[place], items[place] >> 6] |= _ONE << np.uint64(items[place] & 63)
