"""What a ranked list is worth by what was found on it, and how high."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["ndcg_per_user"]


def ndcg_per_user(
    users: NDArray[np.integer], ranks: NDArray[np.integer], wanted: NDArray[np.integer], n: int
) -> NDArray[np.float64]:
    """Return the normalised discounted cumulative gain of each user's list; 0 for a user who wants nothing.

    Parameters
    ----------
    users, ranks
        Whose list each hit is on, and its rank from 0.
    wanted
        How many items each user wants.
    n
        Length of the lists.

    Examples
    --------
    >>> ndcg_per_user(np.array([0, 0]), np.array([0, 2]), np.array([2, 1]), 3).round(2)
    array([0.92, 0.  ])
    """
    worth = 1.0 / np.log2(np.arange(2.0, n + 2.0))
    gained = np.bincount(users, weights=worth[ranks], minlength=wanted.size)
    best: NDArray[np.float64] = np.cumsum(worth)[np.clip(wanted, 1, n) - 1]
    return gained / best
