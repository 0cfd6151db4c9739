"""What a mechanism put out, in one of two shapes: rows of numbers, or labels that are only equal or not."""

import math
import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.releasing import Release
from hetdp.core.errors import InvalidInput

__all__ = ["OutputReader", "Outputs"]

#: Numbers, one row per run and one column per cell; or an object array with one label per run.
Outputs: TypeAlias = NDArray[Any]


@dataclass
class OutputReader:
    """Reads what a mechanism returns, and insists that every run returns the same kind of thing."""

    #: "numbers" or "labels", from the first run on.
    kind: str | None = None
    #: How many numbers one output has; 0 for labels.
    cells: int = 0
    label: type | None = None

    def batch(self, raw: object, count: int) -> Outputs:
        """Read the outputs of a vectorised mechanism: an array or a sequence with one output per run."""
        sized = isinstance(raw, np.ndarray | Sequence) and not isinstance(raw, str) and getattr(raw, "ndim", 1) > 0
        if not sized or len(raw) != count:  # type: ignore[arg-type]
            got = f"{len(raw)} outputs" if sized else type(raw).__name__  # type: ignore[arg-type]
            raise InvalidInput(f"must return one output for each of {count} runs", parameter="mechanism", got=got)
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf":
            return self._numbers(raw.reshape(count, -1))
        return self.singles(list(raw))  # type: ignore[call-overload]

    def singles(self, raw: Sequence[object]) -> Outputs:
        """Read outputs that were made one by one."""
        values = [output.value if isinstance(output, Release) else output for output in raw]
        rows = [_row(value) for value in values]
        if all(row is not None for row in rows):
            lengths = {len(row) for row in rows if row is not None}
            if len(lengths) > 1:
                self._refuse(f"vectors of {min(lengths)} and {max(lengths)} numbers")
            shapes = {np.ndim(value) for value in values}  # type: ignore[arg-type]
            if len(shapes) > 1:
                self._refuse("numbers and vectors")
            return self._numbers(np.array(rows, dtype=np.float64).reshape(len(rows), -1))
        if any(row is not None for row in rows):
            self._refuse("numbers and other things")
        if self.kind == "numbers":
            self._refuse("something that is not a number, after numbers")
        for value in values:
            if not isinstance(value, Hashable) or not _hashes(value):
                raise InvalidInput(
                    "must return numbers, vectors or hashable labels", parameter="mechanism", got=type(value)
                )
            if _holds_nan(value):
                raise InvalidInput("must not return nan, not even inside a label (got nan)", parameter="mechanism")
        kinds = {type(value) for value in values} | ({self.label} if self.label is not None else set())
        if len(kinds) > 1:
            self._refuse(" and ".join(sorted(kind.__name__ for kind in kinds)))
        self.kind, self.label = "labels", kinds.pop()
        labels = np.empty(len(values), dtype=object)
        labels[:] = values
        return labels

    def _numbers(self, rows: NDArray[Any]) -> Outputs:
        if self.kind == "labels":
            self._refuse("numbers, after labels")
        if self.kind == "numbers" and rows.shape[1] != self.cells:
            self._refuse(f"{rows.shape[1]} numbers, after {self.cells}")
        if rows.shape[1] == 0:
            raise InvalidInput("must return at least one number (got an empty vector)", parameter="mechanism")
        numbers_only = rows.astype(np.float64)
        if np.isnan(numbers_only).any():
            raise InvalidInput(
                "must not return nan: nothing can be said about it (got nan)",
                parameter="mechanism",
                hint=("If only some profiles lead to nan, that is a leak; hetdp.auditing.replay_audit shows it."),
            )
        self.kind, self.cells = "numbers", rows.shape[1]
        return numbers_only

    @staticmethod
    def _refuse(got: str) -> None:
        raise InvalidInput("must return the same type and shape in every run", parameter="mechanism", got=got)


def _row(value: object) -> list[float] | None:
    """Return a number or a vector of numbers as a list, anything else as None."""
    if isinstance(value, np.ndarray):
        return [float(cell) for cell in value.ravel()] if value.dtype.kind in "biuf" else None
    if isinstance(value, numbers.Real | np.bool_):
        return [_float(value)]
    if isinstance(value, list | tuple) and value and all(isinstance(cell, numbers.Real | np.bool_) for cell in value):
        return [_float(cell) for cell in value]
    return None


def _float(value: Any) -> float:  # noqa: ANN401  (a real number of any make)
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _holds_nan(value: object) -> bool:
    """Return whether a label is nan or holds one, directly or in a tuple."""
    if isinstance(value, tuple | frozenset):
        return any(_holds_nan(part) for part in value)
    return isinstance(value, complex | float) and value != value  # noqa: PLR0124  (only nan differs from itself)


def _hashes(value: Hashable) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
