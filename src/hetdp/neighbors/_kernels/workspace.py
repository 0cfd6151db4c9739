"""What a selection kernel works on: made once per thread, handed over as arrays."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.noise.tables import LARGEST_COUNT

__all__ = ["FEW", "FIRST", "REFILLS", "STATE", "TURN", "Rows", "Workspace"]

#: Places in the state of every kernel: whose turn it is, how often their words ran out, and whose words come first.
TURN, REFILLS, FIRST = range(3)
#: Where a kernel's own places begin.
STATE = 3
#: The most that a kernel notes in passing: the candidates of a block that reach its level.
FEW = LARGEST_COUNT + 1


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
    base
        What every sum starts from; empty if from 0.
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
    base: NDArray[Any]
    strong: NDArray[np.int32]
    barred: NDArray[np.bool_]
    few: NDArray[np.int64]
