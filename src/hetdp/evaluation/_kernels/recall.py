"""Kernels: how many test items of each user are found in the profiles of the neighbours."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, kernel

__all__ = ["count_found"]

Places = NDArray[np.int64]
Items = NDArray[np.int32]

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
