"""Noisy scores of pairs for the gossip engine, and the threads that compute them.

A score is computed when it is asked for, or all of them at once and looked up. No result depends on the threads.
"""

import os
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.randomness import KeyedWords
from hetdp.noise.lookup_tables import LaplaceTables, laplace_tables
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles

Ids = NDArray[np.int32]
Places = NDArray[np.int64]
Part = TypeVar("Part")
Result = TypeVar("Result")

#: Nodes that a thread handles at a time: few enough for its buffers to stay in the cache.
BLOCK_NODES = 4_096
_PARTS_PER_THREAD = 8
#: Items that fit beside a code of 8 bits in an entry of 32.
_LABELS_IN_32_BITS = 2**24
#: A popular item is handled for all pairs at once if more than one user in this many holds it: twelve pairs are
#: compared side by side in the time that one pair takes when it is looked for (measured).
_POPULAR_ONE_IN = 4
#: Pairs whose noise is drawn together: one user's with everybody, and those of a table.
_CHUNK_PAIRS = 65_536
_TABLE_PAIRS = 16_384


@dataclass(repr=False, eq=False)
class Worker:
    """What one thread needs for itself: room for one profile, for the ends of some others, and a cipher."""

    mine: NDArray[np.uint8]
    ends: Places
    keyed: KeyedWords


@dataclass(frozen=True, repr=False, eq=False)
class NoisyScores:
    """The noisy score of any pair, as a function of the pair.

    Attributes
    ----------
    indptr, packed
        Profiles: item * 256 + code, without the items that nobody else holds.
    holders
        How many users hold each item, most first.
    key
        Secret; the noise of a pair is a function of it and the pair.
    tables, factors, squared, product
        Noise, factors of the users, whether scores are squared, whether codes are multiplied.

    Privacy
    -------
    As private as the profiles and the key. The score of a pair is its overlap plus discrete Laplace noise of scale
    255 / epsilon, the same whenever and by whomever it is asked for: an item pays epsilon times its weight for each
    distinct peer (docs/proofs/gossip.md).
    """

    indptr: Places
    packed: NDArray[Any]
    holders: Places
    key: bytes
    tables: LaplaceTables
    factors: NDArray[np.float64]
    squared: bool
    product: bool

    def __repr__(self) -> str:
        return f"NoisyScores({self.n_users} users)"

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return self.indptr.size - 1

    def worker(self) -> Worker:
        """Return the room that a thread needs."""
        from hetdp.neighbors._kernels.comparing import BATCH

        mine = np.zeros(self.holders.size, dtype=np.uint8)
        return Worker(mine, np.empty((2, BATCH), dtype=np.int64), KeyedWords(self.key))

    def score(self, users: Ids, indptr: Places, found: Ids, worker: Worker) -> NDArray[np.float64]:
        """Return the noisy score of each candidate; those of `users[i]` are `found[indptr[i]:indptr[i + 1]]`."""
        from hetdp.neighbors._kernels.comparing import common_items, score_rows

        common = np.empty(found.size, dtype=np.int32)
        pairs = np.empty((2, found.size), dtype=np.uint32)
        common_items(
            users, indptr, found, self.indptr, self.packed, worker.mine, worker.ends, self.product, common, pairs
        )
        words = worker.keyed.words(*pairs, count=_whole_blocks(self.tables)).reshape(-1)
        scores = np.empty(found.size, dtype=np.float64)
        score_rows(users, indptr, found, common, words, self.tables, self.factors, self.squared, scores)
        return scores

    def best(self, users: Ids, k: int, worker: Worker) -> Ids:
        """Return the k < n best of all others for some users: what gossip would find with all the time there is."""
        from hetdp.neighbors._kernels.vicinity import keep_best

        best = np.full((users.size, k), -1, dtype=np.int32)
        for row, user in enumerate(users):
            view, scores, born = best[row : row + 1], np.full((1, k), -np.inf), np.zeros((1, k), dtype=np.int16)
            for begin in range(0, self.n_users, _CHUNK_PAIRS):
                found = np.arange(begin, min(begin + _CHUNK_PAIRS, self.n_users), dtype=np.int32)
                found = found[found != user]
                indptr = np.array([0, found.size])
                values = self.score(users[row : row + 1], indptr, found, worker)
                keep_best(0, indptr, found, np.zeros(found.size, dtype=np.int16), values, view, scores, view, born)
        return best


@dataclass(frozen=True, repr=False, eq=False)
class ScoreTable:
    """The noisy scores of all pairs of a small network, bit for bit those of `NoisyScores`.

    Attributes
    ----------
    noisy
        Noisy overlaps of the pairs u < o.
    factors, squared
        As in `NoisyScores`.
    """

    noisy: NDArray[np.int32]
    factors: NDArray[np.float64]
    squared: bool

    def __repr__(self) -> str:
        return f"ScoreTable({self.noisy.shape[0]} users)"

    def worker(self) -> None:
        """Return nothing: a table needs no room."""

    def score(self, users: Ids, indptr: Places, found: Ids, worker: object) -> NDArray[np.float64]:
        """Return the noisy score of each candidate; see `NoisyScores.score`."""
        from hetdp.neighbors._kernels.pair_table import look_up

        del worker
        scores = np.empty(found.size, dtype=np.float64)
        look_up(users, indptr, found, self.noisy, self.factors, self.squared, scores)
        return scores

    def best(self, users: Ids, k: int, worker: object) -> Ids:
        """Return the k < n best of all others for some users; see `NoisyScores.best`."""
        from hetdp.neighbors._kernels.pair_table import best_of_all

        del worker
        best, scores = np.full((self.noisy.shape[0], k), -1, dtype=np.int32), np.full((self.noisy.shape[0], k), -np.inf)
        best_of_all(self.noisy, self.factors, self.squared, best, scores)
        return best[users]


def noisy_scores(
    coded: CodedProfiles,
    *,
    key: bytes,
    epsilon: Fraction,
    factors: NDArray[np.float64],
    squared: bool = False,
    combine: str = "smaller",
) -> NoisyScores:
    """Return the noisy scores of all pairs, none of them computed yet."""
    from hetdp.neighbors._kernels.comparing import pack_profiles

    labels, holders = _labels(coded)
    indptr = np.empty(coded.n_users + 1, dtype=np.int64)
    packed = np.empty(int(holders.sum()), dtype=np.uint32 if holders.size <= _LABELS_IN_32_BITS else np.uint64)
    pack_profiles(coded.indptr, coded.items, coded.codes, labels, indptr, packed)
    tables = laplace_tables(Fraction(WEIGHT_STEPS) / epsilon)
    return NoisyScores(indptr, packed, holders, key, tables, factors, squared, combine == "product")


def _labels(coded: CodedProfiles) -> tuple[Ids, Places]:
    """Return new labels of the items, most popular first, and the number of holders by label.

    An item that only one user holds gets the label -1: nobody can have it in common. Popular items come first because
    they are looked up most often, and then share their cache lines.
    """
    counts = np.bincount(coded.items, minlength=coded.n_items)
    shared = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts > 1)]
    labels = np.full(coded.n_items, -1, dtype=np.int32)
    labels[shared] = np.arange(shared.size)
    return labels, counts[shared]


def score_table(scores: NoisyScores) -> ScoreTable:
    """Return the noisy scores of all pairs, computed at once: cheaper where most pairs will meet anyway."""
    from hetdp.neighbors._kernels.pair_table import (
        add_common_dense,
        add_common_sparse,
        add_noise,
        blocks_of_rows,
        fill_dense,
    )

    n = scores.n_users
    noisy = np.zeros((n, n), dtype=np.int32)
    popular = int(np.count_nonzero(scores.holders * _POPULAR_ONE_IN > n))
    if popular:
        dense = np.zeros((n, popular), dtype=np.uint8)
        fill_dense(scores.indptr, scores.packed, dense)
        add_common_dense(dense, scores.product, noisy)
    held = np.where(np.arange(scores.holders.size) < popular, 0, scores.holders)
    begin_of = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(held)])
    listed = np.empty(begin_of[-1], dtype=np.uint32)
    add_common_sparse(
        scores.indptr, scores.packed, popular, scores.product, begin_of, np.empty_like(begin_of), listed, noisy
    )
    keyed, each = KeyedWords(scores.key), _whole_blocks(scores.tables)
    rows = max(1, _TABLE_PAIRS // max(1, n))
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        pairs = sum(range(n - end, n - begin))
        blocks = np.empty((pairs * (each // 2), 2), dtype=np.uint64)
        blocks_of_rows(begin, end, n, each // 2, blocks)
        add_noise(begin, end, noisy, keyed.encrypt(blocks).reshape(-1), each, scores.tables)
    return ScoreTable(noisy, scores.factors, scores.squared)


class ScoringThreads:
    """Threads that score candidates, each with room of its own; the caller's own thread where one is enough.

    Parameters
    ----------
    scores
        The noisy scores.
    n
        Nodes; a network of one block needs one thread.
    threads
        How many; None for one per processor.
    """

    def __init__(self, scores: NoisyScores | ScoreTable, n: int, threads: int | None) -> None:
        threads = (os.cpu_count() or 1) if threads is None else whole("threads", threads, minimum=1)
        self._scores = scores
        self._threads = threads if n > BLOCK_NODES else 1
        self._workers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(self._threads):
            self._workers.put(scores.worker())
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @contextmanager
    def _worker(self) -> Iterator[Any]:
        worker = self._workers.get()
        try:
            yield worker
        finally:
            self._workers.put(worker)

    def score(
        self, users: NDArray[np.int32], indptr: NDArray[np.int64], found: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return the noisy scores of candidates; see `NoisyScores.score`."""
        with self._worker() as worker:
            return self._scores.score(users, indptr, found, worker)

    def best(self, users: NDArray[np.int32], k: int) -> NDArray[np.int32]:
        """Return the k best of all others for some users; see `NoisyScores.best`."""

        def best_of(part: NDArray[np.int32]) -> NDArray[np.int32]:
            with self._worker() as worker:
                return self._scores.best(part, k, worker)

        parts = 1 if self._pool is None else min(users.size, _PARTS_PER_THREAD * self._threads)
        return np.concatenate(list(self.map(best_of, np.array_split(users, parts))))

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """Yield the results of the parts in order."""
        return map(function, parts) if self._pool is None else self._pool.map(function, parts)

    def ahead(self, make: Callable[[], Result], count: int) -> Iterator[Result]:
        """Yield what `make` returns, `count` times; the next is made while the last is used, if there are threads."""
        if self._pool is None:
            for _ in range(count):
                yield make()
            return
        coming: Future[Result] = self._pool.submit(make)
        for number in range(count):
            ready = coming.result()
            if number + 1 < count:
                coming = self._pool.submit(make)
            yield ready


def _whole_blocks(tables: LaplaceTables) -> int:
    """Return the words of a draw, rounded up to blocks of the cipher: rows without gaps between them."""
    return tables.words_per_draw + tables.words_per_draw % 2
