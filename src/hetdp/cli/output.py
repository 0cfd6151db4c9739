"""How commands speak: options they share, tables, JSON, and files that are either whole or not there."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hetdp.core.errors import DataError, InvalidInput

if TYPE_CHECKING:
    from hetdp.profiles import WeightPrior

#: Bytes that must be free before anything is spent on an answer that goes to a file.
_ROOM = 64 * 1024

__all__ = [
    "check_writable",
    "note",
    "output_options",
    "print_facts",
    "print_json",
    "print_rows",
    "westin_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])


def output_options(function: Command) -> Command:
    """Give a command the options that every command has."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Say what it would do and spend; spend nothing."),
        click.option("--quiet", "-q", is_flag=True, help="No remarks on standard error."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output."),
    ):
        function = option(function)
    return function


def westin_option(**settings: Any) -> Callable[[Command], Command]:  # noqa: ANN401  (those of click.option)
    """Give a command `--westin`: shares such as 0.34,0.43,0.23, handed over as a `WeightPrior`."""
    return click.option("--westin", callback=_prior, **settings)


def _prior(_context: click.Context, _option: click.Parameter, text: str | None) -> "WeightPrior | None":
    from hetdp.profiles import WeightPrior

    if text is None:
        return None
    try:
        return WeightPrior.westin(*(float(share) for share in text.replace("/", ",").split(",")))
    except (TypeError, ValueError) as error:
        reason = f" ({error})" if isinstance(error, InvalidInput) else ""
        raise click.UsageError(
            f"--westin must be three shares that sum to 1, such as 0.34,0.43,0.23{reason}."
        ) from None


def note(message: str, *, quiet: bool) -> None:
    """Say something on standard error."""
    if not quiet:
        click.echo(message, err=True)


def print_json(data: Mapping[str, Any]) -> None:
    """Print data as JSON on standard output."""
    click.echo(json.dumps(data, indent=2))


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
        table.add_row(Text(name), Text(text))  # not markup: brackets of an IPv6 address are part of it
    # Wider than the terminal, or than the 80 columns of a pipe, where a long word must be copied in one piece.
    longest = max((len(word) for text in words.values() for word in text.split()), default=0)
    console, needed = Console(), max(map(len, words), default=0) + longest + 4
    Console(width=max(console.width, needed), height=console.height).print(table)


def print_rows(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table with right-aligned numbers; the first column and one without a name are text."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 or not name else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def check_writable(path: Path, *, keep: Sequence[Path | None] = (), name: str = "--output") -> None:
    """Refuse an output file that could not be written or is one of those to keep, before anything is spent."""
    if any(other is not None and path.resolve() == other.resolve() for other in keep):
        raise click.UsageError(f"{name} must not be the data or the ledger: {str(path)!r} would be overwritten.")
    folder = path.parent
    if not folder.is_dir():
        raise DataError(f"{name} must be in an existing folder. Got {str(path)!r} instead.")
    if path.is_dir():
        raise DataError(f"{name} must be a file. Got {str(path)!r}, which is a folder, instead.")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=".tmp") as trial:
            trial.write(bytes(_ROOM))
            trial.flush()
    except OSError as error:
        raise DataError(f"{name} must be a writable file. Got {str(path)!r} ({error.strerror}) instead.") from None
