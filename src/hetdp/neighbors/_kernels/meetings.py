"""Kernels: who was compared with whom, and how many of the best peers have been found."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import kernel

__all__ = ["count_matches", "mark_met", "note_comparisons"]

Views = NDArray[np.int32]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]


@kernel
def count_matches(users: Views, truth: Views, view: Views) -> int:
    """Return how many peers of the rows `truth` are among as many first ones in the views of `users`."""
    matches = 0
    k = truth.shape[1]
    for row in range(users.size):
        for slot in range(k):
            peer = truth[row, slot]
            if peer < 0:
                continue
            for other in range(k):
                if view[users[row], other] == peer:
                    matches += 1
                    break
    return matches


@kernel
def mark_met(begin: int, indptr: Places, found: Views, seen: Words) -> None:
    """Let the peers that were asked about remember who asked."""
    for row in range(indptr.size - 1):
        node = begin + row
        bit = np.uint64(1) << np.uint64(node & 63)
        for place in range(indptr[row], indptr[row + 1]):
            seen[found[place], node >> 6] |= bit


@kernel
def note_comparisons(
    begin: int,
    indptr: Places,
    found: Views,
    is_counted: NDArray[np.bool_],
    asked: Places,
    answered: Places,
    log: Places,
) -> int:
    """Add to the tallies, and log node * n + peer for every comparison in which `node` is counted; return how many."""
    n = is_counted.size
    size = 0
    for row in range(indptr.size - 1):
        node = begin + row
        asked[node] += indptr[row + 1] - indptr[row]
        for spot in range(indptr[row], indptr[row + 1]):
            peer = np.int64(found[spot])
            answered[peer] += 1
            if is_counted[node]:
                log[size] = node * n + peer
                size += 1
            if is_counted[peer]:
                log[size] = peer * n + node
                size += 1
    return size
