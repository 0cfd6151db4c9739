"""The gossip engine: Cyclon and Vicinity, cycle by cycle, with the noise of a pair as a function of the pair."""

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.guarantee import in_digits
from hetdp.core.checks import one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.core.text import counted
from hetdp.neighbors.engines.base import Engine, Fitted, NeighborLists, Progress, Run, Search
from hetdp.neighbors.engines.gossip.noisy_scores import (
    NoisyScores,
    ScoreTable,
    ScoringThreads,
    noisy_scores,
    score_table,
)
from hetdp.neighbors.engines.gossip.protocol import BestPeers, Comparisons, RandomPeers
from hetdp.neighbors.scores import Scoring
from hetdp.profiles.steps import CodedProfiles, Holdings

#: Up to this many users the scores of all pairs are computed at once; most pairs meet anyway.
_TABLE_USERS = 2_000
_SMALLEST_TABLE_EPSILON = Fraction(1, 1000)
#: Distinct comparisons are counted for this many random nodes where there are too many to remember.
_COUNTED_NODES = 1_000
#: Pairs that may be scored to tell how far gossip is from the best it could find.
_AGREEMENT_PAIRS = 20_000_000
_AGREEMENT_USERS = 500
_LARGEST_CYCLES = 32_000
#: Gossip has settled when this share of the best peers there are has been found, or this share of all nodes met.
_SETTLED = 0.8
_SETTLED_MET = 0.4
#: A node meets up to about 20 new peers per cycle, and two out of five of all nodes must be met for lists to settle.
_SETTLED_PER_CYCLE = 50
#: Memory of one node.
_NODE_BYTES = 2_500


class _GossipEngine(Engine):
    name = "gossip"
    help = "the simulated peer-to-peer protocol"
    has_cycles = True

    def fit(
        self, coded: CodedProfiles, scoring: Scoring, search: Search, run: Run, own: Holdings | None = None
    ) -> Fitted:
        found = gossip_neighbors(
            coded, k=search.k, epsilon=scoring.pair_epsilon, stream=run.stream,
            factors=scoring.factors, squared=scoring.score.squared, combine=search.combine, cycles=search.cycles,
            threads=run.threads, sample=search.watched, progress=run.progress,
        )  # fmt: skip
        # Both sides learn the score of a pair, so exact rows have no part in it.
        own = Holdings.of_coded(coded) if own is None else own
        return Fitted(coded, own, scoring, search, found.lists, report=found.facts)

    def remark(self, per_recipient: Fraction, most_recipients: int, factor: str) -> str:
        return (
            f"Each comparison costs {in_digits(per_recipient)} * {factor}, and a user may be compared with all "
            f"{most_recipients:,} others. One process simulates all nodes and is trusted."
        )

    def caveat(self, n_users: int, cycles: int) -> str | None:
        if n_users <= users_settled(cycles):
            return None
        return (
            f"{counted(cycles, 'cycle settles', 'cycles settle')} about {users_settled(cycles):,} users, not "
            f"{n_users:,}: as a rule of thumb, use --cycles {-(-n_users // _SETTLED_PER_CYCLE):,}, or --engine exact."
        )

    def _search_bytes(self, popularity: NDArray[np.int64], n_users: int) -> int:  # noqa: ARG002  (of other engines)
        return _NODE_BYTES * n_users


GOSSIP = _GossipEngine()


def users_settled(cycles: int) -> int:
    """Return for about how many users `cycles` of gossip are enough: a public rule of thumb.

    Examples
    --------
    >>> users_settled(20)
    1000
    """
    return _SETTLED_PER_CYCLE * whole("cycles", cycles, minimum=1)


@dataclass(frozen=True, repr=False, eq=False)
class GossipResult:
    """The lists that gossip found, and how far to trust them.

    Attributes
    ----------
    lists
        The neighbours of each user.
    epsilon
        What an item of weight 1 pays per distinct peer.
    cycles
        How many cycles were run.
    comparisons
        How many comparisons that took.
    agreement
        For each cycle, the share of the best k peers there are (by noisy score over all pairs, under the same noise)
        that had been found by then, over `agreement_users` users.
    simulated
        Whether the noise came from a seed.

    Privacy
    -------
    Each list is for its user. Agreement is made of the noisy scores of all pairs, also of those that never met, so it
    belongs to the person who runs the simulation and to nobody in the network.
    """

    lists: NeighborLists
    epsilon: Fraction
    cycles: int
    comparisons: Comparisons
    agreement: NDArray[np.float64]
    agreement_users: int
    simulated: bool

    def __repr__(self) -> str:
        return f"GossipResult({self.lists!r}, {self.cycles} cycles, settled={self.settled})"

    @property
    def facts(self) -> dict[str, object]:
        """What the run has to say about itself, as plain values: known afterwards only, to the person who runs it."""
        made = self.comparisons
        known = {
            "comparisons": made.total,
            "comparisons_per_second": made.per_second,
            "distinct_comparisons_mean": made.distinct_mean,
            "distinct_comparisons_max": made.distinct_max,
            "distinct_comparisons_bound": made.distinct_bound,
            "agreement_with_exact": self.agreement.tolist(),
            "agreement_users": self.agreement_users,
            "settled": self.settled,
            "verdict": self.verdict,
            "afterwards": self.afterwards,
        }
        return {"cycles": self.cycles, "private": known}

    @property
    def met(self) -> float:
        """Share of the network that a node was compared with, on average."""
        return float(self.comparisons.distinct_mean / max(1, self.lists.indices.shape[0] - 1))

    @property
    def settled(self) -> bool:
        """Whether the cycles were enough: four out of five of the best peers there are have been found.

        Where agreement was not measured (`sample=0`), whether a node met two out of five of all nodes, which is when
        the first is usual.
        """
        if self.agreement.size:
            return bool(self.agreement[-1] >= _SETTLED)
        return self.lists.indices.shape[0] <= 1 or self.met >= _SETTLED_MET

    @property
    def verdict(self) -> str:
        """Whether the cycles were enough, in words."""
        n = self.lists.indices.shape[0]
        text = f"In {counted(self.cycles, 'cycle')} a node met {self.met:.0%} of the {n:,} nodes"
        if self.agreement.size:
            text += f" and found {self.agreement[-1]:.0%} of the best peers there are"
        if self.settled:
            return f"Settled. {text}."
        return f"Not settled. {text}: too few cycles for a network of this size. Use more cycles, or the exact engine."

    @property
    def afterwards(self) -> str:
        """How much the run compared, in words: known only afterwards, so it is no promise."""
        level, made = float(self.epsilon), self.comparisons
        counted = (
            "" if made.nodes_counted == self.lists.indices.shape[0] else f" of {made.nodes_counted:,} counted nodes"
        )
        return (
            f"An item of weight v pays {level:g} v per comparison. A node was compared with {made.distinct_mean:.0f} "
            f"distinct peers on average and {made.distinct_max} at most{counted}; no node with more than "
            f"{made.distinct_bound}. That is known only afterwards; what is promised before holds for comparisons with "
            "everybody."
        )


def gossip_neighbors(
    coded: CodedProfiles,
    *,
    k: int,
    epsilon: Fraction,
    stream: Stream,
    factors: NDArray[np.float64],
    squared: bool = False,
    combine: str = "smaller",
    cycles: int = 20,
    cyclon_view: int = 10,
    cyclon_exchange: int = 5,
    vicinity_view: int = 10,
    vicinity_exchange: int = 5,
    threads: int | None = None,
    sample: int | None = None,
    progress: Progress | None = None,
    table: bool | None = None,
) -> GossipResult:
    """Return the k neighbours that every user finds by gossip.

    Every node starts one exchange of either protocol in each cycle: Cyclon knows `cyclon_view` random peers and
    exchanges `cyclon_exchange`, Vicinity knows the best `vicinity_view` (at least k) and tells `vicinity_exchange`.
    `factors` multiply the scores of each user: public, or noisy and paid for. A common item with the codes a and b
    counts as much as `combine` says: the "smaller" one, or the "product" a b / 255 (the paper). Agreement is measured
    for `sample` users (0 saves the time). The lists depend neither on that, nor on `threads` (None for one per
    processor), nor on whether the scores of all pairs are computed at once (`table`; None decides by size).

    Privacy
    -------
    An item pays epsilon times its weight for each distinct peer its owner is compared with (docs/proofs/gossip.md).
    Views travel, so against all peers together it pays that many times: see `GossipResult.afterwards`. Who talks to
    whom depends on chance and on noisy scores only. Simulates all nodes in one process, which has to be trusted.

    Examples
    --------
    >>> from hetdp.profiles import Profiles
    >>> from hetdp.profiles.steps import code_profiles
    >>> from hetdp.core.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 2, 3], ["a", "b", "a", "b", "c", "c"]))
    >>> found = gossip_neighbors(coded, k=1, epsilon=Fraction(50), stream=seeded_stream(1), factors=np.ones(4))
    >>> found.lists.indices.tolist(), found.settled
    ([[1], [0], [3], [2]], True)
    """
    k = whole("k", k, minimum=1)
    if (cycles := whole("cycles", cycles, minimum=1)) > _LARGEST_CYCLES:
        raise InvalidInput(f"must be at most {_LARGEST_CYCLES}", parameter="cycles", got=cycles)
    cyclon_view = whole("cyclon_view", cyclon_view, minimum=1)
    cyclon_exchange = min(whole("cyclon_exchange", cyclon_exchange, minimum=1), cyclon_view)
    vicinity_view = max(k, whole("vicinity_view", vicinity_view, minimum=1))
    vicinity_exchange = min(whole("vicinity_exchange", vicinity_exchange, minimum=1), vicinity_view)
    one_of("combine", combine, ("smaller", "product"))
    n = coded.n_users
    # Separate streams, so that what is reported, and how, has no influence on what is found.
    key, chance, reporting = stream.key(), stream.child(), stream.child()
    scores: NoisyScores | ScoreTable
    scores = noisy_scores(coded, key=key, epsilon=epsilon, factors=factors, squared=squared, combine=combine)
    # Noisy overlaps of the table have 32 bits; noise that might not fit has no use for a table, or for anything.
    if (n <= _TABLE_USERS if table is None else table) and epsilon >= _SMALLEST_TABLE_EPSILON:
        scores = score_table(scores)
    peers = RandomPeers(n, width=cyclon_view, exchange=cyclon_exchange, stream=chance.child())
    counted = _some(n, _COUNTED_NODES, reporting)
    network = BestPeers(n, width=vicinity_view, exchange=vicinity_exchange, counted=counted)
    with ScoringThreads(scores, n, threads) as pool:
        k_found = min(k, n - 1)  # nobody has more peers than there are
        watched = _some(n, _watched_users(n, sample), reporting) if k_found > 0 else np.empty(0, dtype=np.int32)
        truth = pool.best(watched, k_found) if watched.size else np.empty((0, 0), dtype=np.int32)
        agreement = np.empty(cycles if watched.size else 0)
        start = time.perf_counter()
        for cycle, views in enumerate(pool.ahead(peers.next_cycle, cycles)):
            network.run_cycle(cycle + 1, views, chance, pool)
            if watched.size:
                agreement[cycle] = network.matches(watched, truth) / truth.size
            if progress is not None:
                progress(cycle + 1, cycles)
        seconds = time.perf_counter() - start
    indices = network.view[:, :k].copy()
    lists = NeighborLists(indices, np.where(indices < 0, np.nan, network.scores[:, :k]))
    comparisons = network.comparisons(seconds)
    return GossipResult(lists, epsilon, cycles, comparisons, agreement, watched.size, stream.simulated)


def _watched_users(n: int, sample: int | None) -> int:
    if sample is not None:
        return whole("sample", sample, minimum=0)
    return n if n <= _TABLE_USERS else min(_AGREEMENT_USERS, max(1, _AGREEMENT_PAIRS // n))


def _some(n: int, count: int, stream: Stream) -> NDArray[np.int32]:
    """Return `count` different random users in order, or all."""
    if count >= n:
        return np.arange(n, dtype=np.int32)
    return np.sort(np.argsort(stream.words(n))[:count]).astype(np.int32)
