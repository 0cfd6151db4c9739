"""Kernels: a list of the best so far, kept in order."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inner

__all__ = ["insert"]


@inner
def insert(best: NDArray[np.float64], chosen: NDArray[np.int32], filled: int, score: float, candidate: int) -> int:
    """Put a candidate in its place in the list, if there is one; return how many are in it. Ties: smaller index."""
    k = best.size
    if filled == k:
        if score < best[k - 1] or (score == best[k - 1] and candidate > chosen[k - 1]):
            return filled
        slot = k - 1
    else:
        slot = filled
        filled += 1
    while slot > 0 and (best[slot - 1] < score or (best[slot - 1] == score and chosen[slot - 1] > candidate)):
        best[slot] = best[slot - 1]
        chosen[slot] = chosen[slot - 1]
        slot -= 1
    best[slot] = score
    chosen[slot] = candidate
    return filled
