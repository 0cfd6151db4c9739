"""Kernels: how many of a recipient's items each candidate's sketch shows, and the best k of them.

Counts are bit-sliced: plane p holds bit p of the count of every candidate, 64 candidates to a word, so that adding a
row of a sketch is a handful of logical operations on words (carry-save adders), and picking the largest counts needs
only a look at the planes from the highest down. Candidates are handled in tiles, whose planes stay in the cache.

Candidates are ordered by count, then by a random priority of (recipient, candidate). A total order makes the best k of
all tiles the best k of their bests, in whatever parts they come.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, inner, kernel
from hetdp.sketching._kernels import bit_count, bit_position

#: Words of a tile: 8 planes of 16,384 candidates are 16 KiB.
_TILE = 256
#: Planes: counts below 2**26.
_PLANES = 26
_FIRST_CARRY = 3

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

Words = NDArray[np.uint64]
Matrix = NDArray[np.uint64]


class SearchRoom(NamedTuple):
    """Room of one thread for a tile: planes of counts, those chosen, those sure, and the rows that are added next."""

    planes: Words
    chosen: Words
    sure: Words
    eight: NDArray[np.int64]


class WeighRoom(NamedTuple):
    """Room of one thread for those of a list who are looked at: places, words, shifts and sums."""

    places: NDArray[np.int64]
    words: NDArray[np.int64]
    shifts: Words
    sums: NDArray[np.float64]


def search_room() -> SearchRoom:
    """Return the room that `best_candidates` needs."""
    planes = np.empty((_PLANES + 1) * _TILE, np.uint64)
    return SearchRoom(planes, np.empty(_TILE, np.uint64), np.empty(_TILE, np.uint64), np.empty(8, np.int64))


def weigh_room(size: int) -> WeighRoom:
    """Return the room that lists of a size need to be weighed."""
    return WeighRoom(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint64), np.empty(size))


@kernel
def best_candidates(
    recipients: tuple[int, int],
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    bits: Matrix,
    candidates: tuple[int, int],
    seeds: Words,
    counts: NDArray[np.int32],
    neighbors: NDArray[np.int32],
    priorities: Matrix,
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
    room: SearchRoom,
    weighing: WeighRoom,
) -> None:
    """Improve the lists of the recipients in a range by the candidates in another, whose bits are given.

    `rows[indptr[u]:indptr[u + 1]]` are the rows of `bits` for the items of u. The last row of `bits` is all zeros.
    Lists are best first; a free place has the neighbour -1 and the count -1. Where values of rows are given, ones are
    weighed at once, as `weigh_ones` does, while the rows are still in the cache.
    """
    k = counts.shape[1]
    work, chosen, sure, eight = room
    for user in range(recipients[0], recipients[1]):
        own = rows[indptr[user] : indptr[user + 1]]
        planes = _planes_for(own.size)
        for word in range(0, bits.shape[1], _TILE):
            first = candidates[0] + 64 * word
            width = min(_TILE, bits.shape[1] - word, (candidates[1] - first + 63) // 64)
            if width <= 0:
                break
            _count(own, bits, word, width, planes, eight, work)
            _everybody(chosen, width, candidates[1] - first, user - first)
            _keep_largest(work, planes, width, k, counts[user, k - 1], chosen, sure)
            for place in range(width):
                left = chosen[place]
                while left != _ZERO:
                    rest = left & (left - _ONE)
                    lane = bit_position(left ^ rest)
                    count: Any = np.int64(0)  # or the list would be compiled for a constant too
                    for plane in range(planes):
                        count |= int((work[plane * _TILE + place] >> np.uint64(lane)) & _ONE) << plane
                    candidate = first + 64 * place + lane
                    priority = _priority(seeds[user], candidate)
                    _insert(counts[user], neighbors[user], priorities[user], count, candidate, priority)
                    left = rest
        if values.size:
            totals[user] = _weigh(own, bits, candidates, values, neighbors[user], weighing, sums[user])


@inlined
def _planes_for(size: int) -> int:
    planes = _FIRST_CARRY + 1
    while size >> planes:
        planes += 1
    return planes


@inlined
def _carry(one: Any, two: Any, three: Any) -> Any:  # noqa: ANN401  (uint64 scalars)
    return (one & two) | ((one ^ two) & three)


@inner
def _count(
    own: NDArray[np.int32], bits: Matrix, word: int, width: int, planes: int, eight: NDArray[np.int64], work: Words
) -> None:
    """Add up the rows of the recipient's items, eight at a time."""
    for plane in range(planes):
        for place in range(plane * _TILE, plane * _TILE + width):
            work[place] = _ZERO
    for begin in range(0, own.size, 8):
        for place in range(8):
            eight[place] = own[begin + place] if begin + place < own.size else bits.shape[0] - 1
        _add_eight(bits[:, word : word + width], eight, width, work)
        for plane in range(_FIRST_CARRY, planes):
            _add_carry(work[plane * _TILE : plane * _TILE + width], work[_PLANES * _TILE : _PLANES * _TILE + width])


@inner
def _add_eight(bits: Matrix, eight: NDArray[np.int64], width: int, work: Words) -> None:
    """Add eight rows to planes 0, 1 and 2; the carry goes to the last place. Few enough pointers to be vectorised."""
    a, b, c, d = bits[eight[0]], bits[eight[1]], bits[eight[2]], bits[eight[3]]
    e, f, g, h = bits[eight[4]], bits[eight[5]], bits[eight[6]], bits[eight[7]]
    for word in range(width):
        ones, twos, fours = work[word], work[_TILE + word], work[2 * _TILE + word]
        x, y = a[word], b[word]
        two_1, ones = _carry(ones, x, y), ones ^ x ^ y
        x, y = c[word], d[word]
        two_2, ones = _carry(ones, x, y), ones ^ x ^ y
        four_1, twos = _carry(twos, two_1, two_2), twos ^ two_1 ^ two_2
        x, y = e[word], f[word]
        two_1, ones = _carry(ones, x, y), ones ^ x ^ y
        x, y = g[word], h[word]
        two_2, ones = _carry(ones, x, y), ones ^ x ^ y
        four_2, twos = _carry(twos, two_1, two_2), twos ^ two_1 ^ two_2
        work[word] = ones
        work[_TILE + word] = twos
        work[2 * _TILE + word] = fours ^ four_1 ^ four_2
        work[_PLANES * _TILE + word] = _carry(fours, four_1, four_2)


@inner
def _add_carry(plane: Words, carry: Words) -> None:
    for word in range(plane.size):
        both = plane[word] & carry[word]
        plane[word] ^= carry[word]
        carry[word] = both


@inner
def _everybody(chosen: Words, width: int, size: int, oneself: int) -> None:
    """Mark the first `size` candidates, without oneself."""
    for word in range(width):
        chosen[word] = _ONES
    if size < 64 * width:
        chosen[width - 1] = (_ONE << np.uint64(size & 63)) - _ONE
    if 0 <= oneself < 64 * width:
        chosen[oneself >> 6] &= ~(_ONE << np.uint64(oneself & 63))


@inner
def _keep_largest(work: Words, planes: int, width: int, k: int, least: int, chosen: Words, sure: Words) -> None:
    """Keep of the chosen those who may be among the best k: counts of at least `least` and of the k-th largest.

    Going down the planes, `sure` candidates lie above the threshold built so far and `chosen` ones on it. The next
    digit of the threshold is 1 if at least k in all would be left.
    """
    for word in range(width):
        sure[word] = _ZERO
    found = 0
    threshold = 0
    for plane in range(planes - 1, -1, -1):
        start = plane * _TILE
        above = 0
        for word in range(width):
            above += bit_count(chosen[word] & work[start + word])
        # The lists so far raise the threshold too: no digit of it falls below theirs.
        forced = threshold + (1 << plane) <= least
        if found + above >= k or forced:
            threshold += 1 << plane
            for word in range(width):
                chosen[word] &= work[start + word]
        else:
            found += above
            for word in range(width):
                both = chosen[word] & work[start + word]
                sure[word] |= both
                chosen[word] ^= both
    for word in range(width):
        chosen[word] |= sure[word]


@inlined
def _priority(seed: Any, candidate: int) -> Any:  # noqa: ANN401  (uint64 scalars)
    """Return number `candidate` of the SplitMix64 sequence of the recipient's random seed."""
    word = seed + np.uint64(candidate + 1) * _STEP
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@inner
def _insert(
    counts: NDArray[np.int32],
    neighbors: NDArray[np.int32],
    priorities: Words,
    count: int,
    candidate: int,
    priority: Any,  # noqa: ANN401  (uint64 scalar)
) -> None:
    """Put a candidate into a list, best first, unless the list is full of better ones."""
    place = counts.size
    while place > 0 and (
        count > counts[place - 1] or (count == counts[place - 1] and priority > priorities[place - 1])
    ):
        place -= 1
    if place == counts.size:
        return
    for lower in range(counts.size - 1, place, -1):
        counts[lower], neighbors[lower], priorities[lower] = (
            counts[lower - 1],
            neighbors[lower - 1],
            priorities[lower - 1],
        )
    counts[place], neighbors[place], priorities[place] = count, candidate, priority


@kernel
def weigh_ones(
    recipients: tuple[int, int],
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    bits: Matrix,
    candidates: tuple[int, int],
    values: NDArray[np.float64],
    neighbors: NDArray[np.int32],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
    room: WeighRoom,
) -> None:
    """Add up the values of a recipient's items, and of those at which listed neighbours in a range show a one."""
    for user in range(recipients[0], recipients[1]):
        own = rows[indptr[user] : indptr[user + 1]]
        totals[user] = _weigh(own, bits, candidates, values, neighbors[user], room, sums[user])


@inner
def _weigh(
    own: NDArray[np.int32],
    bits: Matrix,
    candidates: tuple[int, int],
    values: NDArray[np.float64],
    neighbors: NDArray[np.int32],
    room: WeighRoom,
    sums: NDArray[np.float64],
) -> float:
    """Add up values for one recipient; return those of all items.

    Values of one recipient only are ever added: a sum over all would carry somebody's digits into the next one's.
    """
    places, words, shifts, added = room
    here = 0
    for place in range(neighbors.size):
        column = neighbors[place] - candidates[0]
        if 0 <= column < candidates[1] - candidates[0]:
            places[here], words[here], shifts[here], added[here] = place, column >> 6, np.uint64(column & 63), 0.0
            here += 1
    total = 0.0
    for row in own:
        shown, value = bits[row], values[row]
        total += value
        for one in range(here):
            added[one] += value * np.float64((shown[words[one]] >> shifts[one]) & _ONE)
    for one in range(here):
        sums[places[one]] = added[one]
    return total


@kernel
def sort_lists(
    counts: NDArray[np.int32], neighbors: NDArray[np.int32], priorities: Matrix, sums: NDArray[np.float64]
) -> None:
    """Bring lists into the order of their sums, then of their priorities, best first."""
    for user in range(sums.shape[0]):
        for end in range(1, sums.shape[1]):
            place = end
            total, priority = sums[user, end], priorities[user, end]
            count, neighbor = counts[user, end], neighbors[user, end]
            while place > 0 and (
                total > sums[user, place - 1]
                or (total == sums[user, place - 1] and priority > priorities[user, place - 1])
            ):
                for part in (counts, neighbors):
                    part[user, place] = part[user, place - 1]
                sums[user, place], priorities[user, place] = sums[user, place - 1], priorities[user, place - 1]
                place -= 1
            sums[user, place], priorities[user, place] = total, priority
            counts[user, place], neighbors[user, place] = count, neighbor
