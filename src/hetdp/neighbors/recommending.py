"""Items for each user: what the neighbours have, counted with noise, leaning on what everybody has.

Each neighbour votes for the items it has, with its weight for the item, and the more the more alike it seems
(`vote_weights`). The votes of a recipient are released as the best n of all items under noise,
which is the selection of the exact engine again: items are the candidates, and the neighbours are what the recipient
"has". Few neighbours cannot outvote the noise on a large catalogue, so the votes start from what the popularity of the
item, released once for everybody, lets one expect.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, one_of
from hetdp.core.randomness import Stream
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import POPULARITY_SHARE, Progress, in_batches
from hetdp.neighbors.engines.exact.engine import NoisyTopK
from hetdp.noise.laplace import laplace_integers
from hetdp.profiles.coded import WEIGHT_STEPS, CodedProfiles
from hetdp.profiles.holdings import Holdings

__all__ = ["POPULARITY_SHARE", "VOTERS", "Votes", "recommend_items", "split_epsilon", "vote_selection", "vote_weights"]

#: How many of the most similar users vote; ten cannot outvote the noise.
VOTERS = 100
#: Part of epsilon that finds neighbours: votes need more. Measured; see docs/guide/neighbors.md.
_NEIGHBORS_SHARE = Fraction(2, 5)
#: The popularity of an item counts like so many votes at epsilon = 1, and more where votes are noisier.
_PRIOR_VOTES = Fraction(16)
_MOST_PRIOR_VOTES = Fraction(200)
#: Votes are weighed in steps of 1/256.
_WHOLE_VOTE = 256


def split_epsilon(epsilon: Real, engine: str = "exact") -> tuple[Fraction, Fraction]:
    """Return what of epsilon should go to the neighbours and what to the recommendations: `hetdp recommend`.

    Parameters
    ----------
    epsilon
        The total.
    engine
        Which engine; sketches give recommendations for nothing, so all of it goes to the neighbours there.

    Privacy
    -------
    The two add up to epsilon, exactly.

    Examples
    --------
    >>> split_epsilon(1, "exact")
    (Fraction(2, 5), Fraction(3, 5))
    >>> split_epsilon(3, "sketch")
    (Fraction(3, 1), Fraction(0, 1))
    """
    level = fraction("epsilon", epsilon)
    free = ENGINES[one_of("engine", engine, tuple(ENGINES))].free_recommendations
    share = Fraction(1) if free else _NEIGHBORS_SHARE
    return share * level, (1 - share) * level


@dataclass(frozen=True, repr=False, eq=False)
class Votes:
    """Who votes: for each recipient the neighbours and how much each counts, in [0, 1]."""

    neighbors: NDArray[np.int32]
    weights: NDArray[np.float64]


def recommend_items(
    coded: CodedProfiles,
    own: Holdings,
    votes: Votes,
    *,
    n: int,
    epsilon: Fraction,
    stream: Stream,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the best n items for every user and their scores; -1 and nan where there are fewer.

    A score is (votes + noise + w times popularity) / (k + w), w prior votes among k neighbours: an estimate of the
    share of neighbours who have the item. Nobody is recommended what they have, whatever it weighs (`own`); an item of
    weight 0 is in nobody's vote, and changes nothing but its owner's list.

    Privacy
    -------
    An item of a neighbour moves one count by at most 255 v_i steps in the list of one recipient, and the popularity
    once for all: epsilon v_i against one recipient, on top of what the neighbour lists cost. A tenth of it goes to the
    popularity of items.
    """
    popular_epsilon = POPULARITY_SHARE * epsilon
    vote_epsilon = epsilon - popular_epsilon
    worth = float(min(_MOST_PRIOR_VOTES, _PRIOR_VOTES / vote_epsilon**2))
    base = _prior(coded, popular_epsilon, worth, stream)
    items = np.empty((coded.n_users, n), dtype=np.int32)
    scores = np.empty((coded.n_users, n))

    def run(begin: int, end: int, batch_stream: Stream) -> None:
        selection = vote_selection(coded, own, votes, slice(begin, end), n=n, epsilon=vote_epsilon, base=base)
        found = selection.lists(np.arange(end - begin, dtype=np.int32), batch_stream)
        scores[begin:end], items[begin:end] = found

    in_batches(coded.n_users, run, stream=stream, threads=threads, progress=progress)
    return items, scores / (WEIGHT_STEPS * (votes.neighbors.shape[1] + worth))


def _prior(coded: CodedProfiles, epsilon: Fraction, worth: float, stream: Stream) -> NDArray[np.int64]:
    """Return what the popularity of each item is worth, `worth` votes at most, in steps. Released with `epsilon`."""
    counts = np.bincount(coded.items, weights=coded.codes, minlength=coded.n_items).astype(np.int64)
    if not counts.size:
        return counts
    scale = WEIGHT_STEPS / epsilon
    noisy = (counts + laplace_integers(scale, coded.n_items, stream)).astype(np.float64)
    # Where noise is most of what makes popularities differ, they are drawn to their mean (Stein).
    centre, spread = float(noisy.mean()), float(noisy.var())
    trust = max(0.0, 1.0 - 2.0 * float(scale) ** 2 / spread) if spread > 0.0 else 0.0
    share = (centre + trust * (noisy - centre)) / (WEIGHT_STEPS * max(1, coded.n_users))
    return np.rint(np.clip(share, 0.0, 1.0) * worth * WEIGHT_STEPS).astype(np.int64)


def vote_selection(
    coded: CodedProfiles,
    own: Holdings,
    votes: Votes,
    part: slice,
    *,
    n: int,
    epsilon: Fraction,
    base: NDArray[np.int64] | None,
) -> NoisyTopK:
    """Return the selection of items for some recipients: each has its neighbours, each neighbour has its items."""
    from hetdp.neighbors._kernels.accumulating import InvertedIndex
    from hetdp.neighbors._kernels.workspace import Rows

    neighbors, weights = votes.neighbors[part], votes.weights[part]
    voting = (neighbors >= 0) & (weights > 0)
    voters = neighbors[voting].astype(np.int64)
    strength = np.floor(weights[voting] * _WHOLE_VOTE).astype(np.int64)
    sizes = coded.sizes[voters]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    # Positions of all items of all voters, voter after voter.
    place = np.arange(starts[-1]) + np.repeat(coded.indptr[voters] - starts[:-1], sizes)
    codes = (coded.codes[place] * np.repeat(strength, sizes) // _WHOLE_VOTE).astype(np.uint8)
    no_rows = np.full(voters.size, -1, dtype=np.int32)
    index = InvertedIndex(starts, coded.items[place], codes, no_rows, np.zeros((0, coded.n_items), dtype=np.uint8))
    first = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(voting.sum(axis=1))])
    rows = own.indptr[part.start : part.stop + 1]
    bars = Rows(rows - rows[0], own.items[rows[0] : rows[-1]])
    return NoisyTopK(
        rows=Rows(first, np.arange(voters.size, dtype=np.int32)),
        bars=bars,
        index=index,
        factors=np.ones(coded.n_items),
        k=n,
        scale=Fraction(WEIGHT_STEPS) / epsilon,
        base=base,
    )


def vote_weights(scores: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return how much each neighbour's vote counts, from the scores of lists (best first): 0 where it is nan.

    A vote need not be beyond doubt to help. The first k count in full, those after them as much as they score in
    comparison with the k-th: in a small crowd, where voters are nearly everybody, most count for little.

    Examples
    --------
    >>> vote_weights(np.array([[8.0, 4.0, 3.0, -1.0]]), 2)
    array([[1.  , 1.  , 0.75, 0.  ]])
    """
    least = scores[:, min(k, scores.shape[1]) - 1, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(least > 0, np.clip(scores / least, 0.0, 1.0), 1.0)
    return np.where(np.isnan(scores), 0.0, shares)
