"""Who has which item, and how strictly each owner wants each item protected: sparse profiles of many users."""

import dataclasses
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput, Problem
from hetdp.core.text import agreeing
from hetdp.profiles.ids import Ids, as_ids, position_of_person
from hetdp.profiles.reading import (
    PairCollector,
    PairOptions,
    WeightColumn,
    Weights,
    collect_frame,
    merge_pairs,
    open_pairs,
    weight_vector,
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class Profiles:
    """Sparse user x item profiles with one privacy weight per pair, in compressed sparse rows; cannot be changed.

    Make them with `from_pairs`, `from_frame`, `from_csr` or `read`; the constructor takes the parts as they are kept.

    Parameters
    ----------
    indptr, indices
        Items of user u are `indices[indptr[u]:indptr[u + 1]]`, sorted, each once.
    weights
        One weight in [0, 1] per pair, in the same order; float32 or float64 as given, never rounded.
    user_ids, item_ids
        Texts or whole numbers, all different. Users without items and items without users are allowed. User ids follow
        the rule for people: 1, 1.0, "1" and " 1" are one person. Item ids are compared as written.
    guessed
        Whether item ids come from a text file, so that a number may be a text only because another id is one.

    Privacy
    -------
    Everything in here is private and belongs to the users: who is listed, what they have, and above all the weights.
    `repr` shows counts only, and says that they are private. The unit of protection is one item of one user.

    Examples
    --------
    >>> profiles = Profiles.from_pairs(["ann", "ann", "bob"], ["tea", "jazz", "tea"], weights=[1, 0.5, 1])
    >>> profiles
    Profiles(private: 2 users, 2 items, 3 pairs)
    >>> profiles.profile("ann")
    {'jazz': 0.5, 'tea': 1.0}
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: Weights
    user_ids: Ids
    item_ids: Ids
    guessed: bool = False

    def __post_init__(self) -> None:
        user_ids, item_ids = as_ids("user_ids", self.user_ids, people=True), as_ids("item_ids", self.item_ids)
        indptr, indices = np.array(self.indptr), np.array(self.indices)
        if indptr.dtype.kind not in "iu" or indptr.shape != (user_ids.size + 1,):
            raise InvalidInput(
                f"must hold one whole number more than there are users ({user_ids.size}) (got {indptr.dtype} "
                f"of shape {indptr.shape})",
                parameter="indptr",
            )
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise InvalidInput(
                f"must be a vector of whole numbers (got {indices.dtype} of shape {indices.shape})", parameter="indices"
            )
        if indptr[0] != 0 or indptr[-1] != indices.size or (indptr[1:] < indptr[:-1]).any():
            raise InvalidInput("must rise from 0 to the number of pairs", parameter="indptr")
        if indices.size and (indices.min() < 0 or indices.max() >= item_ids.size):
            raise InvalidInput("must be >= 0 and below the number of items (got one outside)", parameter="indices")
        rising = indices[1:] > indices[:-1]
        rising[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < indices.size)] - 1] = True  # where a new user begins
        if not rising.all():
            raise InvalidInput("must be sorted and different within each user", parameter="indices")
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int32)
        indptr.flags.writeable = indices.flags.writeable = False
        self._set(indptr, indices, weight_vector(self.weights, indices.size), user_ids, item_ids, self.guessed)

    def _set(self, *parts: object) -> None:
        for field, value in zip(dataclasses.fields(self), parts, strict=True):
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_rows(  # noqa: PLR0917  (the parts, in the order of the class)
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: Weights,
        user_ids: Ids,
        item_ids: Ids,
        guessed: bool = False,  # noqa: FBT001, FBT002
    ) -> Self:
        """Return profiles of parts that are known to be sound and read-only; checking 10 million again takes time.

        The parts are those of the class: indptr, indices, weights, user_ids, item_ids, guessed.
        """
        self = object.__new__(cls)
        self._set(indptr, indices, weights, user_ids, item_ids, guessed)
        return self

    @classmethod
    def from_pairs(
        cls, users: object, items: object, weights: object = None, *, user_ids: object = None, item_ids: object = None
    ) -> Self:
        """Return the profiles that hold each pair `(users[j], items[j])`.

        Parameters
        ----------
        users, items
            Ids, texts or whole numbers: lists, arrays or columns of a data frame. A repeated pair counts once, with its
            smallest weight. Rows without a user or an item are left out.
        weights
            One number in [0, 1] per pair, or one for all. Default: 1, ordinary differential privacy.
        user_ids, item_ids
            All ids, in the order wanted, when some user has no item or some item no user. Default: those in the pairs,
            sorted.

        Examples
        --------
        >>> Profiles.from_pairs([7, 7, 9], ["a", "b", "a"], user_ids=[7, 8, 9]).sizes
        array([2, 0, 1])
        """
        collector = PairCollector()
        collector.add(users, items, weights)
        return cls.from_rows(*collector.finish(user_ids, item_ids))

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        user: str | None = None,
        item: str | None = None,
        weight: WeightColumn = None,
        default_weight: float | None = None,
        rating: str | None = None,
        min_rating: float | None = None,
        user_ids: object = None,
        item_ids: object = None,
    ) -> Self:
        """Return the profiles in a pandas, polars or arrow table with one row per pair; other columns do not matter.

        Parameters
        ----------
        frame
            The table; a lazy one is collected, only the columns needed.
        user, item, weight, default_weight, rating, min_rating
            As in `read`.
        user_ids, item_ids
            As in `from_pairs`.

        Examples
        --------
        >>> import pandas as pd
        >>> Profiles.from_frame(pd.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "b"], "stars": [5, 1, 4]}))
        Profiles(private: 2 users, 2 items, 3 pairs)
        """
        options = PairOptions(user, item, weight, default_weight, rating, min_rating)
        return cls.from_rows(*collect_frame(frame, options).finish(user_ids, item_ids))

    @classmethod
    def from_csr(cls, matrix: object, weights: object = None, user_ids: object = None, item_ids: object = None) -> Self:
        """Return the profiles in a scipy sparse matrix of users (rows) x items (columns).

        Parameters
        ----------
        matrix
            An entry other than 0 means that the user has the item.
        weights
            A sparse matrix of the same shape with a weight for each such entry (an entry not stored weighs 0), or what
            `with_weights` takes. Default: 1.
        user_ids, item_ids
            Default: 0, 1, 2, ...

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> Profiles.from_csr(csr_array([[1, 0, 4], [0, 0, 0]]), item_ids=["a", "b", "c"]).profile(0)
        {'a': 1.0, 'c': 1.0}
        """
        keys, values, shape = _entries("matrix", matrix)
        known_users = as_ids("user_ids", np.arange(shape[0]) if user_ids is None else user_ids, people=True)
        known_items = as_ids("item_ids", np.arange(shape[1]) if item_ids is None else item_ids)
        problems = [
            Problem(f"must be one per {what} of the matrix ({size})", name, got=ids.size)
            for name, what, ids, size in (
                ("user_ids", "row", known_users, shape[0]),
                ("item_ids", "column", known_items, shape[1]),
            )
            if ids.size != size
        ]
        if problems:
            raise InvalidInput.several(problems)
        rows = merge_pairs(keys[values != 0], None, shape)
        for array in rows:
            array.flags.writeable = False
        profiles = cls.from_rows(*rows, known_users, known_items)
        return profiles if weights is None else profiles.with_weights(weights)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        item: str | None = None,
        weight: WeightColumn = None,
        default_weight: float | None = None,
        rating: str | None = None,
        min_rating: float | None = None,
        user_ids: object = None,
        item_ids: object = None,
    ) -> Self:
        r"""Return the profiles in a file with one row per pair.

        Parameters
        ----------
        path
            One of

            - .csv, .tsv or .parquet with a column of users, a column of items and perhaps one of weights. Between the
              columns of a text may be commas, semicolons (then 0,5 is a number, too) or tabs;
            - MovieLens: `ratings.dat`, `u.data`, `ratings.csv`, `tags.csv`;
            - HetRec 2011: `user_taggedbookmarks.dat`, `user_artists.dat`, `user_ratedmovies.dat` and the like;
            - a folder with exactly one of these public files under its usual name.

            Text may be compressed (.gz, .bz2, .zst).
        user, item
            Names of the columns. Default: the one named like users (user, userId, user_id, customer, ...) and the one
            named like items (item, movieId, artist_id, product, ...).
        weight
            Name of the column of privacy weights. Without it, a column named "weight" is used if there is one: ignoring
            the wishes of its owners must be said (`weight=False`), not overlooked. The "weight" in `user_artists.dat`
            is a number of plays, and is not taken for one. Cells that are no number in [0, 1] count as weight 0.
        default_weight
            Weight of pairs whose cell in that column is empty. Default: 0.
        rating, min_rating
            Name of the column of ratings, by default the one named so, and the smallest rating that makes an item part
            of a profile (for `user_artists.dat`: the smallest number of plays). Default: every rated item counts; the
            paper's profiles hold what people liked, so for five stars 4 is a common choice. People stay listed even
            if none of their ratings is large enough.
        user_ids, item_ids
            As in `from_pairs`.

        Privacy
        -------
        Nothing is released. Errors name files, formats and columns, never a cell, and no cell of an id or a weight is a
        reason to refuse a file. Rows without a readable user or item are left out. A repeated pair counts once, with
        the smallest weight of all its rows, whatever their ratings. The file is read in batches, so memory follows the
        number of pairs, not the size of the file: the result takes 8 bytes a pair (12 or 16 with weights), reading it
        at most 50 and a few hundred MB for batches.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "ratings.dat")
        ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n")
        ...     Profiles.read(path), Profiles.read(folder, min_rating=4)
        (Profiles(private: 2 users, 2 items, 3 pairs), Profiles(private: 2 users, 1 item, 2 pairs))
        """
        options = PairOptions(user, item, weight, default_weight, rating, min_rating)
        return cls.from_rows(*open_pairs(path, options).read(user_ids, item_ids))

    def __repr__(self) -> str:
        counts = {"user": self.n_users, "item": self.n_items, "pair": self.n_pairs}
        shown = [f"{count:,} {agreeing(count, noun)}" for noun, count in counts.items()]
        return f"Profiles(private: {', '.join(shown)})"

    def _repr_html_(self) -> str:
        from hetdp.cards import Card

        counts = {"users": self.n_users, "items": self.n_items, "pairs": self.n_pairs}
        facts = {name: f"{count:,}" for name, count in counts.items()}
        return Card("Profiles", marks=("private",), facts=facts).html()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profiles):
            return NotImplemented
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(self._parts, other._parts, strict=True))

    def __hash__(self) -> int:
        return hash((self.n_users, self.n_items, self.n_pairs))

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (*self._parts, self.guessed)  # through the constructor, so that a copy is read-only too

    @property
    def _parts(self) -> tuple[NDArray[Any], ...]:
        return (self.indptr, self.indices, self.weights, self.user_ids, self.item_ids)

    def __getitem__(self, users: Any) -> Self:  # noqa: ANN401  (whatever numpy takes)
        """Return the profiles of some users by position, as rows of a matrix: a slice, positions, or a bool for each.

        Examples
        --------
        >>> Profiles.from_pairs(["ann", "bob", "cleo"], ["tea", "tea", "jazz"])[[2, 0]].user_ids.tolist()
        ['cleo', 'ann']
        """
        rows = users[0] if isinstance(users, tuple) and users[1:] == (Ellipsis,) else users  # X[rows, ...], of sklearn
        chosen = np.atleast_1d(np.arange(self.n_users)[rows])
        sizes = self.sizes[chosen]
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        place = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], sizes)
        return type(self)(
            indptr, self.indices[place], self.weights[place], self.user_ids[chosen], self.item_ids, self.guessed
        )

    @property
    def shape(self) -> tuple[int, int]:
        """How many users and items there are: as a matrix has it."""
        return self.n_users, self.n_items

    @property
    def n_users(self) -> int:
        """How many users there are, those without items included."""
        return self.user_ids.size

    @property
    def n_items(self) -> int:
        """How many items there are, those without users included."""
        return self.item_ids.size

    @property
    def n_pairs(self) -> int:
        """How many (user, item) pairs there are."""
        return self.indices.size

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each user has. As private as the profiles."""
        return np.diff(self.indptr)

    @property
    def popularity(self) -> NDArray[np.int64]:
        """How many users have each item. As private as the profiles."""
        return np.bincount(self.indices, minlength=self.n_items).astype(np.int64)

    @property
    def owners(self) -> NDArray[np.int32]:
        """Position of the user of each pair, beside `indices`."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.sizes)

    def profile(self, user: str | int) -> dict[str | int, float]:
        """Return the items of one user with their weights."""
        found = position_of_person(self.user_ids, user)
        if found is None:
            raise InvalidInput(f"must be one of the {self.n_users} users", parameter="user", got=user)
        part = slice(self.indptr[found], self.indptr[found + 1])
        return dict(zip(self.item_ids[self.indices[part]].tolist(), self.weights[part].tolist(), strict=True))

    def with_weights(self, weights: object) -> Self:
        """Return the same profiles with other weights.

        Parameters
        ----------
        weights
            One number for all pairs, one per pair (user by user, items in the order of `item_ids`), or a scipy sparse
            matrix like the second one of `to_csr`.

        Examples
        --------
        >>> Profiles.from_pairs([1, 1], ["a", "b"]).with_weights([0.5, 0]).profile(1)
        {'a': 0.5, 'b': 0.0}
        """
        vector = self._stored(weights) if hasattr(weights, "tocoo") else weight_vector(weights, self.n_pairs)
        return self.from_rows(self.indptr, self.indices, vector, self.user_ids, self.item_ids, self.guessed)

    def _stored(self, matrix: object) -> Weights:
        """Return the weight of each pair in a sparse matrix; what is not stored is 0, as everywhere in scipy."""
        keys, values, shape = _entries("weights", matrix)
        if shape != self.shape:
            raise InvalidInput(f"must be {self.n_users} x {self.n_items}", parameter="weights", got=shape)
        pairs = self.owners.astype(np.int64) * self.n_items + self.indices
        vector = weight_vector(values, keys.size)
        place = np.searchsorted(pairs, keys)
        known = np.append(pairs, -1)[place] == keys
        strangers = int(np.count_nonzero(vector[~known]))
        if strangers:
            raise InvalidInput(
                f"must belong to pairs that exist (private: {strangers:,} belong to others)", parameter="weights"
            )
        result: Weights = np.zeros(pairs.size, dtype=vector.dtype)
        result[place[known]] = 1.0
        np.minimum.at(result, place[known], vector[known])  # of a repeated entry the smallest, as everywhere here
        result.flags.writeable = False
        return result

    def keep(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the profiles with only the pairs where `chosen`, a vector of one bool per pair, is true.

        Privacy
        -------
        Users and items stay listed even if nothing of theirs is left, so that shapes tell nothing.
        """
        mask = np.asarray(chosen)
        if mask.dtype != np.bool_ or mask.shape != (self.n_pairs,):
            raise InvalidInput(f"must be one bool per pair ({self.n_pairs})", parameter="chosen")
        indptr = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])[self.indptr]
        indices, weights = self.indices[mask], self.weights[mask]
        for array in (indptr, indices, weights):
            array.flags.writeable = False
        return self.from_rows(indptr, indices, weights, self.user_ids, self.item_ids, self.guessed)

    def to_pairs(self) -> tuple[Ids, Ids, Weights]:
        """Return ids of users, ids of items and weights, one of each per pair: what `from_pairs` takes."""
        return self.user_ids[self.owners], self.item_ids[self.indices], self.weights.copy()

    def to_csr(self) -> tuple[Any, Any]:
        """Return two `scipy.sparse.csr_array`: ones where a user has an item, and the weights in the same places.

        Privacy
        -------
        These are the private data. Weights of 0 are stored explicitly; they are not the same as absence.

        Examples
        --------
        >>> presence, weights = Profiles.from_pairs([1, 2], ["a", "b"], weights=[0.5, 0]).to_csr()
        >>> presence.toarray().tolist(), weights.data.tolist()
        ([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.0])
        """
        from scipy.sparse import csr_array

        ones = np.ones(self.n_pairs, dtype=np.float32)
        presence = csr_array((ones, self.indices, self.indptr), shape=self.shape, copy=True)
        return presence, csr_array((self.weights, self.indices, self.indptr), shape=self.shape, copy=True)


def _entries(name: str, matrix: object) -> tuple[NDArray[np.int64], NDArray[Any], tuple[int, int]]:
    """Return `row * columns + column` of each entry of a scipy sparse matrix, its values, and its shape."""
    from scipy.sparse import issparse

    if not issparse(matrix) or getattr(matrix, "ndim", 0) != 2:  # noqa: PLR2004
        raise InvalidInput("must be a scipy sparse matrix", parameter=name, got=type(matrix))
    stored: Any = matrix.tocoo()  # type: ignore[attr-defined]
    keys = stored.row.astype(np.int64) * stored.shape[1] + stored.col
    return keys, stored.data, (int(stored.shape[0]), int(stored.shape[1]))


def require_profiles(name: str, value: object) -> Profiles:
    """Return what was given as profiles, or say how to make some of it."""
    if not isinstance(value, Profiles):
        raise InvalidInput(
            "must be a hetdp.Profiles, as Profiles.read, from_pairs and from_frame make them",
            parameter=name,
            got=type(value),
        )
    return value
