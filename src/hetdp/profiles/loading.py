"""Read pairs from data frames and from files, in batches, without showing a cell in any message."""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hetdp.errors import DataError, InvalidInput
from hetdp.profiles.identifiers import Ids
from hetdp.profiles.pairs import PairCollector, Rows

__all__ = ["frame_columns", "read_pairs"]

_WEIGHT = "weight"  # used when the caller names no column and there is one of this name
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_PLAIN = ("", ".txt", ".dat", ".pairs")
_ENDINGS = (
    ".csv, .tsv, .parquet, or for plain text .txt, .dat, .pairs or none; text may be compressed (.gz, .bz2, .zst)"
)
_BLOCK = 2**25  # bytes at a time: large enough for arrow to be fast, small beside any result that needs care
_ROWS = 2**20
_DIMS = re.compile(rb"[#%]?\s*dims\s*[:=]?\s*(\d+)[\s,x]+(\d+)", re.IGNORECASE)
_BLANKS = bytes.maketrans(b"\t\r", b"  ")


@dataclass(frozen=True)
class _Columns:
    user: str
    item: str
    weight: str | None

    def present(self, source: str, names: list[str]) -> list[str]:
        """Return the columns to read, two or three, or explain which one is missing."""
        chosen = self.weight or (_WEIGHT if _WEIGHT in names else None)
        wanted = [self.user, self.item, *([] if chosen is None else [chosen])]
        for name in wanted:
            if name not in names:
                hint = " Is its separator a semicolon?" if any(";" in str(column) for column in names) else ""
                columns = ", ".join(repr(column) for column in names) or "no column at all"
                raise DataError(f"{source} must have a column {name!r}. Got the columns {columns} instead.{hint}")
            if names.count(name) > 1:
                raise DataError(f"{source} must have one column {name!r}. Got {names.count(name)} instead.")
        if len(set(wanted)) != len(wanted):
            raise DataError("user, item and weight must be different columns. Got one of them twice instead.")
        return wanted


def frame_columns(frame: object, *, user: str, item: str, weight: str | None) -> list[Any]:
    """Return the user, item and (if there is one) weight columns of a pandas, polars or arrow table, as arrow arrays.

    Privacy
    -------
    Errors show names of columns, no cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"user": [1], "item": ["a"], "age": [30]})
    >>> [str(column.type) for column in frame_columns(table, user="user", item="item", weight=None)]
    ['int64', 'string']
    """
    import narwhals.stable.v1 as nw  # noqa: PLC0415  (only those who pass a frame pay for it)

    try:
        table: Any = nw.from_native(frame)
        names = list(table.collect_schema().names())
    except TypeError:
        raise DataError(f"frame must be a pandas, polars or arrow table. Got {type(frame).__name__} instead.") from None
    except Exception:  # noqa: BLE001  (such as repeated names of columns, which each library reports in its own way)
        raise DataError("frame must be a table with a different name for each column. Got another instead.") from None
    wanted = _Columns(user, item, weight).present("frame", names)
    table = table.select(wanted)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    try:
        return [table.get_column(name).to_arrow() for name in wanted]
    except Exception:  # noqa: BLE001  (whatever is wrong with a cell, the message might quote it)
        raise DataError(
            "frame must hold texts or whole numbers as ids and numbers as weights, one kind per column. "
            "Got a mixed column instead."
        ) from None


def read_pairs(
    path: str | os.PathLike[str],
    *,
    user: str,
    item: str,
    weight: str | None,
    user_ids: object = None,
    item_ids: object = None,
) -> tuple[Rows, Ids, Ids]:
    """Read a file in batches and merge its pairs; see `Profiles.read`.

    Privacy
    -------
    Errors name the file and its columns, no cell.

    Examples
    --------
    >>> read_pairs("likes.xlsx", user="user", item="item", weight=None)
    Traceback (most recent call last):
    ...
    hetdp.errors.DataError: the data file must exist. Got 'likes.xlsx', which is not a file, instead.
    """
    file = Path(path)
    kind, compression = _kind(file)
    dims: list[int] = []
    if kind == ".parquet":
        batches = _parquet(file, _Columns(user, item, weight))
    elif kind in _PLAIN:
        batches = _plain(file, compression, dims)
    else:
        delimiter = "\t" if kind == ".tsv" else ","
        batches = _csv(file, compression, _Columns(user, item, weight), delimiter=delimiter)
    collector = PairCollector(read_as_text=kind != ".parquet")
    with _without_quoting(file, kind):
        for batch in batches:
            collector.add(*batch)
        if not collector.n_pairs:
            raise _no_pairs(file)
        if dims:
            first = 0 if collector.users.has_zero() or collector.items.has_zero() else 1
            user_ids = np.arange(first, first + dims[0]) if user_ids is None else user_ids
            item_ids = np.arange(first, first + dims[1]) if item_ids is None else item_ids
        return collector.finish(user_ids, item_ids)


def _kind(file: Path) -> tuple[str, str | None]:
    """Return the ending that tells the format, and the compression."""
    if not file.is_file():
        raise DataError(f"the data file must exist. Got {str(file)!r}, which is not a file, instead.")
    compression = _COMPRESSIONS.get(file.suffix.lower())
    kind = (file.with_suffix("") if compression else file).suffix.lower()
    if kind not in (".csv", ".tsv", ".parquet", *_PLAIN) or (kind == ".parquet" and compression):
        raise DataError(f"the name of the data file must end in {_ENDINGS}. Got {file.name!r} instead.")
    if file.stat().st_size == 0:
        raise _no_pairs(file)
    return kind, compression


@contextlib.contextmanager
def _without_quoting(file: Path, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong while reading into an error that names the file and quotes no row."""
    try:
        yield
    except DataError:
        raise
    except InvalidInput as error:
        raise DataError(f"{file.name}: {error}") from None
    except MemoryError:
        raise DataError(
            f"{file.name} must fit in memory as profiles (about 35 bytes a pair while reading, 50 with weights). "
            "Got more than there is instead. Read fewer users, or use a machine with more memory."
        ) from None
    except (OSError, EOFError, ValueError, NotImplementedError):
        if kind == ".parquet":
            form = "parquet file"
        elif kind in _PLAIN:
            form = "text file (UTF-8, a line 'user item' or 'user item weight' per pair)"
        else:
            form = f"{kind} file (UTF-8, rows as long as the header)"
        raise DataError(f"{file.name} must be a readable {form}. Got something else instead.") from None


def _no_pairs(file: Path) -> DataError:
    return DataError(f"{file.name} must hold at least one pair. Got none instead.")


def _csv(file: Path, compression: str | None, columns: _Columns, *, delimiter: str) -> Iterator[list[Any]]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    read = csv.ReadOptions(block_size=_BLOCK)
    try:
        with pa.input_stream(str(file), compression) as stream, csv.open_csv(stream, read, parse) as reader:
            names = reader.schema.names
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):  # a compressed file with nothing inside
            raise _no_pairs(file) from None
        raise
    wanted = columns.present(file.name, names)
    # Everything is read as text: a type guessed from the first block would fail on, or change, an id in a later one.
    convert = csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()))
    with pa.input_stream(str(file), compression) as stream, csv.open_csv(stream, read, parse, convert) as reader:
        for batch in reader:
            yield _with_numbers([batch.column(name) for name in wanted])


def _parquet(file: Path, columns: _Columns) -> Iterator[list[Any]]:
    from pyarrow import parquet  # noqa: PLC0415

    with parquet.ParquetFile(file) as source:
        wanted = columns.present(file.name, source.schema_arrow.names)
        for batch in source.iter_batches(batch_size=_ROWS, columns=wanted):
            yield [batch.column(name) for name in wanted]


def _plain(file: Path, compression: str | None, dims: list[int]) -> Iterator[list[Any]]:
    """Yield the columns of a file without a header; a dims line, if there is one, is put into `dims`."""
    import pyarrow as pa  # noqa: PLC0415

    rest = b""
    names: list[str] = []
    with pa.input_stream(str(file), compression) as stream:
        while True:
            block = stream.read(_BLOCK)
            text = rest + block
            cut = text.rfind(b"\n") + 1 if block else len(text)
            lines, rest = text[:cut].translate(_BLANKS), text[cut:]
            if not names:
                lines = _without_heading(lines.removeprefix(b"\xef\xbb\xbf"), dims)
                names = ["user", "item", "weight"][: len(lines.partition(b"\n")[0].split())]
            if lines.strip():
                yield _with_numbers(_split(lines, names))
            if not block:
                return


def _without_heading(lines: bytes, dims: list[int]) -> bytes:
    """Return the lines without leading comments, names of columns and the dims line."""
    while lines:
        line, _, others = lines.partition(b"\n")
        line = line.strip()
        found = _DIMS.fullmatch(line)
        if found and not dims:
            dims.extend(int(number) for number in found.groups())
        elif line and not line.startswith((b"#", b"%")) and line.lower().split()[:2] != [b"user", b"item"]:
            break
        lines = others
    return lines


def _split(lines: bytes, names: list[str]) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    if len(names) == 1:
        raise ValueError  # like every line of another length, which arrow refuses; the caller says what is wrong
    while b"  " in lines:  # arrow splits at single blanks only
        lines = lines.replace(b"  ", b" ")
    lines = lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip()
    table = csv.read_csv(
        pa.BufferReader(lines),
        csv.ReadOptions(column_names=names, block_size=_BLOCK),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    return [table.column(name) for name in names]


def _with_numbers(columns: list[Any]) -> list[Any]:
    """Return the columns of a text file with the third, the weights, as numbers."""
    import pyarrow as pa  # noqa: PLC0415

    if len(columns) == 2:  # noqa: PLR2004  (user and item)
        return columns
    users, items, weights = columns
    try:
        return [users, items, weights.cast(pa.float64())]
    except pa.ArrowInvalid:
        raise InvalidInput("weights must be numbers in [0, 1]. Got something that is not a number instead.") from None
