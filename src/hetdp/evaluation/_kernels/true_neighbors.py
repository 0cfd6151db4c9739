"""Kernels: the exact nearest users by common items, without noise."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inner, kernel
from hetdp.neighbors._kernels.ranking import insert

__all__ = ["Matrix", "nearest"]

Places = NDArray[np.int64]
Values = NDArray[np.float64]


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
