"""What may be given to an estimator besides profiles: tables of pairs, matrices of users x items, new recipients.

A table with the columns user and item, and perhaps weight, has one row per pair. Any other table is a matrix unless it
is plain that it is not: a matrix holds numbers, and says by 0 what somebody does not have.
"""

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.text import listed
from hetdp.profiles import Profiles
from hetdp.profiles.ids import Ids, RepeatedIds, as_ids, positions
from hetdp.profiles.steps import WEIGHT_STEPS, Holdings, code_profiles, holdings

__all__ = ["asking_profiles", "column_names", "given_profiles", "on_fitted_items"]

#: Columns of a table of pairs that needs no questions.
_PAIRS = {"user", "item"}
_WEIGHTED = {"user", "item", "weight"}
#: Columns of tables of pairs that were met in the wild, without "id" and the like.
_USERS = {"user", "users", "u", "uid", "person", "people", "customer", "client", "member", "reader", "visitor"}
_ITEMS = {"item", "items", "i", "iid", "movie", "film", "product", "song", "track", "artist", "book", "isbn", "article",
          "page", "url", "story", "bookmark", "tag"}  # fmt: skip
#: More columns than this, and it is a matrix, whatever they are called.
_MOST_COLUMNS = 8
#: Ids take more different values than answers do.
_FEWEST_IDS = 10


def given_profiles(given: object) -> tuple[Profiles, bool]:
    """Return the profiles in whatever was given to `fit`, and whether items are the columns of a matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> profiles, matrix = given_profiles(pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "tea"]}))
    >>> profiles, matrix
    (Profiles(private: 2 users, 1 item, 2 pairs), False)
    >>> given_profiles([[1, 0], [1, 1]])
    (Profiles(private: 2 users, 2 items, 3 pairs), True)
    """
    if isinstance(given, Profiles):
        return given, False
    names = column_names(given)
    if names is None:
        return Profiles.from_csr(_as_matrix(given), user_ids=_row_ids(given), item_ids=_number_names(given)), True
    if set(names) in (_PAIRS, _WEIGHTED):
        return Profiles.from_frame(given), False
    _refuse_pairs(given, names.tolist())
    return Profiles.from_csr(_as_matrix(given), user_ids=_row_ids(given), item_ids=names), True


def _row_ids(given: object) -> Ids | None:
    """Return the labels of the rows of a pandas frame, if they can be ids; refuse those of people with several rows."""
    index = getattr(given, "index", None)
    if index is None or callable(index):
        return None
    try:
        if getattr(index, "nlevels", 1) == 1:
            return _labels(index)
        kind = "labels of several levels"
    except RepeatedIds:
        kind = "repeated labels"
    raise InvalidInput(
        f"X must have one row for each person, by its labels. Got {kind} instead: somebody with several rows would "
        "count as several people, and be charged for one. Put the rows of a person together, or, if each row is "
        "somebody else, X.reset_index(drop=True)."
    )


def _number_names(given: object) -> Ids | None:
    """Return the names of the columns of a pandas frame that are whole numbers."""
    columns = getattr(given, "columns", None)
    return None if columns is None else _labels(columns)


def _labels(labels: Any) -> Ids | None:  # noqa: ANN401  (an index of pandas)
    if not getattr(labels, "is_unique", True):
        raise RepeatedIds("must all be different (got repeated ones)", parameter="labels")
    try:
        return as_ids("label", labels.to_numpy())
    except RepeatedIds:
        raise
    except (AttributeError, InvalidInput):
        return None  # dates, for instance: rows and columns have their numbers


def _refuse_pairs(given: object, names: list[str]) -> None:
    """Refuse a table of pairs under other names: each of its rows would be taken for a user."""
    if not 2 <= len(names) <= _MOST_COLUMNS:  # noqa: PLR2004  (user and item)
        return
    columns = {name: _cells(given, name) for name in names}
    texts = [name for name, cells in columns.items() if cells.dtype.kind not in "biufc"]
    user, item = _by_name(names, _USERS), _by_name(names, _ITEMS)
    if texts:
        known = {user, item} - {None}
        user, item = (user, item) if known & set(texts) else (None, None)
        rest = [name for name in [*texts, *names] if name not in known]
        user, item = user or rest.pop(0), item or (rest or names)[0]
        kind = "texts in it"
    elif user and item:
        if all(np.isin(columns[name], (0, 1)).all() for name in (user, item)):
            return  # two words among others, and who used them
        kind = f"the columns {user!r} and {item!r}"
    else:
        found = _ids_by_value(columns)
        if found is None:
            return
        (user, item), kind = found, "ids in it"
    if _PAIRS.issubset(names):
        kind = f"{listed([repr(name) for name in names if name not in _WEIGHTED])} besides these"
    raise InvalidInput(
        "X must be Profiles, a table with the columns user, item and perhaps weight, or a matrix of users x "
        f"items that holds numbers (got a table with {kind})",
        hint=(
            "If it has one row per pair, say which column is which: Profiles.from_frame(X, "
            f"user={user!r}, item={item!r}), with weight=... if there are dials. If it is a matrix, give "
            "numbers alone: X.to_numpy()."
        ),
    )


def _by_name(names: list[str], words: set[str]) -> str | None:
    """Return the one column that is called like one of some words: userId, user_id:token, "User ID", users."""
    found = [name for name in names if re.sub(r"[^a-z]|_?ids?\b|id$|:.*", "", name.strip().lower()) in words]
    return found[0] if len(found) == 1 else None


def _ids_by_value(columns: dict[str, NDArray[Any]]) -> tuple[str, str] | None:
    """Return two columns that can only be ids: no pair twice, many values, of which some repeat, and 0 like others."""
    wide = [name for name, cells in columns.items() if _like_ids(cells)]
    for place, user in enumerate(wide):
        for item in wide[place + 1 :]:
            both = np.stack([columns[user], columns[item]], axis=1)
            rows = both.shape[0]
            repeats = min(np.unique(columns[user]).size, np.unique(columns[item]).size) < rows
            if repeats and np.unique(both, axis=0).shape[0] == rows:
                return user, item
    return None


def _like_ids(cells: NDArray[Any]) -> bool:
    """Return whether a column holds whole numbers of many kinds, none of which is the usual one."""
    if cells.dtype.kind not in "iuf" or not np.isfinite(cells).all() or (cells != np.floor(cells)).any():
        return False
    kinds = np.unique(cells).size
    # In a matrix, 0 is what most have not; among ids it is one of many.
    return kinds > _FEWEST_IDS and int((cells == 0).sum()) <= math.ceil(2 * cells.size / kinds)


def _cells(given: Any, name: str) -> NDArray[Any]:  # noqa: ANN401  (pandas, polars or arrow)
    cells = np.asarray(given[name])
    if cells.dtype.kind != "O":
        return cells
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return cells


def asking_profiles(given: object, item_ids: Ids, *, by_position: bool, names: Ids | None, estimator: str) -> Profiles:
    """Return the profiles that new recipients ask with; a matrix must have the columns that were fitted."""
    if isinstance(given, Profiles):
        return given
    own = column_names(given)
    if own is not None and set(own) in (_PAIRS, _WEIGHTED) and (names is None or not np.array_equal(own, names)):
        return Profiles.from_frame(given)
    if not by_position:
        got = (
            type(given).__name__ if own is None else f"a table with the columns {listed([repr(name) for name in own])}"
        )
        raise InvalidInput(
            "X must be Profiles, as in fit, or a table with the columns user, item and perhaps weight "
            "(Profiles.from_frame takes others); for one person, recommend takes a list of ids",
            got=got,
        )
    if own is not None and names is not None and not np.array_equal(own, names):
        raise InvalidInput("The feature names should match those that were passed during fit.")
    matrix = _as_matrix(given)
    if matrix.shape[1] != item_ids.size:
        raise InvalidInput(
            f"X has {matrix.shape[1]} features, but {estimator} is expecting {item_ids.size} features as input."
        )
    return Profiles.from_csr(matrix, item_ids=item_ids)


def on_fitted_items(
    profiles: Profiles, item_ids: Ids, *, public_sizes: bool, private: bool = False
) -> tuple[Holdings, NDArray[np.float64]]:
    """Return what new recipients have of the items fitted, matched by id, and how large they are.

    A size counts the items that nobody there has too: what a recipient lists where sizes are public, else what counts
    of it. Where names are `private`, nothing is said about which items were fitted, nor of what kind their ids are.

    Examples
    --------
    >>> fitted = Profiles.from_pairs(["ann"], ["tea"]).item_ids
    >>> asking = Profiles.from_pairs(["zoe", "zoe"], ["golf", "tea"], weights=[0.2, 1.0])
    >>> own, sizes = on_fitted_items(asking, fitted, public_sizes=False)
    >>> own.items.tolist(), sizes.tolist()
    ([0], [1.2])
    """
    if not private:
        _require_known(profiles, item_ids)
    coded = code_profiles(profiles)
    owners = np.repeat(np.arange(coded.n_users), coded.sizes)
    counted = np.bincount(owners, weights=coded.codes, minlength=coded.n_users) / WEIGHT_STEPS
    sizes = profiles.sizes.astype(np.float64) if public_sizes else counted
    return holdings(profiles, item_ids), sizes


def _require_known(profiles: Profiles, item_ids: Ids) -> None:
    """Refuse recipients none of whose items was fitted, where it is public which were."""
    other_kind = profiles.item_ids.dtype != item_ids.dtype and item_ids.size and profiles.n_items
    if other_kind and not profiles.guessed:  # in a text file a number is a text too
        raise InvalidInput(
            "item ids of X must be of the kind that was fitted, texts or whole numbers (got the other kind)"
        )
    if profiles.n_pairs and (positions(item_ids, profiles.item_ids)[profiles.indices] < 0).all():
        raise InvalidInput("X must have items that were fitted (got none of them)")


def column_names(given: object) -> NDArray[np.object_] | None:
    """Return the names of the columns of a data frame, if all of them are texts."""
    names = getattr(given, "column_names", getattr(given, "columns", None))  # arrow; pandas and polars
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)


def _as_matrix(given: object) -> Any:  # noqa: ANN401  (scipy has no types)
    """Return a sparse matrix of finite numbers with at least one row and column."""
    from scipy.sparse import csr_array, issparse

    if issparse(given):
        matrix = csr_array(given)
    else:
        dense = np.asarray(given)
        if dense.dtype.kind == "O":
            try:
                dense = dense.astype(np.float64)
            except ValueError:
                raise InvalidInput(
                    "X must hold numbers (got texts)", hint="Pairs come as Profiles or in a table: Profiles.from_frame."
                ) from None
            except TypeError:  # a type, as scikit-learn's contract has it
                message = "X must hold numbers: every argument must be a string or a number. Got objects instead."
                raise TypeError(message) from None
        if dense.ndim != 2:  # noqa: PLR2004  (users and items)
            raise InvalidInput(
                f"X must be a matrix of users x items (got {dense.ndim} dimensions)", hint="Reshape your data."
            )
        if dense.dtype.kind not in "biuf":
            kind = "Complex data not supported" if dense.dtype.kind == "c" else f"Got {dense.dtype} instead"
            raise InvalidInput(f"X must hold numbers. {kind}.")
        matrix = csr_array(dense)
    if matrix.dtype.kind == "c":
        raise InvalidInput("X must hold numbers. Complex data not supported.")
    if 0 in matrix.shape:
        raise InvalidInput(
            f"X must have users and items. Got 0 sample(s) or 0 feature(s) (shape={matrix.shape}) while a minimum of 1 "
            "is required."
        )
    if not np.isfinite(matrix.data.astype(np.float64)).all():
        raise InvalidInput("X must hold finite numbers (got NaN or infinity)")
    return matrix
