"""Kernels: how much one recipient has in common with every candidate.

An inverted index lists, for each item, who has it and how much it counts there. The few items that a large share of all
users have are kept as dense rows besides, which the processor adds many at a time.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["InvertedIndex", "accumulate", "accumulate_listed", "count_touches", "invert", "reset"]

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
    waiting = np.empty(4, dtype=np.int64)
    count = 0
    for item in own:
        row = index.dense_row[item]
        if row < 0:
            for place in range(index.starts[item], index.starts[item + 1]):
                # An unsigned index spares a check for negative ones.
                sums[np.uint32(index.users[place])] += index.codes[place]
            continue
        waiting[count] = row
        count += 1
        if count == 4:  # noqa: PLR2004  (four rows at a time: a quarter of the trips over the sums)
            add_four(sums, *rows_of(index.dense, waiting))
            count = 0
    for place in range(count):
        row_codes = index.dense[waiting[place]]
        for candidate in range(row_codes.size):
            sums[candidate] += row_codes[candidate]


@njit(cache=True, nogil=True)
def rows_of(dense: NDArray[np.uint8], rows: NDArray[np.int64]) -> Any:  # noqa: ANN401  (four views)
    """Return four rows."""
    return dense[rows[0]], dense[rows[1]], dense[rows[2]], dense[rows[3]]


@njit(cache=True, nogil=True)
def add_four(
    sums: Sums, one: NDArray[np.uint8], two: NDArray[np.uint8], three: NDArray[np.uint8], four: NDArray[np.uint8]
) -> None:
    """Add four dense rows at once; four codes of 8 bits fit into 16."""
    for candidate in range(one.size):
        added = np.uint16(one[candidate]) + np.uint16(two[candidate])
        more = np.uint16(three[candidate]) + np.uint16(four[candidate])
        sums[candidate] += np.uint16(added + more)


@njit(cache=True, nogil=True)
def accumulate_listed(own: NDArray[np.int32], index: InvertedIndex, sums: Sums, touched: NDArray[np.int32]) -> int:
    """Add the codes of the items in common to `sums` and list the candidates that have any; return how many."""
    count = 0
    for item in own:
        for place in range(index.starts[item], index.starts[item + 1]):
            candidate = np.uint32(index.users[place])
            touched[np.uint32(count)] = candidate
            count += sums[candidate] == 0
            sums[candidate] += index.codes[place]
    return count


@njit(cache=True, nogil=True)
def reset(sums: Sums, base: Sums) -> None:
    """Take every sum back to where it starts."""
    # Loops, not slices: they compile in a tenth of the time, and to the same code.
    if base.size:
        for place in range(base.size):
            sums[place] = base[place]
    else:
        for place in range(sums.size):
            sums[place] = 0
