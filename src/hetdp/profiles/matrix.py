"""What `fit` takes besides profiles: matrices of users x items, sparse or dense, and tables of pairs.

A table with the columns user and item has one row per pair. Any other table is read as a matrix of
numbers, in which 0 means that the person does not have the item. A table that is clearly not a matrix is refused.
pandas and scipy are imported only if one of their objects is given.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import HetdpWarning, InvalidInput
from hetdp.profiles.ids import Ids, RepeatedIds, as_ids
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading import named_like

#: More columns than this, and it is a matrix, whatever they are called.
_MOST_COLUMNS = 8


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
    labels: Ids | None = names
    if names is not None and _are_pairs(names):
        return _from_pairs(given, names), False
    if names is not None:
        _refuse_pairs(given, names.tolist())
    elif hasattr(given, "columns"):  # a pandas frame whose columns have numbers
        labels = _labels(given.columns, people=False)
    return Profiles.from_csr(_as_matrix(given), user_ids=_row_ids(given), item_ids=labels), True


def _are_pairs(names: NDArray[np.object_]) -> bool:
    return {"user", "item"} <= set(names) and len(names) <= _MOST_COLUMNS


def _from_pairs(given: object, names: NDArray[np.object_]) -> Profiles:
    """Return the profiles in a table of pairs, and say which columns were not read."""
    ignored = [name for name in names if name not in ("user", "item", *named_like("weight", names.tolist()))]
    if ignored:
        warnings.warn(f"Columns that are not read: {', '.join(ignored)}.", HetdpWarning, stacklevel=4)
    return Profiles.from_frame(given)


def _row_ids(given: object) -> Ids | None:
    """Return the labels of the rows of a pandas frame, if they can be ids; refuse those of people with several rows."""
    index = getattr(given, "index", None)
    if index is None or callable(index):
        return None
    if getattr(index, "nlevels", 1) == 1:
        try:
            return _labels(index, people=True)
        except RepeatedIds:
            pass
    raise InvalidInput(
        "must have one row for each person, with a different row label (index) for each row",
        parameter="X",
        hint="Combine the rows of each person. If each row is a different person, use X.reset_index(drop=True).",
    )


def _labels(labels: Any, *, people: bool) -> Ids | None:  # noqa: ANN401  (an index of pandas)
    if not getattr(labels, "is_unique", True):
        raise RepeatedIds("must all be different", parameter="labels")
    try:
        return as_ids("labels", labels.to_numpy(), people=people)
    except RepeatedIds:
        raise
    except (AttributeError, InvalidInput):
        return None  # dates, for instance: rows and columns have their numbers


def _refuse_pairs(given: Any, names: list[str]) -> None:  # noqa: ANN401  (pandas, polars or arrow)
    """Refuse a table of pairs under other names: each of its rows would be taken for a user."""
    if not 2 <= len(names) <= _MOST_COLUMNS:  # noqa: PLR2004  (user and item)
        return
    user, item = ((named_like(role, names) or [""])[0] for role in ("user", "item"))
    cells = {name: np.asarray(given[name]) for name in names}
    texts = [name for name in names if cells[name].dtype.kind not in "biufcO" or _holds_texts(cells[name])]
    if not texts:
        if not (user and item) or all(np.isin(cells[name], (0, 1)).all() for name in (user, item)):
            return  # two words among others, and who used them
    elif not {user, item} & set(texts):
        user = item = ""
    rest = [name for name in [*texts, *names] if name not in (user, item)]
    user = user or rest.pop(0)
    item = item or (rest or names)[0]
    raise InvalidInput(
        "must be Profiles, a table with the columns user and item, or a matrix of numbers",
        parameter="X",
        hint=f"If X has one row per pair: Profiles.from_frame(X, user={user!r}, item={item!r}). "
        "If it is a matrix: X.to_numpy().",
    )


def _holds_texts(cells: NDArray[Any]) -> bool:
    if cells.dtype.kind != "O":
        return False
    try:
        cells.astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def asking_profiles(given: object, item_ids: Ids, *, by_position: bool, names: Ids | None, estimator: str) -> Profiles:
    """Return the profiles that new recipients ask with; a matrix must have the columns that were fitted."""
    if isinstance(given, Profiles):
        return given
    own = column_names(given)
    if own is not None and _are_pairs(own) and (names is None or not np.array_equal(own, names)):
        return _from_pairs(given, own)
    if not by_position:
        raise InvalidInput(
            "must be Profiles, as in fit, or a table with the columns user and item",
            parameter="X",
            got=type(given),
            hint="Profiles.from_frame takes tables with other columns.",
        )
    if own is not None and names is not None and not np.array_equal(own, names):
        raise InvalidInput("The feature names should match those that were passed during fit.")
    matrix = _as_matrix(given)
    if matrix.shape[1] != item_ids.size:
        raise InvalidInput(
            f"X has {matrix.shape[1]} features, but {estimator} is expecting {item_ids.size} features as input."
        )
    return Profiles.from_csr(matrix, item_ids=item_ids)


def column_names(given: object) -> NDArray[np.object_] | None:
    """Return the names of the columns of a data frame, if all of them are texts."""
    names = getattr(given, "column_names", getattr(given, "columns", None))  # arrow; pandas and polars
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)


def _as_matrix(given: object) -> Any:  # noqa: ANN401  (scipy has no types)
    """Return a sparse matrix of finite numbers with at least one row and column; some words are scikit-learn's."""
    from scipy.sparse import csr_array, issparse

    if issparse(given):
        matrix = csr_array(given)
    else:
        dense = np.asarray(given)
        if dense.dtype.kind == "O":
            try:
                dense = dense.astype(np.float64)
            except ValueError:
                hint = "For (user, item) pairs, use Profiles.from_pairs or Profiles.from_frame."
                raise InvalidInput("must hold numbers", parameter="X", hint=hint) from None
            except TypeError:  # a type, as scikit-learn's contract has it
                message = "X must hold numbers: every argument must be a string or a number."
                raise TypeError(message) from None
        if dense.ndim != 2:  # noqa: PLR2004  (users and items)
            raise InvalidInput(
                f"must be a matrix of users x items (got {dense.ndim} dimensions)",
                parameter="X",
                hint="Reshape your data, or read a file with Profiles.read.",
            )
        if dense.dtype.kind not in "biufc":
            raise InvalidInput("must hold numbers", parameter="X", got=str(dense.dtype))
        matrix = dense if dense.dtype.kind == "c" else csr_array(dense)
    if matrix.dtype.kind == "c":
        raise InvalidInput("must hold real numbers. Complex data not supported", parameter="X")
    if 0 in matrix.shape:
        raise InvalidInput(
            f"must have users and items. Got 0 sample(s) or 0 feature(s) (shape={matrix.shape}) while a minimum of 1 "
            "is required",
            parameter="X",
        )
    if not np.isfinite(matrix.data.astype(np.float64)).all():
        raise InvalidInput("must hold finite numbers (got NaN or infinity)", parameter="X")
    return matrix
