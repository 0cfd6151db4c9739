"""The exact engine: every pair is compared, every pair has noise of its own, and the cost follows the common items."""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.base import Engine, Fitted, NeighborLists, Run, Search
from hetdp.neighbors.noisy_top_k import NoisyTopK, Progress, in_batches
from hetdp.neighbors.scores import Scoring
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.weights import WEIGHT_STEPS

if TYPE_CHECKING:
    from hetdp.neighbors._kernels.accumulating import InvertedIndex

__all__ = ["EXACT", "exact_neighbors"]

#: An item that more than one in so many users have becomes a dense row ...
_DENSE_SHARE = 30
#: ... as long as all dense rows together stay below so many bytes.
_DENSE_BYTES = 1 << 28

# Seconds on one thread; see `Engine.estimate`.
_SECONDS_PER_MEETING = 3e-9  # two users with an item in common, item by item
_SECONDS_PER_DENSE = 1e-10  # one user of a popular item, added to all others
_SECONDS_PER_CANDIDATE = 1e-9  # looking at one candidate


class _ExactEngine(Engine):
    name = "exact"
    help = "all pairs"
    adversary = "one recipient who sees one list, the own, whatever else they know"
    together = False
    kernel = ("hetdp.neighbors._kernels.selecting", "select")

    def fit(self, coded: CodedProfiles, scoring: Scoring, search: Search, run: Run) -> Fitted:
        return _fit(coded, scoring, run, k=search.k)

    def remark(self, per_recipient: Fraction, most_recipients: int, factor: str) -> str:  # noqa: ARG002
        return "Whoever holds the profiles is trusted."

    def _search_effort(self, popularity: NDArray[np.float64], n_users: int, cycles: int) -> tuple[float, float]:  # noqa: ARG002
        dense = popularity * _DENSE_SHARE > n_users
        seconds = (
            _SECONDS_PER_MEETING * float((popularity[~dense] ** 2).sum())
            + _SECONDS_PER_DENSE * n_users * float(popularity[dense].sum())
            + _SECONDS_PER_CANDIDATE * n_users**2
        )
        return seconds, min(_DENSE_BYTES, n_users * int(dense.sum()))


EXACT = _ExactEngine()


class _ExactFit(Fitted):
    """Lists that can also be made for people who were not fitted."""

    def for_recipients(self, recipients: CodedProfiles, run: Run) -> Fitted:
        return _fit(self.coded, self.scoring, run, k=self.lists.indices.shape[1], recipients=recipients)


def _fit(
    coded: CodedProfiles, scoring: Scoring, run: Run, *, k: int, recipients: CodedProfiles | None = None
) -> _ExactFit:
    lists = exact_neighbors(
        coded, k=k, epsilon=scoring.pair_epsilon, stream=run.stream, factors=scoring.factors, recipients=recipients,
        squared=scoring.score.squared, threads=run.threads, progress=run.progress,
    )  # fmt: skip
    # A recipient's own factor changes no order, so the search leaves it out.
    own = scoring.factors if recipients is None else np.ones(recipients.n_users)
    lists = NeighborLists(lists.indices, lists.scores * scoring.score.at_the_end(own)[:, None])
    others = coded.n_users - (recipients is None)
    return _ExactFit(coded, scoring, lists, others, own=None if recipients is None else own)


def exact_neighbors(
    coded: CodedProfiles,
    *,
    k: int,
    epsilon: Fraction,
    stream: Stream,
    factors: NDArray[np.float64],
    recipients: CodedProfiles | None = None,
    squared: bool = False,
    every_pair: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> NeighborLists:
    """Return the k candidates with the best noisy scores for every recipient.

    Parameters
    ----------
    coded
        The profiles of the candidates.
    k
        Length of a list.
    epsilon
        Level of the noise of each directed pair.
    stream
        Source of the noise.
    factors
        Public factor of each candidate's score: ones for the overlap.
    recipients
        Who the lists are for; None for the candidates themselves, none of whom is then in their own list.
    squared
        Whether scores are squared, for comparison with the paper only.
    every_pair
        Whether to draw the noise of every pair; same distribution, many times slower.
    threads
        The result does not depend on it.
    progress
        Called with the number of recipients done and in total.

    Privacy
    -------
    The score of (recipient u, candidate o) is the sum of o's codes over the items both have, plus discrete Laplace
    noise of scale 255 / epsilon, fresh for each directed pair: an item of o moves it by at most 255 v_i, so u's list
    costs the item epsilon v_i. Which noise is drawn explicitly changes nothing (docs/proofs/exact_engine.md).

    Examples
    --------
    >>> from hetdp import Profiles
    >>> from hetdp.profiles.coded import code_profiles
    >>> from hetdp.core.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 2], ["a", "b", "a", "b", "c"]))
    >>> found = exact_neighbors(coded, k=1, epsilon=Fraction(50), stream=seeded_stream(1), factors=np.ones(3))
    >>> found.indices[:2, 0].tolist(), found.scores[:2, 0].round().tolist()
    ([1, 0], [2.0, 2.0])
    """
    from hetdp.neighbors._kernels.workspace import Rows

    own = coded if recipients is None else recipients
    everyone = np.arange(own.n_users + 1, dtype=np.int64)
    bars = Rows(everyone if recipients is None else np.zeros_like(everyone), everyone[:-1].astype(np.int32))
    selection = NoisyTopK(
        rows=Rows(own.indptr, own.items),
        bars=bars,
        index=_inverted(coded),
        factors=factors,
        k=k,
        scale=Fraction(WEIGHT_STEPS) / epsilon,
        squared=squared,
        every_pair=every_pair,
    )
    indices = np.empty((own.n_users, k), dtype=np.int32)
    scores = np.empty((own.n_users, k), dtype=np.float64)

    def run(begin: int, end: int, batch_stream: Stream) -> None:
        who = np.arange(begin, end, dtype=np.int32)
        scores[begin:end], indices[begin:end] = selection.lists(who, batch_stream)

    in_batches(own.n_users, run, stream=stream, threads=threads, progress=progress)
    return NeighborLists(indices, scores / (WEIGHT_STEPS**2 if squared else WEIGHT_STEPS))


def _inverted(coded: CodedProfiles) -> "InvertedIndex":
    """Return who has each item, the most popular ones as dense rows too."""
    from hetdp.neighbors._kernels.accumulating import InvertedIndex, invert

    counts = np.bincount(coded.items, minlength=coded.n_items)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
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
