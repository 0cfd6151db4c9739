"""`hetdp release`: a private answer from a table in which every person has set their own level."""

from collections.abc import Callable, Container
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from hetdp.cli.output import DEFAULT_LIMITS, Sectioned, Voice, in_options, output_options, westin_option
from hetdp.cli.plotting import plot_option
from hetdp.cli.release_query import release_from_query
from hetdp.cli.release_table import TABLE_OPTIONS, release_from_table, table_options
from hetdp.mechanisms.named import MECHANISMS, QUERIES

__all__ = ["release"]

_LIMITS = ", ".join(f"{unit} {limit:g}" for unit, limit in DEFAULT_LIMITS.items())
_QUERY, _AGGREGATE = "One question about all rows (--query)", "Answers per group (--aggregate)"
#: Options by name, in the sections of the help.
_SECTIONS = {
    "Data": ("weight_column", "default_weight", "table_name"),
    _QUERY: (
        *("query", "column", "lower", "upper", "center", "bins", "quantile", "step", "categories", "categories_file"),
        *("by_dial", "dial_levels", "westin", "deviation", "denominator", "mechanism", "threshold", "multiplier"),
    ),
    _AGGREGATE: ("aggregate", *TABLE_OPTIONS),
    "Privacy": ("epsilon", "rho", "within", "confidence"),
    "Ledger": ("ledger_path", "limit", "weights_limit", "id_column", "new_people", "on_exhausted"),
}
#: What only `--query` uses.
_ONLY_QUERY = (*_SECTIONS[_QUERY], "rho", "id_column")
#: Parameters of the library that are called otherwise here.
_CALLED = {"limits": "--limit", "levels": "--dial-levels"}
_POSITIVE = click.FloatRange(0, min_open=True)
_OPEN_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)

Options = Callable[[Callable[..., Any]], Callable[..., Any]]


def _number_or_best(_context: click.Context, _option: click.Parameter, text: str) -> float | str:
    try:
        return text if text == "best" else float(text)
    except ValueError:
        raise click.UsageError(f"--multiplier must be a number >= 1 or 'best', not {text!r}.") from None


def _levels(_context: click.Context, _option: click.Parameter, text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(end) for end in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--dial-levels must be numbers such as 0,0.5,1, not {text!r}.") from None


def _together(*options: Options) -> Options:
    """Return several options as one decorator, in the order in which help shows them."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


_question_options = _together(
    click.option(
        "--query",
        type=click.Choice(QUERIES),
        metavar="NAME",
        help=f"What is asked about all rows, of which there is a public number: {', '.join(QUERIES)}.",
    ),
    click.option("--column", help="Column of private values."),
    click.option("--lower", type=float, help="Public lower end of the values."),
    click.option("--upper", type=float, help="Public upper end of the values."),
    click.option(
        "--center", type=float, help="Where items shrink to.  [default: 0 if in the range, else the midpoint]"
    ),
    click.option("--bins", type=click.IntRange(min=1), help="Bins of a histogram.  [default: 10]"),
    click.option("--quantile", type=click.FloatRange(0, 1), help="Share of the people below a quantile."),
    click.option(
        "--step",
        type=_POSITIVE,
        help="A median, quantile, maximum or minimum is one of the multiples of this, such as 1 for ages.  [default: a "
        "round one, about a thousand in the range]",
    ),
    click.option(
        "--categories", help="Public categories of a mode or histogram, such as er,icu,lab, instead of a range."
    ),
    click.option(
        "--categories-file", type=click.Path(path_type=Path), help="Instead: a text file, a category per line."
    ),
)
_dial_options = _together(
    click.option(
        "--weight-column",
        help="Column of privacy weights in [0, 1]; empty cells are refused unless --default-weight says what they are.",
    ),
    click.option(
        "--default-weight",
        type=float,
        help="Weight where none is set: 1 counts fully, 0 not at all.  [default: 1 without --weight-column, else none]",
    ),
    westin_option(
        help="Public prior of weights: shares of three groups, such as 0.34,0.43,0.23, for --within and --multiplier."
    ),
    click.option(
        "--by-dial", is_flag=True, help="Answer for each level of dials instead: does the answer go with them?"
    ),
    click.option(
        "--dial-levels", callback=_levels, help="Public ends of the levels of --by-dial.  [default: 0,0.5,0.75,1]"
    ),
)
_level_options = _together(
    click.option("--epsilon", type=float, help="Privacy level of a release with Laplace noise."),
    click.option("--rho", type=float, help="Instead of --epsilon (--query): level of a release with Gaussian noise."),
    click.option(
        "--within",
        type=_POSITIVE,
        help="Instead of --epsilon: print the epsilon that makes the interval reach no farther from the estimate than "
        "this. Nothing is spent.",
    ),
    click.option(
        "--deviation",
        type=click.FloatRange(min=0),
        help="With --within: a public guess of the standard deviation of the values.  [default: as if spread evenly]",
    ),
    click.option(
        "--confidence", type=_OPEN_SHARE, default=0.95, show_default=True, help="Of the interval of the estimate."
    ),
    click.option(
        "--denominator",
        type=click.FloatRange(min=0),
        help="Level of the noisy sum of weights that the estimate is divided by. Weights pay it on top, values do not. "
        "0: none.  "
        "[default: that of the release]",
    ),
    click.option(
        "--mechanism",
        type=click.Choice(MECHANISMS),
        help="As hetdp compare recommends.  [default: exponential for what is chosen among values, else stretching]",
    ),
    click.option("--threshold", type=float, help="Level of --mechanism threshold: whoever is stricter is dropped."),
    click.option(
        "--multiplier",
        default="1",
        show_default=True,
        callback=_number_or_best,
        help="Public factor >= 1, or 'best' (needs --westin).",
    ),
)
_ledger_options = _together(
    click.option("--ledger", "ledger_path", type=click.Path(path_type=Path), help="Ledger to charge; made if missing."),
    click.option("--limit", type=float, help=f"Lifetime limit of rows new to the ledger.  [default: {_LIMITS}]"),
    click.option("--weights-limit", type=float, help="Of a new ledger: the most that weights may ever lose."),
    click.option(
        "--id-column",
        help="Column that says who a row is (--query), so that rows may come and go; without it, by position.",
    ),
    click.option("--new-people", is_flag=True, help="Allow that most rows are new to the ledger."),
    click.option(
        "--on-exhausted",
        type=click.Choice(["raise", "drop"]),
        default="raise",
        show_default=True,
        help="Rows that cannot pay: refuse the release, or drop them for good (they weigh 0 from then on).",
    ),
)


@click.command(cls=Sectioned, sections=_SECTIONS, short_help="Release private answers from a table.")
@click.argument("data", nargs=-1, required=True)
@_question_options
@_dial_options
@_level_options
@_ledger_options
@table_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Also write the public answer to a file: .json; with --aggregate .csv and .parquet, too.",
)
@plot_option("what is released")
@output_options
@in_options(_CALLED)
def release(data: tuple[str, ...], *, voice: Voice, **options: Any) -> None:  # noqa: ANN401
    """Release private answers from DATA: one about all rows (--query), or several per group (--aggregate).

    \b
    hetdp release people.csv --query mean --column hours --lower 0 --upper 80 \\
        --weight-column privacy --epsilon 1 --ledger ledger.db --id-column id
    hetdp release people.csv --query mean --column hours --lower 0 --upper 80 \\
        --weight-column privacy --within 1 --westin 0.34,0.43,0.23 --deviation 10
    hetdp release people.csv --query quantile --quantile 0.9 --column hours \\
        --lower 0 --upper 80 --weight-column privacy --epsilon 1
    hetdp release people.csv --query mode --column department \\
        --categories er,icu,lab --epsilon 1
    hetdp release visits/*.parquet --by department --keys keys.txt \\
        --aggregate count --aggregate mean:hours:0:99 --unit person_id \\
        --weight-column privacy --epsilon 1 --ledger ledger.db

    A query reads one CSV or parquet file with one row per person. Aggregates read any number of them, of any size
    (.csv, .tsv, .parquet), or a table of a database (postgresql://localhost/clinic --table visits); a person may
    have several rows (--unit).

    A mean, total, count, variance or histogram comes as an estimate with its interval: what dials did is divided out by
    a noisy sum of weights. A count is of filled cells, with --lower and --upper of those in the range.
    Cells outside the range are moved to its nearest end, cells that are no number ("n/a", "1,000") count as the
    centre, and cells that are no category for none, without a word: an error would tell about a person.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    if options["aggregate"]:
        _refuse(_ONLY_QUERY, "with --aggregate")
        release_from_table(data, options, voice=voice)
        return
    _refuse(TABLE_OPTIONS, "without --aggregate")
    for name in ("query", "column"):
        if options[name] is None:
            raise click.UsageError(f"--{name} must be given, or --aggregate for answers per group.")
    if len(data) > 1:
        raise click.UsageError("DATA must be one file for --query; --aggregate takes several.")
    own = {name: option for name, option in options.items() if name not in ("aggregate", *TABLE_OPTIONS)}
    release_from_query(Path(data[0]), voice=voice, **own)


def _refuse(names: Container[str], why: str) -> None:
    """Refuse options that would be without effect."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if option.name in names and given is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[0]} must not be given {why}.")
