"""The public domain of a profile: one closed interval per item, and the centre that items shrink toward."""

import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, float_vector, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.text import counted
from hetdp.core.vectors import constant, each, is_constant


class Box:
    """A box of admissible values, with a public centre.

    Parameters
    ----------
    lower, upper
        Ends of the interval of each item; `lower < upper` everywhere.
    center
        Where a shrunk item goes, inside the box. Default: 0 where the interval contains it, else the midpoint.

    Privacy
    -------
    The box is public and must not be computed from the data. Values outside it are clamped and nan becomes the
    centre, silently: an error would tell that such a value exists.

    Examples
    --------
    >>> Box(lower=[0, 20], upper=[1, 80]).center
    array([ 0., 50.])
    >>> Box.uniform(0, 1, size=2).is_semi_balanced, Box(20, 80).is_semi_balanced
    (True, False)
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, center: ArrayLike | None = None) -> None:
        self.lower = float_vector("lower", lower)
        self.upper = float_vector("upper", upper)
        _same_length("upper", self.upper, self.lower)
        if not each(np.less, self.lower, self.upper).all():
            where = int(np.argmin(self.lower < self.upper))
            raise InvalidInput(
                f"must be below upper for every item (got lower={self.lower[where]:g} and "
                f"upper={self.upper[where]:g} at position {where})",
                parameter="lower",
            )
        with np.errstate(over="ignore"):
            bounded = each(np.isfinite, each(np.subtract, self.upper, self.lower)).all()
        if not bounded:
            raise InvalidInput("upper - lower must be finite for every item (got a range that overflows)")
        if center is None:
            center = each(_usual_center, self.lower, self.upper)
        center = np.atleast_1d(np.asarray(center, dtype=np.float64))
        self.center = float_vector("center", each(lambda vector: vector + 0.0, center))  # without negative zeros
        _same_length("center", self.center, self.lower)
        if not (each(np.less_equal, self.lower, self.center) & each(np.less_equal, self.center, self.upper)).all():
            raise InvalidInput("must lie inside the box (got a center outside [lower, upper])", parameter="center")

    @classmethod
    def uniform(cls, lower: float, upper: float, *, size: int, center: float | None = None) -> Self:
        """Return a box with the same interval for each of `size` items.

        Parameters
        ----------
        lower, upper
            Ends of the interval.
        size
            How many items there are.
        center
            Where values shrink to, as for the class.

        Examples
        --------
        >>> Box.uniform(0, 80, size=3)
        Box(3 items, 0 <= value <= 80, center 0)
        """
        items = whole("size", size, minimum=1)
        one = cls(finite("lower", lower), finite("upper", upper), None if center is None else finite("center", center))
        return cls._of(constant(vector[0], items) for vector in one._vectors)

    @classmethod
    def _of(cls, vectors: Iterable[NDArray[np.float64]]) -> Self:
        """Return a box of vectors that have been checked."""
        box = cls.__new__(cls)
        box.lower, box.upper, box.center = vectors
        return box

    def __repr__(self) -> str:
        def short(vector: NDArray[np.float64]) -> str:
            return f"{vector[0]:g}" if (vector == vector[0]).all() else f"{vector.min():g}..{vector.max():g}"

        items = counted(self.size, "item")
        return f"Box({items}, {short(self.lower)} <= value <= {short(self.upper)}, center {short(self.center)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box):
            return NotImplemented
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(self._vectors, other._vectors, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(vector.tobytes() for vector in self._vectors))

    @property
    def _vectors(self) -> Sequence[NDArray[np.float64]]:
        return (self.lower, self.upper, self.center)

    @property
    def size(self) -> int:
        """How many items there are."""
        return self.lower.size

    @cached_property
    def ranges(self) -> NDArray[np.float64]:
        """Length of each interval."""
        return each(np.subtract, self.upper, self.lower)

    @cached_property
    def radii(self) -> NDArray[np.float64]:
        """Largest absolute value in each interval."""
        return each(lambda lower, upper: np.maximum(np.abs(lower), np.abs(upper)), self.lower, self.upper)

    @cached_property
    def alike(self) -> bool:
        """Whether all items have the same range and centre."""
        return not any(np.ptp(vector) for vector in self._vectors if not is_constant(vector))

    def part(self, some: slice) -> Self:
        """Return the box of some of the items."""
        return self._of(vector[some] for vector in self._vectors)

    @property
    def is_semi_balanced(self) -> bool:
        """Whether shrinking toward 0 stays inside, as the paper requires: true if and only if the box contains 0."""
        return bool(((self.lower <= 0.0) & (self.upper >= 0.0)).all())

    def recentered(self, center: ArrayLike) -> "Box":
        """Return the same box with another centre.

        Privacy
        -------
        The new `center` must be public.
        """
        return Box(self.lower, self.upper, center)

    def clamp(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return private values as floats inside the box; nan and what is not a number become the centre.

        Privacy
        -------
        Never fails on a value, only on their number, which is public.

        Examples
        --------
        >>> Box([0, 0, 0, 20], [1, 1, 1, 80]).clamp([7, float("nan"), "secret", None])
        array([ 1.,  0.,  0., 50.])
        """
        vector = self.read(values)
        return np.clip(np.where(np.isnan(vector), self.center, vector), self.lower, self.upper)

    def read(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return private values as floats, one per item, that are still to be clamped; nan for what is not a number.

        Privacy
        -------
        Never fails on a value, only on their number, which is public.
        """
        vector = _private_floats(values)
        if vector.shape != (self.size,):
            raise InvalidInput(
                f"must hold one number per item ({self.size}) (got shape {vector.shape})", parameter="values"
            )
        return vector

    def shrink(self, clamped: NDArray[np.float64], shrinkage: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `center + shrinkage * (clamped - center)`, kept inside the box whatever the rounding.

        Privacy
        -------
        An item with shrinkage 0 becomes the centre exactly, bit for bit.
        """
        moved = self.center + shrinkage * (clamped - self.center)
        return np.where(shrinkage == 0, self.center, np.clip(moved, self.lower, self.upper))


def _usual_center(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where((lower <= 0.0) & (upper >= 0.0), 0.0, lower / 2 + upper / 2)


def _private_floats(values: Any) -> NDArray[np.float64]:  # noqa: ANN401  (cells of any kind)
    """Return private cells as floats, nan for what is not a number, so that no cell changes how another is read."""
    if not isinstance(values, list | tuple | np.ndarray):
        try:
            # A column of some data frame, or any other sequence, which numpy might refuse because of a cell.
            values = np.asarray(values) if hasattr(values, "__array__") else list(values)
        except Exception:  # noqa: BLE001  (its message might quote a value)
            raise InvalidInput("must be a sequence of numbers", parameter="values") from None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(values, np.ndarray):
            plain = values.dtype.kind in "biuf" and values.dtype.itemsize <= np.float64().itemsize
            if plain or values.ndim != 1:
                return values.astype(np.float64, copy=False) if plain else np.empty(values.shape)
        return np.array([_private_float(cell) for cell in values], dtype=np.float64)


def _private_float(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001  (whatever is wrong with a private value must not show)
        return float("nan")


def _same_length(name: str, vector: NDArray[np.float64], reference: NDArray[np.float64]) -> None:
    if vector.size != reference.size:
        raise InvalidInput(f"must be as long as lower ({reference.size})", parameter=name, got=vector.size)
