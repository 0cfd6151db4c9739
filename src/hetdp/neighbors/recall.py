"""How much of what people hide their neighbours have: what `PrivateNeighbors.score` measures, without noise."""

import numpy as np
from numpy.typing import NDArray

from hetdp.profiles.holdings import Holdings

__all__ = ["count_among_neighbors"]


def count_among_neighbors(neighbors: NDArray[np.integer], own: Holdings, hidden: Holdings) -> NDArray[np.int64]:
    """Return how many hidden items of each recipient at least one neighbour has.

    Parameters
    ----------
    neighbors
        Positions of the neighbours, a row for each recipient; -1 where there is none.
    own
        What those who may be neighbours have.
    hidden
        What each recipient hides, on the same catalogue.

    Privacy
    -------
    Read from exact rows: as private as the profiles.

    Examples
    --------
    >>> own = Holdings(np.array([0, 2, 3]), np.array([0, 1, 2], dtype=np.int32))
    >>> hidden = Holdings(np.array([0, 2, 3]), np.array([1, 2, 0], dtype=np.int32))
    >>> count_among_neighbors(np.array([[0, 1], [1, -1]]), own, hidden)
    array([2, 0])
    """
    found = np.zeros(hidden.n_users, dtype=np.int64)
    for recipient, row in enumerate(neighbors):
        wanted = hidden.items[hidden.indptr[recipient] : hidden.indptr[recipient + 1]]
        theirs = [own.items[own.indptr[one] : own.indptr[one + 1]] for one in row[row >= 0]]
        found[recipient] = np.isin(wanted, np.concatenate(theirs)).sum() if theirs else 0
    return found
