"""What commands print and write: remarks, tables, JSON, pictures, and files that are either whole or not there."""

import csv
import errno
import functools
import gzip
import io
import json
import math
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
import numpy as np
from numpy.typing import NDArray

from hetdp._version import __version__
from hetdp.cli.options import option_name
from hetdp.core.errors import DataError, HetdpWarning, InvalidInput
from hetdp.core.files import whole_file
from hetdp.core.text import counted, printable, several
from hetdp.warm_up import compiled

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee, Ledger

#: By the ending of its name, a file of lists is written in one of these formats.
ENDINGS = (".parquet", ".csv", ".csv.gz", ".jsonl")
#: Lifetime limits where none is given, by the unit of a ledger.
DEFAULT_LIMITS = {"epsilon": 3.0, "rho": 0.25}
#: Rows shown where nothing is written.
SHOWN = 10
#: How a line or heading begins that introduces exact figures, which no guarantee covers.
_PRIVATE = "Private"
#: Rows written at a time, so that memory does not follow the length of the file.
_BLOCK = 1 << 18
#: Bytes that must be free before anything is spent on an answer that goes to a file.
_FREE = 64 * 1024


@dataclass(frozen=True)
class Voice:
    """How a command reports: the options that all commands share, and ways to say something on standard error."""

    as_json: bool = False
    quiet: bool = False
    dry_run: bool = False

    def note(self, message: str) -> None:
        """Say something on standard error, in lines that fit where that is a terminal."""
        if not self.quiet:
            click.echo(wrapped(message), err=True)

    def private(self, message: str) -> None:
        """Say something exact, for the owner of the data alone: a line of its own, which says so."""
        self.note(f"{_PRIVATE}: {message}")

    def compiling(self, *parts: str) -> None:
        """Say that kernels have to be compiled before the work can begin, if they are not on disk."""
        if not all(map(compiled, parts)):
            self.note("Compiling (once on this machine; `hetdp warm-up` does it ahead of time) ...")

    @contextmanager
    def remarks(self, *, exact: bool = False) -> Iterator[None]:
        """Say warnings of hetdp as remarks, or privately, without the place in the code that they come from."""
        say = self.private if exact else lambda remark: self.note(f"Note: {remark}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HetdpWarning)
            yield
        for warning in caught:
            if issubclass(warning.category, HetdpWarning):
                say(str(warning.message))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)

    @contextmanager
    def progress(self, words: str) -> "Iterator[Callable[..., None]]":
        """Show a bar with the time left on standard error, if that is a terminal.

        It takes how much is done, of how much, and what in words if that changes. Until something is done, it only says
        that work has begun.
        """
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield lambda *_: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%"))
        times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
        with Progress(*columns, *times, console=console, transient=True) as bar:
            task = bar.add_task(words, total=None)
            yield lambda done, total, what=words: bar.update(task, completed=done, total=total, description=what)


def wrapped(message: str, *, to: TextIO | None = None) -> str:
    """Return a message in lines that fit, where it goes to a terminal; else as it is, for logs. Standard error if None.

    Examples
    --------
    >>> wrapped("A remark.", to=io.StringIO())
    'A remark.'
    """
    message = _harmless(message)
    if not (to or sys.stderr).isatty():
        return message
    fit = {"width": shutil.get_terminal_size().columns, "break_long_words": False, "break_on_hyphens": False}
    return "\n".join(textwrap.fill(line, **fit) for line in message.split("\n"))  # type: ignore[arg-type]


def _harmless(text: str) -> str:
    """Return a text that moves no cursor but to the next line."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done and spent; do nothing.")


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--json` and `--quiet`, handed over as its `voice`, and name options in its errors.

    The library's errors name parameters. A parameter is replaced by the option, or argument, whose name in click is the
    same.
    """

    @functools.wraps(function)
    def spoken(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  (those of the command)
        voice = Voice(**{field.name: options.pop(field.name, False) for field in fields(Voice)})
        try:
            return function(*arguments, voice=voice, **options)
        except InvalidInput as error:
            names = {one.name: option_name(one) for one in click.get_current_context().command.params}
            error.problems = tuple(
                replace(one, parameter=names.get(one.parameter, one.parameter)) for one in error.problems
            )
            raise

    quiet = click.option("--quiet", "-q", is_flag=True, help="No remarks on standard error.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")
    return as_json(quiet(spoken))


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


def print_json(data: Mapping[str, Any], *, private: Mapping[str, Any] | None = None) -> None:
    """Print data as JSON on standard output; what is exact, and no guarantee covers, has a room of its own in it."""
    click.echo(json.dumps(with_private(data, private or {}), indent=2))


def with_private(public: Mapping[str, Any], private: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts for JSON: those that may be told, and under "private" those that are the owner's alone.

    Examples
    --------
    >>> with_private({"epsilon": 1.0}, {"pairs": 84})
    {'epsilon': 1.0, 'private': {'pairs': 84}}
    """
    return {**plain(public), **({"private": plain(private)} if private else {})}


def print_private(facts: Mapping[str, Any]) -> None:
    """Print what is exact below a heading that says so; the last thing on standard output."""
    click.echo(f"{_PRIVATE}, for the owner of the data:")
    print_facts("", facts)


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print a two-column table of what is known. Values wrap between words; a key or a path is never cut or broken."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    known = {name: value for name, value in facts.items() if value is not None}
    words = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in known.items()}
    for name, text in words.items():
        table.add_row(Text(_harmless(name)), Text(_harmless(text)))  # not markup: an IPv6 address has brackets
    # Wider than the terminal, or than the 80 columns of a pipe, where a long word must be copied in one piece.
    longest = max((len(word) for text in words.values() for word in text.split()), default=0)
    console, needed = Console(), max(map(len, words), default=0) + longest + 4
    Console(width=max(console.width, needed), height=console.height).print(table)


def guarantee_facts(guarantee: "Guarantee") -> dict[str, Any]:
    """Return a promise in words and numbers."""
    return {"text": guarantee.text, **guarantee.facts()}


def print_promise(guarantee: "Guarantee", *, of: str = "guarantee", in_full: str = "--json, -o") -> None:
    """Print a guarantee in a line or two, and where all of it is."""
    click.echo(wrapped(f"{of}: {guarantee.short} (in full: {in_full}).", to=sys.stdout))


def print_rows(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table with right-aligned numbers; the first column and one without a name are text."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 or not name else "right")
    for row in rows:
        table.add_row(*(Text(_harmless(cell)) for cell in row))  # not markup: a name may hold brackets
    Console().print(table)


def rounded(value: float | None, digits: int, *, up: bool) -> float | None:
    """Return a figure with the given number of digits, rounded up or down; None for infinity, which JSON lacks.

    Examples
    --------
    >>> rounded(1 / 3, 3, up=True), rounded(2 / 3, 3, up=False), rounded(0.1, 3, up=True)
    (0.334, 0.666, 0.1)
    """
    if value is None or not math.isfinite(value):
        return None
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return float(context.create_decimal(repr(value)))


def say_encoding(voice: Voice, names: Iterable[object], files: Iterable[object]) -> None:
    """Say that public names beyond ASCII are found in UTF-8 only. Whether cells are UTF-8 is private."""
    from hetdp.profiles.formats import COMPRESSIONS

    beyond = next((str(name) for name in names if not str(name).isascii()), None)
    text = any(str(file).lower().endswith((".csv", ".tsv", *COMPRESSIONS)) for file in files)
    if beyond is not None and text:
        voice.note(f"Text files must be UTF-8. In another encoding {beyond!r} is not found, and its rows do not count.")


def say_nobody_counts(voice: Voice) -> None:
    """Say that losses add up where no ledger counts them."""
    voice.note("Without --ledger, nothing counts what these people have lost in all releases together.")


def refuse_profiles(ledger: "Ledger") -> None:
    """Refuse a ledger of profiles for a table of rows or people."""
    if ledger.colluders is not None:
        name = "this ledger" if ledger.path is None else ledger.path.name
        raise DataError(
            f"must be a ledger of rows or people: {name} was made by hetdp neighbors or learn",
            parameter="ledger",
            hint="Give another file.",
        )


def write_paid(output: Path | None, write: Callable[[Path], object], voice: Voice) -> OSError | None:
    """Write an answer, if it is to be; return what went wrong, so that the answer is still shown: it was paid for."""
    if output is None:
        return None
    try:
        with whole_file(output) as temporary:
            write(temporary)
    except OSError as error:
        return error
    voice.note(f"Wrote {output}.")
    return None


def say_ledger(
    voice: Voice, path: Path, protects: str, options: Mapping[str, Any], *, made: str | None = None, new: int = 0
) -> None:
    """Say what became of a ledger that charges each row or person, and that an option had no effect.

    `made` is the limit of everybody, "epsilon = 3", in a ledger that was created; `new` people were added to another.
    """
    if made is not None:
        hint = " Rows are known by their position; --id-column makes a ledger of ids." if protects == "row" else ""
        voice.note(f"Created {path.name}: every {protects} may lose {made} in total.{hint}")
        return
    if new:
        voice.private(f"added {counted(new, f'new {protects}', f'new {several(protects)}')} to {path.name}.")
    elif options["limit"] is not None:
        voice.private(f"--limit had no effect: no {protects} is new to the ledger.")
    if options["weights_limit"] is not None:
        voice.note("--weights-limit had no effect: it applies to a new ledger.")


def check_writable(path: Path, *, keep: Sequence[Path | None] = (), parameter: str = "output") -> None:
    """Refuse an output file that could not be written or is one of those to keep, before anything is spent."""
    beside = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside a ledger holds charges, too
    kept = {Path(f"{other.resolve()}{ending}") for other in keep if other is not None for ending in beside}
    if path.resolve() in kept:
        raise InvalidInput(f"would overwrite {path}, which this command reads or updates", parameter=parameter)
    folder = path.parent
    if not folder.is_dir():
        raise DataError(f"cannot be written: there is no folder {str(folder)!r}", parameter=parameter)
    if path.is_dir():
        raise DataError(f"must be a file: {str(path)!r} is a folder", parameter=parameter)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=".tmp") as trial:
            trial.write(bytes(_FREE))
            trial.flush()
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror} ({path})", parameter=parameter) from None


def check_ending(output: Path, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a name from which no format follows."""
    if not output.name.lower().endswith(endings):
        raise InvalidInput(f"must end in {' or '.join(endings)}", parameter="output", got=output.name)


def check_plot(plot: Path, *, keep: Sequence[Path | None] = (), output: Path | None = None, rows: int = 1) -> None:
    """Refuse a picture that could not be drawn or written, before anything is spent or measured for it.

    `keep` are files that it must not overwrite, `output` is that of the answer, and `rows` is how many bins or groups
    it would show, as far as that is known before.
    """
    from hetdp.plots import check_picture, check_rows

    check_rows(rows)
    check_picture(plot, parameter="plot")
    check_writable(plot, keep=keep, parameter="plot")
    if output is not None and plot.resolve() == output.resolve():
        raise InvalidInput("must not be the same file as --output", parameter="plot", got=str(plot))


def write_plot(plot: Path, draw: Callable[[], Any], voice: Voice) -> None:
    """Draw a picture. An answer that was paid for is shown before that is tried."""
    from hetdp.plots import as_bytes

    def write(path: Path) -> None:
        try:
            drawn = as_bytes(draw(), plot.suffix)
        except InvalidInput:
            raise
        except ValueError as error:  # of a drawing library: the answer stands, and was paid for
            raise OSError(errno.EIO, "the picture could not be drawn") from error
        path.write_bytes(drawn)

    unwritten = write_paid(plot, write, voice)
    if unwritten is not None:
        raise unwritten


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

    def show(self, title: str, count: int = SHOWN) -> None:
        """Print the first rows."""
        rows = [tuple(map(_cell, row)) for row in self.first(count)]
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


def _cell(value: object) -> str:
    """Return a value in words; an id may hold what moves the cursor of a terminal, which is not printed."""
    if isinstance(value, float):
        return f"{value:.3f}"
    return printable(str(value))
