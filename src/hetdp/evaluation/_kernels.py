"""Kernels: test items found in the profiles of neighbours, and the exact nearest users by common items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, inner, kernel
from hetdp.neighbors._kernels.selecting import insert

Places = NDArray[np.int64]
Items = NDArray[np.int32]
Values = NDArray[np.float64]

#: Users times items up to which a table of bytes stays in the cache, and is several times faster than searching.
_SMALL = 2**20


def count_found(neighbors: Places, profiles: tuple[Places, Items], test: tuple[Places, Items], n_items: int) -> Places:
    """Return for each user how many test items at least one neighbour has; a negative neighbour is none.

    Profiles and test items are compressed sparse rows, sorted within a row.
    """
    n_users = neighbors.shape[0]
    found = np.zeros(n_users, dtype=np.int64)
    if n_users * n_items <= _SMALL:
        _look_up(neighbors, profiles, test, np.zeros((n_users, n_items), dtype=np.uint8), found)
    else:
        _search(neighbors, profiles, test, found)
    return found


@kernel
def _look_up(
    neighbors: Places,
    profiles: tuple[Places, Items],
    test: tuple[Places, Items],
    has: NDArray[np.uint8],
    found: Places,
) -> None:
    indptr, items = profiles
    test_indptr, test_items = test
    n_users, n_neighbors = neighbors.shape
    for user in range(n_users):
        for place in range(indptr[user], indptr[user + 1]):
            has[user, items[place]] = 1
    for user in range(n_users):
        for place in range(test_indptr[user], test_indptr[user + 1]):
            for rank in range(n_neighbors):
                neighbor = neighbors[user, rank]
                if neighbor >= 0 and has[neighbor, test_items[place]]:
                    found[user] += 1
                    break


@kernel
def _search(neighbors: Places, profiles: tuple[Places, Items], test: tuple[Places, Items], found: Places) -> None:
    # The first neighbour who has an item ends the search for it: the cost follows the test items, not the profiles.
    indptr, items = profiles
    test_indptr, test_items = test
    n_users, n_neighbors = neighbors.shape
    for user in range(n_users):
        for place in range(test_indptr[user], test_indptr[user + 1]):
            for rank in range(n_neighbors):
                neighbor = neighbors[user, rank]
                if neighbor >= 0 and _has(items, indptr[neighbor], indptr[neighbor + 1], test_items[place]):
                    found[user] += 1
                    break


@inlined
def _has(items: Items, low: int, high: int, item: int) -> bool:
    """Return whether an item is in a sorted part of `items`."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low < end and bool(items[low] == item)


class Matrix(NamedTuple):
    """Who has what, from both sides: items of user u at `indptr[u]`, users of item i at `holders_indptr[i]`."""

    indptr: Places
    items: NDArray[np.int32]
    holders_indptr: Places
    holders: NDArray[np.int32]


@inner
def _count_common(matrix: Matrix, user: int, counts: Places, touched: Places) -> int:
    """Add to `counts` the items that each user shares with one; list those who do in `touched`, return how many."""
    n_touched = 0
    for place in range(matrix.indptr[user], matrix.indptr[user + 1]):
        item = matrix.items[place]
        for spot in range(matrix.holders_indptr[item], matrix.holders_indptr[item + 1]):
            other = matrix.holders[spot]
            if counts[other] == 0:
                touched[n_touched] = other
                n_touched += 1
            counts[other] += 1
    return n_touched


@kernel
def nearest(
    matrix: Matrix,
    divisors: Values,
    first: int,
    neighbors: NDArray[np.int32],
    common: Places,
    counts: Places,
    touched: Places,
    values: Values,
) -> None:
    """Fill in the others with the largest common**2 / divisors[other], and how many are in common, one row per user.

    The rows belong to the users from `first` on. Nothing is returned: Ctrl-C while numba hands over a result would end
    the whole process.

    Common items are counted through the holders of each item, so that the cost and the memory follow the pairs of users
    who share something. Squares are compared because they are exact: the square root of two sizes would make ties a
    matter of rounding. Places that nobody with a common item fills go to the smallest indices.

    `counts` and `touched` have a place for each user, `values` one for each neighbour; counts are 0 on entry and exit.
    """
    n_rows, k = neighbors.shape
    for row in range(n_rows):
        user = first + row
        n_touched = _count_common(matrix, user, counts, touched)
        chosen = neighbors[row]
        filled = 0
        for place in range(n_touched):
            other = touched[place]
            if other != user:
                value = counts[other] * counts[other] / divisors[other]
                if filled < k or value >= values[k - 1]:  # most are not, and a call costs more than a look
                    filled = insert(values, chosen, filled, value, other)
        for rank in range(filled):
            common[row, rank] = counts[chosen[rank]]
        stranger = 0
        while filled < k:
            if stranger != user and counts[stranger] == 0:
                chosen[filled] = stranger
                filled += 1
            stranger += 1
        for place in range(n_touched):
            counts[touched[place]] = 0
