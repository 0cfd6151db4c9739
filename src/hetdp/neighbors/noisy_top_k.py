"""The k best of many candidates under noise: batches of recipients, threads and random words around the kernels."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.noise.tables import laplace_tables, threshold_tables
from hetdp.profiles.coded import read_only
from hetdp.profiles.weights import WEIGHT_STEPS

if TYPE_CHECKING:
    from hetdp.neighbors._kernels.accumulating import InvertedIndex
    from hetdp.neighbors._kernels.workspace import Rows, Workspace

__all__ = ["BATCH", "NoisyTopK", "Progress", "in_batches", "over_batches"]

#: Called with how much is done and how much there is.
Progress: TypeAlias = Callable[[int, int], None]

#: Recipients handled together, with a random stream of their own: the same for any number of threads.
BATCH = 512
#: Random words drawn at a time.
_WORDS = 1 << 16
#: The largest sum that 16 bits hold, and the candidates from which on it pays to use so few.
_LARGEST_SMALL = 65_535
_MANY = 4_096
#: Room beyond the last candidate, so that scans can go in whole runs.
_PADDING = 64
_STATE = 8


@dataclass(frozen=True, repr=False, eq=False)
class NoisyTopK:
    """How to choose the k best candidates for each recipient.

    Attributes
    ----------
    rows
        What each recipient has.
    bars
        Candidates that may not be in a recipient's list.
    index
        Which candidates share it, and how much that counts, 255 at most.
    factors
        Public factor of each candidate's score.
    k
        Length of a list.
    scale
        Of the discrete Laplace noise, in steps of 1/255.
    base
        Public number that every candidate's sum starts from; None for 0.
    squared, every_pair
        Whether to rank by the square, and whether to draw the noise of every candidate without shortcuts.

    Privacy
    -------
    Each (recipient, candidate) gets noise of its own; only the list leaves.
    """

    rows: "Rows"
    bars: "Rows"
    index: "InvertedIndex"
    factors: NDArray[np.float64]
    k: int
    scale: Fraction
    base: NDArray[np.int64] | None = None
    squared: bool = False
    every_pair: bool = False

    def lists(self, who: NDArray[np.int32], stream: Stream) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the scores, in steps, and the candidates of the recipients `who`.

        Privacy
        -------
        The noise comes from `stream`; one part of the recipients after the other.
        """
        scores, indices = np.empty((who.size, self.k)), np.empty((who.size, self.k), dtype=np.int32)
        largest = 0 if self.base is None else int(self.base.max(initial=0))
        sizes = self.rows.starts[who + 1] - self.rows.starts[who]
        # Few candidates fit into the cache either way, and one kind of sums is one kernel less to compile.
        small = (sizes * WEIGHT_STEPS + largest <= _LARGEST_SMALL) & (self.factors.size >= _MANY)
        for kind, dtype in ((small, np.uint16), (~small, np.int32)):
            places = np.flatnonzero(kind)
            if places.size:
                scores[places], indices[places] = self._select(who[places], dtype, stream)
        return scores, indices

    def _select(
        self, who: NDArray[np.int32], dtype: type[np.generic], stream: Stream
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        from hetdp.neighbors._kernels.drawing_all import draw_all
        from hetdp.neighbors._kernels.selecting import select

        work = _workspace(self.factors.size, self.k, dtype, self.base)
        inverse = 1.0 / self.factors
        inverse = np.append(inverse, inverse.min(initial=np.inf))
        scores, indices = np.empty((who.size, self.k)), np.empty((who.size, self.k), dtype=np.int32)
        tables = laplace_tables(self.scale)
        common = (who, _frozen(self.rows), _frozen(self.bars), _frozen(self.index), inverse, tables)
        kernel: Any = select
        middle: Any = threshold_tables(self.scale)
        if self.every_pair or self.squared:
            kernel, middle = draw_all, self.squared
        while not kernel(*common, middle, stream.words(_WORDS), work, scores, indices):
            pass
        return scores, indices


def _workspace(candidates: int, k: int, dtype: type[np.generic], base: NDArray[Any] | None = None) -> "Workspace":
    """Return fresh scratch space for so many candidates."""
    from hetdp.neighbors._kernels.workspace import Workspace

    room = candidates + _PADDING
    room += -room % 8  # whole words of 64 bits
    sums = np.zeros(room, dtype=dtype)
    start = np.zeros(0, dtype=dtype)
    if base is not None:
        sums[:candidates] = base
        start = sums[:candidates].copy()
    return Workspace(
        np.zeros(_STATE, dtype=np.int64),
        sums,
        sums.view(np.uint64),
        start,
        np.empty(room, dtype=np.int32),
        np.zeros(candidates, dtype=np.bool_),
        np.empty(k),
        np.empty(k, dtype=np.int32),
    )


def _frozen(arrays: Any) -> Any:  # noqa: ANN401  (any named tuple of arrays)
    """Return read-only views: a kernel is compiled anew for arrays that may be written to, so all come in one kind."""
    return type(arrays)(*(read_only(array) for array in arrays))


def in_batches(
    total: int,
    run: Callable[[int, int, Stream], None],
    *,
    stream: Stream,
    threads: int,
    progress: Progress | None,
) -> None:
    """Call `run(begin, end, stream of its own)` for batches of recipients, on several threads, in any order.

    Privacy
    -------
    Each batch draws from a child of `stream`, so the outcome depends on the seed, not on the threads.
    """
    children = {begin: stream.child() for begin in range(0, total, BATCH)}

    def one(begin: int, end: int) -> None:
        run(begin, end, children[begin])

    over_batches(total, one, threads=threads, progress=progress)


def over_batches(total: int, run: Callable[[int, int], None], *, threads: int, progress: Progress | None) -> None:
    """Call `run(begin, end)` for batches of recipients, on threads beside this one, so that Ctrl-C is heard.

    Examples
    --------
    >>> done = []
    >>> over_batches(5, lambda begin, end: done.append(end - begin), threads=1, progress=None)
    >>> done
    [5]
    """
    done = 0

    def one(begin: int) -> int:
        end = min(begin + BATCH, total)
        run(begin, end)
        return end - begin

    pool = ThreadPoolExecutor(threads)
    try:
        for finished in pool.map(one, range(0, total, BATCH)):
            done += finished
            if progress is not None:
                progress(done, total)
    finally:
        # After Ctrl-C, batches that have not begun are not worth waiting for.
        pool.shutdown(cancel_futures=True)
