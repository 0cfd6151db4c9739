"""Which columns of a table to read, and what to make of them; messages name columns, never cells."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from hetdp.errors import DataError, InvalidInput

__all__ = ["Chosen", "Columns", "finish_batch"]


class Chosen(NamedTuple):
    """Columns that are there: user, item, then the weight (as text, to be made numbers) and the rating where wanted."""

    names: list[str]
    weighted: bool
    rated: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns to read.

    Attributes
    ----------
    user, item
        Columns of ids.
    weight
        Column of privacy weights; without one, `usual_weight` is used where it is there.
    usual_weight
        None where a column of that name would mean something else.
    rating
        Column that decides which rows count; it is not kept.
    """

    user: str
    item: str
    weight: str | None = None
    usual_weight: str | None = "weight"
    rating: str | None = None

    def present(self, source: str, names: list[str]) -> Chosen:
        """Return the columns to read, or explain which one is missing."""
        weight = self.weight or (self.usual_weight if self.usual_weight in names else None)
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
        return Chosen(wanted, weight is not None, self.rating is not None)


def finish_batch(columns: list[Any], chosen: Chosen, min_rating: float | None) -> list[Any]:
    """Return user, item and weight columns, weights as numbers, without the rows whose rating is too small.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = [pa.array(["ann", "bob"]), pa.array(["tea", "tea"]), pa.array(["4.5", "2"])]
    >>> kept = finish_batch(columns, Chosen(["user", "item", "rating"], weighted=False, rated=True), 3.0)
    >>> [column.to_pylist() for column in kept]
    [['ann'], ['tea']]
    """
    import pyarrow.compute as pc  # noqa: PLC0415  (heavy, and `import hetdp` must stay light)

    columns = list(columns)
    if chosen.rated:
        ratings = _numbers(columns.pop(), "ratings must be numbers")
        mask = pc.greater_equal(ratings, min_rating)
        columns = [column.filter(mask) for column in columns]  # a missing rating is no reason to keep a row
    if chosen.weighted:
        columns[2] = _numbers(columns[2], "weights must be numbers in [0, 1]")
    return columns


def _numbers(column: Any, must: str) -> Any:  # noqa: ANN401  (pyarrow has no types)
    import pyarrow as pa  # noqa: PLC0415

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column  # a number already, or something that whoever uses it refuses
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        raise InvalidInput(f"{must}. Got something that is not a number instead.") from None
