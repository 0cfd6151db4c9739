"""The threads of the gossip engine. What they compute does not depend on how many there are."""

import os
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.neighbors.engines.gossip.scores import NoisyScores, ScoreTable

__all__ = ["BLOCK_NODES", "Crew"]

#: Nodes that a thread handles at a time: few enough for its buffers to stay in the cache.
BLOCK_NODES = 4_096
_PARTS_PER_THREAD = 8

Part = TypeVar("Part")
Result = TypeVar("Result")


class Crew:
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
