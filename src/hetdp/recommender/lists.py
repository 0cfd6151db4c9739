"""The best items for each person: scored with the exact own row, without anything that the person has."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.profiles.steps import Holdings
from hetdp.recommender.model import ItemModel

#: People scored together: a block of scores stays below 64 MiB or so.
_CELLS = 1 << 23


def best_items(
    model: ItemModel,
    head: NDArray[np.int32],
    counts: NDArray[np.float64],
    own: Holdings,
    n: int,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the best n items of the catalogue for each person and their scores; -1 and nan where there are fewer.

    Parameters
    ----------
    model, head
        The model, and where its items are in the catalogue.
    counts
        How much each item of the catalogue counts: items outside the head come after it, by these, without a score.
    own
        What the people have of the catalogue, which is not recommended to them.
    n
        Items per person.
    progress
        Called with how many people are done, of how many.

    Privacy
    -------
    Made from exact rows, items of weight 0 included: each list is for its owner.

    Examples
    --------
    >>> speaks = np.array([[0, 0.1, 0.9], [0.2, 0, 0.1], [0.9, 0.1, 0]], dtype=np.float32)
    >>> model = ItemModel(np.array([3.0, 2.0, 1.0]), speaks)
    >>> own = Holdings(np.array([0, 1]), np.array([0], dtype=np.int32))
    >>> items, scores = best_items(model, np.arange(3, dtype=np.int32), model.counts, own, 2)
    >>> items.tolist(), scores.round(1).tolist()
    ([[2, 1]], [[0.9, 0.1]])
    """
    indptr, items, people = own.indptr, own.items, own.n_users
    place = np.full(counts.size, -1, dtype=np.int32)
    place[head] = np.arange(head.size, dtype=np.int32)
    tail = np.setdiff1d(np.argsort(-counts, kind="stable"), head, assume_unique=True).astype(np.int32)
    found = np.full((people, n), -1, dtype=np.int32)
    best = np.full((people, n), np.nan)
    step = max(1, _CELLS // max(1, head.size))
    for begin in range(0, people, step):
        end = min(begin + step, people)
        rows = indptr[begin : end + 1] - indptr[begin]
        having = items[indptr[begin] : indptr[end]]
        known = place[having] >= 0
        inside = np.concatenate([[0], np.cumsum(known)])[rows]
        scores = model.scores(inside, place[having[known]])
        owners = np.repeat(np.arange(end - begin), np.diff(rows))
        scores[owners[known], place[having[known]]] = -np.inf
        _take_best(scores, head, model.counts, found[begin:end], best[begin:end])
        for row in np.flatnonzero(found[begin:end, -1] < 0):
            _fill_up(found[begin + row], tail, having[rows[row] : rows[row + 1]])
        if progress is not None:
            progress(end, people)
    return found, best


def _take_best(
    scores: NDArray[np.float64],
    head: NDArray[np.int32],
    counts: NDArray[np.float64],
    found: NDArray[np.int32],
    best: NDArray[np.float64],
) -> None:
    """Write the places and scores of the best; of equal scores the more popular item is better, then the first one."""
    n = min(found.shape[1], scores.shape[1])
    chosen = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    last = np.take_along_axis(scores, chosen, axis=1).min(axis=1, keepdims=True)
    (tied,) = np.nonzero((scores >= last).sum(axis=1) > n)  # which of them is chosen must not be left to chance
    chosen[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :n]
    mine = np.take_along_axis(scores, chosen, axis=1)
    order = np.lexsort((chosen, -counts[chosen], -mine), axis=1)
    chosen, mine = np.take_along_axis(chosen, order, axis=1), np.take_along_axis(mine, order, axis=1)
    free = np.isfinite(mine)
    found[:, :n] = np.where(free, head[chosen], -1)
    best[:, :n] = np.where(free, mine, np.nan)


def _fill_up(found: NDArray[np.int32], tail: NDArray[np.int32], having: NDArray[np.int32]) -> None:
    """Add items outside the head, the most popular first, where those of the head did not suffice."""
    empty = np.flatnonzero(found < 0)
    more = tail[~np.isin(tail, having)][: empty.size]
    found[empty[: more.size]] = more


def places_hit(found: NDArray[np.int32], wanted: Holdings, n_items: int) -> NDArray[np.bool_]:
    """Return which places of lists, a row for each person, hold something that the person wants.

    Examples
    --------
    >>> wanted = Holdings(np.array([0, 1, 2]), np.array([2, 0], dtype=np.int32))
    >>> places_hit(np.array([[1, 2], [1, -1]], dtype=np.int32), wanted, 3).tolist()
    [[False, True], [False, False]]
    """
    people = np.arange(wanted.n_users)
    pairs = np.repeat(people, wanted.sizes) * n_items + wanted.items  # a person and an item as one number
    return (found >= 0) & np.isin(people[:, None] * n_items + found, pairs)


class Contributions(NamedTuple):
    """What speaks for an item, most first: items of the catalogue, -1 for its popularity, and how much each does."""

    items: NDArray[np.int32]
    amounts: NDArray[np.float64]


def contributions(model: ItemModel, head: NDArray[np.int32], own: NDArray[np.int32], item: int) -> Contributions:
    """Return what each item of a person contributes to the score of an item; contributions add up to it.

    Examples
    --------
    >>> speaks = np.array([[0, 0.1, 0.9], [0.2, 0, 0.1], [0.9, 0.1, 0]], dtype=np.float32)
    >>> model = ItemModel(np.array([3.0, 2.0, 1.0]), speaks)
    >>> found = contributions(model, np.arange(3, dtype=np.int32), np.array([0, 1], dtype=np.int32), 2)
    >>> found.items.tolist(), found.amounts.round(1).tolist()
    ([0, 1], [0.9, 0.1])
    """
    place = np.searchsorted(head, item)
    if place >= head.size or head[place] != item:
        return Contributions(np.empty(0, dtype=np.int32), np.empty(0))
    inside = np.flatnonzero(np.isin(head, own))
    if not inside.size:
        return Contributions(np.array([-1], dtype=np.int32), model.shares[place : place + 1])
    amounts = np.append(model.weights[inside, place], inside.size * model.popularity[place])
    order = np.argsort(-amounts, kind="stable")
    order = order[(order < inside.size) | (amounts[order] != 0.0)]
    return Contributions(np.append(head[inside], np.int32(-1))[order], amounts[order])


def ndcg_per_user(
    users: NDArray[np.integer], ranks: NDArray[np.integer], wanted: NDArray[np.integer], n: int
) -> NDArray[np.float64]:
    """Return the normalised discounted cumulative gain of each user's list; 0 for a user who wants nothing.

    Parameters
    ----------
    users, ranks
        Whose list each hit is on, and its rank from 0.
    wanted
        How many items each user wants.
    n
        Length of the lists.

    Examples
    --------
    >>> ndcg_per_user(np.array([0, 0]), np.array([0, 2]), np.array([2, 1]), 3).round(2)
    array([0.92, 0.  ])
    """
    worth = 1.0 / np.log2(np.arange(2.0, n + 2.0))
    gained = np.bincount(users, weights=worth[ranks], minlength=wanted.size)
    best: NDArray[np.float64] = np.cumsum(worth)[np.clip(wanted, 1, n) - 1]
    return gained / best
