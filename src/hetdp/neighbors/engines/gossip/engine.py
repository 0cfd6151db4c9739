"""The gossip engine: Cyclon and Vicinity, cycle by cycle, with the noise of a pair as a function of the pair."""

import math
import time
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
from hetdp.neighbors.engines.gossip.protocol import BestPeers, RandomPeers
from hetdp.neighbors.engines.gossip.report import GossipResult
from hetdp.neighbors.scores import Scoring
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.holdings import Holdings

__all__ = ["GOSSIP", "gossip_neighbors", "users_settled"]

#: Up to this many users the scores of all pairs are computed at once; most pairs meet anyway.
_TABLE_USERS = 2_000
_SMALLEST_TABLE_EPSILON = Fraction(1, 1000)
#: Distinct comparisons are counted for this many random nodes where there are too many to remember.
_COUNTED_NODES = 1_000
#: Pairs that may be scored to tell how far gossip is from the best it could find.
_AGREEMENT_PAIRS = 20_000_000
_AGREEMENT_USERS = 500
_LARGEST_CYCLES = 32_000
#: A node meets up to about 20 new peers per cycle, and two out of five of all nodes must be met for lists to settle.
_SETTLED_PER_CYCLE = 50

# Seconds on one thread, and bytes; see `Engine.estimate`.
_SECONDS_PER_STEP = 6e-6  # one node in one cycle, in a small network
_SECONDS_PER_WATCHED = 1e-7  # one pair scored for the agreement
_SMALL_NETWORK = 10_000
_NODE_BYTES = 2_500


class _GossipEngine(Engine):
    name = "gossip"
    help = "the simulated peer-to-peer protocol"
    has_cycles = True
    scope = "per comparison"
    kernel = ("hetdp.neighbors._kernels.vicinity", "collect_candidates")

    def fit(
        self, coded: CodedProfiles, scoring: Scoring, search: Search, run: Run, own: Holdings | None = None
    ) -> Fitted:
        found = gossip_neighbors(
            coded, k=search.k, remembered=search.voters, epsilon=scoring.pair_epsilon, stream=run.stream,
            factors=scoring.factors, squared=scoring.score.squared, combine=search.combine, cycles=search.cycles,
            threads=run.threads, sample=search.watched, progress=run.progress,
        )  # fmt: skip
        # Both sides learn the score of a pair, so exact rows have no part in it; they count for recommendations.
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

    def _search_effort(self, popularity: NDArray[np.float64], n_users: int, cycles: int) -> tuple[float, float]:  # noqa: ARG002
        # Where not all nodes fit into the caches, each step waits for memory.
        slower = 1.0 + 0.5 * max(0.0, math.log10(n_users / _SMALL_NETWORK))
        watched = min(_AGREEMENT_USERS * n_users, _AGREEMENT_PAIRS)
        seconds = _SECONDS_PER_STEP * n_users * cycles * slower + _SECONDS_PER_WATCHED * watched
        return seconds, _NODE_BYTES * n_users


GOSSIP = _GossipEngine()


def users_settled(cycles: int) -> int:
    """Return for about how many users so many cycles of gossip are enough: a public rule of thumb.

    Examples
    --------
    >>> users_settled(20)
    1000
    """
    return _SETTLED_PER_CYCLE * whole("cycles", cycles, minimum=1)


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
    remembered: int = 0,
    threads: int | None = None,
    sample: int | None = None,
    progress: Progress | None = None,
    table: bool | None = None,
) -> GossipResult:
    """Return the k neighbours that every user finds by gossip, or more of those it has met: `remembered`.

    Every node starts one exchange of either protocol in each cycle: Cyclon knows `cyclon_view` random peers and
    exchanges `cyclon_exchange`, Vicinity knows the best `vicinity_view` (at least k) and tells `vicinity_exchange`.
    Whoever was compared and is no longer in a view may be remembered: the protocol takes no notice, and nothing is
    compared for it.
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
    >>> from hetdp.profiles.coded import code_profiles
    >>> from hetdp.core.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 2, 3], ["a", "b", "a", "b", "c", "c"]))
    >>> found = gossip_neighbors(coded, k=1, epsilon=Fraction(50), stream=seeded_stream(1), factors=np.ones(4))
    >>> found.lists.indices.tolist(), found.settled
    ([[1], [0], [3], [2]], True)
    """
    k = whole("k", k, minimum=1)
    length = max(k, whole("remembered", remembered, minimum=0))
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
    remembered = max(vicinity_view, remembered)
    network = BestPeers(n, width=vicinity_view, remembered=remembered, exchange=vicinity_exchange, counted=counted)
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
    indices = network.view[:, :length].copy()
    lists = NeighborLists(indices, np.where(indices < 0, np.nan, network.scores[:, :length]))
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
