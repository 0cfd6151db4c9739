"""`hetdp release`: a private answer from a table in which every person has set their own level."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.cli.output import (
    check_writable,
    note,
    output_options,
    print_facts,
    print_json,
    print_rows,
)
from hetdp.cli.release_inputs import DEFAULT_LIMITS, QUERIES, SELECTED, ReleaseOptions
from hetdp.core.files import write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hetdp.mechanisms.plan import Mechanism, Plan
    from hetdp.profiles.reading.tables import Table

__all__ = ["release"]

_LIMITS = ", ".join(f"{unit} {limit:g}" for unit, limit in DEFAULT_LIMITS.items())


@click.command(short_help="Release one private answer from a table.")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--query", "query_name", type=click.Choice(QUERIES), required=True, help="What to ask.")
@click.option("--column", required=True, help="Column of private values.")
@click.option("--lower", type=float, help="Public lower end of the values.")
@click.option("--upper", type=float, help="Public upper end of the values.")
@click.option("--center", type=float, help="Where items shrink to.  [default: 0 if in the range, else the midpoint]")
@click.option("--bins", type=click.IntRange(min=1), default=10, show_default=True, help="Bins of a histogram.")
@click.option("--weight-column", help="Column of privacy weights in [0, 1]; empty cells take --default-weight.")
@click.option("--default-weight", type=float, default=1.0, show_default=True, help="Weight where none is set.")
@click.option("--epsilon", type=float, help="Privacy level of a release with Laplace noise.")
@click.option("--rho", type=float, help="Instead of --epsilon: level of a release with Gaussian noise.")
@click.option("--multiplier", default="1", show_default=True, help="Public factor >= 1, or 'best' (needs --westin).")
@click.option("--westin", help="Public prior of weights: shares of the three groups, such as 0.34,0.43,0.23.")
@click.option("--ledger", "ledger_path", type=click.Path(path_type=Path), help="Ledger to charge; made if missing.")
@click.option("--limit", type=float, help=f"Lifetime limit of rows new to the ledger.  [default: {_LIMITS}]")
@click.option("--id-column", help="Column that identifies rows in the ledger; without it, by position.")
@click.option(
    "--on-exhausted",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="Rows that cannot pay: refuse the release, or drop them for good (in sums they count as the centre).",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Also write the public release to a JSON file.")
@output_options
def release(
    data: Path,
    *,
    output: Path | None,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Release one private answer from DATA, a CSV or parquet file with one row per person.

    \b
    hetdp release people.csv --query mean --column hours --lower 0 --upper 80 \\
        --weight-column privacy --epsilon 1 --ledger ledger.db

    Cells outside the range are moved to its nearest end, and cells that are no number ("n/a", "1,000") count as the
    centre, without a word: an error would tell about a person.
    """  # noqa: D301  (\b is click's mark for a paragraph that must not be wrapped)
    from hetdp.accounting import plan
    from hetdp.accounting import release as release_answer

    wanted = ReleaseOptions(**options, quiet=quiet)
    noise = wanted.noise
    table = wanted.read(data)
    mechanism, values = wanted.mechanism(table)
    if output is not None:
        check_writable(output, keep=(data, wanted.ledger_path))
    prepared = plan(mechanism, **noise)  # type: ignore[arg-type]
    if dry_run:
        _show_plan(wanted, prepared, mechanism, table, as_json=as_json)
        return
    ledger = wanted.open_ledger(table, prepared)
    try:
        answer = release_answer(mechanism, values, ledger=wanted.charged(ledger, table), **noise)  # type: ignore[arg-type]
        dropping = ledger is not None and ledger.drops
    finally:
        if ledger is not None:
            ledger.close()
    public = {**answer.public(), "rows": table.rows, "lower": wanted.lower, "upper": wanted.upper}
    if dropping:
        public["on_exhausted"] = "drop"
    edges = getattr(getattr(mechanism, "query", None), "edges", None)
    if edges is not None:
        public["edges"] = edges.tolist()
    unwritten = None if output is None else _written(output, public, quiet=quiet)
    if as_json:
        print_json(public)
    else:
        _show(public, edges)
    if unwritten is not None:
        raise unwritten
    for remark in _remarks(wanted, public, dropping=dropping):
        note(remark, quiet=quiet)
    if ledger is None:
        note("No --ledger was given: nobody keeps count of what these people have lost so far.", quiet=quiet)


def _written(output: Path, public: dict[str, Any], *, quiet: bool) -> OSError | None:
    """Write the answer; return what went wrong, so that it is still shown: it has been paid for."""
    try:
        write_whole(output, json.dumps(public, indent=2) + "\n")
    except OSError as error:
        return error
    note(f"Wrote {output}.", quiet=quiet)
    return None


def _remarks(wanted: ReleaseOptions, public: dict[str, Any], *, dropping: bool) -> Iterator[str]:
    """Yield what to keep in mind; none of it depends on a value or a weight."""
    if dropping and public["query"] in SELECTED:
        yield "Rows that cannot pay do not count any more. How many there are is private."
    elif dropping:
        yield (
            "Rows that cannot pay count as the centre, and the answer is still about all rows. How many there are is "
            "private, so nothing can correct for them."
        )
    elif public["estimate"] is None and wanted.weight_column is not None:
        if public["query"] in ("mean", "total", "count"):
            yield "Items with small weights pull this answer toward the centre; --westin adds an estimate."
        elif public["query"] == "histogram":
            yield "People with small weights count for less, so counts come out too small."
        elif public["query"] == "variance":
            yield "Items with small weights move toward the centre, so the variance comes out too small."
        else:
            yield "Items count with their weights: this is a value for those with large weights rather than for all."
    if public["query"] in ("maximum", "minimum"):
        yield (
            "Meant is a value with a weight of about 20 / epsilon beyond it: the last one of all is one person's "
            "secret."
        )


def _show(public: dict[str, Any], edges: "NDArray[np.float64] | None") -> None:
    if edges is None:
        facts = {public["query"]: public["value"], "estimate": public["estimate"]}
    else:
        rows = [
            (f"{low:g} to {high:g}", f"{count:.1f}")
            for low, high, count in zip(edges[:-1], edges[1:], public["value"], strict=True)
        ]
        print_rows("histogram", ("bin", "noisy count"), rows)
        facts = {}
    spread = "noise scale" if public["noise"] == "laplace" else "noise standard deviation"
    print_facts("", {**facts, spread: public["scale"], "guarantee": public["guarantee"]})


def _show_plan(
    wanted: ReleaseOptions, prepared: "Plan", mechanism: "Mechanism", table: "Table", *, as_json: bool
) -> None:
    """Say what a release would cost. Nothing is spent, nothing is written."""
    unable = wanted.rows_that_cannot_pay(prepared, table)
    facts = {
        "dry_run": True,
        "query": mechanism.name,
        "rows": table.rows,
        prepared.unit: prepared.amount,
        "noise_scale": prepared.scale,
        "grid": prepared.grid,
        "largest_loss": float(prepared.losses.max()),
        "mean_loss": float(prepared.losses.mean()),
        "rows_that_cannot_pay": unable,
        "rows_dropped_before": wanted.rows_dropped(table),
        "would": "release" if unable == 0 or wanted.on_exhausted == "drop" else "be refused (exit code 4)",
    }
    if as_json:
        print_json(facts)
    else:
        print_facts("Dry run: nothing was spent", {name.replace("_", " "): fact for name, fact in facts.items()})
