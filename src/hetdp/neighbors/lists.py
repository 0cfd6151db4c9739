"""The answer of an engine: for each user, the nearest others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NeighborLists"]


@dataclass(frozen=True, repr=False, eq=False)
class NeighborLists:
    """One list per recipient, best first.

    Attributes
    ----------
    indices
        Positions of the neighbours, (n_users, k); -1 where there is none.
    scores
        Their noisy scores, in whole items for an overlap; nan where there is none.

    Privacy
    -------
    Row u is for the eyes of user u. All rows together lose what all users together may lose: see the guarantee.
    """

    indices: NDArray[np.int32]
    scores: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"NeighborLists({self.indices.shape[0]} users, k={self.indices.shape[1]})"
