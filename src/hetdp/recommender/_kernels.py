"""Kernels: sketches turned from people to items, and pairs of items counted, 64 people to a word."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inner, kernel
from hetdp.sketching._kernels import bit_count

Matrix = NDArray[np.uint64]

#: Items whose words are compared with each other while they are in the cache.
_TILE = 64


@kernel
def turn(
    words: Matrix,
    places: NDArray[np.int64],
    ones: NDArray[np.int64],
    shown: Matrix,
    first: int,
    tile: NDArray[np.uint64],
) -> None:
    """Count the ones of each item, and write those of item i to row `places[i]` of `shown`, if it is not below 0.

    People come in words of 64, from word `first` of a row on; `words` has one row per person, 64 items to a word.
    `tile` is room for 64 words.
    """
    for begin in range(0, words.shape[0], 64):
        people = min(64, words.shape[0] - begin)
        column = first + begin // 64
        for word in range(words.shape[1]):
            for person in range(people):
                tile[person] = words[begin + person, word]
            for person in range(people, 64):
                tile[person] = np.uint64(0)
            _transpose(tile)
            for bit in range(min(64, ones.size - 64 * word)):
                item = 64 * word + bit
                ones[item] += bit_count(tile[bit])
                if places[item] >= 0:
                    shown[places[item], column] = tile[bit]


@inner
def _transpose(tile: Any) -> None:  # noqa: ANN401  (64 words)
    """Swap rows and columns of 64 x 64 bits: halves, then quarters, down to single bits."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        for begin in range(0, 64, 2 * width):
            for row in range(begin, begin + width):
                moved = ((tile[row] >> shift) ^ tile[row + width]) & mask
                tile[row] ^= moved << shift
                tile[row + width] ^= moved
        width //= 2
        mask ^= mask << np.uint64(width)


@kernel
def count_pairs(shown: Matrix, words: int, pairs: NDArray[np.int64], first: int) -> None:
    """Add how many people show both of two items: for a tile of columns of `pairs`, what is on or above its diagonal.

    Both numbers of items are even. Two rows and two columns at a time, so that each word read is used twice.
    """
    for above in range(0, first + _TILE, _TILE):
        for column in range(first, min(first + _TILE, pairs.shape[1]), 2):
            for row in range(above, min(above + _TILE, column + 1), 2):
                one = two = three = four = 0
                for word in range(words):
                    left, right = shown[row, word], shown[row + 1, word]
                    up, down = shown[column, word], shown[column + 1, word]
                    one += bit_count(left & up)
                    two += bit_count(left & down)
                    three += bit_count(right & up)
                    four += bit_count(right & down)
                pairs[row, column] += one
                pairs[row, column + 1] += two
                pairs[row + 1, column] += three
                pairs[row + 1, column + 1] += four


@kernel
def mirror(pairs: NDArray[np.int64]) -> None:
    """Copy what is above the diagonal to below it."""
    size = pairs.shape[0]
    for first in range(0, size, _TILE):
        for above in range(0, first + _TILE, _TILE):
            for column in range(first, min(first + _TILE, size)):
                for row in range(above, min(above + _TILE, column)):
                    pairs[column, row] = pairs[row, column]
