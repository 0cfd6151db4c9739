"""A plan meets a table: columns are found, keys take the type that their column has. From the schema alone."""

import datetime as dt
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from hetdp.core.errors import DataError
from hetdp.profiles.formats import check_columns
from hetdp.tables.keys import UnknownKeys
from hetdp.tables.plan import TablePlan
from hetdp.tables.sources import TableSource
from hetdp.tables.sums import KeyColumn, Question

__all__ = ["Bound", "bind", "columns_of"]

_KEY_TYPES = "texts, whole numbers, booleans or dates"


@dataclass(frozen=True)
class Bound:
    """A question in the types of one table."""

    question: Question
    #: Per group column: what the table calls each public key, and what the caller did.
    as_given: tuple[Mapping[Any, Any], ...]

    @property
    def keys(self) -> Iterator[tuple[Any, ...]]:
        """The groups in the types of the table, in the caller's order, where all keys are public."""
        return itertools.product(*self.as_given)

    def given(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a group's key as the caller wrote it."""
        return tuple(names.get(part, part) for names, part in zip(self.as_given, key, strict=True))


def columns_of(question: Question) -> dict[str, str]:
    """Return the columns that a question is about, each with what chooses it."""
    chosen: dict[str, Sequence[str | None]] = {
        "by": [key.column for key in question.by],
        "weights": [question.weights],
        "unit": [question.unit],
        "aggregates": [added.column for added in question.sums],
        "where": question.where.columns if question.where is not None else (),
    }
    return {name: way for way, names in chosen.items() for name in names if name is not None}


def bind(plan: TablePlan, source: TableSource) -> Bound:
    """Return the question as this table can be asked it, or say which column is missing or of another type."""
    question, schema = plan.question, source.schema
    check_columns("table", schema, columns_of(question))
    if question.where is not None:
        source.condition(question.where)  # compares what cannot be compared, if so, before anything is charged
    names = [_native_keys(key, schema[key.column]) for key in question.by]
    by = tuple(
        key if isinstance(key.keys, UnknownKeys) else KeyColumn(key.column, tuple(native))
        for key, native in zip(question.by, names, strict=True)
    )
    return Bound(replace(question, by=by), tuple(names))


def _native_keys(key: KeyColumn, dtype: nw.dtypes.DType) -> dict[Any, Any]:
    """Return the public keys as the column has them, each with the key as given; none for unknown keys."""
    kind, read = _reader(dtype)
    if read is None:
        raise DataError(f"column {key.column!r} of by must hold {_KEY_TYPES}", got=dtype)
    if isinstance(key.keys, UnknownKeys):
        return {}
    native: dict[Any, Any] = {}
    for given in key.keys:
        try:
            own = read(given)
        except (TypeError, ValueError):
            raise DataError(f"keys of {key.column!r} must be {kind}, as the column is", got=given) from None
        if own in native:
            raise DataError(f"keys of {key.column!r} must be all different (got {given!r} and {native[own]!r})")
        native[own] = given
    return native


def _reader(dtype: nw.dtypes.DType) -> tuple[str, Callable[[Any], Any] | None]:
    """Return what keys of a column must be, and a function that reads one."""
    if dtype.is_integer() or dtype.is_float():  # floats are what pandas makes of whole numbers with gaps
        return "whole numbers", _whole
    if dtype == nw.Boolean:
        return "true or false", _boolean
    if dtype == nw.Date:
        return "dates", _date
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "texts", _text
    return "", None


def _text(key: Any) -> str:  # noqa: ANN401  (a key as given)
    if isinstance(key, bool | dt.date):
        raise TypeError
    str(key).encode()  # a lone surrogate is a ValueError here, not in the middle of a release
    return str(key)


def _whole(key: Any) -> int:  # noqa: ANN401
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise TypeError
    number = int(key)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _boolean(key: Any) -> bool:  # noqa: ANN401
    if isinstance(key, str) and key.strip().lower() in ("true", "false"):
        return key.strip().lower() == "true"
    if not isinstance(key, bool):
        raise TypeError
    return key


def _date(key: Any) -> dt.date:  # noqa: ANN401
    return dt.date.fromisoformat(key) if isinstance(key, str) else key
