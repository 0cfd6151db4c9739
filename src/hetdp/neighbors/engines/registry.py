"""The three engines behind one face: what a model needs of each of them."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.neighbors.engines.exact.selection import Progress
from hetdp.neighbors.lists import NeighborLists
from hetdp.neighbors.recommending import POPULARITY_SHARE, Votes, recommend_items
from hetdp.neighbors.scoring import Scoring, own_factors, scoring
from hetdp.neighbors.significance import SIGNIFICANT, overlap_significance, sketch_significance
from hetdp.profiles.coded import CodedProfiles

if TYPE_CHECKING:
    from hetdp.sketching.bits import Sketches

__all__ = ["ENGINES", "Asked", "Fitted", "Recommended", "Run", "fit_engine"]

ENGINES = ("exact", "gossip", "sketch")


@dataclass(frozen=True)
class Asked:
    """What a model was asked for: see `PrivateNeighbors`."""

    engine: str
    k: int
    epsilon: Fraction
    score: str
    sizes: str
    cycles: int


@dataclass(frozen=True, eq=False)
class Run:
    """Where noise comes from, how many threads there are, and who wants to know how far it is."""

    stream: Stream
    threads: int
    progress: Progress | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Recommended:
    """Items for every user, their scores, and what they cost: per recipient, and once for all."""

    items: NDArray[np.int32]
    scores: NDArray[np.float64]
    per_recipient: Fraction
    shared: Fraction


@dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """What an engine has found, and what it costs.

    Attributes
    ----------
    coded
        The profiles.
    lists
        The neighbours.
    significance
        One number per neighbour.
    per_recipient, shared, most_recipients
        See `promise`.
    report
        What the engine says about itself, as plain values.

    Privacy
    -------
    Private as a whole; each list is for its recipient.
    """

    coded: CodedProfiles
    lists: NeighborLists
    significance: NDArray[np.float64]
    per_recipient: Fraction
    shared: Fraction
    most_recipients: int
    report: dict[str, object] = field(default_factory=dict)

    def for_recipients(self, recipients: CodedProfiles, run: Run) -> "Fitted":  # noqa: ARG002  (the exact engine can)
        """Return the lists of new recipients, before their own sizes are taken into account (`own_scale`)."""
        raise InvalidInput("X must be None unless engine='exact': only members take part. Got recipients instead.")

    def own_scale(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the scores of recipients of such sizes are multiplied by; it changes no order."""
        return np.ones(sizes.size)

    def recommend(self, n: int, *, epsilon: Fraction, significant_only: bool, run: Run) -> Recommended:
        """Return items for every user: a release of noisy votes."""
        votes = Votes(self.lists.indices, self.vote_weights(significant_only=significant_only))
        items, scores = recommend_items(
            self.coded, votes, n=n, epsilon=epsilon, stream=run.stream, threads=run.threads, progress=run.progress
        )
        popular = POPULARITY_SHARE * epsilon
        return Recommended(items, scores, epsilon - popular, popular)

    def vote_weights(self, *, significant_only: bool) -> NDArray[np.float64]:
        """Return how much each neighbour's vote counts: as much as it is more than chance."""
        weights = np.nan_to_num(self.significance, nan=0.0)
        return np.where(weights < SIGNIFICANT, 0.0, weights) if significant_only else weights


@dataclass(frozen=True, repr=False, eq=False)
class _ExactFit(Fitted):
    how: Scoring = field(kw_only=True)

    def for_recipients(self, recipients: CodedProfiles, run: Run) -> Fitted:
        own = np.ones(recipients.n_users)
        return _fit_exact(self.coded, self.how, own, run, k=self.lists.indices.shape[1], recipients=recipients)

    def own_scale(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.how.sizes is None:
            return np.ones(sizes.size)
        factors = own_factors(sizes)
        return factors**2 if self.how.squared else factors


@dataclass(frozen=True, repr=False, eq=False)
class _SketchFit(Fitted):
    sketches: "Sketches" = field(kw_only=True)

    def recommend(self, n: int, *, epsilon: Fraction, significant_only: bool, run: Run) -> Recommended:  # noqa: ARG002
        """Return items for every user: made of published bits, so they cost nothing."""
        from hetdp.neighbors.engines.sketch.recommending import sketch_recommendations

        weights = self.vote_weights(significant_only=significant_only)
        items, scores = sketch_recommendations(
            self.coded, self.sketches, self.lists.indices, n=n, weights=weights, threads=run.threads,
            progress=run.progress,
        )  # fmt: skip
        return Recommended(items, scores, Fraction(0), Fraction(0))


def fit_engine(coded: CodedProfiles, raw_sizes: NDArray[np.int64], asked: Asked, run: Run) -> Fitted:
    """Run an engine on profiles; `raw_sizes` are read only if sizes are declared public.

    Privacy
    -------
    At most epsilon v_i against one recipient, one peer, or everybody, as the engine promises.
    """
    if asked.engine == "sketch":
        return _fit_sketch(coded, asked, run)
    how = scoring(coded, raw_sizes, score=asked.score, sizes=asked.sizes, epsilon=asked.epsilon, stream=run.stream)
    if asked.engine == "exact":
        return _fit_exact(coded, how, how.factors, run, k=asked.k)
    return _fit_gossip(coded, how, asked, run)


def _fit_exact(
    coded: CodedProfiles,
    how: Scoring,
    own: NDArray[np.float64],
    run: Run,
    *,
    k: int,
    recipients: CodedProfiles | None = None,
) -> Fitted:
    lists = exact_neighbors(
        coded, k=k, epsilon=how.pair_epsilon, stream=run.stream, factors=how.factors, recipients=recipients,
        squared=how.squared, threads=run.threads, progress=run.progress,
    )  # fmt: skip
    # A recipient's own factor changes no order, so the engine leaves it out.
    lists = NeighborLists(lists.indices, lists.scores * (own**2 if how.squared else own)[:, None])
    others = coded.n_users - (recipients is None)
    sure = _significance(lists, how, own, others)
    return _ExactFit(coded, lists, sure, how.pair_epsilon, how.size_epsilon, others, how=how)


def _fit_gossip(coded: CodedProfiles, how: Scoring, asked: Asked, run: Run) -> Fitted:
    from hetdp.neighbors.engines.gossip.engine import gossip_neighbors

    found = gossip_neighbors(
        coded, k=asked.k, epsilon=how.pair_epsilon, stream=run.stream, factors=how.factors, squared=how.squared,
        cycles=asked.cycles, threads=run.threads, progress=run.progress,
    )  # fmt: skip
    made = found.comparisons
    report: dict[str, object] = {
        "cycles": asked.cycles,
        "comparisons": made.total,
        "comparisons_per_second": made.per_second,
        "distinct_comparisons_mean": made.distinct_mean,
        "distinct_comparisons_max": made.distinct_max,
        "distinct_comparisons_bound": made.distinct_bound,
        "agreement_with_exact": found.agreement.tolist(),
        "agreement_users": found.agreement_users,
        "settled": found.settled,
        "verdict": found.verdict,
        "consequence": found.consequence,
    }
    sure = _significance(found.lists, how, how.factors, coded.n_users - 1)
    return Fitted(coded, found.lists, sure, how.pair_epsilon, how.size_epsilon, made.distinct_bound, report)


def _fit_sketch(coded: CodedProfiles, asked: Asked, run: Run) -> Fitted:
    from hetdp.neighbors.engines.sketch.engine import sketch_neighbors

    found = sketch_neighbors(
        coded, k=asked.k, epsilon=asked.epsilon, stream=run.stream, threads=run.threads, progress=run.progress
    )
    others = coded.n_users - 1
    sure = sketch_significance(found.lists.scores, coded.sizes, others=others, epsilon=asked.epsilon)
    return _SketchFit(coded, found.lists, sure, Fraction(0), asked.epsilon, others, sketches=found.sketches)


def _significance(lists: NeighborLists, how: Scoring, own: NDArray[np.float64], others: int) -> NDArray[np.float64]:
    """Return how sure each neighbour is, from its score without the recipient's own factor."""
    scores = (np.sqrt(lists.scores) if how.squared else lists.scores) / own[:, None]
    return overlap_significance(
        scores, others=others, epsilon=how.pair_epsilon, factors=how.factors, both_sides=how.squared
    )
