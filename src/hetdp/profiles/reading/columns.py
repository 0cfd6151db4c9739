"""Which columns of a table to read, and what to make of them; messages name columns, never cells."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from hetdp.core.checks import finite
from hetdp.core.errors import DataError, InvalidInput

__all__ = ["Chosen", "Columns", "WeightColumn", "checked_default", "finish_batch"]

#: Name of the column of weights; None for the usual one if it is there; False for none at all.
WeightColumn = str | Literal[False] | None


class Chosen(NamedTuple):
    """Columns that are there: user, item, then the weight and the rating where wanted.

    Attributes
    ----------
    names
        Names of the columns.
    weight
        Where weights come from, in words, such as "column 'weight'"; None if every weight is 1.
    guessed_by
        What the column was taken for weights by, its "name" or its "place"; None if somebody said that it holds them.
    rated
        Whether the last column holds ratings.
    text
        Whether cells are texts, to be made numbers.
    """

    names: list[str]
    weight: str | None = None
    guessed_by: str | None = None
    rated: bool = False
    text: bool = True


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns to read.

    Attributes
    ----------
    user, item
        Columns of ids.
    weight
        Column of privacy weights; None for `usual_weight` where it is there; False for none.
    usual_weight
        None where a column of that name would mean something else.
    rating
        Column that decides which rows count; it is not kept.
    """

    user: str
    item: str
    weight: WeightColumn = None
    usual_weight: str | None = "weight"
    rating: str | None = None

    def present(self, source: str, names: list[str]) -> Chosen:
        """Return the columns to read, or explain which one is missing."""
        guessed = self.weight is None and self.usual_weight in names
        weight = self.usual_weight if guessed else self.weight or None
        wanted = [name for name in (self.user, self.item, weight, self.rating) if name is not None]
        for name in wanted:
            if name not in names:
                hint = " Is its separator a semicolon?" if any(";" in str(column) for column in names) else ""
                columns = ", ".join(repr(column) for column in names) or "no column at all"
                raise DataError(f"{source} must have a column {name!r}. Got the columns {columns} instead.{hint}")
            if names.count(name) > 1:
                raise DataError(f"{source} must have one column {name!r}. Got {names.count(name)} instead.")
        if len(set(wanted)) != len(wanted):
            raise DataError("user, item and weight must be different columns. Got one of them twice instead.")
        described = None if weight is None else f"column {weight!r}"
        return Chosen(wanted, described, "name" if guessed else None, rated=self.rating is not None)


def checked_default(default_weight: float | None, weight: WeightColumn) -> float | None:
    """Return the weight of empty cells, or explain what is wrong with it.

    Privacy
    -------
    A weight that somebody chose for all who said nothing is public.

    Examples
    --------
    >>> checked_default(0.5, None)
    0.5
    """
    if default_weight is None:
        return None
    default = finite("default_weight", default_weight)
    if not 0.0 <= default <= 1.0:
        raise InvalidInput(f"default_weight must lie in [0, 1]. Got {default:g} instead.")
    if weight is False:
        raise InvalidInput("default_weight must come with a column of weights. Got weight=False instead.")
    return default


def finish_batch(
    columns: list[Any], chosen: Chosen, min_rating: float | None = None, default_weight: float | None = None
) -> list[Any]:
    """Return user, item and weight columns, weights as numbers, without the rows whose rating is too small.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = [pa.array(["ann", "bob"]), pa.array(["tea", "tea"]), pa.array(["4.5", "2"])]
    >>> kept = finish_batch(columns, Chosen(["user", "item", "rating"], rated=True), 3.0)
    >>> [column.to_pylist() for column in kept]
    [['ann'], ['tea']]
    """
    import pyarrow.compute as pc

    columns = list(columns)
    if chosen.rated:
        ratings = _numbers(columns.pop())
        if ratings is None:
            raise InvalidInput("ratings must be numbers. Got something that is not a number instead.")
        mask = pc.greater_equal(ratings, min_rating)
        columns = [column.filter(mask) for column in columns]  # a missing rating is no reason to keep a row
    if chosen.weight is not None:
        columns[2] = _weights(columns[2], chosen, default_weight)
    return columns


def _weights(column: Any, chosen: Chosen, default: float | None) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return a column of weights as numbers, empty cells filled, or say what is wrong and with which column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_text(column):
        column = _parsed(column, chosen, default)
    kind = column.type
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(kind))
    if pc.any(missing).as_py():
        if default is None:
            raise _missing(chosen, _count(missing), len(column))
        column = pc.if_else(missing, pa.scalar(default, pa.float64()), column.cast(pa.float64()))
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column  # whoever uses it knows what to make of it, or refuses
    ends = pc.min_max(column).as_py()
    if ends["min"] is not None and (ends["min"] < 0 or ends["max"] > 1):
        outside = _count(pc.or_(pc.less(column, 0), pc.greater(column, 1)))
        raise _bad(chosen, "lie in [0, 1]", f"{outside:,} of {len(column):,} outside")
    return column


def _parsed(column: Any, chosen: Chosen, default: float | None) -> Any:  # noqa: ANN401
    """Return weights that were read as texts as numbers; empty cells are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not chosen.text:
        raise _bad(chosen, "be numbers in [0, 1]", "texts")
    numbers = _numbers(column)
    if numbers is None:  # looking for empty cells takes time, and most files have none
        empty = pc.equal(pc.binary_length(column), 0)
        if default is None and pc.any(empty).as_py():
            raise _missing(chosen, _count(empty), len(column))
        numbers = _numbers(pc.if_else(empty, pa.scalar(None, column.type), column))
    if numbers is None:
        raise _bad(chosen, "be numbers in [0, 1]", "something that is not a number")
    return numbers


def _bad(chosen: Chosen, must: str, got: str) -> InvalidInput:
    way_out = ""
    if chosen.guessed_by is not None:
        way_out = (
            f" It was taken for privacy weights by its {chosen.guessed_by}; if it holds something else, ignore it with "
            "weight=False (--no-weights)."
        )
    return InvalidInput(f"weights must {must}. Got {got} in {chosen.weight} instead.{way_out}")


def _missing(chosen: Chosen, count: int, rows: int) -> InvalidInput:
    error = _bad(chosen, "not be missing", f"{count:,} of {rows:,} empty")
    return InvalidInput(f"{error} default_weight=... (--default-weight) gives them a weight.")


def _count(mask: Any) -> int:  # noqa: ANN401
    import pyarrow.compute as pc

    return int(pc.sum(mask).as_py() or 0)


def _is_text(column: Any) -> bool:  # noqa: ANN401
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _numbers(column: Any) -> Any:  # noqa: ANN401
    """Return texts as numbers, or None if one of them is no number; whatever is no text stays what it is."""
    import pyarrow as pa

    if not _is_text(column):
        return column  # a number already, or something that whoever uses it refuses
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
