"""Kernels: who was compared with whom, and how many of the best peers have been found."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["count_matches", "count_met", "mark_met", "note_comparisons"]

Views = NDArray[np.int32]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def mark_met(begin: int, indptr: Places, found: Views, seen: Words) -> None:
    """Let the peers that were asked about remember who asked."""
    for row in range(indptr.size - 1):
        node = begin + row
        bit = np.uint64(1) << np.uint64(node & 63)
        for place in range(indptr[row], indptr[row + 1]):
            seen[found[place], node >> 6] |= bit


@njit(cache=True, nogil=True)
def count_met(seen: Words) -> Places:
    """Return with how many peers each node was compared."""
    n, words = seen.shape
    met = np.zeros(n, dtype=np.int64)
    for node in range(n):
        for word in range(words):
            bits = seen[node, word]
            while bits:
                bits &= bits - np.uint64(1)
                met[node] += 1
    return met


@njit(cache=True, nogil=True)
def note_comparisons(
    begin: int, indptr: Places, found: Views, is_counted: NDArray[np.bool_], asked: Places, answered: Places
) -> Places:
    """Add to the tallies, and return node * n + peer for every comparison in which `node` is counted."""
    n = is_counted.size
    size = 0
    for row in range(indptr.size - 1):
        own = is_counted[begin + row]
        asked[begin + row] += indptr[row + 1] - indptr[row]
        for spot in range(indptr[row], indptr[row + 1]):
            answered[found[spot]] += 1
            size += int(own) + int(is_counted[found[spot]])
    log = np.empty(size, dtype=np.int64)
    size = 0
    for row in range(indptr.size - 1):
        node = begin + row
        for spot in range(indptr[row], indptr[row + 1]):
            peer = np.int64(found[spot])
            if is_counted[node]:
                log[size] = node * n + peer
                size += 1
            if is_counted[peer]:
                log[size] = peer * n + node
                size += 1
    return log
