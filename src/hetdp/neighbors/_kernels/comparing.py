"""Kernels: how much two profiles have in common, and the noisy score made of it.

Two items in common with the codes a and b count min(a, b), or floor(a b / 255) where the product is asked for. Either
way an item counts for no more than its owner's code. An entry of a packed profile is item * 256 + code.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hetdp.neighbors._kernels.drawing import draw_laplace
from hetdp.neighbors.noise_tables import LaplaceTables

__all__ = [
    "add_common_dense",
    "add_common_sparse",
    "common_items",
    "fill_dense",
    "label_items",
    "look_up",
    "pack_profiles",
    "pairs_of_rows",
    "score_pairs",
    "score_rows",
]

Places = NDArray[np.int64]
Ids = NDArray[np.int32]
Codes = NDArray[np.uint8]
Scores = NDArray[np.float64]
Packed = NDArray[Any]

_UNIT = 255
_BATCH = 32
_LINE = 16  # entries of four bytes in a cache line


@njit(cache=True, nogil=True)
def label_items(items: Ids, n_items: int, n_users: int) -> tuple[Ids, Places]:
    """Return new labels of the items, most popular first, and the number of holders by label.

    An item that only one user holds gets the label -1: nobody can have it in common. Popular items come first because
    they are looked up most often, and then share their cache lines.
    """
    holders = np.zeros(n_items, dtype=np.int64)
    for place in range(items.size):
        holders[items[place]] += 1
    after = np.zeros(n_users + 2, dtype=np.int64)  # how many items have more holders than that
    for item in range(n_items):
        after[holders[item]] += 1
    total = 0
    for count in range(n_users, -1, -1):
        here = after[count]
        after[count] = total
        if count > 1:
            total += here
    labels = np.full(n_items, -1, dtype=np.int32)
    by_label = np.empty(total, dtype=np.int64)
    for item in range(n_items):
        count = holders[item]
        if count > 1:
            labels[item] = after[count]
            by_label[after[count]] = count
            after[count] += 1
    return labels, by_label


@njit(cache=True, nogil=True)
def pack_profiles(indptr: Places, items: Ids, codes: Codes, labels: Ids, new_indptr: Places, packed: Packed) -> None:
    """Fill in the packed profiles; entries without a label are left out."""
    count = 0
    for user in range(indptr.size - 1):
        new_indptr[user] = count
        for place in range(indptr[user], indptr[user + 1]):
            label = labels[items[place]]
            if label >= 0:
                packed[count] = (np.int64(label) << 8) | np.int64(codes[place])
                count += 1
    new_indptr[indptr.size - 1] = count


@njit(cache=True, nogil=True)
def common_items(
    users: Ids, found_indptr: Places, found: Ids, indptr: Places, packed: Packed, mine: Codes, product: bool, out: Ids
) -> int:
    """Write what `users[row]` has in common with each of its candidates; `mine` is all zero on entry and on exit.

    Returns a number without meaning: the sum of what was touched ahead of its use. A profile out of the cache takes
    long to come; touching those of a batch first lets them come all at once.
    """
    touched = np.int64(0)
    eight, low = np.uint64(8), np.uint64(255)
    entries = packed.size
    for row in range(users.size):
        first, last = found_indptr[row], found_indptr[row + 1]
        if first == last:
            continue
        own_first, own_last = indptr[users[row]], indptr[users[row] + 1]
        for place in range(own_first, own_last):
            entry = np.uint64(packed[place])
            mine[entry >> eight] = entry & low
        for begin in range(first, last, _BATCH):
            end = min(begin + _BATCH, last)
            if end - begin > 1:
                for spot in range(begin, end):
                    place = indptr[found[spot]]
                    if place + 2 * _LINE < entries:
                        touched += np.int64(packed[place]) + np.int64(packed[place + _LINE])
                        touched += np.int64(packed[place + 2 * _LINE])
            for spot in range(begin, end):
                peer = found[spot]
                total = np.uint64(0)
                if product:
                    for place in range(indptr[peer], indptr[peer + 1]):
                        entry = np.uint64(packed[place])
                        total += (np.uint64(mine[entry >> eight]) * (entry & low)) // np.uint64(_UNIT)
                else:
                    for place in range(indptr[peer], indptr[peer + 1]):
                        entry = np.uint64(packed[place])
                        total += min(np.uint64(mine[entry >> eight]), entry & low)
                out[spot] = total
        for place in range(own_first, own_last):
            mine[np.uint64(packed[place]) >> eight] = 0
    return touched


@njit(cache=True, nogil=True)
def fill_dense(indptr: Places, packed: Packed, dense: Codes) -> None:
    """Write the codes of the most popular items into rows, one per user; `dense` is all zero on entry."""
    width = dense.shape[1]
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            item = np.int64(packed[place] >> 8)
            if item < width:
                dense[user, item] = packed[place] & 255


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def add_common_sparse(
    indptr: Places, packed: Packed, holders: Places, first_label: int, product: bool, common: Ids
) -> None:
    """Add what each pair has in common among the items from `first_label` on to `common[u, o]`, u < o.

    The holders of each item are listed in order of the users, so the partners o > u of an entry follow it in the list.
    """
    n_labels = holders.size
    begin = np.zeros(n_labels + 1, dtype=np.int64)
    for label in range(first_label, n_labels):
        begin[label + 1] = begin[label] + holders[label]
    listed = np.empty(begin[n_labels], dtype=np.uint32)  # user * 256 + code
    following = begin[:n_labels].copy()
    for user in range(indptr.size - 1):
        for place in range(indptr[user], indptr[user + 1]):
            label = np.int64(packed[place] >> 8)
            if label >= first_label:
                listed[following[label]] = (np.uint32(user) << np.uint32(8)) | np.uint32(packed[place] & 255)
                following[label] += 1
    following[:] = begin[:n_labels]
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


@njit(cache=True, nogil=True)
def pairs_of_rows(begin: int, end: int, n: int) -> tuple[Ids, Ids]:
    """Return the pairs u < o < n with u from `begin` to `end`."""
    count = 0
    for user in range(begin, end):
        count += n - 1 - user
    first, second = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    place = 0
    for user in range(begin, end):
        for peer in range(user + 1, n):
            first[place], second[place] = user, peer
            place += 1
    return first, second


@njit(cache=True, nogil=True, inline="always")
def _score(noisy: int, factor: float, squared: bool) -> float:
    value = noisy / _UNIT * factor
    return value * value if squared else value


@njit(cache=True, nogil=True)
def score_rows(
    users: Ids,
    found_indptr: Places,
    found: Ids,
    common: Ids,
    words: NDArray[np.uint64],
    tables: LaplaceTables,
    factors: Scores,
    squared: bool,
    out: Scores,
) -> None:
    """Write the noisy scores of the candidates of `users`; row i of `words` belongs to candidate i."""
    each = words.shape[1]
    flat = words.reshape(-1)
    for row in range(users.size):
        own = factors[users[row]]
        for spot in range(found_indptr[row], found_indptr[row + 1]):
            noise, _ = draw_laplace(flat, spot * each, tables)
            out[spot] = _score(common[spot] + noise, own * factors[found[spot]], squared)


@njit(cache=True, nogil=True)
def score_pairs(
    begin: int,
    end: int,
    common: Ids,
    words: NDArray[np.uint64],
    tables: LaplaceTables,
    factors: Scores,
    squared: bool,
    out: Scores,
) -> None:
    """Write the noisy scores of the pairs of `pairs_of_rows` into both halves of `out`."""
    each = words.shape[1]
    flat = words.reshape(-1)
    place = 0
    for user in range(begin, end):
        for peer in range(user + 1, out.shape[0]):
            noise, _ = draw_laplace(flat, place * each, tables)
            value = _score(common[user, peer] + noise, factors[user] * factors[peer], squared)
            out[user, peer] = value
            out[peer, user] = value
            place += 1


@njit(cache=True, nogil=True)
def look_up(users: Ids, found_indptr: Places, found: Ids, table: Scores, out: Scores) -> None:
    """Write the scores of the candidates of `users` from the table of all pairs."""
    for row in range(users.size):
        for spot in range(found_indptr[row], found_indptr[row + 1]):
            out[spot] = table[users[row], found[spot]]
