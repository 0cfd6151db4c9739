"""Options that several commands have, what they are called in errors, and checks of options that belong together."""

import os
from collections.abc import Callable, Container, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from hetdp.core.errors import InvalidInput, Problem

Command = TypeVar("Command", bound=Callable[..., Any])

threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Number of threads; no effect on the result.  [default: all processors]",
)


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


def option_name(parameter: click.Parameter) -> str:
    """Return what a parameter is called on the command line, such as --epsilon or DATA."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name.strip("[].")


def refuse(problems: Iterable[Problem]) -> None:
    """Refuse options that are missing or contradict each other, all at once."""
    found = list(problems)
    if found:
        raise InvalidInput.several(found)


def given(name: str) -> bool:
    """Return whether an option was given on the command line, rather than left at its default."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def cannot_be_used(names: Iterable[str], why: str) -> list[Problem]:
    """Return a problem for each of some options that was given although it would have no effect.

    Parameters
    ----------
    names
        Of parameters.
    why
        When they have none, such as "without --ledger".
    """
    return [Problem(f"cannot be used {why}", name) for name in names if given(name)]


def plot_option(what: str) -> Callable[[Command], Command]:
    """Give a command `--plot`, which draws something into a file."""
    text = f"Also draw {what} into a .svg, .png or .html file. Needs: pip install 'hetdp[plot]'."
    return click.option("--plot", type=click.Path(path_type=Path), help=text)


def tuning_option(function: Command) -> Command:
    """Give a command `--tuned-for`, a weight."""
    text = "For sketches: the privacy weight at which they are most accurate, above 0 and at most 1."
    option = click.option("--tuned-for", default="1", show_default=True, metavar="WEIGHT", callback=_tuning, help=text)
    return option(function)


def _tuning(_context: click.Context, option: click.Parameter, text: str) -> Fraction:
    from hetdp.sketching.bit_law import as_tuning

    try:
        return as_tuning(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise click.UsageError(
            f"{option.opts[0]} must be a weight above 0 and at most 1 (got {text[:50]!r})."
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
