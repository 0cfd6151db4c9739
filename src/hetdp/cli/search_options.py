"""What a search for neighbours is asked for on the command line: options, and checks before any work."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hetdp.cli.output import check_writable
from hetdp.core.checks import fraction
from hetdp.core.errors import InvalidInput

if TYPE_CHECKING:
    from hetdp.neighbors.engines.exact.selection import Progress
    from hetdp.neighbors.estimator import PrivateNeighbors

__all__ = [
    "ENDINGS",
    "ENGINES",
    "SCORES",
    "Asked",
    "available_processors",
    "check_ending",
    "check_size",
    "check_together",
    "compiles",
    "progress_bar",
    "search_options",
]

#: As in `hetdp.neighbors`, which is too heavy to load for --help; a test compares them.
ENGINES = ("exact", "gossip", "sketch")
SCORES = ("overlap", "cosine", "squared-cosine")
SIZES = ("noisy", "public")
#: By the ending of its name, an output file is written in one of these formats.
ENDINGS = (".parquet", ".csv", ".csv.gz", ".jsonl")
DEFAULT_CYCLES = 20
#: A kernel that must be on disk if an engine has ever run here: module, then function.
_KERNELS = {
    "exact": ("selecting", "select"),
    "gossip": ("vicinity", "collect_candidates"),
    "sketch": ("counting", "best_candidates"),
}

Command = TypeVar("Command", bound=Callable[..., Any])


def search_options(function: Command) -> Command:
    """Give a command the options of a search for neighbours."""
    for option in (
        click.option("--output", "-o", type=click.Path(path_type=Path), help=f"File to write: {', '.join(ENDINGS)}."),
        click.option("--significant-only", is_flag=True, help="Fewer neighbours rather than random ones."),
        click.option("--threads", type=click.IntRange(min=1), help="Result is the same.  [default: all processors]"),
        click.option("--cycles", type=click.IntRange(min=1), help="Of --engine gossip.  [default: 20]"),
        click.option("--sizes", type=click.Choice(SIZES), help="Sizes for a cosine: noisy, or declared public."),
        click.option("--score", type=click.Choice(SCORES), default="overlap", show_default=True, help="Likeness."),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            default="exact",
            show_default=True,
            help="All pairs; the simulated peer-to-peer protocol; or published sketches.",
        ),
        click.option("--neighbors", "-k", type=click.IntRange(min=1), default=10, show_default=True,
                     help="Neighbours of each user."),
        click.option("--epsilon", type=float, required=True, help="Privacy level of an item of weight 1."),
    ):  # fmt: skip
        function = option(function)
    return function


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a search was asked for, checked before anything is read."""

    epsilon: float
    neighbors: int
    engine: str
    score: str
    sizes: str | None
    cycles: int | None
    threads: int | None
    significant_only: bool
    output: Path | None

    def check(self, *keep: Path | None) -> None:
        """Refuse what cannot work or would overwrite a file to keep, before anything is read."""
        fraction("--epsilon", self.epsilon)
        check_together((self.engine,), self.score, self.sizes, self.cycles)
        if self.output is not None:
            check_writable(self.output, keep=keep)
            check_ending(self.output)

    @property
    def n_threads(self) -> int:
        """How many threads to use."""
        return available_processors() if self.threads is None else self.threads

    def model(self, epsilon: object, catalogue: str, progress: "Progress | None" = None) -> "PrivateNeighbors":
        """Return the model, not fitted yet; its noise is secure."""
        from hetdp.neighbors.estimator import PrivateNeighbors

        return PrivateNeighbors(
            self.neighbors,
            epsilon=epsilon,  # type: ignore[arg-type]
            engine=self.engine,
            score=self.score,
            sizes=self.sizes or "noisy",
            significant_only=self.significant_only,
            cycles=self.cycles or DEFAULT_CYCLES,
            catalogue=catalogue,
            n_jobs=self.n_threads,
            progress=progress,
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings that a result carries."""
        shown = {
            "epsilon": self.epsilon,
            "engine": self.engine,
            "k": self.neighbors,
            "score": self.score,
            "significant_only": self.significant_only,
        }
        if self.score != "overlap":
            shown["sizes"] = self.sizes or "noisy"
        if self.engine == "gossip":
            shown["cycles"] = self.cycles or DEFAULT_CYCLES
        return shown


def check_together(engines: Collection[str], score: str, sizes: str | None, cycles: int | None) -> None:
    """Refuse options that have no meaning together."""
    if "sketch" in engines and score != "overlap":
        raise click.UsageError(f"--score must be overlap with --engine sketch, not {score}.")
    if cycles is not None and "gossip" not in engines:
        raise click.UsageError(f"--cycles is for --engine gossip; {' and '.join(engines)} has none.")
    if sizes is not None and score == "overlap":
        raise click.UsageError("--sizes is for --score cosine and squared-cosine; an overlap needs none.")


def check_size(neighbors: int, n_users: int) -> None:
    """Refuse lists longer than there are others to put on them."""
    if neighbors >= n_users:
        raise InvalidInput(f"--neighbors must be below the number of users ({n_users}). Got {neighbors} instead.")


def check_ending(output: Path, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a name from which no format follows."""
    if not output.name.lower().endswith(endings):
        raise click.UsageError(f"--output must end in {', '.join(endings)}: {output.name!r} does not.")


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


def compiles(engine: str) -> bool:
    """Return whether an engine's kernels have yet to be compiled, which happens once and is kept on disk."""
    from importlib import import_module

    module_name, name = _KERNELS[engine]
    kernel = getattr(import_module(f"hetdp.neighbors._kernels.{module_name}"), name)
    if not hasattr(kernel, "stats"):  # compilation is switched off
        return False
    line = kernel.py_func.__code__.co_firstlineno
    return not any(Path(kernel.stats.cache_path).glob(f"{module_name}.{name}-{line}.*.nbi"))


@contextmanager
def progress_bar(words: str, *, quiet: bool) -> "Iterator[Callable[[int, int], None]]":
    """Show a bar with the time left on standard error, if that is a terminal; it takes what is done, and of how much.

    Until something is done, it only says that work has begun.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%"))
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    ) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
