"""Kernels: how much one recipient has in common with every candidate.

An inverted index lists, for each item, who has it and how much it counts there. The few items that a large share of all
users have are kept as dense rows besides, which the processor adds many at a time.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, inner, kernel

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


@kernel
def invert(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    codes: NDArray[np.uint8],
    free: NDArray[np.int64],
    users: NDArray[np.int32],
    inverted: NDArray[np.uint8],
) -> None:
    """Write users and codes item by item; `free` holds where each item begins, and on exit where it ends."""
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            target = free[items[place]]
            users[target] = user
            inverted[target] = codes[place]
            free[items[place]] = target + 1


@inlined
def count_touches(items: NDArray[np.int32], begin: int, end: int, starts: NDArray[np.int64]) -> int:
    """Return how many (item, candidate) meetings the recipient with the items from `begin` to `end` has."""
    total = 0
    for spot in range(begin, end):
        total += starts[items[spot] + 1] - starts[items[spot]]
    return total


@inner
def accumulate(
    items: NDArray[np.int32], begin: int, end: int, index: InvertedIndex, sums: Sums, waiting: NDArray[np.int64]
) -> None:
    """Add the codes of the items in common to `sums`, for every candidate; `waiting` is room for dense rows."""
    starts, users, codes, dense_row, dense = index
    count = 0
    for spot in range(begin, end):
        item = items[spot]
        row = dense_row[item]
        if row < 0:
            for place in range(starts[item], starts[item + 1]):
                # An unsigned index spares a check for negative ones.
                sums[np.uint32(users[place])] += codes[place]
            continue
        waiting[count] = row
        count += 1
        if count == 4:  # noqa: PLR2004  (four rows at a time: a quarter of the trips over the sums)
            add_four(dense, waiting, sums)
            count = 0
    for place in range(count):
        row = waiting[place]
        for candidate in range(dense.shape[1]):
            sums[candidate] += dense[row, candidate]


@inner
def add_four(dense: NDArray[np.uint8], rows: NDArray[np.int64], sums: Sums) -> None:
    """Add the first four of some dense rows at once; four codes of 8 bits fit into 16."""
    one, two, three, four = rows[0], rows[1], rows[2], rows[3]
    for candidate in range(dense.shape[1]):
        added = np.uint16(dense[one, candidate]) + np.uint16(dense[two, candidate])
        more = np.uint16(dense[three, candidate]) + np.uint16(dense[four, candidate])
        sums[candidate] += np.uint16(added + more)


@inner
def accumulate_listed(
    items: NDArray[np.int32], begin: int, end: int, index: InvertedIndex, sums: Sums, touched: NDArray[np.int32]
) -> int:
    """Add the codes of the items in common to `sums` and list the candidates that have any; return how many."""
    starts, users, codes = index.starts, index.users, index.codes
    count = 0
    for spot in range(begin, end):
        item = items[spot]
        for place in range(starts[item], starts[item + 1]):
            candidate = np.uint32(users[place])
            touched[np.uint32(count)] = candidate
            count += sums[candidate] == 0
            sums[candidate] += codes[place]
    return count


@inlined
def reset(sums: Sums) -> None:
    """Take every sum back to 0."""
    for place in range(sums.size):
        sums[place] = 0
