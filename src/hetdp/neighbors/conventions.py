"""What scikit-learn and users of data frames expect of an estimator, without needing either."""

import inspect
import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import HetdpError, InvalidInput
from hetdp.profiles import Profiles

__all__ = ["EstimatorConventions", "NotFitted", "as_frame", "as_profiles", "recipients_in", "remember_features"]

#: A table with no other columns than these, user and item among them, has one row per pair.
_COLUMNS_OF_PAIRS = {"user", "item", "weight", "rating", "timestamp"}


class NotFitted(HetdpError, ValueError, AttributeError):
    """The model was asked before it was fitted."""


class EstimatorConventions:
    """Parameters are attributes named as in `__init__`; what was learned ends in an underscore."""

    n_jobs: int | None

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  (of scikit-learn)
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: object) -> Self:
        """Set parameters by name.

        Privacy
        -------
        Takes effect with the next fit, except `n_jobs`, `progress` and `significant_only`, which cost nothing.
        """
        for name, value in params.items():
            if name not in self._names():
                raise InvalidInput(f"parameters must be among {', '.join(self._names())}. Got {name!r} instead.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not (value is defaults[name].default or value == defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has finished, for scikit-learn."""
        return hasattr(self, "report_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  (scikit-learn is optional)
        """Return what scikit-learn's own checks need to know."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True),
            non_deterministic=True,
        )

    def _require_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            message = f"This {type(self).__name__} is not fitted yet: call fit first."
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                raise NotFitted(message) from None
            raise NotFittedError(message)

    @property
    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        if self.n_jobs == -1:
            return os.cpu_count() or 1
        return whole("n_jobs", self.n_jobs, minimum=1)


def as_profiles(given: object) -> Profiles:
    """Return the profiles in `given`: as they are, or from a matrix of users x items."""
    if isinstance(given, Profiles):
        return given
    names = _names_in(given)
    if names is not None and {"user", "item"} <= set(names) <= _COLUMNS_OF_PAIRS:
        raise InvalidInput(
            "X must be Profiles or a matrix of users x items. Got a table of pairs (it has the columns user and item) "
            "instead: use Profiles.from_frame(X)."
        )
    return Profiles.from_csr(_as_matrix(given), item_ids=names)


def remember_features(estimator: Any, given: object, n_features: int) -> None:  # noqa: ANN401  (any estimator)
    """Note the names of the columns that were fitted, if they have some, how many there were, and if of a matrix."""
    estimator._by_position = not isinstance(given, Profiles)  # noqa: SLF001  (the estimator's own conventions)
    names = None if isinstance(given, Profiles) else _names_in(given)
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = names
    estimator.n_features_in_ = n_features


def recipients_in(estimator: Any, given: object) -> Profiles:  # noqa: ANN401  (any estimator)
    """Return profiles to ask a fitted estimator with; a matrix must have the columns that were fitted."""
    if isinstance(given, Profiles):
        return given
    if not estimator._by_position:  # noqa: SLF001  (the estimator's own conventions)
        raise InvalidInput("X must be profiles, as in fit: columns of a matrix have no such ids. Got one instead.")
    names, known = _names_in(given), getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and not np.array_equal(known, names):
        raise InvalidInput("The feature names should match those that were passed during fit.")
    matrix = _as_matrix(given)
    if matrix.shape[1] != estimator.n_features_in_:
        raise InvalidInput(
            f"X has {matrix.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return Profiles.from_csr(matrix, item_ids=estimator.item_ids_)


def as_frame(columns: Mapping[str, object]) -> Any:  # noqa: ANN401  (pandas is optional)
    """Return a pandas data frame if pandas is installed, else an arrow table.

    Examples
    --------
    >>> list(as_frame({"user": ["ann"], "score": [1.0]}).columns)
    ['user', 'score']
    """
    try:
        import pandas as pd
    except ImportError:
        import pyarrow as pa

        return pa.table(dict(columns))
    return pd.DataFrame(dict(columns))


def _names_in(given: object) -> NDArray[np.object_] | None:
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
