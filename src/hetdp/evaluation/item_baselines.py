"""What private recommendations are compared with: popularity, private and exact, and EASE without privacy."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.core.files import as_frame
from hetdp.core.randomness import RandomState, Stream, simulation_stream
from hetdp.noise.samplers import laplace_integers
from hetdp.profiles import Profiles
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, code_profiles
from hetdp.sketching.bit_law import GROUP_WORDS
from hetdp.sketching.drawing import Sketches
from hetdp.sketching.reading import items_behind

Scores = NDArray[np.float64]

#: The most cells of a block of scores, or of published bits in words.
_CELLS = 1 << 22
#: The ridge of EASE, in mean popularities of an item. From 2 to 20 NDCG@10 hardly changes, and 5 is within 2 % of the
#: best on MovieLens-100k and on the built-in sets (docs/guide/evaluation.md).
_RIDGE = 5.0


class ScoredItems:
    """Recommends to each person the items with the best scores that the person does not have.

    Parameters
    ----------
    profiles
        Who asks: exact rows, items of every weight.
    scores
        Gives the scores of all items for the people of a slice, one row each; of equal scores, the first item is best.
    """

    def __init__(self, profiles: Profiles, scores: Callable[[slice], Scores]) -> None:
        self._profiles = profiles
        self._scores = scores

    def recommend(self, *, n: int) -> Any:  # noqa: ANN401  (pandas is optional)
        """Return a data frame with the columns user, item and score: up to n items per user, best first."""
        n = min(whole("n", n, minimum=1), self._profiles.n_items)
        profiles = self._profiles
        items = np.empty((profiles.n_users, n), dtype=np.int64)
        best = np.empty((profiles.n_users, n))
        step = max(1, _CELLS // profiles.n_items)
        for begin in range(0, profiles.n_users, step):
            part = slice(begin, min(begin + step, profiles.n_users))
            scores = np.array(self._scores(part))
            own = slice(profiles.indptr[part.start], profiles.indptr[part.stop])
            scores[profiles.owners[own] - begin, profiles.indices[own]] = -np.inf
            items[part] = _first(scores, n)
            best[part] = np.take_along_axis(scores, items[part], axis=1)
        there = np.isfinite(best)
        users = np.repeat(np.arange(profiles.n_users), there.sum(axis=1))
        return as_frame(
            {"user": profiles.user_ids[users], "item": profiles.item_ids[items[there]], "score": best[there]}
        )


def _first(scores: Scores, n: int) -> NDArray[np.int64]:
    """Return where the n largest numbers of each row are, best first; of equal ones, the first is best."""
    least = np.partition(scores, scores.shape[1] - n, axis=1)[:, -n]
    found = np.empty((scores.shape[0], n), dtype=np.int64)
    for row, (values, bound) in enumerate(zip(scores, least, strict=True)):
        (able,) = np.nonzero(values >= bound)
        found[row] = able[np.argsort(-values[able], kind="stable")[:n]]
    return found


def popularity(train: Profiles) -> ScoredItems:
    """Return who recommends everybody what most people have. NOT PRIVATE.

    Parameters
    ----------
    train
        Who has what, of any weight: they are asked for their lists, too.

    Examples
    --------
    >>> train = Profiles.from_pairs([1, 2, 2, 3, 3], ["a", "a", "b", "b", "c"])
    >>> popularity(train).recommend(n=1)["item"].tolist()
    ['b', 'c', 'a']
    """
    return _same_for_all(train, train.popularity.astype(np.float64))


def private_popularity(
    train: Profiles,
    *,
    epsilon: Real,
    trusted: bool = False,
    random_state: RandomState = 0,
) -> ScoredItems:
    """Return who recommends everybody what most people seem to have, by published sketches or by noisy counts.

    The simplest thing to do at the same total loss: whatever knows taste must beat it.

    Parameters
    ----------
    train
        The profiles, with their weights. All their items may be named.
    epsilon
        What an item of weight 1 loses, against everybody together.
    trusted
        Whether somebody is trusted with the profiles, who publishes noisy counts; else counts are sums of sketches.
    random_state
        A seed, a stream, or None for the secure stream.

    Privacy
    -------
    An item of weight v loses epsilon v against everybody: by the bit of its owner (docs/proofs/sketch_engine.md),
    or by the count of one item, which it moves by v.

    Examples
    --------
    >>> train = Profiles.from_pairs([1, 2, 2, 3, 3], ["a", "a", "b", "b", "c"])
    >>> private_popularity(train, epsilon=50).recommend(n=1)["item"].tolist()
    ['b', 'c', 'a']
    """
    level = fraction("epsilon", epsilon)
    stream = simulation_stream(random_state, "private popularity")
    coded = code_profiles(train)
    counts = _holder_counts(coded, level, stream) if trusted else _sketch_counts(coded, level, stream)
    return _same_for_all(train, counts)


def _sketch_counts(coded: CodedProfiles, epsilon: Fraction, stream: Stream) -> Scores:
    """Return how much each item counts, by the sketches of all."""
    sketches = Sketches(coded, epsilon=epsilon, stream=stream)
    words = sketches.n_groups * GROUP_WORDS
    ones = np.empty(coded.n_items, dtype=np.int64)
    step = max(1, _CELLS // max(1, words))
    for begin in range(0, coded.n_items, step):
        items = np.arange(begin, min(begin + step, coded.n_items))
        rows = np.zeros((items.size, words), dtype=np.uint64)
        sketches.rows(items, rows)
        ones[items] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return items_behind(ones, coded.n_users, epsilon)


def _holder_counts(coded: CodedProfiles, epsilon: Fraction, stream: Stream) -> Scores:
    """Return how much each item counts, with the noise of a trusted holder."""
    steps = np.bincount(coded.items, weights=coded.codes, minlength=coded.n_items).astype(np.int64)
    noisy: Scores = (steps + laplace_integers(WEIGHT_STEPS / epsilon, coded.n_items, stream)) / WEIGHT_STEPS
    return noisy


def _same_for_all(train: Profiles, counts: Scores) -> ScoredItems:
    return ScoredItems(train, lambda part: np.broadcast_to(counts, (part.stop - part.start, counts.size)))


def ease(train: Profiles, *, n_head: int = 4096) -> ScoredItems:
    """Return EASE (Steck, 2019) on exact profiles: what the private model aims at, without privacy. NOT PRIVATE.

    The score of item j is -(xP)_j / P_jj for the inverse P of the counts of pairs of items plus a ridge: the linear
    model that best tells each item of a profile from the others.

    Parameters
    ----------
    train
        The profiles. Weights do not count.
    n_head
        The most items that are related to each other: the most popular ones. Others come after them, by popularity.

    Examples
    --------
    >>> train = Profiles.from_pairs([1, 1, 2, 2, 3, 3, 4], ["a", "b", "a", "b", "c", "d", "c"])
    >>> ease(train).recommend(n=1)["item"].tolist()[-1]
    'd'
    """
    rows, _ = train.to_csr()
    counts = train.popularity.astype(np.float64)
    by_count = np.argsort(-counts, kind="stable")
    head = np.sort(by_count[: whole("n_head", n_head, minimum=1)])
    inside = rows[:, head].astype(np.float64)
    gram = (inside.T @ inside).toarray()
    gram[np.diag_indices_from(gram)] += _RIDGE * max(1.0, float(counts[head].mean()))
    inverse = np.linalg.inv(gram)
    speaks = -inverse / np.diag(inverse)
    np.fill_diagonal(speaks, 0.0)
    places = np.empty(counts.size)
    places[by_count] = np.arange(counts.size)

    def scores(part: slice) -> Scores:
        mine = inside[part.start : part.stop]
        known = mine @ speaks
        # An item outside the head comes after all of it, and who has nothing gets what is popular.
        found = np.broadcast_to(-places - np.abs(known).max(initial=0.0), (known.shape[0], counts.size)).copy()
        found[:, head] = np.where((np.diff(mine.indptr) > 0)[:, None], known, -places[head] / counts.size)
        return found

    return ScoredItems(train, scores)
