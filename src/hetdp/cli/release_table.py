"""`hetdp release --aggregate`: answers per group, from files and databases of any size."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.accounting.guarantee import in_digits
from hetdp.cli.output import ENDINGS, Lists, Voice, check_writable, print_facts, print_json, print_rows
from hetdp.core.files import write_whole
from hetdp.core.words import counted
from hetdp.mechanisms.plan import float_up

if TYPE_CHECKING:
    from hetdp.accounting import Ledger
    from hetdp.tables import TableAnswer, TablePlan

__all__ = ["TABLE_OPTIONS", "release_from_table", "table_options"]

_OPTIONS = (
    click.option(
        "--aggregate",
        multiple=True,
        metavar="NAME[:COLUMN:LOWER:UPPER]",
        help="Answers per group: count, mean:hours:0:99, total:euros:0:500, variance:hours:0:99; repeat for several.",
    ),
    click.option("--by", multiple=True, help="Column to group by; repeat for several."),
    click.option(
        "--keys",
        multiple=True,
        type=click.Path(path_type=Path),
        help="File with the public keys of --by, one in each line; one file for each --by.",
    ),
    click.option("--unknown-keys", is_flag=True, help="Instead of --keys: choose keys from the data, privately."),
    click.option("--delta", type=float, help="With --unknown-keys.  [default: 1e-9]"),
    click.option("--unit", help="Column that says whose a row is; protects all rows of a person together."),
    click.option(
        "--max-groups", type=click.IntRange(min=1), help="Groups that a person counts fully in.  [default: 1]"
    ),
    click.option("--where", help="Rows that count, as in SQL: \"age >= 18 and ward in ('er', 'icu')\"."),
    click.option(
        "--population", type=float, help="Public number of people in all groups; scales up counts and totals."
    ),
    click.option(
        "--people", type=float, help="With --within: public guess of what a group is worth in people of dial 1."
    ),
    click.option("--table", "table_name", help="Table of a database, where DATA is its address."),
)
DEFAULT_LIMIT = 3.0
#: What only `--aggregate` uses, by name.
TABLE_OPTIONS = (
    "by",
    "keys",
    "unknown_keys",
    "delta",
    "unit",
    "max_groups",
    "where",
    "population",
    "people",
    "table_name",
)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of tables."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def release_from_table(data: tuple[str, ...], options: Mapping[str, Any], *, voice: Voice) -> None:
    """Release what `--aggregate` asks of files or a database, as the options say."""
    from hetdp.tables import parse_aggregate, plan_table, release_table

    aggregates = dict(parse_aggregate(text) for text in options["aggregate"])
    _check(aggregates, options)
    asked = {
        "epsilon": options["epsilon"],
        "by": _keys(options),
        "weights": options["weight_column"],
        "unit": options["unit"],
        "max_groups": options["max_groups"] or 1,
        "where": options["where"],
        "population": options["population"],
        "confidence": options["confidence"],
    }
    plan = plan_table(aggregates, **asked, within=options["within"], people=options["people"])
    output = options["output"]
    if output is not None:
        check_writable(output, keep=(*map(Path, data), options["ledger_path"]))
    if voice.dry_run or options["within"] is not None:
        _show_plan(plan, voice)
        return
    table: Any = data[0] if len(data) == 1 else list(data)
    voice.note("Adding up ...")
    with _ledger(options) as ledger:
        answer = release_table(
            table,
            aggregates,
            **asked,
            table_name=options["table_name"],
            ledger=ledger,
            limit=options["limit"],
            new_people=options["new_people"],
        )
    unwritten = None if output is None else _written(output, answer, voice)
    if voice.as_json:
        print_json(answer.public())
    else:
        _show(answer)
    if unwritten is not None:
        raise unwritten
    for remark in answer.remarks:
        voice.note(remark)
    if ledger is None:
        voice.note("No --ledger was given: nobody keeps count of what these people have lost so far.")


def _check(aggregates: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse options that do not go together, in the words of the command line."""
    if len(aggregates) < len(options["aggregate"]):
        raise click.UsageError("--aggregate must be given once for each answer: one was given twice.")
    if (options["epsilon"] is None) == (options["within"] is None):
        raise click.UsageError("--epsilon must be given (or --within, to find it).")
    if options["people"] is not None and options["within"] is None:
        raise click.UsageError("--people must not be given without --within.")
    if options["ledger_path"] is not None and options["unit"] is None:
        raise click.UsageError("--ledger needs --unit: it says who is charged.")
    for name in ("limit", "weights_limit", "new_people"):
        if options["ledger_path"] is None and options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} must not be given without --ledger.")


@contextmanager
def _ledger(options: Mapping[str, Any]) -> "Iterator[Ledger | None]":
    """Give the ledger of the people, made by its first charge if there is none."""
    from hetdp.accounting import Ledger

    path, on_exhausted = options["ledger_path"], options["on_exhausted"]
    if path is None:
        yield None
    elif path.exists():
        with Ledger.open(path, on_exhausted=on_exhausted) as ledger:
            yield ledger
    else:
        limit = DEFAULT_LIMIT if options["limit"] is None else options["limit"]
        own = {"limit": limit, "weights_limit": options["weights_limit"], "on_exhausted": on_exhausted}
        with Ledger.of_people(path, **own, lazy=True) as ledger:
            yield ledger


def _keys(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `by` of `hetdp.release_table` takes."""
    from hetdp.tables import unknown_keys

    by, files = options["by"], options["keys"]
    if len(set(by)) < len(by):
        raise click.UsageError("--by must name each column once.")
    if options["unknown_keys"]:
        if files or not by:
            raise click.UsageError("--unknown-keys needs --by, and goes without --keys.")
        delta = 1e-9 if options["delta"] is None else options["delta"]
        return {column: unknown_keys(delta=delta) for column in by}
    if options["delta"] is not None:
        raise click.UsageError("--delta needs --unknown-keys.")
    if len(files) != len(by):
        raise click.UsageError(
            f"--keys must be given once for each --by ({len(by)}), or --unknown-keys to choose keys from the data: "
            f"got {counted(len(files), 'file')}."
        )
    return {column: _lines(path) for column, path in zip(by, files, strict=True)}


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise click.UsageError(f"--keys must be a text file with a key in each line: {path.name}: {reason}.") from None
    return [line.strip() for line in lines if line.strip()]


def _written(output: Path, answer: "TableAnswer", voice: Voice) -> OSError | None:
    """Write the answer; return what went wrong, so that it is still shown: it has been paid for."""
    try:
        if output.name.lower().endswith(ENDINGS):
            about = {name: fact for name, fact in answer.public().items() if name != "rows"}
            Lists(Lists.from_frame(answer.to_frame()).columns, exact=True).write(output, about)
        else:
            write_whole(output, json.dumps(answer.public(), indent=2) + "\n")
    except OSError as error:
        return error
    voice.note(f"Wrote {output}.")
    return None


def _show(answer: "TableAnswer") -> None:
    level = f"{answer.plan.confidence:.0%} interval"
    header = (*answer.keys, "", "estimate", level, "with dials")
    rows = []
    for row in answer.rows:
        interval = "" if row.low is None or row.high is None else f"{row.low:,.4g} to {row.high:,.4g}"
        estimate = "none" if row.estimate is None else f"{row.estimate:,.6g}"
        rows.append((*map(str, row.key), row.aggregate, estimate, interval, f"{row.value:,.6g}"))
    print_rows("", header, rows)
    for reason in dict.fromkeys(row.reason for row in answer.rows if row.reason is not None):
        click.echo(f"No estimate: {reason}")
    print_facts("", {"guarantee": answer.guarantee.text})


def _show_plan(plan: "TablePlan", voice: Voice) -> None:
    """Say what a release would cost, from public numbers alone."""
    facts = {
        "dry_run": True,
        "epsilon": float_up(plan.epsilon),
        "delta": plan.delta,
        "split": plan.split,
        "noise_scale": plan.scales,
        "groups": "chosen from the data" if plan.unknown else len(plan.keys),
        "guarantee": plan.guarantee(simulated=False).text,
    }
    if voice.as_json:
        print_json(facts)
        return
    rows = [
        (name, f"{share:.6g}", f"{plan.scales[name]:.4g}" if name in plan.scales else "")
        for name, share in plan.split.items()
    ]
    print_rows(
        f"Nothing was read or spent: epsilon = {in_digits(float_up(plan.epsilon))}",
        ("part", "epsilon", "noise scale"),
        rows,
    )
    print_facts("", {"groups": facts["groups"], "guarantee": facts["guarantee"]})
