"""Recommendations from published sketches: what the neighbours seem to have, and one does not.

Everything here is post-processing of published bits, done by the recipient at home; it costs nobody any privacy.

A sketch bit of a rare item is mostly noise, so the plain mean vote of k neighbours is full of it. Everybody can
estimate from all sketches which share of users has an item. The score of an item is that share, moved toward the mean
vote by s k / (s k + noise + a), where a = share (1 - share) and s = `SPREAD` a: the best linear estimate if the
neighbourhoods of different recipients differ from everybody by a variance of s.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hetdp.checks import whole
from hetdp.errors import InvalidInput
from hetdp.neighbors.coding import CodedProfiles
from hetdp.neighbors.sketch import MEMORY_BYTES, Progress, portions
from hetdp.neighbors.sketch_bits import Sketches
from hetdp.neighbors.sketch_tables import GROUP_WORDS

__all__ = ["SPREAD", "item_shares", "sketch_recommendations"]

#: How much neighbourhoods differ from everybody, as a part of share * (1 - share). Public, from benchmarks/sketch.py.
SPREAD = 0.06
_SMALLEST_SHARE = 1e-6


def sketch_recommendations(
    coded: CodedProfiles,
    sketches: Sketches,
    neighbours: NDArray[np.int32],
    *,
    n: int = 10,
    weights: NDArray[np.float64] | None = None,
    spread: float = SPREAD,
    threads: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the `n` items with the best scores for each user, without those the user has.

    Parameters
    ----------
    coded
        The profiles: each user's own items are left out.
    sketches
        What everybody published, from `sketch_neighbors`.
    neighbours
        Positions of the neighbours, users x k; -1 where there is none.
    n
        How many items.
    weights
        Weight of each neighbour's vote, at least 0, like `neighbours`. Default: all alike.
    spread
        How far votes move a score away from the item's share; infinity means votes alone, 0 popularity alone.
    threads
        How many to use; default 1. Results do not depend on it.
    memory_bytes
        About how many bytes of sketches to hold at a time. Results do not depend on it.
    progress
        Called with the number of items done and their total.

    Returns
    -------
    tuple
        Items and scores, each users x n, best first; -1 and nan where there are not enough items. A score estimates the
        share of neighbours who have the item, times the mean weight of theirs.

    Privacy
    -------
    Row u uses the exact profile of u and published bits: free, and for the eyes of u.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from hetdp import Profiles
    >>> from hetdp.neighbors.coding import code_profiles
    >>> from hetdp.neighbors.sketch import sketch_neighbors
    >>> from hetdp.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 1, 1, 2, 3], ["a", "b", "a", "b", "d", "c", "c"]))
    >>> found = sketch_neighbors(coded, k=1, epsilon=Fraction(20), stream=seeded_stream(1))
    >>> items, _ = sketch_recommendations(coded, found.sketches, found.lists.indices, n=1, spread=1.0)
    >>> items[0].tolist()  # user 0 gets "d" from user 1
    [3]
    """
    from hetdp.neighbors._kernels.voting import best_items, transpose  # noqa: PLC0415  (loads numba)

    n = whole("n", n, minimum=1)
    threads = 1 if threads is None else whole("threads", threads, minimum=1)
    memory_bytes = whole("memory_bytes", memory_bytes, minimum=1)
    if not spread >= 0:
        raise InvalidInput(f"spread must be at least 0. Got {spread!r} instead.")
    others = np.ascontiguousarray(neighbours, dtype=np.int32)
    votes = _checked_weights(weights, others)
    shares = item_shares(sketches, threads=threads)
    constants = (min(float(spread), 1e300), sketches.chance, sketches.contrast)
    best = np.full((coded.n_users, n), -1, dtype=np.int32)
    scores = np.full((coded.n_users, n), -np.inf)
    words = sketches.n_groups * GROUP_WORDS
    step = 64 * max(1, min(memory_bytes // (2 * 512 * words), -(-coded.n_items // 64)))
    rows = np.zeros((step, words), dtype=np.uint64)
    columns = np.empty((64 * words, step // 64), dtype=np.uint64)
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(0, coded.n_items, step):
            items = (begin, min(begin + step, coded.n_items))

            def fill(portion: tuple[int, int], begin: int = begin) -> None:
                sketches.rows(np.arange(begin + portion[0], begin + portion[1]), rows[slice(*portion)])

            def improve(portion: tuple[int, int], items: tuple[int, int] = items) -> None:
                best_items(
                    portion,
                    others,
                    votes,
                    columns,
                    coded.indptr,
                    coded.items,
                    items,
                    shares,
                    constants,
                    best,
                    scores,
                )

            list(pool.map(fill, portions(items[1] - items[0])))
            transpose(rows, columns)
            list(pool.map(improve, portions(coded.n_users)))
            if progress is not None:
                progress(items[1], coded.n_items)
    scores[best < 0] = np.nan
    return best, scores


def item_shares(sketches: Sketches, *, threads: int | None = None) -> NDArray[np.float64]:
    """Return an estimate of the share of users who have each item, from the number of bits set in all sketches.

    The estimate of an item is moved toward the mean over all items, the more the noisier they are (Stein), and kept
    above 0. An item that its owners weigh below 1 counts for less.

    Privacy
    -------
    Made of published bits only: free, and public.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from hetdp import Profiles
    >>> from hetdp.neighbors.coding import code_profiles
    >>> from hetdp.randomness import seeded_stream
    >>> coded = code_profiles(Profiles.from_pairs([0, 0, 1, 2], ["a", "b", "a", "a"]))
    >>> item_shares(Sketches(coded, epsilon=Fraction(20), stream=seeded_stream(1))).round(3).tolist()
    [1.0, 0.333]
    """
    words = sketches.n_groups * GROUP_WORDS
    set_bits = np.empty(sketches.n_items, dtype=np.int64)

    def count(portion: tuple[int, int]) -> None:
        rows = np.empty((portion[1] - portion[0], words), dtype=np.uint64)
        sketches.rows(np.arange(*portion), rows)
        set_bits[slice(*portion)] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)

    with ThreadPoolExecutor(1 if threads is None else threads) as pool:
        list(pool.map(count, portions(sketches.n_items)))
    means = set_bits / sketches.n_users
    plain = (means - sketches.chance) / sketches.contrast
    noise = sketches.chance * (1.0 - sketches.chance) / sketches.n_users / sketches.contrast**2
    centre = plain.mean()
    variance = max(float(plain.var()) - noise, 0.0)
    trust = variance / (variance + noise) if variance > 0.0 else 0.0
    shares: NDArray[np.float64] = np.clip(centre + trust * (plain - centre), _SMALLEST_SHARE, 1.0 - _SMALLEST_SHARE)
    return shares


def _checked_weights(weights: NDArray[np.float64] | None, neighbours: NDArray[np.int32]) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(neighbours.shape)
    votes = np.ascontiguousarray(np.broadcast_to(np.asarray(weights, dtype=np.float64), neighbours.shape))
    if not (np.isfinite(votes) & (votes >= 0)).all():
        raise InvalidInput("weights must be finite and at least 0. Got others instead.")
    return votes
