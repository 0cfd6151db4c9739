"""Files of columns: opened once, known by their first lines, then read a few rows at a time.

A `FileFormat` tells the columns of a file and yields them in batches: memory does not follow the size of the file.
No message quotes a cell: what a library says about a bad row stays out.
"""

import contextlib
import csv
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.text import agreeing, listed

__all__ = [
    "BETWEEN_BLANKS",
    "COMPRESSIONS",
    "CSV",
    "FORMATS",
    "PLAIN_ENDINGS",
    "DataFile",
    "Delimited",
    "FileFormat",
    "Layout",
    "available_bytes",
    "check_columns",
    "decoded",
    "find_file",
    "named_by",
    "open_file",
    "recognise",
    "which_column",
]

_BLOCK = 2**25  # bytes at a time: large enough for arrow to be fast, small beside any result that needs care
_ROWS = 2**20
#: For rows that are longer than a block: as long as a cell may be.
_LONGEST_ROW = 2**30
_HEAD = 2**16
_LONGEST_HEAD = 2**24
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
#: How much text a compressed byte stands for, roughly: pairs of ids repeat themselves.
_EXPANSION = 5

_MARK = b"\xef\xbb\xbf"
_BLANKS = bytes.maketrans(b"\t\r", b"  ")
_DIMS = re.compile(rb"[#%]?\s*dims\s*[:=]?\s*(\d+)[\s,x]+(\d+)", re.IGNORECASE)


@dataclass(frozen=True, repr=False, eq=False)
class DataFile:
    """A file that is open, and its first lines.

    Attributes
    ----------
    path
        Where it is.
    raw
        The open file, of pyarrow.
    compression
        What arrow calls its compression; None for none.
    head
        Its first bytes, decompressed: at least a whole line after comments, if it is text.
    """

    path: Path
    raw: Any
    compression: str | None
    head: bytes

    @property
    def name(self) -> str:
        """Its name, for messages."""
        return self.path.name

    @property
    def ending(self) -> str:
        """The ending that tells the format, without that of the compression."""
        return (self.path.with_suffix("") if self.compression else self.path).suffix.lower()

    @property
    def first_line(self) -> str:
        """The first line that is not empty. It may hold private data: for recognising a format, not for messages."""
        lines = self.head.decode("utf-8-sig", errors="replace").lstrip().splitlines()
        return lines[0] if lines else ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing inside."""
        return not self.head.strip()

    def stream(self) -> Any:  # noqa: ANN401  (pyarrow has no types)
        """Return its contents from the beginning, decompressed."""
        import pyarrow as pa

        # A stream of arrow that goes takes the file below it along.
        raw = pa.OSFile(str(self.path)) if self.raw.closed else self.raw
        raw.seek(0)
        return raw if self.compression is None else pa.CompressedInputStream(raw, self.compression)

    @contextlib.contextmanager
    def explaining(self, form: str) -> Iterator[None]:
        """Turn whatever goes wrong while reading into an error that names the file and quotes no row.

        Parameters
        ----------
        form
            What the file must be a readable one of, in words.
        """
        try:
            yield
        except DataError:
            raise
        except InvalidInput as error:
            raise DataError(f"{self.name}: {error}") from None
        except (OSError, EOFError, ValueError, KeyError, NotImplementedError, csv.Error) as error:
            # Arrow reports what it cannot decompress as OSError, what it cannot understand as ValueError.
            broken = isinstance(error, OSError | EOFError)
            raise _unreadable(self.path, self.compression if broken else None, form) from None


@contextlib.contextmanager
def open_file(path: str | os.PathLike[str]) -> Iterator[DataFile]:
    """Open a file, compressed (.gz, .bz2, .zst) or not, and look at its first lines."""
    import pyarrow as pa

    path = Path(path)
    if not path.is_file():
        raise DataError(f"the data file must exist (got {str(path)!r}, which is not a file,)")
    compression = COMPRESSIONS.get(path.suffix.lower())
    with contextlib.ExitStack() as stack:
        try:
            raw = stack.enter_context(pa.OSFile(str(path)))
            # Kept until the end: a stream of arrow that goes takes the file below it along.
            first = raw if compression is None else pa.CompressedInputStream(raw, compression)
            head = first.read(_HEAD)
            while b"\n" not in head[_heading(head)[0] :] and len(head) < _LONGEST_HEAD:
                more = first.read(_HEAD)
                if not more:
                    break
                head += more
        except (OSError, EOFError):
            raise _unreadable(path, compression, "file") from None
        yield DataFile(path, raw, compression, head)


def _unreadable(path: Path, compression: str | None, form: str) -> DataError:
    if compression is None:
        return DataError(f"{path.name} must be a readable {form}")
    return DataError(
        f"{path.name} must be a whole {compression} file (got one that is damaged, cut short or not compressed)"
    )


class FileFormat(ABC):
    """A way to keep columns in a file. A new one is a class here and a line in `FORMATS`.

    Attributes
    ----------
    described
        What a file of it is, in words.
    typed
        Whether cells are numbers or texts; else all are texts, whatever they look like.
    """

    described: str
    typed: ClassVar[bool] = False

    @abstractmethod
    def columns(self, file: DataFile) -> list[str]:
        """Return the names of the columns."""

    @abstractmethod
    def batches(self, file: DataFile, names: list[str], *, forgiving: bool = False) -> Iterator[list[Any]]:
        """Yield the named columns as arrow arrays, some rows at a time. Errors may quote a row: see `explaining`.

        Where `forgiving`, text that is not UTF-8 is no error: from the first such cell on, columns come as bytes, and
        whoever reads them decides by what else is in a row (see `decoded`).
        """

    def rows(self, file: DataFile) -> int:
        """Return about how many rows there are, without reading them."""
        size = file.raw.size() * (1 if file.compression is None else _EXPANSION)
        return int(size * file.head.count(b"\n") // max(1, len(file.head)))


@dataclass(frozen=True)
class Delimited(FileFormat):
    """Rows of texts with a character between columns, after a line of names unless `names` are given."""

    delimiter: str
    described: str
    names: tuple[str, ...] = ()

    def columns(self, file: DataFile) -> list[str]:
        """Return the names given, or those in the first line."""
        if self.names:
            return list(self.names)
        # Strict about the names only: a title in another encoding, in a column that nobody reads, does no harm.
        text = io.StringIO(file.head.decode("utf-8-sig", errors="surrogateescape"), newline="")
        for row in csv.reader(text, delimiter=self.delimiter):
            if row:
                "".join(row).encode()
                return row
        raise EOFError  # nothing but empty lines

    def batches(self, file: DataFile, names: list[str], *, forgiving: bool = False) -> Iterator[list[Any]]:
        """Yield columns of texts: a type guessed from the first block might change an id in a later one."""
        import pyarrow as pa

        kinds = (pa.string(), pa.binary()) if forgiving else (pa.string(),)
        ways = [*((kind, _BLOCK) for kind in kinds), (kinds[-1], _LONGEST_ROW)]
        done = 0
        for way in ways:  # each is slower or larger than the one before, and goes on where that gave up
            seen = 0
            try:
                for batch in self._read(file, names, *way):
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

    def _read(self, file: DataFile, names: list[str], kind: Any, block: int) -> Iterator[Any]:  # noqa: ANN401
        from pyarrow import csv

        parse = csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=not self.names)
        read = csv.ReadOptions(block_size=block, column_names=self.names or None)
        convert = csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, kind))
        with file.stream() as stream, csv.open_csv(stream, read, parse, convert) as reader:
            yield from reader


@dataclass(frozen=True)
class Parquet(FileFormat):
    """Columns with a type each."""

    described: str = "parquet file"
    typed: ClassVar[bool] = True

    def columns(self, file: DataFile) -> list[str]:
        """Return the names of the columns."""
        return list(self._open(file).schema_arrow.names)

    def batches(self, file: DataFile, names: list[str], *, forgiving: bool = False) -> Iterator[list[Any]]:
        """Yield the named columns; others are not read."""
        for batch in self._open(file).iter_batches(batch_size=_ROWS, columns=names):
            columns = [batch.column(name) for name in names]
            yield [_checked(column) for column in columns] if forgiving else columns

    def rows(self, file: DataFile) -> int:
        """Return how many rows there are."""
        return int(self._open(file).metadata.num_rows)

    @staticmethod
    def _open(file: DataFile) -> Any:  # noqa: ANN401
        from pyarrow import parquet

        return parquet.ParquetFile(file.raw)


@dataclass(frozen=True)
class BetweenBlanks(FileFormat):
    """Lines `user item` or `user item weight`, after comments, perhaps names, and perhaps a line `dims 120 200`."""

    described: str = "text file (UTF-8, a line 'user item' or 'user item weight' per pair)"

    def columns(self, file: DataFile) -> list[str]:
        """Return what the columns of the first pair must be."""
        line = file.head[_heading(file.head)[0] :].partition(b"\n")[0]
        return ["user", "item", "weight"][: len(line.translate(_BLANKS).split())]

    def batches(self, file: DataFile, names: list[str], *, forgiving: bool = False) -> Iterator[list[Any]]:
        """Yield columns of texts."""
        present = self.columns(file)
        rest = b""
        with file.stream() as stream:
            stream.read(_heading(file.head)[0])
            while True:
                block = stream.read(_BLOCK)
                text = rest + block
                cut = text.rfind(b"\n") + 1 if block else len(text)
                lines, rest = text[:cut].translate(_BLANKS), text[cut:]
                if lines.strip():
                    table = _split(lines, present, forgiving=forgiving)
                    yield [table.column(name) for name in names]
                if not block:
                    return

    @staticmethod
    def dims(file: DataFile) -> tuple[int, int] | None:
        """Return how many users and items a file declares; None if it does not."""
        return _heading(file.head)[1]


def _heading(head: bytes) -> tuple[int, tuple[int, int] | None]:
    """Return where comments, names of columns and the dims line end, and what that line says."""
    begin, dims = len(_MARK) * head.startswith(_MARK), None
    while begin < len(head):
        end = head.find(b"\n", begin) + 1 or len(head)
        line = head[begin:end].translate(_BLANKS).strip()
        found = _DIMS.fullmatch(line)
        if found and dims is None:
            dims = int(found[1]), int(found[2])
        elif line and not line.startswith((b"#", b"%")) and line.lower().split()[:2] != [b"user", b"item"]:
            break
        begin = end
    return begin, dims


def _checked(column: Any) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return a column of texts as bytes if one of them is not UTF-8: parquet files are read as they are."""
    import pyarrow as pa

    if column.type in (pa.string(), pa.large_string()):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return column.cast(pa.large_binary())
    return column


def decoded(column: Any, instead: str | None = None) -> Any:  # noqa: ANN401
    r"""Return a column that came as bytes as texts; of those that are not UTF-8 what is given instead.

    Examples
    --------
    >>> import pyarrow as pa
    >>> decoded(pa.array([b"tea", b"\xff"])).to_pylist()
    ['tea', None]
    """
    import pyarrow as pa

    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return column

    def text(cell: bytes | None) -> str | None:
        try:
            return None if cell is None else cell.decode()
        except UnicodeDecodeError:
            return instead

    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(map(text, column.to_pylist()), pa.string())


def _split(lines: bytes, names: list[str], *, forgiving: bool) -> Any:  # noqa: ANN401
    import pyarrow as pa
    from pyarrow import csv

    while b"  " in lines:  # arrow splits at single blanks only
        lines = lines.replace(b"  ", b" ")
    lines = lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip()

    def read(kind: Any) -> Any:  # noqa: ANN401
        return csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(column_names=names, block_size=max(_BLOCK, len(lines) + 1)),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, kind)),
        )

    try:
        return read(pa.string())
    except pa.ArrowInvalid:
        if not forgiving:
            raise
        return read(pa.binary())


CSV = Delimited(",", ".csv file (UTF-8, rows as long as the header)")
BETWEEN_BLANKS = BetweenBlanks()
#: Endings of files that name their columns.
FORMATS: dict[str, FileFormat] = {
    ".csv": CSV,
    ".tsv": Delimited("\t", ".tsv file (UTF-8, rows as long as the header)"),
    ".parquet": Parquet(),
}
#: Endings of text that does not.
PLAIN_ENDINGS = ("", ".txt", ".dat", ".pairs")


def named_by(*roles: str) -> list[str]:
    """Return what tells which column holds the users, items, weights or ratings of pairs, here and on the command line.

    Examples
    --------
    >>> named_by("user")
    ['user=... (--user-column)']
    """
    return [f"{role}=... (--{role}-column)" for role in roles]


def which_column(ways: Collection[str]) -> str:
    """Return a sentence on how to tell which column is which, after a blank; nothing if there is no way."""
    return f" Tell which {agreeing(len(ways), 'it is', 'they are')} by {listed(list(ways))}." if ways else ""


def _other_separator(names: Collection[object]) -> str:
    """Return what to do, after a blank, about names that seem to be several with another separator; else nothing.

    Such files are not just read: they come with decimal commas, too, and 3,5 would be no number, without a word.
    """
    for mark, called in ((";", "a semicolon"), ("\t", "a tab")):
        if any(mark in str(name) for name in names):
            shown = "\\t" if mark == "\t" else mark
            return (
                f" Is its separator {called}? Save it with commas, with decimal points and as UTF-8; pandas does so: "
                f"""python -c "import pandas; pandas.read_csv('OLD.csv', sep='{shown}', decimal=',')"""
                """.to_csv('NEW.csv', index=False)"."""
            )
    return ""


def check_columns(source: str, present: Collection[str], wanted: Collection[str]) -> None:
    """Explain which column of a table is missing, or there more than once.

    Parameters
    ----------
    source
        What the table is called.
    present, wanted
        Names of columns; `wanted` may be a mapping that says what chooses each, such as "--column".
    """
    names = list(present)
    missing = [name for name in wanted if name not in names]
    if missing:
        ways = dict.fromkeys(wanted[name] for name in missing) if isinstance(wanted, Mapping) else ()
        hint = _other_separator(names) or which_column(ways)
        columns = ", ".join(repr(column) for column in names) or "no column at all"
        raise DataError(f"{source} must have a column {missing[0]!r} (got the columns {columns})", hint=hint)
    for name in wanted:
        if names.count(name) > 1:
            raise DataError(f"{source} must have one column {name!r}", got=names.count(name))


# Public data sets, recognised by their first line: MovieLens, HetRec 2011 and files with columns named like theirs.

#: Names under which they keep who has what, for those who give a folder.
_KNOWN_FILES = (
    "ratings.dat",
    "ratings.csv",
    "u.data",
    "user_taggedbookmarks.dat",
    "user_artists.dat",
    "user_ratedmovies.dat",
)
_USERS = ("userid", "user_id")
_ITEMS = ("movieid", "bookmarkid", "artistid", "itemid", "movie_id", "book_id", "artist_id", "item_id")
_TAGS = ("tag", "tagid", "tag_id")
#: The columns of user_artists.dat. Its weight is how often an artist was played, not a wish for privacy.
_PLAYS = ["userID", "artistID", "weight"]
_COLONS = re.compile(r"\d+::\d+::\d+(\.\d+)?(::\d+)?")
_TABS = re.compile(r"\d+\t\d+\t\d+(\.\d+)?\t\d+")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a public data set is laid out.

    Attributes
    ----------
    format
        Its columns, and what it is.
    user, item
        Columns of ids.
    rating, weight
        Columns of ratings or counts, and of privacy weights, if there are any.
    repeats
        Whether a pair comes once for each tag, so that repeated ones are no mistake.
    """

    format: Delimited
    user: str
    item: str
    rating: str | None
    weight: str | None = None
    repeats: bool = False


def recognise(first_line: str, file_name: str) -> Layout | None:
    """Return the layout of a public data set by its first line, or None for any other file."""
    line = first_line.strip()
    if _COLONS.fullmatch(line):
        # Arrow takes one character between columns: between two colons there is an empty column.
        names = ("user", "_1", "item", "_2", "rating", "_3", "time")[: 2 * line.count("::") + 1]
        return Layout(_rows_of("MovieLens ratings.dat", ":", names), "user", "item", "rating")
    if _TABS.fullmatch(line):
        names = ("user", "item", "rating", "time")
        return Layout(_rows_of("MovieLens u.data", "\t", names), "user", "item", "rating")
    for delimiter in ("\t", ","):
        columns = [column.strip().strip('"') for column in line.split(delimiter)]
        if columns[0].lower() in _USERS and not {"user", "item"} <= set(columns):
            return _by_names(columns, delimiter, file_name)
    return None


def _by_names(columns: list[str], delimiter: str, file_name: str) -> Layout:
    """Return the layout of a file whose first column is named like users in public data sets."""

    def first(*wanted: str) -> str | None:
        return next((column for column in columns if column.lower() in wanted), None)

    item = first(*_ITEMS)
    if item is None:
        present = ", ".join(repr(column) for column in columns)
        raise DataError(
            f"{file_name} must have a column of items, such as 'movieId', 'bookmarkID' or 'artistID' (got the "
            f"columns {present})",
            hint=which_column(named_by("user", "item")),
        )
    rating, weight = first("rating"), first("weight")
    if columns == _PLAYS:
        rating, weight = weight, None
    form = _rows_of("ratings or tags", delimiter)
    return Layout(form, columns[0], item, rating, weight, repeats=first(*_TAGS) is not None)


def _rows_of(name: str, delimiter: str, names: tuple[str, ...] = ()) -> Delimited:
    return Delimited(delimiter, f"file of {name} (rows as long as the first)", names)


def find_file(path: str | os.PathLike[str]) -> Path:
    """Return the file itself, or the one in a folder that is known by its name."""
    path = Path(path)
    if not path.is_dir():
        return path
    found = [name for name in _KNOWN_FILES if (path / name).is_file()]
    if len(found) != 1:
        names = ", ".join(repr(name) for name in found) or "none"
        raise DataError(
            f"the folder {str(path)!r} must hold one of {', '.join(_KNOWN_FILES)}",
            got=names,
            hint="Give the path of the file.",
        )
    return path / found[0]


def available_bytes() -> int | None:
    """Return how much memory may be had without swapping, or None where the system does not tell."""
    found = [size for size in (_of_machine(), _of_container()) if size is not None]
    return max(1, min(found)) if found else None


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _of_container() -> int | None:
    """Return what a container still allows: files that were read count as used until the room is needed."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit - used + int(kept["inactive_file"])
    except (OSError, ValueError, KeyError):  # no container, or no limit
        return None
