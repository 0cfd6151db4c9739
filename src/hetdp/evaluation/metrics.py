"""How good neighbours and recommendations are: the paper's recall; precision, recall, NDCG, coverage of lists."""

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput
from hetdp.profiles import Profiles
from hetdp.profiles.ids import IdEncoder, Ids, positions
from hetdp.recommender.lists import ndcg_per_user


class HasNeighbors(Protocol):
    """A fitted model that knows the neighbours of the users it was fitted on."""

    def kneighbors(self) -> tuple[object, object]:
        """Return scores and indices, each users x k, best first; index -1 stands for no neighbour."""
        ...


class Recommends(Protocol):
    """A fitted model that recommends items."""

    def recommend(self, *, n: int) -> object:
        """Return a data frame with the columns user, item and score: up to `n` items per user, best first."""
        ...


def recall(model: HasNeighbors | tuple[object, object], profiles: Profiles, test: Profiles) -> float:
    """Return the paper's recall: the share of a user's test items found in the full profiles of the neighbours.

    Parameters
    ----------
    model
        Anything with `kneighbors()`, fitted on the training part of the profiles, or the scores and indices themselves.
    profiles
        The full profiles, test items included, of every weight: what a search among the neighbours would find.
    test
        The test items of the same users, as `split` returns them.

    Returns
    -------
    float
        The mean over all users. A user without test items counts 0.

    Privacy
    -------
    An evaluation of data that are at hand anyway, without noise: as private as the profiles.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([0, 0, 1, 1, 2], ["a", "b", "a", "b", "a"])
    >>> test = profiles.keep(np.array([False, True, False, True, True]))
    >>> recall((None, [[1], [2], [0]]), profiles, test)
    0.6666666666666666
    """
    return float(recall_per_user(model, profiles, test).mean())


def recall_per_user(
    model: HasNeighbors | tuple[object, object], profiles: Profiles, test: Profiles
) -> NDArray[np.float64]:
    """Return the recall of each user, so that groups of users can be compared; 0 for a user without test items.

    Parameters
    ----------
    model, profiles, test
        As for `recall`.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([0, 0, 1, 1, 2], ["a", "b", "a", "b", "a"])
    >>> test = profiles.keep(np.array([False, True, False, True, True]))
    >>> recall_per_user((None, [[1], [2], [0]]), profiles, test)
    array([1., 0., 1.])
    """
    from hetdp.evaluation._kernels import count_found

    _check_same(profiles, test)
    _, indices = model if isinstance(model, tuple) else model.kneighbors()
    neighbors = np.asarray(indices)
    if neighbors.ndim != 2 or neighbors.shape[0] != profiles.n_users or neighbors.dtype.kind not in "iu":  # noqa: PLR2004
        raise InvalidInput(
            f"must be whole numbers, a row for each of the {profiles.n_users} users",
            parameter="indices",
            got=f"{neighbors.dtype} of shape {neighbors.shape}",
        )
    neighbors = neighbors.astype(np.int64)  # a copy in rows, as the kernel wants it
    if neighbors.size and (neighbors.min() < -1 or neighbors.max() >= profiles.n_users):
        raise InvalidInput(f"must be -1 or below the number of users ({profiles.n_users})", parameter="indices")
    if (neighbors == np.arange(profiles.n_users)[:, None]).any():
        raise InvalidInput("must not name a user as their own neighbour", parameter="indices")
    rows, wanted = (profiles.indptr, profiles.indices), (test.indptr, test.indices)
    found = count_found(neighbors, rows, wanted, profiles.n_items)
    shares: NDArray[np.float64] = found / np.maximum(test.sizes, 1)
    return shares


@dataclass(frozen=True, slots=True)
class Ranking:
    """How good lists of recommendations are, over the users who have test items.

    Attributes
    ----------
    precision
        The share of the n recommendations of a user that are test items. A list shorter than n counts as if the rest
        were wrong.
    recall
        The share of a user's test items that are on the list.
    ndcg
        The normalised discounted cumulative gain: a test item at rank r gains 1 / log2(r + 1), and the sum is divided
        by that of a perfect list.
    coverage
        The share of the items known from training that are recommended to at least one user.
    """

    precision: float
    recall: float
    ndcg: float
    coverage: float


@dataclass(frozen=True, repr=False, eq=False)
class Judged:
    """What lists of recommendations found, user by user; 0 for a user without test items.

    Attributes
    ----------
    n
        How many recommendations of each user were judged.
    tested
        How many test items each user has.
    ndcg
        Of each user.
    users, items
        Positions of the hits: whose test item, and which.
    listed
        Positions of the items that somebody was recommended.
    """

    n: int
    tested: NDArray[np.int64]
    ndcg: NDArray[np.float64]
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    listed: NDArray[np.int32]

    @property
    def hits(self) -> NDArray[np.int64]:
        """How many of the recommendations of each user are test items."""
        return np.bincount(self.users, minlength=self.tested.size)

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of the recommendations of each user that are test items."""
        return self.hits / self.n

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of the test items of each user that were recommended."""
        return self.hits / np.maximum(self.tested, 1)


def judge(model: Recommends, profiles: Profiles, test: Profiles, n: int = 10) -> Ranking:
    """Return precision, recall, NDCG and coverage of the first `n` recommendations, asking the model only once.

    Parameters
    ----------
    model
        Anything with `recommend(n=...)`, fitted on the training part of the profiles.
    profiles, test
        As for `recall`; at least one user must have a test item.
    n
        How many recommendations per user are judged.

    Examples
    --------
    >>> import pandas as pd
    >>> class Model:
    ...     def recommend(self, *, n):
    ...         return pd.DataFrame({"user": [0, 0], "item": ["c", "b"], "score": [2.0, 1.0]})
    >>> profiles = Profiles.from_pairs([0, 0, 1, 1], ["a", "b", "b", "c"])
    >>> judge(Model(), profiles, profiles.keep(np.array([False, True, False, False])), n=2)
    Ranking(precision=0.5, recall=1.0, ndcg=0.6309297535714575, coverage=0.6666666666666666)
    """
    found = judge_per_user(model, profiles, test, n)
    judged = found.tested > 0
    known = profiles.popularity > test.popularity  # somebody has it in training, so that it can be recommended at all
    return Ranking(
        precision=float(found.precision[judged].mean()),
        recall=float(found.recall[judged].mean()),
        ndcg=float(found.ndcg[judged].mean()),
        coverage=float(known[found.listed].sum() / max(1, int(known.sum()))),
    )


def judge_per_user(model: Recommends, profiles: Profiles, test: Profiles, n: int = 10) -> Judged:
    """Return what the first `n` recommendations found, user by user, so that methods can be compared in pairs.

    Parameters
    ----------
    model, profiles, test, n
        As for `judge`.
    """
    n = whole("n", n, minimum=1)
    _check_same(profiles, test)
    if not test.n_pairs:
        raise InvalidInput("must hold at least one item to judge by", parameter="test")
    users, items = (
        _positions(name, column, ids, guessed=profiles.guessed and name == "item")
        for name, column, ids in zip(
            ("user", "item"),
            _recommended(model.recommend(n=n)),
            (profiles.user_ids, profiles.item_ids),
            strict=True,
        )
    )
    users, items, ranks = _first(users, items, n)
    wanted = test.owners.astype(np.int64) * test.n_items + test.indices
    given = users.astype(np.int64) * test.n_items + items
    if np.unique(given).size != given.size:
        raise InvalidInput("must recommend an item to a user at most once", parameter="model")
    hit = np.isin(given, wanted, assume_unique=True)
    gains = ndcg_per_user(users[hit], ranks[hit], test.sizes, n)
    return Judged(n, test.sizes, gains, users[hit], items[hit], np.unique(items))


def _check_same(profiles: Profiles, test: Profiles) -> None:
    """Refuse test items of other users or other items; ids that are the same object need no look."""
    for name, mine, theirs in (
        ("users", profiles.user_ids, test.user_ids),
        ("items", profiles.item_ids, test.item_ids),
    ):
        if mine is not theirs and not np.array_equal(mine, theirs):
            raise InvalidInput(f"must list the same {name} as profiles, in the same order", parameter="test")


def _recommended(frame: object) -> tuple[Any, Any]:
    """Return the users and items of a table of recommendations; the order of its rows tells the ranks."""
    import narwhals.stable.v1 as nw

    table: Any = nw.from_native(frame)
    return table.get_column("user").to_arrow(), table.get_column("item").to_arrow()


def _positions(name: str, column: Sized, ids: Ids, *, guessed: bool) -> NDArray[np.int32]:
    """Return the position of each id of a column among the known ids; if kinds are guessed, numbers are texts too."""
    if not len(column):  # nothing is recommended to anybody; an empty column may have any type
        return np.empty(0, dtype=np.int32)
    encoder = IdEncoder(f"{name}_ids", people=name == "user")
    codes = encoder.encode(column)
    if not guessed:
        _, place = encoder.finish(ids)
        return place[codes]
    known, rank = encoder.finish()
    place = positions(ids, known)
    if (place < 0).any():
        raise InvalidInput(f"recommends {(place < 0).sum()} {name} ids that are not in the profiles", parameter="model")
    return place[rank[codes]]


def _first(
    users: NDArray[np.int32], items: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return the first `n` rows of each user and their ranks from 0, wherever they stand in the frame."""
    order = np.argsort(users, kind="stable")
    users, items = users[order], items[order]
    ranks = np.arange(users.size) - np.searchsorted(users, users)
    kept = ranks < n
    return users[kept], items[kept], ranks[kept]
