"""Kernel: which test items of each user are found in the profiles of the neighbours."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["count_found"]

Places = NDArray[np.int64]
Items = NDArray[np.int32]


@njit(cache=True, nogil=True)
def count_found(neighbours: Places, indptr: Places, items: Items, test_indptr: Places, test_items: Items) -> Places:
    """Return for each user how many test items at least one neighbour has; a negative neighbour is none.

    Rows are sorted, so that each look into a profile is a binary search, and the first neighbour that has the item
    ends the search for it: the cost follows the test items, not the sizes of the profiles.
    """
    n_users, n_neighbours = neighbours.shape
    found = np.zeros(n_users, dtype=np.int64)
    for user in range(n_users):
        for place in range(test_indptr[user], test_indptr[user + 1]):
            item = test_items[place]
            for rank in range(n_neighbours):
                neighbour = neighbours[user, rank]
                if neighbour < 0:
                    continue
                low, high = indptr[neighbour], indptr[neighbour + 1]
                end = high
                while low < high:
                    middle = (low + high) >> 1
                    if items[middle] < item:
                        low = middle + 1
                    else:
                        high = middle
                if low < end and items[low] == item:
                    found[user] += 1
                    break
    return found
