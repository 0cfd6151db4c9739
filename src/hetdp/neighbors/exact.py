"""The exact engine: every pair is compared, every pair has noise of its own, and the cost follows the common items."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.neighbors.coding import UNIT, CodedProfiles
from hetdp.neighbors.lists import NeighborLists
from hetdp.neighbors.noise_tables import laplace_tables
from hetdp.neighbors.threshold_tables import threshold_tables
from hetdp.randomness import Stream

__all__ = ["exact_neighbors"]

Progress = Callable[[int, int], None]

#: Recipients handled together, with a random stream of their own: the same for any number of threads.
_BATCH = 512
#: Random words drawn at a time.
_WORDS = 1 << 16
#: An item that more than one in so many users have becomes a dense row ...
_DENSE_SHARE = 30
#: ... as long as all dense rows together stay below so many bytes.
_DENSE_BYTES = 1 << 28
#: Sums of recipients with more items than this may exceed 16 bits.
_SMALL = 65_535 // UNIT
#: Room beyond the last candidate, so that scans can go in whole runs.
_PADDING = 64


def exact_neighbors(
    coded: CodedProfiles,
    *,
    k: int,
    epsilon: Fraction,
    stream: Stream,
    factors: NDArray[np.float64],
    threads: int = 1,
    progress: Progress | None = None,
) -> NeighborLists:
    """Return the k candidates with the best noisy scores for every user.

    Parameters
    ----------
    coded
        The profiles.
    k
        Length of a list; below the number of users.
    epsilon
        Level of the noise of each directed pair.
    stream
        Source of the noise.
    factors
        Public factor of each candidate's score: ones for the overlap.
    threads
        The result does not depend on it.
    progress
        Called with the number of users done and in total.

    Privacy
    -------
    The score of (recipient u, candidate o) is the sum of o's codes over the items both have, plus discrete Laplace noise
    of scale 255 / epsilon, fresh for each directed pair: an item of o moves it by at most 255 v_i, so u's list costs
    the item epsilon v_i. Which noise is drawn explicitly changes nothing about that (docs/proofs/exact_engine.md).
    """
    index = _invert(coded)
    inverse = np.append(1.0 / factors, (1.0 / factors).min())
    work = _Work(coded, index, inverse, k, Fraction(UNIT) / epsilon)
    indices = np.empty((coded.n_users, k), dtype=np.int32)
    scores = np.empty((coded.n_users, k), dtype=np.float64)
    batches = [(begin, stream.child()) for begin in range(0, coded.n_users, _BATCH)]

    def run(batch: tuple[int, Stream]) -> int:
        begin, own_stream = batch
        end = min(begin + _BATCH, coded.n_users)
        work.fill(begin, end, own_stream, scores[begin:end], indices[begin:end])
        return end - begin

    done = 0
    with ThreadPoolExecutor(threads) as pool:
        for finished in pool.map(run, batches):
            done += finished
            if progress is not None:
                progress(done, coded.n_users)
    own = factors[:, None] / UNIT
    return NeighborLists(indices, scores * own)


@dataclass(frozen=True)
class _Work:
    """What all batches share."""

    coded: CodedProfiles
    index: Any
    inverse: NDArray[np.float64]
    k: int
    scale: Fraction

    def fill(
        self, begin: int, end: int, stream: Stream, scores: NDArray[np.float64], indices: NDArray[np.int32]
    ) -> None:
        """Fill the lists of the users from `begin` to `end`."""
        sizes = self.coded.sizes[begin:end]
        for kind, dtype in ((sizes <= _SMALL, np.uint16), (sizes > _SMALL, np.int32)):
            places = np.flatnonzero(kind)
            if places.size:
                found = self._select((places + begin).astype(np.int32), dtype, stream)
                scores[places], indices[places] = found

    def _select(
        self, who: NDArray[np.int32], dtype: type[np.generic], stream: Stream
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        from hetdp.neighbors._kernels.selecting import STATE, select  # noqa: PLC0415  (compiled at first use)

        room = self.coded.n_users + _PADDING
        sums, strong = np.zeros(room, dtype=dtype), np.empty(room, dtype=np.int32)
        best, chosen = np.empty(self.k), np.empty(self.k, dtype=np.int32)
        scores, indices = np.empty((who.size, self.k)), np.empty((who.size, self.k), dtype=np.int32)
        state = np.zeros(STATE, dtype=np.int64)
        tables, thresholds = laplace_tables(self.scale), threshold_tables(self.scale)
        done = False
        while not done:
            words = stream.words(_WORDS)
            state[5] = 0
            done = select(
                who, (self.coded.indptr, self.coded.items), self.index, self.inverse, tables, thresholds, words, state,
                sums, sums.view(np.uint64), strong, best, chosen, scores, indices,
            )  # fmt: skip
        return scores, indices


def _invert(coded: CodedProfiles) -> Any:  # noqa: ANN401  (a named tuple of a module that is loaded late)
    from hetdp.neighbors._kernels.accumulating import InvertedIndex, invert  # noqa: PLC0415  (compiled at first use)

    counts = np.bincount(coded.items, minlength=coded.n_items)
    starts = np.concatenate([[0], np.cumsum(counts)])
    users, codes = invert(coded.indptr, coded.items, coded.codes, starts)
    popular = np.argsort(-counts, kind="stable")[: _DENSE_BYTES // max(1, coded.n_users)]
    popular = popular[counts[popular] * _DENSE_SHARE > coded.n_users]
    dense_row = np.full(coded.n_items, -1, dtype=np.int32)
    dense_row[popular] = np.arange(popular.size)
    dense = np.zeros((popular.size, coded.n_users), dtype=np.uint8)
    for row, item in enumerate(popular):
        part = slice(starts[item], starts[item + 1])
        dense[row, users[part]] = codes[part]
    return InvertedIndex(starts, users, codes, dense_row, dense)
