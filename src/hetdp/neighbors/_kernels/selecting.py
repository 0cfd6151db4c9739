"""Kernels: the k best of all candidates under fresh noise, without drawing the noise of most of them.

For a recipient, candidates with a large sum ("strong") are looked at one by one; all others are bounded by a common
number and looked at in blocks. In both cases the question is whether the noise reaches what is needed to enter the list
as it stands; only where it does is the noise itself drawn. The result has exactly the distribution of drawing
everything: docs/proofs/exact_engine.md.

The kernel returns to Python whenever the random words run out, and goes on where it stopped. Every recipient has words
of their own, so that what one of them has does not decide which noise the others get.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import inner, kernel
from hetdp.neighbors._kernels.accumulating import InvertedIndex, accumulate, accumulate_listed, count_touches, reset
from hetdp.neighbors._kernels.drawing import draw_geometric, draw_laplace, toss
from hetdp.noise.lookup_tables import LARGEST_COUNT, LaplaceTables, ThresholdTables

#: Places in the state of every kernel: whose turn it is, how often their words ran out, and whose words come first.
TURN, REFILLS, FIRST = range(3)
#: Where a kernel's own places begin.
_OWN_PLACES = 3
#: The most that a kernel notes in passing: the candidates of a block that reach its level.
FEW = LARGEST_COUNT + 1
#: Places in the state of `select`: what to do next, how far it is, candidates listed as strong, how many the list
#: holds, the largest sum that is not strong, whether only candidates met are listed.
_PHASE, _CURSOR, _STRONG, _FILLED, _BOUND, _LISTED = range(_OWN_PLACES, _OWN_PLACES + 6)
#: A step takes fewer words than this, so it starts only if that number is left.
_WORDS_KEPT = 1024
_PREPARE, _LOOK_AT_STRONG, _LOOK_AT_REST = range(3)
#: Sums of this many candidates are sampled to tell strong from common; the eighth largest is the bound.
_SAMPLED = 512
_STRONGEST = 8
#: Candidates checked at a time for a strong one among them, or drawn at a time.
_RUN = 16
_LARGEST_15_BITS = 0x7FFF
#: Below one meeting per this many candidates, the candidates met are listed; else all sums are scanned.
_SPARSE = 24
_NEVER = -(1 << 60)
#: Places in the state of `draw_all`: whether the sums are ready, the next candidate, how many the list holds.
_PREPARED, _NEXT, _HELD = range(_OWN_PLACES, _OWN_PLACES + 3)
_FEW_WORDS_KEPT = 16


class Rows(NamedTuple):
    """Ids per recipient: those of recipient u are `ids[starts[u]:starts[u + 1]]`."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]


class Workspace(NamedTuple):
    """Scratch space of one thread.

    Attributes
    ----------
    state
        Where a kernel goes on after it has run out of random words.
    sums, packed
        What each candidate has in common with the recipient; the same memory as words of 64 bits.
    strong
        Candidates listed.
    barred
        Candidates that may not be in the list.
    few
        Room for `FEW` numbers, for whatever a kernel notes in passing: allocating in a kernel would make it many
        times as long to compile.
    """

    state: NDArray[np.int64]
    sums: NDArray[Any]
    packed: NDArray[np.uint64]
    strong: NDArray[np.int32]
    barred: NDArray[np.bool_]
    few: NDArray[np.int64]


@kernel
def select(
    who: NDArray[np.int32],
    rows: Rows,
    bars: Rows,
    index: InvertedIndex,
    inverse: NDArray[np.float64],
    tables: LaplaceTables,
    thresholds: ThresholdTables,
    first_words: NDArray[np.uint64],
    words_each: int,
    more_words: NDArray[np.uint64],
    work: Workspace,
    out_scores: NDArray[np.float64],
    out_indices: NDArray[np.int32],
) -> bool:
    """Fill the lists of the recipients `who`; return whether it is done, else call again with more words.

    `rows` holds what each recipient has, `bars` the candidates that may not be in their lists. `inverse` holds
    1 / factor of each candidate, its last entry the smallest of all; scores are (sum + noise) * factor. `first_words`
    has `words_each` for each recipient from `state[FIRST]` on, `more_words` goes on where one of them has run out. The
    lists hold whatever stands for nobody on entry.
    """
    state, sums, strong, barred = work.state, work.sums, work.strong, work.barred
    few = work.few
    candidates = inverse.size - 1
    easiest = inverse[candidates]
    k = out_scores.shape[1]
    lowest, distance = thresholds.ladder[0], thresholds.ladder[1]
    top = thresholds.coins.shape[0] - 1
    while state[TURN] < who.size:
        position = (state[TURN] - state[FIRST]) * words_each
        if position >= first_words.size:
            return False
        words, enough = first_words, position + words_each - _WORDS_KEPT
        if state[REFILLS]:
            words, position, enough = more_words, 0, more_words.size - _WORDS_KEPT
        turn = state[TURN]
        best, chosen, user = out_scores[turn], out_indices[turn], who[turn]
        if state[_PHASE] == _PREPARE:
            begin, end = rows.starts[user], rows.starts[user + 1]
            touches = count_touches(rows.ids, begin, end, index.starts)
            state[_LISTED] = touches * _SPARSE < candidates
            if state[_LISTED]:
                state[_STRONG] = accumulate_listed(rows.ids, begin, end, index, sums, strong)
                state[_BOUND] = 0
            else:
                accumulate(rows.ids, begin, end, index, sums, few)
                state[_BOUND] = common_bound(sums, candidates, few)
                state[_STRONG] = list_strong(sums, work.packed, candidates, state[_BOUND], strong)
            for place in range(bars.starts[user], bars.starts[user + 1]):
                barred[bars.ids[place]] = True
            state[_FILLED] = 0
            state[_CURSOR] = 0
            state[_PHASE] = _LOOK_AT_STRONG

        bound = state[_BOUND]
        filled = state[_FILLED]
        worst = best[k - 1] if filled == k else -np.inf

        if state[_PHASE] == _LOOK_AT_STRONG:
            cursor = state[_CURSOR]
            while cursor < state[_STRONG]:
                if position > enough:
                    state[_CURSOR], state[_FILLED] = cursor, filled
                    state[REFILLS] += 1
                    return False
                candidate: Any = np.int64(strong[cursor])  # as in the loops below: one `insert` is enough
                cursor += 1
                if barred[candidate]:
                    continue
                common = np.int64(sums[candidate])
                # One less than needed, so that rounding of the product cannot exclude anybody.
                needed = (math.floor(worst * inverse[candidate]) - 1 - common) if filled == k else _NEVER
                if needed < lowest:
                    noise, position = draw_laplace(words, position, tables)
                else:
                    level = min(top, (needed - lowest) // distance)
                    passed, position = toss(words, position, thresholds.coins[level, 0], thresholds.coins[level, 1])
                    if not passed:
                        continue
                    noise, position = draw_geometric(words, position, tables)
                    noise += lowest + level * distance
                filled = insert(best, chosen, filled, (common + noise) / inverse[candidate], candidate)
                worst = best[k - 1] if filled == k else -np.inf
            state[_CURSOR], state[_FILLED], state[_PHASE] = 0, filled, _LOOK_AT_REST

        cursor = state[_CURSOR]
        while cursor < candidates:
            if position > enough:
                state[_CURSOR], state[_FILLED] = cursor, filled
                state[REFILLS] += 1
                return False
            needed = (math.floor(worst * easiest) - 1 - bound) if worst > 0 else _NEVER
            if needed < lowest:
                for candidate in range(cursor, min(cursor + _RUN, candidates)):
                    common = np.int64(sums[candidate])
                    if common > bound or barred[candidate]:
                        continue
                    noise, position = draw_laplace(words, position, tables)
                    filled = insert(best, chosen, filled, (common + noise) / inverse[candidate], candidate)
                cursor += _RUN
            else:
                level = min(top, (needed - lowest) // distance)
                size = 1 << thresholds.block_bits[level]
                count, position = draw_count(words, position, thresholds.high, thresholds.low, level)
                for hit in range(min(count, size)):
                    place, position = draw_place(words, position, size, few, hit)
                    candidate = cursor + place
                    noise, position = draw_geometric(words, position, tables)
                    # Beyond the last candidate, at a barred one, or at one looked at before: nobody is there.
                    if candidate >= candidates or barred[candidate] or sums[candidate] > bound:
                        continue
                    score = (np.int64(sums[candidate]) + noise + lowest + level * distance) / inverse[candidate]
                    filled = insert(best, chosen, filled, score, candidate)
                cursor += size
            worst = best[k - 1] if filled == k else -np.inf

        if state[_LISTED]:
            for place in range(state[_STRONG]):
                sums[strong[place]] = 0
        else:
            reset(sums)
        for place in range(bars.starts[user], bars.starts[user + 1]):
            barred[bars.ids[place]] = False
        state[TURN] = turn + 1
        state[REFILLS] = 0
        state[_PHASE] = _PREPARE
    return True


@inner
def common_bound(sums: NDArray[Any], candidates: int, largest: NDArray[np.int64]) -> int:
    """Return a number that most candidates do not exceed: the eighth largest of a sample of their sums."""
    for slot in range(_STRONGEST):
        largest[slot] = 0
    for place in range(0, candidates, max(1, candidates // _SAMPLED)):
        value = np.int64(sums[place])
        if value > largest[_STRONGEST - 1]:
            slot = _STRONGEST - 1
            while slot > 0 and largest[slot - 1] < value:
                largest[slot] = largest[slot - 1]
                slot -= 1
            largest[slot] = value
    return int(largest[_STRONGEST - 1])


@inner
def list_strong(
    sums: NDArray[Any], packed: NDArray[np.uint64], candidates: int, bound: int, strong: NDArray[np.int32]
) -> int:
    """List the candidates whose sums exceed the bound; return how many. `packed` views the sums four at a time."""
    count = 0
    if sums.itemsize == 2 and bound < _LARGEST_15_BITS:  # noqa: PLR2004  (bytes)
        # Add what lifts a sum above the bound into its highest bit; sums of more than 15 bits have it already.
        lift = np.uint64(_LARGEST_15_BITS - bound) * np.uint64(0x0001000100010001)
        for run in range(0, candidates, _RUN):
            found = np.uint64(0)
            for word in range(run // 4, run // 4 + _RUN // 4):
                four = packed[np.uint64(word)]
                found |= ((four & np.uint64(0x7FFF7FFF7FFF7FFF)) + lift) | four
            if found & np.uint64(0x8000800080008000):
                for place in range(run, run + _RUN):
                    if sums[np.uint64(place)] > bound:
                        strong[np.uint64(count)] = place
                        count += 1
    else:
        for place in range(candidates):
            if sums[np.uint64(place)] > bound:
                strong[np.uint64(count)] = place
                count += 1
    return count


@inner
def draw_count(
    words: NDArray[np.uint64], position: int, high: NDArray[np.uint64], low: NDArray[np.uint64], level: int
) -> tuple[int, int]:
    """Return how many of a block reach its level."""
    last = high.shape[1] - 1
    word = words[position]
    position += 1
    count = 0
    while word > high[level, count]:
        count += 1
    if word == high[level, count]:
        second = words[position]
        position += 1
        while count < last and word == high[level, count] and second >= low[level, count]:
            count += 1
    return count, position


@inner
def draw_place(
    words: NDArray[np.uint64], position: int, size: int, taken: NDArray[np.int64], earlier: int
) -> tuple[int, int]:
    """Return a uniformly random place in a block, different from the `earlier` ones in `taken`, and note it there."""
    while True:
        place = int(words[position] & np.uint64(size - 1))
        position += 1
        fresh = True
        for other in range(earlier):
            if taken[other] == place:
                fresh = False
                break
        if fresh:
            taken[earlier] = place
            return place, position


@kernel
def draw_all(
    who: NDArray[np.int32],
    rows: Rows,
    bars: Rows,
    index: InvertedIndex,
    inverse: NDArray[np.float64],
    tables: LaplaceTables,
    squared: bool,  # noqa: FBT001  (compiled functions take arguments by position)
    first_words: NDArray[np.uint64],
    words_each: int,
    more_words: NDArray[np.uint64],
    work: Workspace,
    out_scores: NDArray[np.float64],
    out_indices: NDArray[np.int32],
) -> bool:
    """Fill the lists of the recipients `who` as `select` does, with noise drawn for every candidate.

    The plain way, with the same distribution: the reference of its tests, the peer of its benchmark, and the only way
    for scores that large negative noise can raise.
    """
    state, sums, barred = work.state, work.sums, work.barred
    candidates = inverse.size - 1
    while state[TURN] < who.size:
        position = (state[TURN] - state[FIRST]) * words_each
        if position >= first_words.size:
            return False
        words, enough = first_words, position + words_each - _FEW_WORDS_KEPT
        if state[REFILLS]:
            words, position, enough = more_words, 0, more_words.size - _FEW_WORDS_KEPT
        turn = state[TURN]
        best, chosen, user = out_scores[turn], out_indices[turn], who[turn]
        if not state[_PREPARED]:
            accumulate(rows.ids, rows.starts[user], rows.starts[user + 1], index, sums, work.few)
            for place in range(bars.starts[user], bars.starts[user + 1]):
                barred[bars.ids[place]] = True
            state[_PREPARED], state[_NEXT], state[_HELD] = 1, 0, 0
        filled = state[_HELD]
        for candidate in range(state[_NEXT], candidates):
            if position > enough:
                state[_NEXT], state[_HELD] = candidate, filled
                state[REFILLS] += 1
                return False
            noise, position = draw_laplace(words, position, tables)
            if barred[candidate]:
                continue
            score = (np.int64(sums[candidate]) + noise) / inverse[candidate]
            filled = insert(best, chosen, filled, score * score if squared else score, candidate)
        reset(sums)
        for place in range(bars.starts[user], bars.starts[user + 1]):
            barred[bars.ids[place]] = False
        state[TURN] = turn + 1
        state[REFILLS] = 0
        state[_PREPARED] = 0
    return True


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
