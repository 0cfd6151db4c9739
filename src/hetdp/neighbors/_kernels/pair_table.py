"""Kernels: the noisy overlaps of all pairs of a small network, in a table of which the half u < o is used."""
# ruff: noqa: FBT001  (kernels take no keywords)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, kernel
from hetdp.neighbors._kernels.comparing import score
from hetdp.neighbors._kernels.drawing import draw_laplace
from hetdp.noise.lookup_tables import LaplaceTables

Places = NDArray[np.int64]
Ids = NDArray[np.int32]
Codes = NDArray[np.uint8]
Scores = NDArray[np.float64]
Packed = NDArray[Any]

_UNIT = 255


@kernel
def fill_dense(indptr: Places, packed: Packed, dense: Codes) -> None:
    """Write the codes of the most popular items into rows, one per user; `dense` is all zero on entry."""
    width = dense.shape[1]
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            item = np.int64(packed[place] >> 8)
            if item < width:
                dense[user, item] = packed[place] & 255


@kernel
def add_common_dense(dense: Codes, product: bool, common: Ids) -> None:
    """Add what each pair has in common among the popular items to `common[u, o]`, u < o."""
    n, width = dense.shape
    for user in range(n):
        mine = dense[user]
        for peer in range(user + 1, n):
            theirs = dense[peer]
            total = np.uint32(0)
            if product:
                for item in range(width):
                    both = np.uint32(np.uint32(mine[item]) * np.uint32(theirs[item]))
                    # floor(both / 255) for both <= 255**2, in a way that is done for many items at once
                    total += np.uint32((both + np.uint32(1) + (both >> np.uint32(8))) >> np.uint32(8))
            else:
                for item in range(width):
                    total += np.uint32(min(mine[item], theirs[item]))
            common[user, peer] += total


@kernel
def add_common_sparse(
    indptr: Places,
    packed: Packed,
    first_label: int,
    product: bool,
    begin: Places,
    following: Places,
    listed: NDArray[np.uint32],
    common: Ids,
) -> None:
    """Add what each pair has in common among the items from `first_label` on to `common[u, o]`, u < o.

    The holders of each item are listed in order of the users, so the partners o > u of an entry follow it in the list:
    from place `begin` of the item on, in `listed`, as user * 256 + code. `following` is as long as `begin`.
    """
    for item in range(begin.size):
        following[item] = begin[item]
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            label: Any = np.int64(packed[place] >> 8)
            if label >= first_label:
                listed[following[label]] = (np.uint32(user) << np.uint32(8)) | np.uint32(packed[place] & 255)
                following[label] += 1
    for item in range(begin.size):
        following[item] = begin[item]
    for user in range(indptr.size - 1):
        row = common[user]
        for place in range(indptr[user], indptr[user + 1]):
            label = np.int64(packed[place] >> 8)
            if label < first_label:
                continue
            code = np.uint32(packed[place] & 255)
            following[label] += 1
            if product:
                for spot in range(following[label], begin[label + 1]):
                    theirs = listed[spot] & np.uint32(255)
                    row[listed[spot] >> np.uint32(8)] += np.int32((code * theirs) // np.uint32(_UNIT))
            else:
                for spot in range(following[label], begin[label + 1]):
                    theirs = listed[spot] & np.uint32(255)
                    row[listed[spot] >> np.uint32(8)] += np.int32(min(code, theirs))


@kernel
def blocks_of_rows(begin: int, end: int, n: int, each: int, blocks: NDArray[np.uint64]) -> None:
    """Write the blocks of `KeyedWords` for the pairs u < o < n with u from `begin` to `end`, `each` for every pair."""
    place = 0
    for user in range(begin, end):
        for peer in range(user + 1, n):
            for counter in range(each):
                blocks[place, 0] = np.uint64(user) | (np.uint64(peer) << np.uint64(32))
                blocks[place, 1] = np.uint64(counter) << np.uint64(32)
                place += 1


@kernel
def add_noise(begin: int, end: int, common: Ids, words: NDArray[np.uint64], each: int, tables: LaplaceTables) -> None:
    """Add their noise to the pairs of `blocks_of_rows`, `each` words for every pair."""
    place = 0
    for user in range(begin, end):
        for peer in range(user + 1, common.shape[0]):
            noise, _ = draw_laplace(words, place * each, tables)
            common[user, peer] += noise
            place += 1


@kernel
def look_up(
    users: Ids, found_indptr: Places, found: Ids, noisy: Ids, factors: Scores, squared: bool, out: Scores
) -> None:
    """Write the scores of the candidates of `users`, from the noisy overlaps of all pairs u < o."""
    for row in range(users.size):
        user = users[row]
        own = factors[user]
        for spot in range(found_indptr[row], found_indptr[row + 1]):
            peer = found[spot]
            out[spot] = score(noisy[min(user, peer), max(user, peer)], own * factors[peer], squared)


@inlined
def _enter(lists: Ids, scores: Scores, user: int, peer: int, value: float) -> None:
    """Put a peer that is larger than all before it into a list: it comes after its equals."""
    slot = lists.shape[1] - 1
    while slot > 0 and value > scores[user, slot - 1]:
        scores[user, slot] = scores[user, slot - 1]
        lists[user, slot] = lists[user, slot - 1]
        slot -= 1
    scores[user, slot] = value
    lists[user, slot] = peer


@kernel
def best_of_all(noisy: Ids, factors: Scores, squared: bool, lists: Ids, scores: Scores) -> None:
    """Fill in the best others of every user, best first, smaller index first among equals; scores begin at -inf."""
    n, k = lists.shape
    # Row by row of the pairs u < o: a user meets the smaller ones first, in order, and then the larger ones, in order.
    for user in range(n):
        for peer in range(user + 1, n):
            value = score(noisy[user, peer], factors[user] * factors[peer], squared)
            if value > scores[user, k - 1]:
                _enter(lists, scores, user, peer, value)
            if value > scores[peer, k - 1]:
                _enter(lists, scores, peer, user, value)
