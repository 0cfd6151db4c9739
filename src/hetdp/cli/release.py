"""`hetdp release`: private answers from a table in which every row has its own privacy weight."""

from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import click

from hetdp.cli.options import Sectioned, cannot_be_used, plot_option, refuse
from hetdp.cli.output import DEFAULT_LIMITS, Voice, dry_run_option, output_options
from hetdp.cli.release_query import query_problems, release_from_query
from hetdp.cli.release_table import TABLE_OPTIONS, release_from_table, table_options, table_problems
from hetdp.core.errors import Problem
from hetdp.mechanisms.by_name import MECHANISMS, QUERIES

_LIMITS = ", ".join(f"{unit} {limit:g}" for unit, limit in DEFAULT_LIMITS.items())
_QUERY, _AGGREGATE = "One query about all rows (--query)", "Answers per group (--aggregate)"
#: Parameters by name, in the sections of the help.
_SECTIONS = {
    "Data": ("weights", "default_weight", "table_name"),
    _QUERY: (
        *("query", "column", "lower", "upper", "center", "bins", "quantile", "step", "categories", "categories_file"),
        *("mechanism", "boundaries", "multiplier"),
    ),
    _AGGREGATE: ("aggregates", *TABLE_OPTIONS),
    "Privacy": ("epsilon", "rho", "within", "confidence"),
    "Ledger": ("ledger", "limit", "weights_limit", "id_column", "new_people", "on_exhausted"),
}
#: What has an effect with --query only.
_ONLY_QUERY = (*_SECTIONS[_QUERY], "rho", "id_column")
#: What has an effect with --ledger only.
_OF_LEDGERS = ("limit", "weights_limit", "new_people", "on_exhausted")
_POSITIVE, _FROM_ZERO = click.FloatRange(0, min_open=True), click.FloatRange(min=0)
_SHARE, _OPEN_SHARE = click.FloatRange(0, 1), click.FloatRange(0, 1, min_open=True, max_open=True)

Options = Callable[[Callable[..., Any]], Callable[..., Any]]


def _numbers(_context: click.Context, option: click.Parameter, text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(end) for end in text.split(",")]
    except ValueError:
        raise click.UsageError(f"{option.opts[0]} must be numbers such as 1,0.5,0.25 (got {text!r}).") from None


def _together(*options: Options) -> Options:
    """Return several options as one decorator, in the order in which help shows them."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


_query_options = _together(
    click.option(
        "--query",
        type=click.Choice(QUERIES),
        metavar="NAME",
        help=f"What to ask about all rows: {', '.join(QUERIES)}. l0: number of rows that are not 0. squared_norm: sum "
        "of squares.",
    ),
    click.option("--column", help="Column of private values."),
    click.option("--lower", type=float, help="Smallest possible value. Public: do not take it from the data."),
    click.option("--upper", type=float, help="Largest possible value. Public: do not take it from the data."),
    click.option(
        "--center",
        type=float,
        help="For --mechanism stretching and sampling: value that rows with small privacy weights are moved towards.  "
        "[default: 0 if in the range, else its middle]",
    ),
    click.option("--bins", type=click.IntRange(min=1), help="Number of bins of a histogram.  [default: 10]"),
    click.option("--quantile", type=_SHARE, help="Which quantile: with 0.9, 90 % of the rows are below the answer."),
    click.option(
        "--step",
        type=_POSITIVE,
        help="Round a median, quantile, maximum or minimum to multiples of this.  [default: about 1/1000 of the range]",
    ),
    click.option("--categories", help="Public categories of a mode or histogram, such as er,icu,lab."),
    click.option(
        "--categories-file", type=click.Path(path_type=Path), help="Text file with one public category per line."
    ),
)
_weight_options = _together(
    click.option("--weight-column", "weights", help="Column of privacy weights from 0 to 1.  [default: all are 1]"),
    click.option(
        "--default-weight",
        type=_SHARE,
        help="Privacy weight of rows whose weight cell is empty. With --aggregate, an empty cell is an error unless "
        "this is given.  [default: 0 with --query]",
    ),
)
_privacy_options = _together(
    click.option("--epsilon", type=float, help="Privacy loss of a row of weight 1. Adds Laplace noise."),
    click.option("--rho", type=float, help="Instead of --epsilon, with --query: privacy loss with Gaussian noise."),
    click.option(
        "--within",
        type=_POSITIVE,
        help="Instead of --epsilon: print the epsilon at which the interval is the answer ± this number. Nothing is "
        "spent. With --aggregate it needs --people.",
    ),
    click.option(
        "--confidence", type=_OPEN_SHARE, default=0.95, show_default=True, help="Confidence level of intervals."
    ),
    click.option(
        "--mechanism",
        type=click.Choice(MECHANISMS),
        help="How privacy weights are respected. classes: one sum per weight class. stretching: rows with small "
        "weights are moved towards --center. sampling: they are left out at random. hetdp compare recommends one.  "
        "[default: classes; stretching for variance; exponential for median, maximum, minimum, quantile and mode]",
    ),
    click.option(
        "--weight-classes",
        "boundaries",
        callback=_numbers,
        help="For --mechanism classes: smallest privacy weight of each class. Rows below the last class count as the "
        "middle of the range; in a histogram they do not count.  [default: 1,0.5,0.25]",
    ),
    click.option(
        "--multiplier",
        type=click.FloatRange(min=1),
        default=1.0,
        show_default=True,
        help="For --mechanism stretching: a public factor. A larger factor adds more noise and moves rows less towards "
        "--center.",
    ),
)
_ledger_options = _together(
    click.option(
        "--ledger",
        type=click.Path(path_type=Path),
        help="File that records the privacy losses of these rows; created if it does not exist.",
    ),
    click.option(
        "--limit",
        type=_FROM_ZERO,
        help=f"For rows that are new to the ledger: largest privacy loss over all releases.  [default: {_LIMITS}]",
    ),
    click.option(
        "--weights-limit",
        type=_FROM_ZERO,
        help="For a new ledger: largest privacy loss of the weights themselves over all releases.  [default: no limit]",
    ),
    click.option(
        "--id-column",
        help="With --query: column that identifies a row. The ledger then recognises rows even if rows were added, "
        "removed or reordered.",
    ),
    click.option(
        "--new-people", is_flag=True, help="Allow a release in which most rows are new to the ledger; else an error."
    ),
    click.option(
        "--on-exhausted",
        type=click.Choice(["raise", "drop"]),
        default="raise",
        show_default=True,
        help="If rows have too little remaining budget: refuse the release (raise), or exclude these rows from this "
        "and all later releases (drop).",
    ),
)


@click.command(cls=Sectioned, sections=_SECTIONS)
@click.argument("table", nargs=-1, metavar="DATA...")
@_query_options
@_weight_options
@_privacy_options
@_ledger_options
@table_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Also write the answer to a file: .json; with --aggregate also .csv or .parquet.",
)
@plot_option("the answer")
@dry_run_option
@output_options
def release(table: tuple[str, ...], *, voice: Voice, **options: Any) -> None:  # noqa: ANN401
    """Release private answers from DATA: one about all rows (--query), or several per group (--aggregate).

    \b
    hetdp release people.csv --query mean --column hours --lower 0 --upper 80 \\
        --weight-column weight --epsilon 1 --ledger ledger.db --id-column id
    hetdp release people.csv --query mode --column department \\
        --categories er,icu,lab --epsilon 1
    hetdp release visits/*.parquet --by department --keys keys.txt \\
        --aggregate count --aggregate mean:hours:0:99 --unit person_id \\
        --weight-column weight --epsilon 1 --ledger ledger.db

    --query reads one CSV or parquet file with one row per person. --aggregate reads files of any size (.csv, .tsv,
    .parquet) or a database (postgresql://localhost/clinic --table visits); a person may have several rows (--unit).

    The value of a row with weight 1 loses at most --epsilon, with weight 0.5 half of it, with weight 0 nothing.
    Privacy weights are secret too: each loses at most --epsilon.
    A mean, total, count or histogram has an estimate with a confidence interval.

    Values outside the range count as its nearest end. Cells that are not numbers ("n/a", "1,000") count as the centre.
    hetdp does not report such cells: an error would reveal something about a person.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    refuse(_problems(table, options))
    if options["aggregates"]:
        release_from_table(table, options, voice=voice)
        return
    own = {name: option for name, option in options.items() if name not in ("aggregates", *TABLE_OPTIONS)}
    release_from_query(Path(table[0]), voice=voice, **own)


def _problems(table: tuple[str, ...], options: dict[str, Any]) -> Iterator[Problem]:
    """Yield all that is missing or contradictory."""
    if not table:
        yield Problem("is required", "table")
    if options["ledger"] is None:
        yield from cannot_be_used(_OF_LEDGERS, "without --ledger")
    if options["aggregates"]:
        yield from cannot_be_used(_ONLY_QUERY, "with --aggregate")
        yield from table_problems(options)
        return
    yield from cannot_be_used(TABLE_OPTIONS, "without --aggregate")
    if len(table) > 1:
        yield Problem("must be one file with --query; --aggregate reads several", "table")
    yield from query_problems(options)
