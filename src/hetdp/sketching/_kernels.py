"""Kernels: the bits of many sketches at once, 64 columns to a word.

For `Sketches` a row is an item and a column a user, and blocks of AES have the format of `KeyedWords`:
(item | user << 32, purpose | counter << 32), with the group of users in the place of the user for first digits.

For `PeopleBits` a row is a person and a column an item, and blocks are
(first 64 bits of the person's key, last 24 bits | purpose << 24 | counter << 32), where the counter of later digits and
second coins is the item.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, kernel
from hetdp.sketching.bit_law import GROUP_WORDS, ROUNDS, SketchTables

Words = NDArray[np.uint64]
Matrix = NDArray[np.uint64]
Places = NDArray[np.int64]
Indices = NDArray[np.int32]

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_HALF = np.uint64(32)
_KEY_PURPOSE = np.uint64(24)


# --- Blocks of AES: each names the coins that it is for


@kernel
def item_group_blocks(items: Places, first_group: int, groups: int, purpose: int, out: Matrix) -> int:
    """Write the blocks for the first digits of `groups` groups of users of each item; return how many."""
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
def item_user_blocks(items: Places, users: Places, purpose: int, out: Matrix) -> None:
    """Write one block for each (item, user)."""
    for place in range(items.size):
        out[place, 0] = np.uint64(items[place]) | (np.uint64(users[place]) << _HALF)
        out[place, 1] = np.uint64(purpose)


@kernel
def person_blocks(keys: Matrix, groups: int, purpose: int, out: Matrix) -> int:
    """Write the blocks for the first digits of `groups` groups of words of each person; return how many."""
    each = groups * GROUP_WORDS * ROUNDS // 2
    place = 0
    for person in range(keys.shape[0]):
        first = keys[person, 0]
        rest = keys[person, 1] | (np.uint64(purpose) << _KEY_PURPOSE)
        for counter in range(each):
            out[place, 0] = first
            out[place, 1] = rest | (np.uint64(counter) << _HALF)
            place += 1
    return place


@kernel
def person_item_blocks(keys: Matrix, people: Places, items: Places, purpose: int, out: Matrix) -> None:
    """Write one block for each (person, item)."""
    for place in range(items.size):
        out[place, 0] = keys[people[place], 0]
        rest = keys[people[place], 1] | (np.uint64(purpose) << _KEY_PURPOSE)
        out[place, 1] = rest | (np.uint64(items[place]) << _HALF)


# --- First coins: of probability q in every row and column


@kernel
def compare(random: Words, head: Words, last_word: int, last_bits: int, bits: Matrix, pending: Matrix) -> int:
    """Compare the first digits; `pending` marks coins for which all agree. Return how many those are.

    Columns from bit `last_bits` of word `last_word` on do not exist and are cut off.
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
                # The first digit that differs decides: going from the last digit to the first, it overwrites others.
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
def open_coins(pending: Matrix, first_column: int, rows: Places, columns: Places) -> None:
    """Write row and column of every pending coin."""
    place = 0
    for row in range(pending.shape[0]):
        for word in range(pending.shape[1]):
            left = pending[row, word]
            while left != _ZERO:
                rest = left & (left - _ONE)
                rows[place] = row
                columns[place] = first_column + 64 * word + bit_position(left ^ rest)
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
def settle(digits: Matrix, tail: Words, rows: Places, columns: Places, first_column: int, bits: Matrix) -> None:
    """Decide pending coins by 128 further digits each."""
    for place in range(rows.size):
        if digits[place, 0] < tail[0] or (digits[place, 0] == tail[0] and digits[place, 1] < tail[1]):
            column = columns[place] - first_column
            bits[rows[place], column >> 6] |= _ONE << np.uint64(column & 63)


# --- Second coins: of the items that users have


@kernel
def land(digits: Matrix, codes: NDArray[np.uint8], tables: SketchTables, landed: NDArray[np.bool_]) -> None:
    """Toss the second coin of items of some codes; `landed` says which are 1."""
    for place in range(codes.size):
        high, low = tables.extra[codes[place], 0], tables.extra[codes[place], 1]
        landed[place] = digits[place, 0] < high or (digits[place, 0] == high and digits[place, 1] < low)


@kernel
def sort_pairs(indptr: Places, items: Indices, landed: NDArray[np.bool_], free: Places, users: Indices) -> None:
    """Write the users of the landed pairs by item, in ascending order; `free` holds where each item begins."""
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            if landed[place]:
                users[free[items[place]]] = user
                free[items[place]] += 1


@kernel
def set_bits_of_users(items: Places, indptr: Places, users: Indices, first_user: int, bits: Matrix) -> None:
    """Set the bits of the users whose second coin landed; a row is an item, and `indptr` says where its users are."""
    end_user = first_user + 64 * bits.shape[1]
    for row in range(items.size):
        for place in range(indptr[items[row]], indptr[items[row] + 1]):
            if first_user <= users[place] < end_user:
                column = users[place] - first_user
                bits[row, column >> 6] |= _ONE << np.uint64(column & 63)


@kernel
def set_bits_of_items(indptr: Places, items: Indices, landed: NDArray[np.bool_], bits: Matrix) -> None:
    """Set the bits of the items whose second coin landed; a row is a person, and `indptr` says where items are."""
    for person in range(indptr.size - 1):
        for place in range(indptr[person], indptr[person + 1]):
            if landed[place]:
                bits[person, items[place] >> 6] |= _ONE << np.uint64(items[place] & 63)


@kernel
def column_bits(bits: Matrix, column: int, out: NDArray[np.uint8]) -> None:
    """Write one column's bit of every row as a byte, 0 or 1."""
    word, shift = column >> 6, np.uint64(column & 63)
    for row in range(bits.shape[0]):
        out[row] = (bits[row, word] >> shift) & _ONE
