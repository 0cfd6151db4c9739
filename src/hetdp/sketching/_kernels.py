"""Kernels: the bits of many sketches at once. A row belongs to an item, a bit of it to a user, 64 users to a word.

Every coin is a function of a secret key, the item and the user. Blocks of AES have the format of `KeyedWords`:
(first | second << 32, purpose | counter << 32).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, kernel
from hetdp.sketching.law import GROUP_WORDS, ROUNDS, SketchTables

Words = NDArray[np.uint64]
Matrix = NDArray[np.uint64]

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_HALF = np.uint64(32)


@kernel
def row_blocks(items: NDArray[np.int64], first_group: int, groups: int, purpose: int, out: Matrix) -> int:
    """Write the blocks for `groups` groups of words of each row; return how many."""
    each = ROUNDS * GROUP_WORDS // 2
    place = 0
    for row in range(items.size):
        for group in range(first_group, first_group + groups):
            pair = np.uint64(items[row]) | (np.uint64(group) << _HALF)
            for counter in range(each):
                out[place, 0] = pair
                out[place, 1] = np.uint64(purpose) | (np.uint64(counter) << _HALF)
                place += 1
    return place


@kernel
def pair_blocks(items: NDArray[np.int64], users: NDArray[np.int64], purpose: int, out: Matrix) -> None:
    """Write one block for each (item, user)."""
    for place in range(items.size):
        out[place, 0] = np.uint64(items[place]) | (np.uint64(users[place]) << _HALF)
        out[place, 1] = np.uint64(purpose)


@kernel
def compare(random: Words, head: Words, last_word: int, last_bits: int, bits: Matrix, pending: Matrix) -> int:
    """Compare the first digits; `pending` marks coins for which all agree. Return how many those are.

    Columns from bit `last_bits` of word `last_word` on belong to nobody and are cut off.
    """
    rows, words = bits.shape
    start = 0
    total = 0
    for row in range(rows):
        for first in range(0, words, GROUP_WORDS):
            # Views, so that the compiler sees that a group of words is done at once.
            out, open_ = bits[row, first : first + GROUP_WORDS], pending[row, first : first + GROUP_WORDS]
            for word in range(GROUP_WORDS):
                below = _ZERO
                undecided = _ONES
                # From the last digit to the first: the first one that differs decides, so it has the last word.
                for place in range(ROUNDS):
                    digit = ROUNDS - 1 - place
                    drawn, expected = random[start + digit * GROUP_WORDS + word], head[digit]
                    below = (below & ~(drawn ^ expected)) | (expected & ~drawn)
                    undecided &= ~(drawn ^ expected)
                out[word] = below
                open_[word] = undecided
            start += ROUNDS * GROUP_WORDS
        for word in range(last_word, words):
            mask = (_ONE << np.uint64(last_bits)) - _ONE if word == last_word else _ZERO
            bits[row, word] &= mask
            pending[row, word] &= mask
        for word in range(words):
            total += bit_count(pending[row, word])
    return total


@kernel
def open_coins(pending: Matrix, first_user: int, rows: NDArray[np.int64], users: NDArray[np.int64]) -> None:
    """Write row and user of every pending coin."""
    place = 0
    for row in range(pending.shape[0]):
        for word in range(pending.shape[1]):
            left = pending[row, word]
            while left != _ZERO:
                rest = left & (left - _ONE)
                rows[place] = row
                users[place] = first_user + 64 * word + bit_position(left ^ rest)
                place += 1
                left = rest


@inlined
def bit_count(word: Any) -> int:  # noqa: ANN401  (uint64 scalar)
    """Return how many bits are set."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def bit_position(lane: Any) -> int:  # noqa: ANN401  (uint64 scalar)
    """Return the place of the only bit set."""
    return bit_count(lane - _ONE)


@kernel
def settle(
    digits: Matrix,
    tail: Words,
    rows: NDArray[np.int64],
    users: NDArray[np.int64],
    first_user: int,
    bits: Matrix,
) -> None:
    """Decide pending coins by 128 digits of their own."""
    for place in range(rows.size):
        if digits[place, 0] < tail[0] or (digits[place, 0] == tail[0] and digits[place, 1] < tail[1]):
            column = users[place] - first_user
            bits[rows[place], column >> 6] |= _ONE << np.uint64(column & 63)


@kernel
def land(digits: Matrix, codes: NDArray[np.uint8], tables: SketchTables, landed: NDArray[np.bool_]) -> None:
    """Toss the second coin of items that users have."""
    for place in range(codes.size):
        high, low = tables.extra[codes[place], 0], tables.extra[codes[place], 1]
        landed[place] = digits[place, 0] < high or (digits[place, 0] == high and digits[place, 1] < low)


@kernel
def set_bits(
    items: NDArray[np.int64], indptr: NDArray[np.int64], users: NDArray[np.int32], first_user: int, bits: Matrix
) -> None:
    """Set the bits of the users whose second coin landed."""
    end_user = first_user + 64 * bits.shape[1]
    for row in range(items.size):
        for place in range(indptr[items[row]], indptr[items[row] + 1]):
            if first_user <= users[place] < end_user:
                column = users[place] - first_user
                bits[row, column >> 6] |= _ONE << np.uint64(column & 63)


@kernel
def sort_pairs(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    landed: NDArray[np.bool_],
    free: NDArray[np.int64],
    users: NDArray[np.int32],
) -> None:
    """Write the users of the landed pairs by item, in ascending order; `free` holds where each item begins."""
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            if landed[place]:
                users[free[items[place]]] = user
                free[items[place]] += 1


@kernel
def column_bits(bits: Matrix, column: int, out: NDArray[np.uint8]) -> None:
    """Write one user's bit of every row as a byte, 0 or 1."""
    word, shift = column >> 6, np.uint64(column & 63)
    for row in range(bits.shape[0]):
        out[row] = (bits[row, word] >> shift) & _ONE
