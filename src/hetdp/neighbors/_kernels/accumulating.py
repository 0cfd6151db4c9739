"""Kernels: how much one recipient has in common with every candidate.

An inverted index lists, for each item, who has it and how much it counts there. The few items that a large share of all
users have are kept as dense rows besides, which the processor adds many at a time.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["InvertedIndex", "accumulate", "accumulate_listed", "count_touches", "invert"]

Sums = NDArray[Any]


class InvertedIndex(NamedTuple):
    """Who has each item: arrays only, so that compiled code takes it as it is.

    Attributes
    ----------
    starts
        Users with item i are `users[starts[i]:starts[i + 1]]`, sorted.
    users, codes
        Position of the user, and how much the item counts there.
    dense_row
        Row of the item in `dense`, or -1.
    dense
        One code per user, 0 where the user does not have the item.

    Privacy
    -------
    As private as the profiles.
    """

    starts: NDArray[np.int64]
    users: NDArray[np.int32]
    codes: NDArray[np.uint8]
    dense_row: NDArray[np.int32]
    dense: NDArray[np.uint8]


@njit(cache=True, nogil=True)
def invert(
    indptr: NDArray[np.int64], items: NDArray[np.int32], codes: NDArray[np.uint8], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return users and codes item by item; `starts` must already hold where each item begins."""
    free = starts[:-1].copy()
    users = np.empty(items.size, dtype=np.int32)
    inverted = np.empty(items.size, dtype=np.uint8)
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            target = free[items[place]]
            users[target] = user
            inverted[target] = codes[place]
            free[items[place]] = target + 1
    return users, inverted


@njit(cache=True, nogil=True)
def count_touches(own: NDArray[np.int32], index: InvertedIndex) -> int:
    """Return how many (item, candidate) meetings the recipient with the items `own` has."""
    total = 0
    for item in own:
        total += index.starts[item + 1] - index.starts[item]
    return total


@njit(cache=True, nogil=True)
def accumulate(own: NDArray[np.int32], index: InvertedIndex, sums: Sums) -> None:
    """Add the codes of the items in common to `sums`, for every candidate."""
    pending = -1
    for item in own:
        row = index.dense_row[item]
        if row < 0:
            for place in range(index.starts[item], index.starts[item + 1]):
                sums[index.users[place]] += index.codes[place]
        elif pending < 0:
            pending = row
        else:  # two rows at a time: half the trips over the sums
            one, two = index.dense[pending], index.dense[row]
            for candidate in range(one.size):
                sums[candidate] += np.uint16(one[candidate]) + np.uint16(two[candidate])
            pending = -1
    if pending >= 0:
        one = index.dense[pending]
        for candidate in range(one.size):
            sums[candidate] += one[candidate]


@njit(cache=True, nogil=True)
def accumulate_listed(own: NDArray[np.int32], index: InvertedIndex, sums: Sums, touched: NDArray[np.int32]) -> int:
    """Add the codes of the items in common to `sums` and list the candidates that have any; return how many."""
    count = 0
    for item in own:
        for place in range(index.starts[item], index.starts[item + 1]):
            candidate = index.users[place]
            touched[count] = candidate
            count += sums[candidate] == 0
            sums[candidate] += index.codes[place]
    return count
