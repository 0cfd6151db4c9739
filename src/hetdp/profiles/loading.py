"""Read pairs from data frames and from files, in batches, without showing a cell in any message."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hetdp.errors import DataError, InvalidInput
from hetdp.profiles.columns import Chosen, Columns, finish_batch
from hetdp.profiles.identifiers import Ids
from hetdp.profiles.layouts import Layout
from hetdp.profiles.pairs import PairCollector, Rows

__all__ = ["first_line", "frame_columns", "read_pairs"]

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_PLAIN = ("", ".txt", ".dat", ".pairs")
_ENDINGS = (
    ".csv, .tsv, .parquet, or for plain text .txt, .dat, .pairs or none; text may be compressed (.gz, .bz2, .zst)"
)
_BLOCK = 2**25  # bytes at a time: large enough for arrow to be fast, small beside any result that needs care
_ROWS = 2**20
_HEAD = 2**16
_WITH_WEIGHT = 3  # columns of a plain file: user, item, weight
_DIMS = re.compile(rb"[#%]?\s*dims\s*[:=]?\s*(\d+)[\s,x]+(\d+)", re.IGNORECASE)
_BLANKS = bytes.maketrans(b"\t\r", b"  ")

Batch = tuple[list[Any], Chosen]


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
    wanted = Columns(user, item, weight).present("frame", names).names
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
    user: str = "user",
    item: str = "item",
    weight: str | None = None,
    user_ids: object = None,
    item_ids: object = None,
    layout: Layout | None = None,
    min_rating: float | None = None,
) -> tuple[Rows, Ids, Ids]:
    """Read a file in batches and merge its pairs; see `Profiles.read` and `hetdp.datasets.load`.

    Parameters
    ----------
    path, user, item, weight, user_ids, item_ids
        As in `Profiles.read`.
    layout
        How the file is laid out, where its name does not tell; then it tells the columns too.
    min_rating
        The smallest rating that counts, in a file with a column of ratings.

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
    kind, compression = _kind(file, layout)
    dims: list[int] = []
    rating = None if min_rating is None else "rating"
    columns = Columns(user, item, weight, rating=rating)
    if layout is not None:
        if rating is not None and layout.rating is None:
            raise _no_ratings(file)
        columns = Columns(layout.user, layout.item, layout.weight, usual_weight=None, rating=rating and layout.rating)
        batches = _csv(file, compression, columns, delimiter=layout.delimiter, names=layout.names)
    elif kind == ".parquet":
        batches = _parquet(file, columns)
    elif kind in _PLAIN:
        if rating is not None:
            raise _no_ratings(file)
        batches = _plain(file, compression, dims)
    else:
        batches = _csv(file, compression, columns, delimiter="\t" if kind == ".tsv" else ",")
    collector = PairCollector(read_as_text=kind != ".parquet")
    with _without_quoting(file, kind, layout):
        for batch, chosen in batches:
            collector.add(*finish_batch(batch, chosen, min_rating))
        if not collector.n_pairs:
            raise _no_pairs(file, min_rating)
        if dims:
            first = 0 if collector.users.has_zero() or collector.items.has_zero() else 1
            user_ids = np.arange(first, first + dims[0]) if user_ids is None else user_ids
            item_ids = np.arange(first, first + dims[1]) if item_ids is None else item_ids
        return collector.finish(user_ids, item_ids)


def first_line(path: str | os.PathLike[str]) -> str:
    """Return the first line of a text file that is not empty, or nothing if it has none that can be read.

    Privacy
    -------
    The line may hold private data; it is for recognising a format, not for messages.

    Examples
    --------
    >>> first_line(__file__).strip('"')[:10]
    'Read pairs'
    """
    import pyarrow as pa  # noqa: PLC0415

    file = Path(path)
    if not file.is_file():
        raise DataError(f"the data file must exist. Got {str(file)!r}, which is not a file, instead.")
    try:
        with pa.input_stream(str(file), _COMPRESSIONS.get(file.suffix.lower())) as stream:
            head = stream.read(_HEAD)
    except (OSError, EOFError, ValueError):
        return ""  # whoever reads the file in full will say what is wrong with it
    lines = head.decode("utf-8-sig", errors="replace").lstrip().splitlines()
    return lines[0] if lines else ""


def _kind(file: Path, layout: Layout | None) -> tuple[str, str | None]:
    """Return the ending that tells the format, and the compression."""
    if not file.is_file():
        raise DataError(f"the data file must exist. Got {str(file)!r}, which is not a file, instead.")
    compression = _COMPRESSIONS.get(file.suffix.lower())
    kind = (file.with_suffix("") if compression else file).suffix.lower()
    unknown = kind not in (".csv", ".tsv", ".parquet", *_PLAIN) or (kind == ".parquet" and compression)
    if layout is None and unknown:
        raise DataError(f"the name of the data file must end in {_ENDINGS}. Got {file.name!r} instead.")
    if file.stat().st_size == 0:
        raise _no_pairs(file)
    return kind, compression


@contextlib.contextmanager
def _without_quoting(file: Path, kind: str, layout: Layout | None) -> Iterator[None]:
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
        if layout is not None:
            form = f"file of {layout.name} (rows as long as the first)"
        elif kind == ".parquet":
            form = "parquet file"
        elif kind in _PLAIN:
            form = "text file (UTF-8, a line 'user item' or 'user item weight' per pair)"
        else:
            form = f"{kind} file (UTF-8, rows as long as the header)"
        raise DataError(f"{file.name} must be a readable {form}. Got something else instead.") from None


def _no_pairs(file: Path, min_rating: float | None = None) -> DataError:
    what = "pair" if min_rating is None else f"rating of {min_rating:g} or more"
    return DataError(f"{file.name} must hold at least one {what}. Got none instead.")


def _no_ratings(file: Path) -> DataError:
    return DataError(f"{file.name} must have a column of ratings for min_rating to count. Got none instead.")


def _csv(
    file: Path, compression: str | None, columns: Columns, *, delimiter: str, names: tuple[str, ...] = ()
) -> Iterator[Batch]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=not names)
    read = csv.ReadOptions(block_size=_BLOCK, column_names=names or None)
    try:
        with pa.input_stream(str(file), compression) as stream, csv.open_csv(stream, read, parse) as reader:
            present = reader.schema.names
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):  # a compressed file with nothing inside
            raise _no_pairs(file) from None
        raise
    chosen = columns.present(file.name, present)
    # Everything is read as text: a type guessed from the first block would fail on, or change, an id in a later one.
    convert = csv.ConvertOptions(include_columns=chosen.names, column_types=dict.fromkeys(chosen.names, pa.string()))
    with pa.input_stream(str(file), compression) as stream, csv.open_csv(stream, read, parse, convert) as reader:
        for batch in reader:
            yield [batch.column(name) for name in chosen.names], chosen


def _parquet(file: Path, columns: Columns) -> Iterator[Batch]:
    from pyarrow import parquet  # noqa: PLC0415

    with parquet.ParquetFile(file) as source:
        chosen = columns.present(file.name, source.schema_arrow.names)
        typed = chosen._replace(weighted=False)  # numbers already; a column of texts is refused as weights
        for batch in source.iter_batches(batch_size=_ROWS, columns=chosen.names):
            yield [batch.column(name) for name in chosen.names], typed


def _plain(file: Path, compression: str | None, dims: list[int]) -> Iterator[Batch]:
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
                yield _split(lines, names), Chosen(names, weighted=len(names) == _WITH_WEIGHT, rated=False)
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
