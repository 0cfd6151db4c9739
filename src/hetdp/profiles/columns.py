"""Read columns of private numbers from CSV and parquet files, without ever complaining about a value.

Columns stay as arrow keeps them, and become numbers a block at a time: no Python object per cell.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError
from hetdp.profiles.categories import Categories
from hetdp.profiles.formats import check_columns, open_file
from hetdp.profiles.ids import as_text, is_text, person_column
from hetdp.profiles.weights import PrivacyWeights

#: Texts that arrow and Python read as the same number. Whatever else is one for Python ("1_000") is left to it.
_PLAIN = r"^-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?$"
_LONGEST_PLAIN = 64
#: A cell whose bytes are no text: neither empty nor a number.
_ODD = "\N{REPLACEMENT CHARACTER}"
#: Types of what pandas has for a missing cell.
_NOTHING = ("NAType", "NaTType")


@dataclass(frozen=True, repr=False)
class Table:
    """Some columns of a file, as arrow arrays in pieces; rows are people."""

    path: Path
    columns: dict[str, list[Any]]
    decimal_comma: bool = False
    #: Whether the file says what type each column has, as parquet does.
    typed: bool = False

    @property
    def rows(self) -> int:
        """How many rows there are. Public."""
        return sum(len(piece) for piece in next(iter(self.columns.values())))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column as floats; cells that are no numbers become nan.

        A column is refused by its type only. No cell is a reason to refuse: that would reveal something about a person.
        """
        import pyarrow as pa

        kind = self.columns[name][0].type
        if pa.types.is_temporal(kind) or pa.types.is_nested(kind):
            raise DataError(f"column {name!r} of {self.path.name} must have a type of numbers", got=str(kind))
        return self._as_floats(name)

    def weights(self, name: str | None, *, default: float | None) -> PrivacyWeights:
        """Return a column as privacy weights; empty cells take the default or 0, all rows without a column it or 1.

        Privacy
        -------
        Weights are secret, so no cell is refused: what is no number in [0, 1] is weight 0.
        """
        if name is None:
            return PrivacyWeights(np.full(self.rows, 1.0 if default is None else default))
        numbers = self._as_floats(name)
        with np.errstate(invalid="ignore"):
            numbers = np.where((numbers >= 0.0) & (numbers <= 1.0), numbers, 0.0)
        numbers[self._absent(name)] = default or 0.0
        return PrivacyWeights(numbers)

    def indicators(self, name: str, lower: float | None, upper: float | None) -> NDArray[np.float64]:
        """Return 1 for every row that has a value, inside the range if there is one, and 0 for the others."""
        if lower is None and upper is None:
            return (~self._absent(name)).astype(np.float64)
        values = self.numbers(name)
        low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
        return ((values >= low) & (values <= high)).astype(np.float64)

    def codes(self, name: str, categories: Categories) -> NDArray[np.float64]:
        """Return the places of the categories of a column, -1 for cells that are none of them."""
        return self._mapped(name, lambda piece: _codes(piece, categories))

    def labels(self, name: str) -> Any:  # noqa: ANN401
        """Return a column of ids of people in their one form, as arrow has it; refuse a column that lacks some."""
        import pyarrow as pa

        column = person_column(pa.chunked_array(self.columns[name]), name)
        if column.null_count:
            raise DataError(f"column {name!r} of {self.path.name} must identify each row (got an empty cell)")
        return column

    def _as_floats(self, name: str) -> NDArray[np.float64]:
        return self._mapped(name, lambda piece: as_numbers(piece, decimal_comma=self.decimal_comma))

    def _mapped(self, name: str, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Return a function of a column, piece by piece."""
        return np.concatenate([function(piece) for piece in self.columns[name]])

    def _absent(self, name: str) -> NDArray[np.bool_]:
        """Return which cells of a column are empty."""
        return self._mapped(name, is_absent)


def weight_remark(column: str, default: float | None) -> str:
    """Return what is to be known about any column of weights: the same whatever it holds."""
    return (
        f"In column {column!r}, an empty cell means weight {default or 0:g}. A cell that is not a number from 0 to 1 "
        "means weight 0."
    )


def read_table(path: Path, wanted: Mapping[str, str]) -> Table:
    """Read the columns that parameters chose (`wanted`) of a .csv, .tsv or .parquet file; text may be compressed."""
    file = open_file(path)
    check_columns(file.name, file.columns, wanted)
    columns: dict[str, list[Any]] = {name: [] for name in wanted}
    for batch in file.batches(list(wanted)):
        for pieces, column in zip(columns.values(), batch, strict=True):
            pieces.append(_plain(column, file.delimiter))
    table = Table(path, columns, decimal_comma=file.delimiter == ";", typed=file.delimiter is None)
    if table.rows == 0:
        raise DataError(f"{path.name} must hold at least one row")
    return table


def _plain(column: Any, delimiter: str | None) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return a column without the ways to keep texts that mean nothing here; texts that are not UTF-8 are just odd."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return _plain(column.dictionary_decode(), delimiter)
    if is_text(column) or (delimiter is not None and not pa.types.is_null(column.type)):
        column = as_text(column, _ODD).cast(pa.string())
    return column


def is_absent(piece: Any) -> NDArray[np.bool_]:  # noqa: ANN401
    """Return which cells are null or an empty text."""
    import pyarrow as pa
    from pyarrow import compute

    absent = compute.is_null(piece)
    if str(piece.type) == "string_view":  # for which arrow knows no length
        piece = piece.cast(pa.large_string())
    if is_text(piece) or pa.types.is_binary(piece.type) or pa.types.is_large_binary(piece.type):
        absent = compute.or_(absent, compute.fill_null(compute.equal(compute.binary_length(piece), 0), False))  # noqa: FBT003
    found: NDArray[np.bool_] = absent.to_numpy(zero_copy_only=False)
    return found


def as_numbers(piece: Any, *, decimal_comma: bool = False) -> NDArray[np.float64]:  # noqa: ANN401
    """Return cells as floats, as Python's float reads each (texts also with a comma); nan for what is no number."""
    import pyarrow as pa
    from pyarrow import compute

    kind = piece.type
    if pa.types.is_decimal(kind):
        piece = piece.cast(pa.string())  # arrow's own way to floats rounds twice
    elif is_text(piece):
        piece = as_text(piece, _ODD).cast(pa.string())
        piece = compute.replace_substring(piece, ",", ".") if decimal_comma else piece
    if pa.types.is_string(piece.type):
        return _numbers_of_texts(piece)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
        return _floats(piece)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return np.array([as_number(cell) for cell in piece.to_pylist()])
    return np.full(len(piece), np.nan)  # dates, lists and the like


def _floats(piece: Any) -> NDArray[np.float64]:  # noqa: ANN401
    """Return what arrow can make floats of, nan for null; integers beyond 2**53 are rounded."""
    import pyarrow as pa

    found: NDArray[np.float64] = piece.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def _numbers_of_texts(texts: Any) -> NDArray[np.float64]:  # noqa: ANN401
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.if_else(compute.equal(compute.binary_length(texts), 0), pa.scalar(None, pa.string()), texts)
    try:
        return _floats(texts)
    except pa.ArrowInvalid:
        pass  # some text is no plain number; the message quotes it
    texts = compute.ascii_trim_whitespace(texts)
    plain = compute.match_substring_regex(texts, _PLAIN)
    plain = compute.and_(plain, compute.less_equal(compute.binary_length(texts), _LONGEST_PLAIN))
    numbers = _floats(compute.if_else(plain, texts, pa.scalar(None, pa.string()))).copy()
    # Each text of the others once: an "n/a" in every other row costs one look.
    others = compute.if_else(plain, pa.scalar(None, pa.string()), texts).dictionary_encode()
    known = np.array([as_number(text) for text in others.dictionary.to_pylist()] + [np.nan])
    where = others.indices.fill_null(known.size - 1).to_numpy(zero_copy_only=False)
    return np.where(np.isnan(numbers), known[where], numbers)


def as_number(cell: object) -> float:
    """Return a cell of any kind as a float; nan for what is no number."""
    if isinstance(cell, str) and cell.strip().lower() in ("true", "false"):
        return float(cell.strip().lower() == "true")  # as parquet reads its booleans
    try:
        return float(cell)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001  (a cell may be any object; what is wrong with it is private)
        return float("nan")


def is_missing(cell: object) -> bool:
    """Return whether a cell of any kind is empty: None, nan, an empty text, or what a library has for nothing."""
    if isinstance(cell, str):
        return not cell
    return cell is None or type(cell).__name__ in _NOTHING or (isinstance(cell, float) and math.isnan(cell))


def _codes(piece: Any, categories: Categories) -> NDArray[np.float64]:  # noqa: ANN401
    import pyarrow as pa

    if pa.types.is_temporal(piece.type) or pa.types.is_nested(piece.type):
        try:
            piece = piece.cast(pa.string())
        except (NotImplementedError, ValueError):  # lists and the like are no category
            piece = pa.nulls(len(piece), pa.string())
    kinds = piece.dictionary_encode()  # each cell of a kind once
    known: NDArray[np.float64] = np.append(categories.codes(kinds.dictionary.to_pylist()), categories.codes([None]))
    where: NDArray[np.intp] = kinds.indices.fill_null(known.size - 1).to_numpy(zero_copy_only=False)
    return known[where]
