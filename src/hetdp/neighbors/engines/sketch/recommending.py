"""Recommendations from published sketches: what the neighbours seem to have, and one does not.

Everything here is post-processing of published bits, done by the recipient at home; it costs nobody any privacy.

A sketch bit of a rare item is mostly noise, so the plain mean vote m of k neighbours is full of it. Everybody can
estimate from all sketches which share p of the users has an item. Neighbours have more of everything than others
(whoever has much has much in common), and more of some things. So the model is: a share level * p + t of the neighbours
has the item, where t has the variance spread * p (1 - p). The score is the best linear estimate of it,

    level p + c (m - level p),    c = spread a k / (spread a k + a + q (1 - q) / contrast**2),    a = p (1 - p).

Level and spread are learned by each recipient from the votes for the most popular items (empirical Bayes): without a
taste of their own, the neighbours' votes count for nothing; with a strong one, for almost everything.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput
from hetdp.neighbors.engines.base import Progress
from hetdp.neighbors.engines.sketch.engine import MEMORY_BYTES, count_ones, fill_rows, portions
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.holdings import Holdings
from hetdp.sketching.bits import Sketches
from hetdp.sketching.estimate import item_shares
from hetdp.sketching.law import GROUP_WORDS

__all__ = ["popularity", "sketch_recommendations"]

#: Level and spread are learned from this many items.
_LEARNED_FROM = 1024
_LARGEST_SPREAD = 1e100


def sketch_recommendations(
    coded: CodedProfiles,
    sketches: Sketches,
    neighbors: NDArray[np.int32],
    *,
    n: int = 10,
    weights: NDArray[np.float64] | None = None,
    spread: float | None = None,
    own: Holdings | None = None,
    threads: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the `n` items with the best scores for each user, without those the user has: `own`, or what counts.

    A score estimates the share of neighbours who have the item, times the mean weight of theirs; -1 and nan where there
    are not enough items. `weights` say how much each neighbour's vote counts (None: all alike), `spread` how much
    neighbourhoods differ if it is not to be learned (infinity means votes alone, 0 popularity alone). Results depend
    neither on `threads` nor on `memory_bytes`, about how many bytes of sketches are held at a time.

    Privacy
    -------
    Row u uses the exact profile of u and published bits: free, and for the eyes of u.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from hetdp import Profiles
    >>> from hetdp.profiles.coded import code_profiles
    >>> from hetdp.neighbors.engines.sketch.engine import sketch_neighbors
    >>> from hetdp.core.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 1, 2, 3], ["a", "b", "a", "b", "d", "c", "c"]))
    >>> found = sketch_neighbors(coded, k=1, epsilon=Fraction(20), stream=seeded_stream(1))
    >>> items, _ = sketch_recommendations(coded, found.sketches, found.lists.indices, n=1, spread=1.0)
    >>> items[0].tolist()  # user 0 gets "d" from user 1
    [3]
    """
    n = whole("n", n, minimum=1)
    threads = 1 if threads is None else whole("threads", threads, minimum=1)
    memory_bytes = whole("memory_bytes", memory_bytes, minimum=1)
    if spread is not None and not spread >= 0:
        raise InvalidInput("must be at least 0", parameter="spread", got=spread)
    others = np.ascontiguousarray(neighbors, dtype=np.int32)
    votes = _checked_weights(weights, others)
    with ThreadPoolExecutor(threads) as pool:
        voting = _Voting(Holdings.of_coded(coded) if own is None else own, sketches, others, votes, pool)
        voting.learn(spread)
        best, scores = voting.best(n, memory_bytes, progress)
    scores[best < 0] = np.nan
    return best, scores


class _Voting:
    """The votes of everybody's neighbours."""

    def __init__(
        self,
        own: Holdings,
        sketches: Sketches,
        neighbors: NDArray[np.int32],
        weights: NDArray[np.float64],
        pool: ThreadPoolExecutor,
    ) -> None:
        from hetdp.neighbors._kernels import sketch_voting

        self._kernels = sketch_voting
        self._sketches, self._pool = sketches, pool
        self._votes = (neighbors, weights)
        self._own = (own.indptr, own.items)
        self._words = sketches.n_groups * GROUP_WORDS
        self._shares = popularity(sketches, pool)
        self._noise = (sketches.chance_of_one, sketches.contrast)
        self._fits = np.empty((own.n_users, 3))

    def learn(self, spread: float | None) -> None:
        """Learn level and spread of each recipient from the most popular items that the recipient does not have."""
        items = np.sort(np.argsort(-self._shares, kind="stable")[:_LEARNED_FROM])
        places = np.full(self._shares.size, -1, dtype=np.int32)
        places[items] = np.arange(items.size)
        bits, shares = self._by_user(items), self._shares[items]

        def fit(portion: tuple[int, int]) -> None:
            given = (*self._votes, bits, *self._own, places, shares, self._noise, self._fits)
            self._kernels.fit_votes(portion, *given, self._ballots(bits))

        list(self._pool.map(fit, portions(self._fits.shape[0])))
        if spread is not None:
            self._fits[:, 2] = min(float(spread), _LARGEST_SPREAD)

    def best(
        self, n: int, memory_bytes: int, progress: Progress | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the best items and their scores; -1 and minus infinity where there are none."""
        shape = (self._fits.shape[0], n)
        lists = (np.full(shape, -1, dtype=np.int32), np.full(shape, -np.inf))
        step = 64 * max(1, memory_bytes // (2 * 64 * 8 * self._words))
        for begin in range(0, self._shares.size, step):
            items = (begin, min(begin + step, self._shares.size))
            bits = self._by_user(np.arange(*items))
            prior = np.full(64 * bits.shape[1], 0.5)  # beyond the last item nobody looks, but 0 would be divided by
            prior[: items[1] - items[0]] = self._shares[slice(*items)]
            given = (*self._votes, bits, *self._own, items, prior, self._noise, self._fits, *lists)

            def improve(portion: tuple[int, int], given: tuple[Any, ...] = given) -> None:
                self._kernels.best_items(portion, *given, self._ballots(given[2]))

            list(self._pool.map(improve, portions(shape[0])))
            if progress is not None:
                progress(items[1], self._shares.size)
        return lists

    def _by_user(self, items: NDArray[np.integer]) -> NDArray[np.uint64]:
        """Return the published bits for some items, one row for each user."""
        rows = np.zeros((-(-items.size // 64) * 64, self._words), dtype=np.uint64)
        fill_rows(self._sketches, items, rows, self._pool)
        columns = np.empty((64 * self._words, rows.shape[0] // 64), dtype=np.uint64)
        self._kernels.transpose(rows, columns, np.empty(64, dtype=np.uint64))
        return columns

    def _ballots(self, bits: NDArray[np.uint64]) -> Any:  # noqa: ANN401  (arrays, for the kernels)
        """Return room for the votes of one thread."""
        return self._kernels.ballots(self._votes[0].shape[1], bits.shape[1])


def popularity(sketches: Sketches, pool: ThreadPoolExecutor) -> NDArray[np.float64]:
    """Return an estimate of the share of users who have each item, from all sketches."""
    ones = count_ones(sketches, np.arange(sketches.n_items), pool)
    return item_shares(ones, sketches.n_users, sketches.epsilon, tuned_for=sketches.tuned_for)


def _checked_weights(weights: NDArray[np.float64] | None, neighbors: NDArray[np.int32]) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(neighbors.shape)
    votes = np.ascontiguousarray(np.broadcast_to(np.asarray(weights, dtype=np.float64), neighbors.shape))
    if not (np.isfinite(votes) & (votes >= 0)).all():
        raise InvalidInput("must be finite and at least 0", parameter="weights")
    return votes
