"""Kernel: the exact nearest users by common items, without noise."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["nearest"]

Places = NDArray[np.int64]
Items = NDArray[np.int32]


@njit(cache=True, nogil=True)
def nearest(
    indptr: Places, items: Items, holders_indptr: Places, holders: Items, divisors: NDArray[np.float64], k: int
) -> tuple[Places, Places]:
    """Return for each user the k others with the largest common**2 / divisors[other], and how many are in common.

    Common items are counted through the holders of each item, so that the cost and the memory follow the pairs of users
    who share something. Squares are compared because they are exact: the square root of two sizes would make ties a
    matter of rounding. Ties go to the smaller index, and so do the places that nobody with a common item fills.
    """
    n_users = indptr.size - 1
    neighbours = np.empty((n_users, k), dtype=np.int64)
    common = np.zeros((n_users, k), dtype=np.int64)
    counts = np.zeros(n_users, dtype=np.int64)
    touched = np.empty(n_users, dtype=np.int64)
    values = np.empty(k, dtype=np.float64)
    for user in range(n_users):
        n_touched = 0
        for place in range(indptr[user], indptr[user + 1]):
            item = items[place]
            for spot in range(holders_indptr[item], holders_indptr[item + 1]):
                other = holders[spot]
                if counts[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                counts[other] += 1
        filled = 0
        for spot in range(n_touched):
            other = touched[spot]
            if other == user:
                continue
            value = counts[other] * counts[other] / divisors[other]
            if filled == k:
                worst = neighbours[user, k - 1]
                if value < values[k - 1] or (value == values[k - 1] and other > worst):
                    continue
            else:
                filled += 1
            slot = filled - 1
            while slot > 0 and (
                value > values[slot - 1] or (value == values[slot - 1] and other < neighbours[user, slot - 1])
            ):
                values[slot] = values[slot - 1]
                neighbours[user, slot] = neighbours[user, slot - 1]
                slot -= 1
            values[slot] = value
            neighbours[user, slot] = other
        for rank in range(filled):
            common[user, rank] = counts[neighbours[user, rank]]
        other = 0
        while filled < k:
            if other != user and counts[other] == 0:
                neighbours[user, filled] = other
                filled += 1
            other += 1
        for spot in range(n_touched):
            counts[touched[spot]] = 0
    return neighbours, common
