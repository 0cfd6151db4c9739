"""What private neighbours are compared with: the true ones, random ones, the same for everybody. None is private."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, simulation_stream
from hetdp.neighbors.engines.base import Progress, over_batches
from hetdp.neighbors.scores import SCORES
from hetdp.profiles import Profiles

Neighbors = tuple[NDArray[np.float64], NDArray[np.int64]]


def true_neighbors(
    profiles: Profiles, k: int = 10, *, score: str = "cosine", threads: int = 1, progress: Progress | None = None
) -> Neighbors:
    """Return the exact k nearest users of every user, without noise: the upper end of every comparison. NOT PRIVATE.

    Parameters
    ----------
    profiles
        The profiles to compare. Weights do not count: this is what a service without any privacy would do.
    k
        How many neighbours, below the number of users.
    score
        "cosine": common items over the square root of the product of the sizes. "overlap": common items.
    threads, progress
        How many threads; called now and then with what is done and what there is.

    Returns
    -------
    tuple
        Scores and indices, each users x k, best first. Ties go to the smaller index; users without a common item score
        0 and fill up what is left, smallest index first.

    Privacy
    -------
    None. Anyone who sees the result learns about items of every weight, 0 included. For evaluation on data that may be
    published; nothing here should leave the machine otherwise.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([0, 0, 1, 1, 2, 2], ["a", "b", "a", "b", "b", "c"])
    >>> scores, indices = true_neighbors(profiles, 1)
    >>> scores.round(3).tolist(), indices.tolist()
    ([[1.0], [1.0], [0.5]], [[1], [0], [0]])
    """
    from hetdp.evaluation._kernels import Matrix, nearest

    how = SCORES[one_of("score", score, tuple(sorted(name for name, one in SCORES.items() if not one.squared)))]
    k = _below(k, profiles.n_users)
    sizes = profiles.sizes.astype(np.float64)
    holders_indptr = np.concatenate([[0], np.cumsum(profiles.popularity)])
    # Sorted by item; the kernel does not care in which order the holders of an item come.
    holders = profiles.owners[np.argsort(profiles.indices, kind="stable")]
    divisors = how.divisors(sizes)
    matrix = Matrix(profiles.indptr, profiles.indices, holders_indptr, holders)
    chosen = np.empty((profiles.n_users, k), dtype=np.int32)
    common = np.zeros((profiles.n_users, k), dtype=np.int64)

    def run(begin: int, end: int) -> None:
        counts, touched = np.zeros((2, profiles.n_users), dtype=np.int64)
        nearest(matrix, divisors, begin, chosen[begin:end], common[begin:end], counts, touched, np.empty(k))

    over_batches(profiles.n_users, run, threads=threads, progress=progress)
    scores, indices = common.astype(np.float64), chosen.astype(np.int64)
    if how.needs_sizes:
        scores /= np.sqrt(np.maximum(1.0, divisors[:, None] * divisors[indices]))
    return scores, indices


def random_neighbors(n_users: int, k: int = 10, *, random_state: RandomState = 0) -> Neighbors:
    """Return k different users other than oneself, drawn uniformly, for every user: the lower end of comparisons.

    Parameters
    ----------
    n_users
        How many users there are.
    k
        How many neighbours, below the number of users.
    random_state
        A seed, a stream, or None for the secure stream.

    Returns
    -------
    tuple
        Scores (all 0) and indices, each users x k, in random order.

    Examples
    --------
    >>> scores, indices = random_neighbors(3, 2)
    >>> [sorted(row) for row in indices.tolist()], scores.sum()
    ([[1, 2], [0, 2], [0, 1]], np.float64(0.0))
    """
    n_users = whole("n_users", n_users, minimum=2)
    k = _below(k, n_users)
    stream = simulation_stream(random_state, "random neighbours")
    chosen = np.full((n_users, k), -1, dtype=np.int64)
    # Floyd's way to draw k of n - 1 without a list of n - 1: the newest candidate stands in for a repeated one.
    for column, last in enumerate(range(n_users - 1 - k, n_users - 1)):
        drawn = (stream.uniforms(n_users) * (last + 1)).astype(np.int64)
        repeated = (chosen[:, :column] == drawn[:, None]).any(axis=1)
        chosen[:, column] = np.where(repeated, last, drawn)
    order = np.argsort(stream.uniforms(n_users * k).reshape(n_users, k), axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    chosen += chosen >= np.arange(n_users)[:, None]  # step over oneself
    return np.zeros((n_users, k)), chosen


def same_neighbors(profiles: Profiles, k: int = 10) -> Neighbors:
    """Return the same k people for everybody, whose profiles together hold most of what people have. NOT PRIVATE.

    The paper's recall asks whether hidden items are in the profiles of the neighbours. A few people
    who have a bit of everything do well by it, without being like anybody. Only what neighbours find beyond that is
    likeness.

    Parameters
    ----------
    profiles
        The profiles to choose from. Weights do not count.
    k
        How many neighbours, below the number of users.

    Returns
    -------
    tuple
        Scores (all 0) and indices, each users x k. Chosen greedily, each next one for what the profiles before it do
        not hold; an item counts by the share that it is of each profile. Those who are chosen get one more instead of
        themselves.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([0, 0, 1, 2, 3, 3], ["a", "b", "b", "c", "a", "c"])
    >>> same_neighbors(profiles, 2)[1].tolist()
    [[1, 2], [0, 2], [0, 1], [0, 2]]
    """
    k = _below(k, profiles.n_users)
    owners, items = profiles.owners, profiles.indices
    worth = np.bincount(items, weights=1.0 / profiles.sizes[owners], minlength=profiles.n_items)
    chosen = np.empty(k + 1, dtype=np.int64)
    free = np.ones(profiles.n_users, dtype=np.bool_)
    for place in range(k + 1):
        gains = np.bincount(owners, weights=worth[items], minlength=profiles.n_users).round(9)  # ties: smaller index
        one = int(np.argmax(np.where(free, gains, -1.0)))
        chosen[place], free[one] = one, False
        worth[items[owners == one]] = 0.0
    indices = np.tile(chosen[:k], (profiles.n_users, 1))
    for place, one in enumerate(chosen[:k]):
        indices[one, place] = chosen[k]
    return np.zeros(indices.shape), indices


def _below(k: int, n_users: int) -> int:
    k = whole("k", k, minimum=1)
    if k >= n_users:
        raise InvalidInput(f"must be below the number of users ({n_users})", parameter="k", got=k)
    return k
