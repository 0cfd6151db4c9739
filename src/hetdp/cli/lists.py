"""How lists leave: blocks of rows, into a file that is either whole or not there, or a few onto the screen."""

import csv
import gzip
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hetdp._version import __version__
from hetdp.cli.output import print_rows
from hetdp.core.files import whole_file

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee

__all__ = ["Lists", "guarantee_facts", "plain"]

#: Rows handled at a time, so that memory does not follow the length of the file.
_BLOCK = 1 << 18
#: Rows shown where nothing is written.
SHOWN = 10


@dataclass(frozen=True, repr=False, eq=False)
class Lists:
    """The lists of all users as columns: the user, what is listed, then numbers; best first within a user.

    Attributes
    ----------
    columns
        By name.
    exact
        Whether text holds every digit of a number: noise makes most of them pointless, but weights are not rounded.

    Examples
    --------
    >>> lists = Lists.from_frame({"user": ["ann", "bob"], "item": ["tea", "jazz"], "score": [2.0, 1.0]})
    >>> lists.n_rows, lists.first(1)
    (2, [('ann', 'tea', 2.0)])
    """

    columns: Mapping[str, NDArray[Any]]
    exact: bool = False

    @classmethod
    def from_frame(cls, frame: Any) -> "Lists":  # noqa: ANN401  (pandas, arrow or a dict)
        """Return the lists in a frame such as `PrivateNeighbors` returns, of either library."""
        names = list(getattr(frame, "column_names", frame))
        return cls({name: np.asarray(frame[name]) for name in names})

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    def blocks(self) -> Iterator[list[NDArray[Any]]]:
        """Yield a few rows at a time, column by column."""
        for begin in range(0, self.n_rows, _BLOCK):
            yield [column[begin : begin + _BLOCK] for column in self.columns.values()]

    def show(self, title: str) -> None:
        """Print the first rows."""
        rows = [tuple(map(_cell, row)) for row in self.first()]
        print_rows(title, self.names, rows)

    def first(self, count: int = SHOWN) -> list[tuple[Any, ...]]:
        """Return the first rows as plain values."""
        return list(zip(*(column[:count].tolist() for column in self.columns.values()), strict=True))

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write all rows; a parquet file also says what it is about in its metadata."""
        name = path.name.lower()
        with whole_file(path) as temporary:
            if name.endswith(".parquet"):
                self._write_parquet(temporary, about)
            elif name.endswith(".jsonl"):
                with temporary.open("w", encoding="utf-8") as file:
                    self._write_json_lines(file)
            elif name.endswith(".gz"):
                with gzip.open(temporary, "wt", encoding="utf-8", newline="", compresslevel=4) as packed:
                    self._write_csv(packed)
            else:
                with temporary.open("w", encoding="utf-8", newline="") as file:
                    self._write_csv(file)

    def _write_parquet(self, path: Path, about: Mapping[str, Any]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        known = {"i": pa.int64(), "f": pa.float64()}
        kinds = [known.get(column.dtype.kind, pa.string()) for column in self.columns.values()]
        described = {"hetdp": json.dumps({"version": __version__, **about})}
        schema = pa.schema(list(zip(self.names, kinds, strict=True)), metadata=described)
        with parquet.ParquetWriter(path, schema) as writer:
            for columns in self.blocks():
                arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))

    def _write_csv(self, file: io.TextIOBase | Any) -> None:  # noqa: ANN401  (gzip has a type of its own)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.names)
        for columns in self.blocks():
            texts = [
                [f"{number:.7g}" for number in column.tolist()]
                if column.dtype.kind == "f" and not self.exact
                else column.tolist()
                for column in columns
            ]
            writer.writerows(zip(*texts, strict=True))

    def _write_json_lines(self, file: io.TextIOBase | Any) -> None:  # noqa: ANN401
        for columns in self.blocks():
            for row in zip(*(column.tolist() for column in columns), strict=True):
                file.write(json.dumps(dict(zip(self.names, row, strict=True)), ensure_ascii=False) + "\n")


def guarantee_facts(guarantee: "Guarantee", catalogue: str) -> dict[str, Any]:
    """Return a promise in words and numbers."""
    return {
        "text": guarantee.text,
        "adversary": guarantee.adversary,
        "against_one": guarantee.against(1),
        "per_recipient": guarantee.per_recipient,
        "shared": guarantee.shared,
        "most_recipients": guarantee.most_recipients,
        "against_all": guarantee.total,
        "times": guarantee.factor,
        "neighbours": guarantee.adjacent,
        "public_sizes": guarantee.factor != "v_i",
        "observed_catalogue": catalogue == "observed",
    }


def plain(value: object) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    """Return a value as JSON can hold it: what is not a number becomes null.

    Examples
    --------
    >>> plain({"a": [1.5, float("nan")], "b": np.int64(2)})
    {'a': [1.5, None], 'b': 2}
    """
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value


def _cell(value: object) -> str:
    from rich.markup import escape

    return f"{value:.3f}" if isinstance(value, float) else escape(str(value))
