"""Kernels: votes of neighbours' sketches for items, and the items with the best scores."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inlined, inner, kernel

__all__ = ["Ballots", "ballots", "best_items", "fit_votes", "transpose"]

Words = NDArray[np.uint64]
Matrix = NDArray[np.uint64]
Floats = NDArray[np.float64]

_ONE = np.uint64(1)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Neighbours whose bits for an item are looked up together, as a byte.
_BYTE = 8
#: Levels below it would be noise.
_LOWEST_LEVEL = 0.1
#: Only decides how much each item counts in learning the spread.
_TYPICAL_SPREAD = 0.06


@kernel
def transpose(rows: Matrix, out: Matrix, square: Words) -> None:
    """Turn rows of items into rows of users, in squares of 64 x 64 bits; `square` is room for one."""
    for block in range(rows.shape[0] // 64):
        for word in range(rows.shape[1]):
            for row in range(64):
                square[row] = rows[64 * block + row, word]
            half, mask = 32, _ONES >> np.uint64(32)
            while half:  # swap ever smaller halves
                for row in range(64):
                    if row & half == 0:
                        swap = ((square[row] >> np.uint64(half)) ^ square[row + half]) & mask
                        square[row + half] ^= swap
                        square[row] ^= swap << np.uint64(half)
                half >>= 1
                mask ^= mask << np.uint64(half)
            for row in range(64):
                out[64 * word + row, block] = square[row]


class Ballots(NamedTuple):
    """Room of one thread for counting the votes for the items of a word.

    Attributes
    ----------
    tables
        The mean vote for each pattern of eight neighbours' bits, row by row of neighbours.
    rows, votes
        The words of eight neighbours, and what becomes of the votes for each of 64 items.
    means, counted, mine
        For each item: what the votes come to, whether it counts, and a bit that says whether it is one's own.
    """

    tables: Floats
    rows: Words
    votes: Floats
    means: Floats
    counted: Floats
    mine: Words


def ballots(n_neighbors: int, n_words: int) -> Ballots:
    """Return the room that `fit_votes` and `best_items` need for so many neighbours, and words of items."""
    tables = np.empty((-(-n_neighbors // _BYTE), 256))
    means, counted = np.empty((2, 64 * n_words))
    return Ballots(tables, np.empty(_BYTE, np.uint64), np.empty(64), means, counted, np.zeros(n_words, np.uint64))


@kernel
def fit_votes(
    recipients: tuple[int, int],
    neighbors: NDArray[np.int32],
    weights: Floats,
    bits: Matrix,
    own_indptr: NDArray[np.int64],
    own_items: NDArray[np.int32],
    places: NDArray[np.int32],
    shares: Floats,
    noise: tuple[float, float],
    fits: Floats,
    room: Ballots,
) -> None:
    """Learn for each recipient in a range how the votes relate to the shares of everybody.

    `bits[u]` holds the published bits of u for the items to learn from; `places` tells where an item is among them, or
    -1; `noise` holds chance and contrast. `fits[u]` becomes (number of votes they are worth, level, spread).
    """
    chance, contrast = noise
    blur = chance * (1.0 - chance) / contrast**2
    tables, rows, votes, means, counted = room.tables, room.rows, room.votes, room.means, room.counted
    size = shares.size
    for user in range(recipients[0], recipients[1]):
        worth = _fill_tables(neighbors[user], weights[user], tables)
        fits[user, 0], fits[user, 1], fits[user, 2] = worth, 1.0, 0.0
        if worth == 0.0:
            continue
        for word in range(bits.shape[1]):
            _add_votes(neighbors[user], bits, word, tables, rows, votes)
            for lane in range(64):
                means[64 * word + lane] = (votes[lane] - chance) / contrast
        for place in range(size):
            counted[place] = 1.0
        for place in range(own_indptr[user], own_indptr[user + 1]):
            if places[own_items[place]] >= 0:  # neighbours were chosen by these
                counted[places[own_items[place]]] = 0.0
        product, square = 0.0, 0.0
        for place in range(size):
            product += counted[place] * means[place] * shares[place]
            square += counted[place] * shares[place] ** 2
        level = max(product / square, _LOWEST_LEVEL) if square > 0.0 else 1.0
        excess, scale = 0.0, 0.0
        for place in range(size):
            own = shares[place] * (1.0 - shares[place])
            weight = counted[place] * own / (blur + own + _TYPICAL_SPREAD * own * worth) ** 2
            excess += weight * ((means[place] - level * shares[place]) ** 2 - (blur + level * own) / worth)
            scale += weight * own
        fits[user, 1] = level
        fits[user, 2] = max(excess / scale, 0.0) if scale > 0.0 else 0.0


@kernel
def best_items(
    recipients: tuple[int, int],
    neighbors: NDArray[np.int32],
    weights: Floats,
    bits: Matrix,
    own_indptr: NDArray[np.int64],
    own_items: NDArray[np.int32],
    items: tuple[int, int],
    prior: Floats,
    noise: tuple[float, float],
    fits: Floats,
    best: NDArray[np.int32],
    scores: Floats,
    room: Ballots,
) -> None:
    """Improve the lists of the recipients in a range by the items in another.

    `bits[u]` holds the published bits of u for these items, `prior` their shares, and something that can be divided by
    to the end of the last word. An item's score starts at level * share and moves toward the mean vote by as much as
    that is worth; see `engines.sketch.recommending`.
    """
    n_words = bits.shape[1]
    size = items[1] - items[0]
    tables, rows, votes, mine = room.tables, room.rows, room.votes, room.mine
    for user in range(recipients[0], recipients[1]):
        _fill_tables(neighbors[user], weights[user], tables)
        begin, end = own_indptr[user], own_indptr[user + 1]
        first = _first_from(own_items, begin, end, items[0])
        last = _first_from(own_items, first, end, items[1])
        for place in range(first, last):
            column = own_items[place] - items[0]
            mine[column >> 6] |= _ONE << np.uint64(column & 63)
        for word in range(n_words):
            _add_votes(neighbors[user], bits, word, tables, rows, votes)
            if not _score(prior[64 * word : 64 * word + 64], votes, noise, fits[user], scores[user, -1]):
                continue
            for lane in range(min(64, size - 64 * word)):
                if votes[lane] > scores[user, -1] and not (mine[word] >> np.uint64(lane)) & _ONE:
                    _insert(best[user], scores[user], items[0] + 64 * word + lane, votes[lane])
        for place in range(first, last):
            mine[(own_items[place] - items[0]) >> 6] = np.uint64(0)


@inner
def _score(prior: Floats, votes: Floats, noise: tuple[float, float], fit: Floats, worst: float) -> int:
    """Turn the votes for 64 items into their scores; return how many are above the worst of a list."""
    chance, contrast = noise
    blur = chance * (1.0 - chance) / contrast**2
    level, signal = fit[1], fit[0] * fit[2]
    above = 0
    for lane in range(64):
        own = prior[lane] * (1.0 - prior[lane])
        moved = signal * own / (signal * own + blur + own)
        start = level * prior[lane]
        votes[lane] = start + moved * ((votes[lane] - chance) / contrast - start)
        above += votes[lane] > worst
    return above


@inner
def _first_from(items: NDArray[np.int32], begin: int, end: int, item: int) -> int:
    """Return the place of the first that is not below an item, of those from `begin` to `end`, which are sorted."""
    while begin < end:
        middle = (begin + end) >> 1
        if items[middle] < item:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def _fill_tables(neighbors: NDArray[np.int32], weights: Floats, tables: Floats) -> float:
    """Write the mean vote for each pattern of eight neighbours' bits; the eighth is the lowest bit.

    Return how many equal votes the weighted ones are worth.
    """
    total, squares = 0.0, 0.0
    for rank in range(neighbors.size):
        if neighbors[rank] >= 0:
            total += weights[rank]
            squares += weights[rank] ** 2
    scale = 1.0 / total if total > 0.0 else 0.0
    for part in range(tables.shape[0]):
        tables[part, 0] = 0.0
        for bit in range(_BYTE):
            rank = _BYTE * part + _BYTE - 1 - bit
            known = rank < neighbors.size and neighbors[rank] >= 0
            weight = weights[rank] * scale if known else 0.0
            for pattern in range(1 << bit):
                tables[part, pattern + (1 << bit)] = tables[part, pattern] + weight
    return total**2 / squares if total > 0.0 else 0.0


@inner
def _add_votes(
    neighbors: NDArray[np.int32], bits: Matrix, word: int, tables: Floats, rows: Words, votes: Floats
) -> None:
    """Write the weighted sum of the neighbours' bits for the 64 items of a word."""
    for part in range(tables.shape[0]):
        for bit in range(_BYTE):
            rank = _BYTE * part + bit
            known = rank < neighbors.size and neighbors[rank] >= 0
            rows[bit] = bits[neighbors[rank], word] if known else np.uint64(0)
        for group in range(8):
            shift = np.uint64(8 * group)
            square = np.uint64(0)
            for bit in range(_BYTE):
                square = (square << np.uint64(8)) | ((rows[bit] >> shift) & np.uint64(255))
            square = _transpose_8(square)
            for lane in range(8):
                found = tables[part, (square >> np.uint64(8 * lane)) & np.uint64(255)]
                if part == 0:
                    votes[8 * group + lane] = found
                else:
                    votes[8 * group + lane] += found


@inlined
def _transpose_8(square: Any) -> Any:  # noqa: ANN401  (uint64 scalar)
    """Transpose a matrix of 8 x 8 bits: bit j of byte i goes to bit i of byte j."""
    swap = (square ^ (square >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
    square ^= swap ^ (swap << np.uint64(7))
    swap = (square ^ (square >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
    square ^= swap ^ (swap << np.uint64(14))
    swap = (square ^ (square >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
    return square ^ swap ^ (swap << np.uint64(28))


@inner
def _insert(items: NDArray[np.int32], scores: Floats, item: int, score: float) -> None:
    """Put an item into a list, best first, behind its equals; free places hold minus infinity."""
    place = items.size - 1
    while place > 0 and score > scores[place - 1]:
        items[place], scores[place] = items[place - 1], scores[place - 1]
        place -= 1
    items[place], scores[place] = item, score
