"""Files of columns: CSV, TSV and parquet, compressed or not, and the layouts of MovieLens; read a few rows at a time.

No message quotes a cell. The first line of a text holds names of columns; it is quoted only if it looks like that.
"""

import contextlib
import csv
import io
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetdp.core.errors import DataError, InvalidInput, Problem

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
#: Endings of files that everything reads.
ENDINGS = (".csv", ".tsv", ".parquet")
_DELIMITERS = (",", "\t", ";")

_BLOCK = 2**25  # bytes at a time: large enough for arrow to be fast, small beside any result that needs care
_ROWS = 2**20
#: For rows that are longer than a block: as long as a cell may be.
_LONGEST_ROW = 2**30
_HEAD = 2**16
_LONGEST_HEAD = 2**24

#: Lines of MovieLens files that have no line of names. Arrow takes one character between columns: between two colons
#: there is an empty column.
_COLONS = re.compile(r"\d+::\d+::\d+(\.\d+)?(::\d+)?")
_TABS = re.compile(r"\d+\t\d+\t\d+(\.\d+)?\t\d+")
_OF_COLONS = ("user", "_1", "item", "_2", "rating", "_3", "timestamp")
_OF_TABS = ("user", "item", "rating", "timestamp")

#: Names under which public data sets keep who has what: MovieLens and HetRec 2011.
_KNOWN_FILES = (
    "ratings.dat",
    "ratings.csv",
    "u.data",
    "user_taggedbookmarks.dat",
    "user_artists.dat",
    "user_ratedmovies.dat",
)


@dataclass(frozen=True, repr=False, eq=False)
class DataFile:
    """A file of columns, known by its first line; parquet has no delimiter."""

    path: Path
    columns: list[str]
    delimiter: str | None
    named: bool = True  # by its first line
    compression: str | None = None  # as arrow calls it
    blank: bool = False  # an empty line comes first

    @property
    def name(self) -> str:
        """Its name, for messages."""
        return self.path.name

    @property
    def typed(self) -> bool:
        """Whether columns have types; otherwise all cells are texts."""
        return self.delimiter is None

    def batches(self, names: list[str]) -> Iterator[list[Any]]:
        """Yield the named columns as arrow arrays, some rows at a time; a file that cannot be read is a `DataError`.

        Cells of text come as texts, or as bytes if some are not UTF-8 (see `ids.as_text`).
        """
        with _explaining(self.path, self.compression):
            yield from self._typed_batches(names) if self.typed else self._text_batches(names)

    def _typed_batches(self, names: list[str]) -> Iterator[list[Any]]:
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=_ROWS, columns=names):
                yield [batch.column(name) for name in names]

    def _text_batches(self, names: list[str]) -> Iterator[list[Any]]:
        """Yield columns of texts: a type guessed from the first block might change an id in a later one."""
        import pyarrow as pa

        # Each way is slower or larger than the one before, and goes on where that gave up.
        ways = [(pa.string(), _BLOCK), (pa.binary(), _BLOCK), (pa.binary(), _LONGEST_ROW)]
        done = 0
        for way in ways:
            seen = 0
            try:
                for batch in self._read(names, *way):
                    fresh = batch.slice(min(batch.num_rows, max(0, done - seen)))
                    seen += batch.num_rows
                    if fresh.num_rows:
                        done = seen
                        yield [fresh.column(name) for name in names]
            except pa.ArrowInvalid:
                if way == ways[-1]:
                    raise
            else:
                return

    def _read(self, names: list[str], kind: Any, block: int) -> Iterator[Any]:  # noqa: ANN401  (pyarrow has no types)
        from pyarrow import csv

        parse = csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self.named)
        read = csv.ReadOptions(block_size=block, column_names=None if self.named else self.columns)
        convert = csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, kind))
        with _stream(self.path, self.compression) as stream, csv.open_csv(stream, read, parse, convert) as reader:
            yield from reader


def open_file(path: str | os.PathLike[str]) -> DataFile:
    """Look at the first line of a .csv, .tsv or .parquet file, or of a MovieLens file; text may be compressed.

    Any other file of text is read if it begins with a line of names between commas, semicolons or tabs.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"File not found: {path}")
    compression = COMPRESSIONS.get(path.suffix.lower())
    with _explaining(path, compression):
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            return DataFile(path, list(parquet.read_schema(path).names), None)
        text = _first_lines(path, compression)
        line = text.lstrip().partition("\n")[0].strip()
        if _COLONS.fullmatch(line):
            names = list(_OF_COLONS[: 2 * line.count("::") + 1])
            return DataFile(path, names, ":", named=False, compression=compression)
        if _TABS.fullmatch(line):
            return DataFile(path, list(_OF_TABS), "\t", named=False, compression=compression)
        found = {delimiter: _names(text, delimiter) for delimiter in _DELIMITERS}
        delimiter = max(_DELIMITERS, key=lambda one: len(found[one]))  # of equal ones the first
        blank = text.startswith(("\n", "\r"))
        return DataFile(path, found[delimiter], delimiter, compression=compression, blank=blank)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text, compressed or not, without white space around them; empty ones go."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    with _explaining(path, compression), _stream(path, compression) as stream:
        text = str(stream.read().decode("utf-8-sig"))
    return [line.strip() for line in text.split("\n") if line.strip()]


def _first_lines(path: Path, compression: str | None) -> str:
    """Return the beginning of a text: at least a whole line, unless it is endless."""
    with _stream(path, compression) as stream:
        head = stream.read(_HEAD)
        while b"\n" not in head.lstrip() and len(head) < _LONGEST_HEAD:
            more = stream.read(_HEAD)
            if not more:
                break
            head += more
    if not head.strip():
        raise DataError(f"{path.name} is empty.")
    return str(head.decode("utf-8-sig", errors="surrogateescape"))


def _names(text: str, delimiter: str) -> list[str]:
    try:
        row = next(row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
    except csv.Error:  # a long line without that delimiter
        return []
    "".join(row).encode()  # strict about names alone: a column that is not read may be in another encoding
    return row


@contextlib.contextmanager
def _stream(path: Path, compression: str | None) -> Iterator[Any]:
    """Give the contents of a file, decompressed."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as raw:
        if compression is None:
            yield raw
        else:
            with pa.CompressedInputStream(raw, compression) as stream:
                yield stream


@contextlib.contextmanager
def _explaining(path: Path, compression: str | None) -> Iterator[None]:
    """Turn whatever goes wrong while reading into an error that names the file and quotes no row."""
    try:
        yield
    except InvalidInput:
        raise
    except MemoryError:
        raise DataError(f"{path.name} does not fit into memory.", hint="Read fewer rows at a time.") from None
    except (OSError, EOFError, ValueError, KeyError, NotImplementedError, csv.Error) as error:
        # Arrow reports what it cannot decompress as OSError, what it cannot understand as ValueError.
        if compression is not None and isinstance(error, OSError | EOFError):
            raise DataError(f"{path.name} is not a {compression} file, or it is damaged or incomplete.") from None
        kind = "parquet" if path.suffix.lower() == ".parquet" else "text (UTF-8, every row with the same columns)"
        raise DataError(f"{path.name} cannot be read as {kind}; it may be damaged or incomplete.") from None


def shown_columns(file: str, names: Collection[str]) -> str:
    """Return a sentence about the columns of a file: their names, unless the first line looks like data."""
    if len(names) <= 1 or any(not name.strip() or re.fullmatch(r"[\s\d.,+-]+", name) for name in names):
        return f"The first line of {file} must hold names of columns, such as user,item,weight."
    return f"Columns of {file}: {', '.join(names)}."


def check_columns(source: str, present: Collection[str], wanted: Mapping[str, str]) -> None:
    """Explain which columns of a table are missing, or there more than once; all of them at once.

    `wanted` holds names of columns, and of the parameters that chose them.
    """
    names, problems = list(present), []
    for name, parameter in wanted.items():
        if names.count(name) != 1:
            what = f"must name a column of {source}" if name not in names else f"must name one column of {source}"
            problems.append(Problem(what, parameter, got=name, hint=shown_columns(source, names)))
    if problems:
        raise DataError.several(problems)


def find_file(path: str | os.PathLike[str]) -> Path:
    """Return the file itself, or the one of MovieLens or HetRec 2011 in a folder, known by its name."""
    path = Path(path)
    if not path.is_dir():
        return path
    found = [name for name in _KNOWN_FILES if (path / name).is_file()]
    if len(found) != 1:
        names = ", ".join(found) or "none of them"
        raise DataError(
            f"The folder {path} must hold exactly one of {', '.join(_KNOWN_FILES)}; it holds {names}.",
            hint="Give the path of the file.",
        )
    return path / found[0]
