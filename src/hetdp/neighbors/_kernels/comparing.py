"""Kernels: how much two profiles have in common, and the noisy score made of it.

Two items in common with the codes a and b count min(a, b), or floor(a b / 255) where the product is asked for. Either
way an item counts for no more than its owner's code. An entry of a packed profile is item * 256 + code.
"""
# ruff: noqa: FBT001  (kernels take no keywords)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, kernel
from hetdp.neighbors._kernels.drawing import draw_laplace
from hetdp.noise.lookup_tables import LaplaceTables

Places = NDArray[np.int64]
Ids = NDArray[np.int32]
Codes = NDArray[np.uint8]
Scores = NDArray[np.float64]
Packed = NDArray[Any]

_UNIT = 255
#: Candidates whose profiles are fetched together.
BATCH = 32
_LINE = 16  # entries of four bytes in a cache line


@kernel
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


@kernel
def common_items(
    users: Ids,
    found_indptr: Places,
    found: Ids,
    indptr: Places,
    packed: Packed,
    mine: Codes,
    ends: Places,
    product: bool,
    out: Ids,
    pairs: NDArray[np.uint32],
) -> Any:  # noqa: ANN401  (a 64-bit integer)
    """Write what `users[row]` has in common with each of its candidates, and the pairs, smaller index first.

    `mine` is all zero on entry and on exit; `ends` is room for where the profiles of a batch begin and end.

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
        for begin in range(first, last, BATCH):
            count = min(BATCH, last - begin)
            for number in range(count):
                peer = found[begin + number]
                ends[0, number], ends[1, number] = indptr[peer], indptr[peer + 1]
            for number in range(count):
                place = ends[0, number]
                if place + 2 * _LINE < entries:
                    touched += np.int64(packed[place]) + np.int64(packed[place + _LINE])
                    touched += np.int64(packed[place + 2 * _LINE])
            for number in range(count):
                spot = begin + number
                pairs[0, spot], pairs[1, spot] = min(users[row], found[spot]), max(users[row], found[spot])
                # Unsigned places need no check for negative ones, and small numbers are compared many at a time.
                total = np.uint32(0)
                if product:
                    for place in range(np.uint64(ends[0, number]), np.uint64(ends[1, number])):
                        entry = packed[place]
                        theirs = np.uint32(entry & low)
                        total += (np.uint32(mine[entry >> eight]) * theirs) // np.uint32(_UNIT)
                else:
                    for place in range(np.uint64(ends[0, number]), np.uint64(ends[1, number])):
                        entry = packed[place]
                        total += np.uint32(min(mine[entry >> eight], np.uint8(entry & low)))
                out[spot] = total
        for place in range(own_first, own_last):
            mine[np.uint64(packed[place]) >> eight] = 0
    return touched


@inlined
def score(noisy: int, factor: float, squared: bool) -> float:
    """Return the score of a noisy overlap, in whole items."""
    value = noisy / _UNIT * factor
    return value * value if squared else value


@kernel
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
    """Write the noisy scores of the candidates of `users`; part i of `words` belongs to candidate i."""
    each = words.size // found.size if found.size else 0
    for row in range(users.size):
        own = factors[users[row]]
        first, last = found_indptr[row], found_indptr[row + 1]
        for spot in range(first, last):  # a loop of its own, so that factors far away come all at once
            out[spot] = factors[found[spot]]
        for spot in range(first, last):
            noise, _ = draw_laplace(words, spot * each, tables)
            out[spot] = score(common[spot] + noise, own * out[spot], squared)
