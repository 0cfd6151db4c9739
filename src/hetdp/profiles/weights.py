"""The secret privacy weight of every item: 0 means "never counts", 1 means ordinary differential privacy."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.text import counted


class PrivacyWeights:
    """One weight v_i in [0, 1] per item.

    Parameters
    ----------
    weights
        A vector; or a dict or labelled series from item to weight.
    items
        With a dict or series: the items in the order of the profile. Items without a weight get `default`.
    default
        The weight of an item whose owner said nothing: 1.0, as in the paper.

    Privacy
    -------
    Weights are as secret as values: a strict weight hints at an item worth hiding. Neither `repr` nor any error shows
    one; `values` is for the owner's eyes.

    Examples
    --------
    >>> PrivacyWeights([0.5, 0.25, 0.1])
    PrivacyWeights(3 items)
    >>> PrivacyWeights({"diary": 0.0}, items=["diary", "recipes"]).values
    array([0., 1.])
    """

    __slots__ = ("_values",)

    def __init__(
        self,
        weights: "ArrayLike | Mapping[Hashable, float] | PrivacyWeights",
        *,
        items: Sequence[Hashable] | None = None,
        default: float = 1.0,
    ) -> None:
        if isinstance(weights, PrivacyWeights):
            vector = weights.values
        elif isinstance(weights, Mapping):
            vector = _from_mapping(weights, items, default)
        elif items is not None and hasattr(weights, "to_dict"):  # a series of pandas
            vector = _from_mapping(weights.to_dict(), items, default)
        elif items is not None:
            raise InvalidInput(
                "must come with a dict or a labelled series of weights (got a vector)", parameter="items"
            )
        else:
            vector = _as_vector(weights)
        outside = ~((vector >= 0.0) & (vector <= 1.0))
        if outside.any():
            raise InvalidInput(
                f"weights must lie in [0, 1] (private: {int(outside.sum())} of {vector.size} do not, the first at "
                f"position {int(np.argmax(outside))})"
            )
        if vector.flags.writeable:
            vector += 0.0  # a copy of our own, in which -0.0 becomes 0.0
            vector.flags.writeable = False
        self._values = vector

    def __repr__(self) -> str:
        return f"PrivacyWeights({counted(self.size, 'item')})"

    def _repr_html_(self) -> str:
        from hetdp.cards import Card

        return Card("PrivacyWeights", about=f"{counted(self.size, 'item')}; none is shown", marks=("private",)).html()

    def __len__(self) -> int:
        return self.size

    @property
    def size(self) -> int:
        """How many items there are."""
        return self._values.size

    @property
    def values(self) -> NDArray[np.float64]:
        """The weights themselves (read-only). For the owner's eyes only."""
        return self._values


def _as_vector(weights: object) -> NDArray[np.float64]:
    try:
        vector = np.array(weights, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput("must be numbers in [0, 1]", parameter="weights") from None
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput(f"must be a non-empty vector (got shape {vector.shape})", parameter="weights")
    return vector


def _from_mapping(
    weights: Mapping[Hashable, float], items: Sequence[Hashable] | None, default: float
) -> NDArray[np.float64]:
    if items is None:
        return _as_vector([default if weight is None else weight for weight in weights.values()])
    unknown = len(weights.keys() - set(items))
    if unknown:
        raise InvalidInput(f"must name known items only (got {unknown} that are not in items)", parameter="weights")
    found = [weights.get(item) for item in items]
    return _as_vector([default if weight is None else weight for weight in found])
