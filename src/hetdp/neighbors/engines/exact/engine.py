"""The exact engine: every pair is compared, every pair has noise of its own, and the cost follows the common items."""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.exact.selection import Progress, Selection, in_batches
from hetdp.neighbors.lists import NeighborLists
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.weights import WEIGHT_STEPS

if TYPE_CHECKING:
    from hetdp.neighbors._kernels.accumulating import InvertedIndex

__all__ = ["exact_neighbors", "inverted"]

#: An item that more than one in so many users have becomes a dense row ...
_DENSE_SHARE = 30
#: ... as long as all dense rows together stay below so many bytes.
_DENSE_BYTES = 1 << 28


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
    selection = Selection(
        rows=Rows(own.indptr, own.items),
        bars=bars,
        index=inverted(coded),
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


def inverted(coded: CodedProfiles) -> "InvertedIndex":
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
