"""Kernel: the k best of all candidates, noise drawn for every one of them.

The plain way, with the same outcome as `selecting` in distribution: the reference of its tests, the peer of its
benchmark, and the only way for scores that large negative noise can raise.
"""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import kernel
from hetdp.neighbors._kernels.accumulating import InvertedIndex, accumulate, reset
from hetdp.neighbors._kernels.drawing import draw_laplace
from hetdp.neighbors._kernels.ranking import insert
from hetdp.neighbors._kernels.workspace import FIRST, REFILLS, STATE, TURN, Rows, Workspace
from hetdp.noise.tables import LaplaceTables

__all__ = ["draw_all"]

#: Places in the state of the work beyond those of every kernel: whether the sums are ready, the next candidate, how
#: many the list holds.
_PREPARED, _CURSOR, _FILLED = range(STATE, STATE + 3)
_WORDS_KEPT = 16


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
    """Fill the lists of the recipients `who`; return whether it is done, else call again with more words."""
    state, sums, barred = work.state, work.sums, work.barred
    candidates = inverse.size - 1
    while state[TURN] < who.size:
        position = (state[TURN] - state[FIRST]) * words_each
        if position >= first_words.size:
            return False
        words, enough = first_words, position + words_each - _WORDS_KEPT
        if state[REFILLS]:
            words, position, enough = more_words, 0, more_words.size - _WORDS_KEPT
        turn = state[TURN]
        best, chosen, user = out_scores[turn], out_indices[turn], who[turn]
        if not state[_PREPARED]:
            accumulate(rows.ids, rows.starts[user], rows.starts[user + 1], index, sums, work.few)
            for place in range(bars.starts[user], bars.starts[user + 1]):
                barred[bars.ids[place]] = True
            state[_PREPARED], state[_CURSOR], state[_FILLED] = 1, 0, 0
        filled = state[_FILLED]
        for candidate in range(state[_CURSOR], candidates):
            if position > enough:
                state[_CURSOR], state[_FILLED] = candidate, filled
                state[REFILLS] += 1
                return False
            noise, position = draw_laplace(words, position, tables)
            if barred[candidate]:
                continue
            score = (np.int64(sums[candidate]) + noise) / inverse[candidate]
            filled = insert(best, chosen, filled, score * score if squared else score, candidate)
        reset(sums, work.base)
        for place in range(bars.starts[user], bars.starts[user + 1]):
            barred[bars.ids[place]] = False
        state[TURN] = turn + 1
        state[REFILLS] = 0
        state[_PREPARED] = 0
    return True
