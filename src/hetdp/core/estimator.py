"""What scikit-learn expects of an estimator, without needing it."""

import inspect
import os
import reprlib
import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from hetdp.core.checks import whole
from hetdp.core.errors import HetdpError, HetdpWarning, InvalidInput

#: A catalogue may have a million items.
_BRIEFLY = reprlib.Repr()
_BRIEFLY.maxlist = _BRIEFLY.maxtuple = 4
_BRIEFLY.maxstring = _BRIEFLY.maxother = 80


class NotFitted(HetdpError, ValueError, AttributeError):
    """The model was asked before it was fitted."""


class Estimator(ABC):
    """Parameters by name, as in `__init__`, a repr that shows those that were chosen, and whether it was fitted."""

    n_jobs: int | None

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    @classmethod
    def _attribute(cls, name: str) -> str:
        """Return where a parameter is kept: under its own name, or behind an underscore where a method has that."""
        return f"_{name}" if callable(getattr(cls, name, None)) else name

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  (of scikit-learn)
        """Return the parameters by name."""
        return {name: getattr(self, self._attribute(name)) for name in self._names()}

    def set_params(self, **params: object) -> Self:
        """Set parameters by name, for the next fit."""
        for name, value in params.items():
            if name not in self._names():
                raise InvalidInput(f"must be among {', '.join(self._names())}", parameter="parameters", got=name)
            setattr(self, self._attribute(name), value)
        return self

    def __repr__(self) -> str:
        chosen, _ = shown_params(self)
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in chosen.items())})"

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool:
        """Return whether it was fitted, for scikit-learn."""

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

    def _warn_uncounted(self) -> None:
        """Say that nobody adds up what a search for parameters releases; to be called by `score`."""
        warnings.warn(
            "without a ledger nobody adds up what a search for parameters releases: guarantee_ counts only the fits of "
            "this object. Use ledger=Ledger.of_profiles(limit=...). The score has no noise: do not publish it.",
            HetdpWarning,
            stacklevel=3,
        )

    @property
    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        if self.n_jobs == -1:
            return os.cpu_count() or 1
        return whole("n_jobs", self.n_jobs, minimum=1)


def shown_params(model: Estimator) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parameters of a model as short texts: those that were chosen, and those that are as by default."""
    chosen, usual = dict[str, str](), dict[str, str]()
    defaults = inspect.signature(type(model)).parameters
    for name, value in model.get_params().items():
        default = defaults[name].default
        as_usual = value is default or np.array_equal(value, default)
        (usual if as_usual else chosen)[name] = _BRIEFLY.repr(value)
    return chosen, usual
