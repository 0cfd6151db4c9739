"""Read columns of private numbers from CSV and parquet files, without ever complaining about a value."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError

__all__ = ["Table", "read_table"]


@dataclass(frozen=True, repr=False)
class Table:
    """Some columns of a file, as read; rows are people."""

    path: Path
    columns: dict[str, list[Any]]

    @property
    def rows(self) -> int:
        """How many rows there are. Public."""
        return len(next(iter(self.columns.values())))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column as floats; cells that are no numbers become nan.

        A column without a single number is refused: that is a mistake about the file, not about a person.
        """
        cells = self.columns[name]
        try:
            numbers = np.array(cells, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array([_number(cell) for cell in cells], dtype=np.float64)
        present = np.array([cell not in (None, "") for cell in cells])
        if present.any() and np.isnan(numbers[present]).all():
            raise DataError(f"column {name!r} of {self.path.name} must be numeric. Got no number at all instead.")
        return numbers

    def labels(self, name: str) -> list[str]:
        """Return a column of identifiers, each different."""
        labels = ["" if cell is None else str(cell) for cell in self.columns[name]]
        if "" in labels:
            raise DataError(f"column {name!r} of {self.path.name} must identify each row. Got an empty cell instead.")
        if len(set(labels)) != len(labels):
            raise DataError(
                f"column {name!r} of {self.path.name} must identify each row. "
                f"Got {len(labels) - len(set(labels))} repeated identifiers instead."
            )
        return labels


def read_table(path: Path, names: list[str]) -> Table:
    """Read the named columns of a .csv, .csv.gz, .tsv or .parquet file."""
    if not path.is_file():
        raise DataError(f"the data file must exist. Got {str(path)!r}, which is not a file, instead.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    try:
        columns = (
            _read_parquet(path, names) if ".parquet" in suffixes else _read_csv(path, names, tab=".tsv" in suffixes)
        )
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        # The reader's own message may quote a row; it stays out.
        raise DataError(
            f"{path.name} must be a readable CSV file (UTF-8, commas, rows as long as the header) or parquet file. "
            "Got something else instead."
        ) from None
    table = Table(path, columns)
    if table.rows == 0:
        raise DataError(f"{path.name} must hold at least one row. Got none instead.")
    return table


def _read_csv(path: Path, names: list[str], *, tab: bool) -> dict[str, list[Any]]:
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter="\t" if tab else ",", newlines_in_values=True)
    with pa.input_stream(str(path)) as stream, csv.open_csv(stream, parse_options=parse) as reader:
        present = reader.schema.names
    _require(path, names, present)
    # Everything is read as text: a type guessed from the values would depend on them, and so would its errors.
    convert = csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, pa.string()))
    with pa.input_stream(str(path)) as stream:
        table = csv.read_csv(stream, parse_options=parse, convert_options=convert)
    return {name: table.column(name).to_pylist() for name in names}


def _read_parquet(path: Path, names: list[str]) -> dict[str, list[Any]]:
    from pyarrow import parquet

    _require(path, names, parquet.read_schema(path).names)
    table = parquet.read_table(path, columns=names)
    return {name: table.column(name).to_pylist() for name in names}


def _require(path: Path, names: list[str], present: list[str]) -> None:
    for name in names:
        if name not in present:
            hint = " Is its separator a semicolon?" if any(";" in column for column in present) else ""
            columns = ", ".join(repr(column) for column in present)
            raise DataError(f"{path.name} must have a column {name!r}. Got the columns {columns} instead.{hint}")
        if present.count(name) > 1:
            raise DataError(f"{path.name} must have one column {name!r}. Got {present.count(name)} instead.")


def _number(cell: object) -> float:
    if isinstance(cell, str) and cell.strip().lower() in ("true", "false"):
        return float(cell.strip().lower() == "true")  # as parquet reads its booleans
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")
