"""What may be given to an estimator besides profiles: matrices of users x items, and new recipients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles import Profiles
from hetdp.profiles.coded import WEIGHT_STEPS, CodedProfiles, code_profiles
from hetdp.profiles.reading.identifiers import Ids, positions

__all__ = ["asking_profiles", "column_names", "matrix_profiles", "on_fitted_items"]

#: A table with no other columns than these, user and item among them, has one row per pair.
_COLUMNS_OF_PAIRS = {"user", "item", "weight", "rating", "timestamp"}


def matrix_profiles(given: object) -> Profiles:
    """Return the profiles in a matrix of users x items."""
    names = column_names(given)
    if names is not None and {"user", "item"} <= set(names) <= _COLUMNS_OF_PAIRS:
        raise InvalidInput(
            "X must be Profiles or a matrix of users x items. Got a table of pairs (it has the columns user and item) "
            "instead: use Profiles.from_frame(X)."
        )
    return Profiles.from_csr(_as_matrix(given), item_ids=names)


def asking_profiles(given: object, item_ids: Ids, *, by_position: bool, names: NDArray[np.object_] | None) -> Profiles:
    """Return the profiles that new recipients ask with; a matrix must have the columns that were fitted."""
    if isinstance(given, Profiles):
        return given
    if not by_position:
        raise InvalidInput("X must be profiles, as in fit: columns of a matrix have no such ids. Got one instead.")
    own = column_names(given)
    if own is not None and names is not None and not np.array_equal(own, names):
        raise InvalidInput("The feature names should match those that were passed during fit.")
    matrix = _as_matrix(given)
    if matrix.shape[1] != item_ids.size:
        raise InvalidInput(
            f"X has {matrix.shape[1]} features, but PrivateNeighbors is expecting {item_ids.size} features as input."
        )
    return Profiles.from_csr(matrix, item_ids=item_ids)


def on_fitted_items(
    profiles: Profiles, item_ids: Ids, *, public_sizes: bool
) -> tuple[CodedProfiles, NDArray[np.float64]]:
    """Return new recipients on the items fitted, matched by id, and how large they are.

    A size counts the items that nobody there has too: what a recipient lists where sizes are public, else what counts
    of it.

    Examples
    --------
    >>> fitted = Profiles.from_pairs(["ann"], ["tea"]).item_ids
    >>> asking = Profiles.from_pairs(["zoe", "zoe"], ["golf", "tea"], weights=[0.2, 1.0])
    >>> coded, sizes = on_fitted_items(asking, fitted, public_sizes=False)
    >>> coded.items.tolist(), sizes.tolist()
    ([0], [1.2])
    """
    coded = code_profiles(profiles)
    place = _places(profiles, item_ids)
    if profiles.n_pairs and (place[profiles.indices] < 0).all():
        raise InvalidInput("X must have items that were fitted. Got none of them instead.")
    owners = np.repeat(np.arange(coded.n_users), coded.sizes)
    counted = np.bincount(owners, weights=coded.codes, minlength=coded.n_users) / WEIGHT_STEPS
    sizes = profiles.sizes.astype(np.float64) if public_sizes else counted
    return coded.renamed(place, item_ids.size), sizes


def _places(profiles: Profiles, item_ids: Ids) -> NDArray[np.int32]:
    """Return where each item of the recipients is among those fitted; -1 if it is not."""
    other_kind = profiles.item_ids.dtype != item_ids.dtype and item_ids.size and profiles.n_items
    if other_kind and not profiles.guessed:  # in a text file a number is a text too
        raise InvalidInput(
            "item ids of X must be of the kind that was fitted, texts or whole numbers. Got the other kind instead."
        )
    return positions(item_ids, profiles.item_ids)


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
                    "X must hold numbers. Got texts instead. A table of pairs goes through Profiles.from_frame(X)."
                ) from None
            except TypeError:  # a type, as scikit-learn's contract has it
                message = "X must hold numbers: every argument must be a string or a number. Got objects instead."
                raise TypeError(message) from None
        if dense.ndim != 2:  # noqa: PLR2004  (users and items)
            raise InvalidInput(
                f"X must be a matrix of users x items. Got {dense.ndim} dimensions instead. Reshape your data."
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
        raise InvalidInput("X must hold finite numbers. Got NaN or infinity instead.")
    return matrix
