"""`--plot`: a picture of a result, refused before anything is done for it or drawn into a file that is whole."""

import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from hetdp.cli.output import Voice, check_writable, write_paid
from hetdp.core.errors import InvalidInput
from hetdp.plots import as_bytes, check_picture, check_rows

__all__ = ["check_plot", "plot_option", "write_plot"]


def plot_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--plot`, which draws something into a file."""
    text = f"Also draw {what} into a .svg, .png or .html file (needs the extra plot)."
    return click.option("--plot", type=click.Path(path_type=Path), help=text)


def check_plot(plot: Path, *, keep: Sequence[Path | None] = (), output: Path | None = None, rows: int = 1) -> None:
    """Refuse a picture that could not be drawn or written, before anything is spent or measured for it.

    Parameters
    ----------
    plot
        Its file.
    keep
        Files that it must not take the place of.
    output
        Where the answer itself goes.
    rows
        How many bins or groups it would show, as far as that is known before.
    """
    check_rows(rows)
    check_picture(plot, parameter="plot")
    check_writable(plot, keep=keep, name="--plot")
    if output is not None and plot.resolve() == output.resolve():
        raise click.UsageError(f"--plot must not be the file of --output: {str(plot)!r} would be written twice.")


def write_plot(plot: Path, draw: Callable[[], Any], voice: Voice) -> None:
    """Draw a picture. An answer that was paid for is shown before that is tried."""

    def write(path: Path) -> None:
        try:
            drawn = as_bytes(draw(), plot.suffix)
        except InvalidInput:
            raise
        except ValueError as error:  # of whatever draws: the answer stands, and was paid for
            raise OSError(errno.EIO, "the picture could not be drawn") from error
        path.write_bytes(drawn)

    unwritten = write_paid(plot, write, voice)
    if unwritten is not None:
        raise unwritten
