"""How commands speak: options they share, remarks, tables, JSON, and files that are either whole or not there."""

import csv
import functools
import gzip
import io
import json
import math
import os
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
import numpy as np
from numpy.typing import NDArray

from hetdp._version import __version__
from hetdp.core.compiling import words_about_compiling
from hetdp.core.errors import DataError, HetdpWarning, InvalidInput
from hetdp.core.files import whole_file
from hetdp.core.text import agreeing, printable, several

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee, Ledger
    from hetdp.profiles import WeightPrior

__all__ = [
    "DEFAULT_LIMITS",
    "ENDINGS",
    "SHOWN",
    "Lists",
    "Sectioned",
    "Voice",
    "available_processors",
    "check_ending",
    "check_writable",
    "guarantee_facts",
    "in_options",
    "output_options",
    "plain",
    "print_facts",
    "print_json",
    "print_private",
    "print_promise",
    "print_rows",
    "refuse_profiles",
    "rounded",
    "say_ledger",
    "threads_option",
    "tuning_option",
    "westin_option",
    "with_private",
    "wrapped",
    "write_paid",
]

#: By the ending of its name, a file of lists is written in one of these formats.
ENDINGS = (".parquet", ".csv", ".csv.gz", ".jsonl")
#: What may be lost in a lifetime where nobody says, by the unit of a ledger.
DEFAULT_LIMITS = {"epsilon": 3.0, "rho": 0.25}
#: Rows shown where nothing is written.
SHOWN = 10
#: What a line or heading begins with that stands above something exact, which no guarantee covers.
_ROOM_OF_ITS_OWN = "Private"
#: Rows written at a time, so that memory does not follow the length of the file.
_BLOCK = 1 << 18
#: Bytes that must be free before anything is spent on an answer that goes to a file.
_ROOM = 64 * 1024

Command = TypeVar("Command", bound=Callable[..., Any])

threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Result is the same.  [default: all processors]"
)


@dataclass(frozen=True)
class Voice:
    """How a command was told to speak: the options that every command has, which are its fields by name."""

    as_json: bool = False
    quiet: bool = False
    dry_run: bool = False

    def note(self, message: str) -> None:
        """Say something on standard error, in lines that fit where that is a terminal."""
        if not self.quiet:
            click.echo(wrapped(message), err=True)

    def private(self, message: str) -> None:
        """Say something exact, for the owner of the data alone: a line of its own, which says so."""
        self.note(f"{_ROOM_OF_ITS_OWN}: {message}")

    def compiling(self, *parts: str) -> None:
        """Say what has to be compiled before the work can begin, and about how long that takes; nothing if nothing."""
        told = words_about_compiling(parts)
        if told:
            self.note(told)

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


class Sectioned(click.Command):
    """A command whose help shows its options in sections: of `sections`, by heading, the names of parameters.

    What is in none of them comes last, under "Output".
    """

    def __init__(self, *arguments: Any, sections: Mapping[str, Container[str]], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **settings)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        found: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (*self.sections, "Output")}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                of = (heading for heading, names in self.sections.items() if parameter.name in names)
                found[next(of, "Output")].append(record)
        for heading, records in found.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that every command has, handed over as its `voice`."""

    @functools.wraps(function)
    def spoken(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  (those of the command)
        voice = Voice(**{field.name: options.pop(field.name) for field in fields(Voice)})
        return function(*arguments, voice=voice, **options)

    command: Callable[..., Any] = spoken
    for option in (
        click.option("--dry-run", is_flag=True, help="Say what it would do and spend; spend nothing."),
        click.option("--quiet", "-q", is_flag=True, help="No remarks on standard error."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output."),
    ):
        command = option(command)
    return command


def westin_option(**settings: Any) -> Callable[[Command], Command]:  # noqa: ANN401  (those of click.option)
    """Give a command `--westin`: shares such as 0.34,0.43,0.23, handed over as a `WeightPrior`."""
    return click.option("--westin", callback=_prior, **settings)


def _prior(_context: click.Context, option: click.Parameter, text: str | None) -> "WeightPrior | None":
    from hetdp.profiles import WeightPrior

    if text is None:
        return None
    try:
        return WeightPrior.westin(*(float(share) for share in text.replace("/", ",").split(",")))
    except (TypeError, ValueError) as error:
        reason = f" ({error})" if isinstance(error, InvalidInput) else ""
        raise click.UsageError(
            f"{option.opts[0]} must be three shares that sum to 1, such as 0.34,0.43,0.23{reason}."
        ) from None


def tuning_option(function: Command) -> Command:
    """Give a command `--tuned-for`: a weight, or shares of the three groups, handed over as a `WeightPrior`."""
    text = "Weight that sketches tell most about; or shares of three groups to choose it for, such as 0.34,0.43,0.23."
    return click.option("--tuned-for", callback=_tuning, help=text)(function)


def _tuning(context: click.Context, option: click.Parameter, text: str | None) -> "Fraction | WeightPrior | None":
    from hetdp.sketching.tuning import as_tuning

    if text is None or "," in text:
        return _prior(context, option, text)
    try:
        return as_tuning(Fraction(text), Fraction(1))
    except (ValueError, ZeroDivisionError):
        raise click.UsageError(
            f"--tuned-for must be a weight above 0 and at most 1, or three shares. Got {text[:50]!r} instead."
        ) from None


def available_processors() -> int:
    """Return how many processors this process may use.

    Examples
    --------
    >>> available_processors() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


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
    click.echo(f"{_ROOM_OF_ITS_OWN}, for the owner of the data:")
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
    """Return a figure with so many digits, never to the nearest; None for none, and for infinity, which JSON lacks.

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
    """Say that public names with letters beyond ASCII are found in UTF-8 only. Whether cells are, nothing may tell."""
    from hetdp.profiles.formats import COMPRESSIONS

    beyond = next((str(name) for name in names if not str(name).isascii()), None)
    text = any(str(file).lower().endswith((".csv", ".tsv", *COMPRESSIONS)) for file in files)
    if beyond is not None and text:
        voice.note(
            f"Files of text must be UTF-8: in another encoding, {beyond!r} is not found, and its rows do not count."
        )


def say_nobody_counts(voice: Voice) -> None:
    """Say that losses add up where no ledger does so."""
    voice.note("No --ledger was given: nobody keeps count of what these people have lost so far.")


def refuse_profiles(ledger: "Ledger") -> None:
    """Refuse a ledger of profiles for a table of rows or people."""
    if ledger.colluders is not None:
        name = "it" if ledger.path is None else ledger.path.name
        raise DataError(
            f"--ledger must be a ledger of rows or people (got {name}, which is one of profiles (hetdp "
            "neighbors, recommend, learn),)",
            hint="Give another file.",
        )


def write_paid(output: Path | None, write: Callable[[Path], object], voice: Voice) -> OSError | None:
    """Write an answer, if it is to be; return what went wrong, so that it is still shown: it has been paid for."""
    if output is None:
        return None
    try:
        with whole_file(output) as temporary:
            write(temporary)
    except OSError as error:
        return error
    voice.note(f"Wrote {output}.")
    return None


@contextmanager
def in_options(called: Mapping[str, str]) -> Iterator[None]:
    """Let errors of the library, "epsilon must be ...", speak of options.

    Parameters
    ----------
    called
        What errors begin with that is called otherwise here; a parameter that is an option by name needs no entry.
    """
    try:
        yield
    except InvalidInput as error:
        own = {parameter.name: parameter.opts[0] for parameter in click.get_current_context().command.params}
        names = {**own, **called}
        error.problems = tuple(
            replace(problem, parameter=names.get(problem.parameter, problem.parameter)) for problem in error.problems
        )
        raise


def say_ledger(
    voice: Voice, path: Path, protects: str, options: Mapping[str, Any], *, made: str | None = None, new: int = 0
) -> None:
    """Say what became of a ledger, and which of `--limit` and `--weights-limit` had no part in that.

    Parameters
    ----------
    voice
        How to say it; who is new is for the owner.
    path, protects
        Its file, and what is charged: "row" or "person".
    options
        Of the command; those not given are None.
    made
        The limit of everybody, "epsilon = 3", if there was no such ledger before.
    new
        How many were added to one that there was.
    """
    if made is not None:
        whose = ", by its position," if protects == "row" else ""
        hint = " --id-column of a new ledger lets rows come and go." if protects == "row" else ""
        voice.note(f"Made {path.name}: every {protects}{whose} may lose {made} in total.{hint}")
        return
    if new:
        voice.private(f"added {new:,} new {agreeing(new, protects, several(protects))} to {path.name}.")
    elif options["limit"] is not None:
        who = several(protects)
        voice.private(f"--limit is for {who} new to the ledger: there are none, and limits stay as they are.")
    if options["weights_limit"] is not None:
        voice.note("--weights-limit is for new ledgers: this one keeps what it has.")


def check_writable(path: Path, *, keep: Sequence[Path | None] = (), name: str = "--output") -> None:
    """Refuse an output file that could not be written or is one of those to keep, before anything is spent."""
    beside = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside a ledger holds charges, too
    kept = {Path(f"{other.resolve()}{ending}") for other in keep if other is not None for ending in beside}
    if path.resolve() in kept:
        raise click.UsageError(f"{name} must not be the data or the ledger: {str(path)!r} would be overwritten.")
    folder = path.parent
    if not folder.is_dir():
        raise DataError("must be in an existing folder", parameter=name, got=str(path))
    if path.is_dir():
        raise DataError(f"must be a file (got {str(path)!r}, which is a folder,)", parameter=name)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=".tmp") as trial:
            trial.write(bytes(_ROOM))
            trial.flush()
    except OSError as error:
        raise DataError(f"must be a writable file (got {str(path)!r} ({error.strerror}))", parameter=name) from None


def check_ending(output: Path, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a name from which no format follows."""
    if not output.name.lower().endswith(endings):
        raise click.UsageError(f"--output must end in {', '.join(endings)}: {output.name!r} does not.")


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
