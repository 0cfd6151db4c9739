"""The two protocols of the paper: everybody's random peers (Cyclon) and best peers (Vicinity), cycle by cycle."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.gossip.noisy_scores import BLOCK_NODES, ScoringThreads

if TYPE_CHECKING:
    from hetdp.neighbors._kernels import vicinity

#: Up to this many nodes everybody remembers whom it asked about, one bit per pair.
_REMEMBERED_NODES = 30_000
_CHUNK_NODES = 65_536


@dataclass(frozen=True, repr=False, eq=False)
class _RandomViews:
    """The random views of one cycle: peers (-1 for none), and the cycle in which each entry was made."""

    view: NDArray[np.int32]
    born: NDArray[np.int16]


class RandomPeers:
    """Cyclon: random views of `width` entries that change all the time; two nodes exchange `exchange` at most.

    Nothing but chance decides here.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> peers = RandomPeers(50, width=10, exchange=5, stream=seeded_stream(1))
    >>> peers.next_cycle().view.shape
    (50, 10)
    """

    def __init__(self, n: int, *, width: int, exchange: int, stream: Stream) -> None:
        from hetdp.neighbors._kernels.cyclon import choices_per_word, first_views

        self._exchange = exchange
        self._stream = stream
        self._cycle = 0
        self._words_each = -(-(2 * exchange - 1) // choices_per_word)
        width = min(width, max(0, n - 1))
        self._views = _RandomViews(np.empty((n, width), dtype=np.int32), np.zeros((n, width), dtype=np.int16))
        for begin in range(0, n, _CHUNK_NODES):
            end = min(begin + _CHUNK_NODES, n)
            first_views(stream.words((end - begin) * width), begin, end, self._views.view)

    def next_cycle(self) -> _RandomViews:
        """Let every node make one exchange; return the views after it. Earlier ones stay as they were."""
        from hetdp.neighbors._kernels.cyclon import exchange_views

        self._cycle += 1
        view, born = self._views.view.copy(), self._views.born.copy()
        words = self._stream.words(view.shape[0] * self._words_each)
        width = view.shape[1]
        room = (
            np.empty((2, width + 1), dtype=np.int64),
            np.empty((2, self._exchange), dtype=np.int32),
            np.empty((2, self._exchange), dtype=np.int16),
        )
        exchange_views(view, born, self._cycle, words, self._words_each, *room)
        self._views = _RandomViews(view, born)
        return self._views


@dataclass(frozen=True)
class Comparisons:
    """How many comparisons a run made.

    Attributes
    ----------
    total
        Scores computed; a pair may count more than once.
    seconds
        Time of the cycles, by the clock.
    distinct_mean, distinct_max
        Distinct peers that a node was compared with, whichever of the two asked: mean and largest over
        `nodes_counted` nodes.
    nodes_counted
        All nodes, or a random sample where there are many.
    distinct_bound
        No node at all was compared with more peers than this; equals `distinct_max` where all were counted.
    """

    total: int
    seconds: float
    distinct_mean: float
    distinct_max: int
    nodes_counted: int
    distinct_bound: int

    @property
    def per_second(self) -> float:
        """Comparisons per second."""
        return self.total / self.seconds if self.seconds > 0 else float("nan")


class BestPeers:
    """Vicinity: the best peers that every node knows, and who was compared with whom.

    Parameters
    ----------
    n
        Nodes.
    width
        Entries of a view.
    exchange
        Entries that partners tell each other.
    counted
        Nodes whose distinct comparisons are counted where not everybody's can be, in order.

    Attributes
    ----------
    view, scores, born
        The best peers of each node, best first (-1 for none); their noisy scores; when each entry was made.
    """

    def __init__(self, n: int, *, width: int, exchange: int, counted: NDArray[np.int32]) -> None:
        self.view = np.full((n, width), -1, dtype=np.int32)
        self.scores = np.full((n, width), -np.inf)
        self.born = np.zeros((n, width), dtype=np.int16)
        self._next_view, self._next_born = np.empty_like(self.view), np.empty_like(self.born)
        self._exchange = exchange
        self._previous = np.empty((n, 0), dtype=np.int32)
        self._remembers = n <= _REMEMBERED_NODES
        self._seen = np.zeros((n if self._remembers else 0, -(-n // 64)), dtype=np.uint64)
        self._counted = counted
        self._is_counted = np.zeros(n, dtype=np.bool_)
        self._is_counted[counted] = True
        self._log: list[NDArray[np.int64]] = []
        self._asked, self._answered = np.zeros((2, 0 if self._remembers else n), dtype=np.int64)
        self._total = 0

    def run_cycle(self, now: int, random: _RandomViews, chance: Stream, threads: ScoringThreads) -> None:
        """Let every node talk to one partner, compare itself with the peers it hears of, and keep the best."""
        from hetdp.neighbors._kernels import vicinity

        n = self.view.shape[0]
        partners = np.empty(n, dtype=np.int32)
        vicinity.choose_partners(self.view, self.born, random.view, chance.words(n), partners)
        inbox_indptr, senders = _by_key(partners, n)
        worst = self.scores[:, -1].copy()

        def ask(begin: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            end = min(begin + BLOCK_NODES, n)
            # Of everybody a node hears from, the node itself and what it exchanges; and its random view.
            offers = (self._exchange + 1) * (1 + np.diff(inbox_indptr[begin : end + 1])) + random.view.shape[1]
            indptr = np.empty(end - begin + 1, dtype=np.int64)
            found, found_born = np.empty(offers.sum(), dtype=np.int32), np.empty(offers.sum(), dtype=np.int16)
            vicinity.collect_candidates(
                begin, end, now, self._exchange, self.view, self.born, partners, inbox_indptr, senders,
                random.view, random.born, self._previous, self._seen, self._next_born,
                self._scratch(int(offers.max(initial=0)), random.view.shape[1]), indptr, found, found_born,
            )  # fmt: skip
            found, found_born = found[: indptr[-1]], found_born[: indptr[-1]]
            scores = threads.score(np.arange(begin, end, dtype=np.int32), indptr, found)
            vicinity.keep_best(
                begin, indptr, found, found_born, scores, self.view, self.scores, self._next_view, self._next_born
            )
            told = np.empty_like(found), np.empty_like(found), np.empty_like(scores)
            size = vicinity.worth_telling(begin, indptr, found, scores, worst, *told)
            return (indptr, found), tuple(column[:size] for column in told)

        begins = range(0, max(n, 1), BLOCK_NODES)
        asked, told = zip(*threads.map(ask, begins), strict=True)
        # Only now that all have asked: what is remembered must not depend on who came first.
        for begin, (indptr, found) in zip(begins, asked, strict=True):
            self._note(begin, indptr, found)
        peers, askers, scores = (np.concatenate(column) for column in zip(*told, strict=True))
        indptr, order = _by_key(peers, n)
        askers, scores = askers[order], scores[order]
        born = np.full(askers.size, now, dtype=np.int16)

        def answer(begin: int) -> None:
            rows = indptr[begin : begin + BLOCK_NODES + 1]
            view = self._next_view
            vicinity.keep_best(begin, rows, askers, born, scores, view, self.scores, view, self._next_born)

        for _ in threads.map(answer, begins):
            pass
        self.view, self._next_view = self._next_view, self.view
        self.born, self._next_born = self._next_born, self.born
        self._previous = random.view

    def matches(self, users: NDArray[np.int32], truth: NDArray[np.int32]) -> int:
        """Return how many of the peers in `truth`, one row per user, are in the views now."""
        from hetdp.neighbors._kernels.vicinity import count_matches

        return int(count_matches(users, truth, self.view, np.full(len(self.view), -1, dtype=np.int64)))

    def comparisons(self, seconds: float) -> Comparisons:
        """Return how many comparisons there were so far."""
        if self._remembers:
            distinct = _distinct(self._seen)
            bound = distinct.max(initial=0)
        else:
            distinct = _distinct_of_sample(self._log, self._counted, self.view.shape[0])
            bound = (self._asked + self._answered).max()
        mean = float(distinct.mean()) if distinct.size else 0.0
        return Comparisons(self._total, seconds, mean, int(distinct.max(initial=0)), distinct.size, int(bound))

    def _scratch(self, offers: int, random_width: int) -> "vicinity.Scratch":
        """Return room for a node that is offered at most `offers` peers."""
        from hetdp.neighbors._kernels.vicinity import Scratch

        capacity = 16
        while capacity < 2 * (offers + self.view.shape[1] + random_width):
            capacity *= 2
        return Scratch(
            np.empty(offers, dtype=np.int32),
            np.empty(offers, dtype=np.int16),
            np.full(capacity, -1, dtype=np.int32),
            np.empty(capacity, dtype=np.int32),
            np.empty(capacity, dtype=np.int32),
        )

    def _note(self, begin: int, indptr: NDArray[np.int64], found: NDArray[np.int32]) -> None:
        """Remember who met whom; where that is too much, count for all nodes with repetitions, and for some without."""
        from hetdp.neighbors._kernels.vicinity import mark_met, note_comparisons

        self._total += found.size
        if self._remembers:
            mark_met(begin, indptr, found, self._seen)
        else:
            log = np.empty(2 * found.size, dtype=np.int64)
            size = note_comparisons(begin, indptr, found, self._is_counted, self._asked, self._answered, log)
            self._log.append(log[:size].copy())  # most of the room is not used


def _by_key(keys: NDArray[np.int32], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the places of each key below n: those of key u are `order[indptr[u]:indptr[u + 1]]`, in order."""
    from hetdp.neighbors._kernels.vicinity import sort_by_key

    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(keys[keys >= 0], minlength=n))])
    order = np.empty(indptr[-1], dtype=np.int32)
    sort_by_key(keys, indptr[:-1].copy(), order)
    return indptr, order


def _distinct(seen: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return with how many peers each node was compared; bit o of row u says that u and o met."""
    met: NDArray[np.int64] = np.bitwise_count(seen).sum(axis=1, dtype=np.int64)
    return met


def _distinct_of_sample(log: list[NDArray[np.int64]], sample: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """Return the same for a sorted sample of nodes, from a log of node * n + peer with repetitions."""
    met = np.unique(np.concatenate([*log, np.empty(0, dtype=np.int64)]))
    return np.bincount(np.searchsorted(sample, met // n), minlength=sample.size)
