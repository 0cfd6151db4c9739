"""Read the columns of a file a few at a time, so that memory does not follow the size of the file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hetdp.profiles.reading.columns import Chosen, Columns

__all__ = ["Batch", "csv_batches", "parquet_batches", "plain_batches"]

_BLOCK = 2**25  # bytes at a time: large enough for arrow to be fast, small beside any result that needs care
_ROWS = 2**20
_WITH_WEIGHT = 3  # columns of a plain file: user, item, weight
_DIMS = re.compile(rb"[#%]?\s*dims\s*[:=]?\s*(\d+)[\s,x]+(\d+)", re.IGNORECASE)
_BLANKS = bytes.maketrans(b"\t\r", b"  ")

#: Columns of some rows, and what they are.
Batch = tuple[list[Any], Chosen]


def csv_batches(
    file: Path, compression: str | None, columns: Columns, *, delimiter: str, names: tuple[str, ...] = ()
) -> Iterator[Batch]:
    """Yield the columns of a file with a line of names, or with the names given.

    Privacy
    -------
    Arrow's errors may quote a row: the caller must not pass them on.
    """
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=not names)
    read = csv.ReadOptions(block_size=_BLOCK, column_names=names or None)
    try:
        with pa.input_stream(str(file), compression) as stream, csv.open_csv(stream, read, parse) as reader:
            present = reader.schema.names
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):  # a compressed file with nothing inside
            return
        raise
    chosen = columns.present(file.name, present)
    # Everything is read as text: a type guessed from the first block would fail on, or change, an id in a later one.
    convert = csv.ConvertOptions(include_columns=chosen.names, column_types=dict.fromkeys(chosen.names, pa.string()))
    with pa.input_stream(str(file), compression) as stream, csv.open_csv(stream, read, parse, convert) as reader:
        for batch in reader:
            yield [batch.column(name) for name in chosen.names], chosen


def parquet_batches(file: Path, columns: Columns) -> Iterator[Batch]:
    """Yield the columns of a parquet file; others are not read."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as source:
        chosen = columns.present(file.name, source.schema_arrow.names)
        typed = chosen._replace(text=False)  # numbers already; a column of texts is refused as weights
        for batch in source.iter_batches(batch_size=_ROWS, columns=chosen.names):
            yield [batch.column(name) for name in chosen.names], typed


def plain_batches(file: Path, compression: str | None, dims: list[int], *, weighted: bool) -> Iterator[Batch]:
    """Yield the columns of a file without a header; a dims line, if there is one, is put into `dims`."""
    import pyarrow as pa

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
                columns = _split(lines, names)
                if weighted and len(names) == _WITH_WEIGHT:
                    yield columns, Chosen(names, "the third column", "place")
                else:
                    yield columns[:2], Chosen(names[:2])
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
    import pyarrow as pa
    from pyarrow import csv

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
