"""Read columns of private numbers from CSV and parquet files, without ever complaining about a value."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError, InvalidInput
from hetdp.profiles.reading.files import CSV, FORMATS, check_columns, open_file
from hetdp.profiles.weights import PrivacyWeights

__all__ = ["Table", "read_table"]

_FORM = "CSV file (UTF-8, commas, rows as long as the header) or parquet file"


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

    def missing(self, name: str) -> int:
        """Return how many cells of a column are empty."""
        return sum(cell in (None, "") for cell in self.columns[name])

    def weights(self, name: str | None, *, default: float) -> PrivacyWeights:
        """Return a column as privacy weights; empty cells, or all where no column is named, take the default."""
        if name is None:
            return PrivacyWeights(np.full(self.rows, default))
        absent = np.array([cell in (None, "") for cell in self.columns[name]])
        try:
            return PrivacyWeights(np.where(absent, default, self.numbers(name)))
        except DataError:
            raise
        except InvalidInput as error:
            raise DataError(f"column {name!r} of {self.path.name}: {error}") from None

    def indicators(self, name: str, lower: float | None, upper: float | None) -> NDArray[np.float64]:
        """Return 1 for every row that has a value, inside the range if there is one, and 0 for the others."""
        if lower is None and upper is None:
            return np.array([cell not in (None, "") for cell in self.columns[name]], dtype=np.float64)
        values = self.numbers(name)
        low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
        return ((values >= low) & (values <= high)).astype(np.float64)

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
    """Read the named columns of a .csv, .tsv or .parquet file; text may be compressed (.gz, .bz2, .zst)."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    with open_file(path) as file, file.explaining(_FORM):
        form = FORMATS.get(file.ending, CSV)
        check_columns(file.name, form.columns(file), names)
        for batch in form.batches(file, names):
            for cells, column in zip(columns.values(), batch, strict=True):
                cells.extend(column.to_pylist())
    table = Table(path, columns)
    if table.rows == 0:
        raise DataError(f"{path.name} must hold at least one row. Got none instead.")
    return table


def _number(cell: object) -> float:
    if isinstance(cell, str) and cell.strip().lower() in ("true", "false"):
        return float(cell.strip().lower() == "true")  # as parquet reads its booleans
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")
