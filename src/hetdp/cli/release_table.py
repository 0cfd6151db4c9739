"""`hetdp release --aggregate`: answers per group, from files and databases of any size."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hetdp.accounting.guarantee import in_digits
from hetdp.cli.options import cannot_be_used
from hetdp.cli.output import (
    DEFAULT_LIMITS,
    Voice,
    check_ending,
    check_plot,
    check_writable,
    print_facts,
    print_json,
    print_promise,
    print_rows,
    refuse_profiles,
    say_encoding,
    say_ledger,
    say_nobody_counts,
    wrapped,
    write_paid,
    write_plot,
)
from hetdp.core.checks import float_up
from hetdp.core.errors import DataError, Problem
from hetdp.core.text import as_precise, counted, listed

if TYPE_CHECKING:
    from hetdp.accounting import Ledger
    from hetdp.tables import TableAnswer, TablePlan
    from hetdp.tables.answer import Row

#: How many groups without an estimate are named.
_NAMED = 3
_OPTIONS = (
    click.option(
        "--aggregate",
        "aggregates",
        multiple=True,
        metavar="NAME[:COLUMN:LOWER:UPPER]",
        help="What to ask per group: count, mean:hours:0:99, total:euros:0:500, variance:hours:0:99. Repeatable.",
    ),
    click.option("--by", multiple=True, help="Column to group by. Repeatable."),
    click.option(
        "--keys",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Text file with the public keys of a --by column, one per line. One file for each --by.",
    ),
    click.option("--unknown-keys", is_flag=True, help="Instead of --keys: choose keys from the data, privately."),
    click.option("--delta", type=float, help="For --unknown-keys: probability of a larger loss.  [default: 1e-9]"),
    click.option("--unit", help="Column that identifies a person. All rows of a person are protected together."),
    click.option(
        "--max-groups",
        type=click.IntRange(min=1),
        help="Number of groups in which a person counts fully; a person in more groups counts less in each. With "
        "--unit and --by, counts and totals have no estimates without it.  [default: 1]",
    ),
    click.option("--where", help="Rows to count, as in SQL: \"age >= 18 and ward in ('er', 'icu')\"."),
    click.option(
        "--population",
        type=float,
        help="Public number of people, summed over all groups; a person in two groups counts twice. Needed for "
        "estimates of counts and totals if there is a --weight-column.",
    ),
    click.option("--people", type=float, help="For --within: public guess of the sum of privacy weights in a group."),
    click.option(
        "--update-weights",
        "update_dials",
        is_flag=True,
        help="Replace the privacy weights in the ledger by those of the table.",
    ),
    click.option("--table", "table_name", help="Table of a database, if DATA is the address of one."),
)
#: What has an effect with --aggregate only, by name.
TABLE_OPTIONS = (
    *("by", "keys", "unknown_keys", "delta", "unit", "max_groups", "where", "population", "people", "update_dials"),
    "table_name",
)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of tables."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def table_problems(options: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield all that is missing or contradictory in the options of a table."""
    if len(set(options["aggregates"])) < len(options["aggregates"]):
        yield Problem("was given twice for the same answer", "aggregates")
    if options["epsilon"] is None and options["within"] is None:
        yield Problem("is required, or --within to choose it", "epsilon")
    elif options["epsilon"] is not None and options["within"] is not None:
        yield Problem("cannot be used with --within", "epsilon")
    if options["within"] is None:
        yield from cannot_be_used(["people"], "without --within")
    if options["ledger"] is None:
        yield from cannot_be_used(["update_dials"], "without --ledger")
    elif options["unit"] is None:
        yield Problem("is required with --ledger: it says who is charged", "unit")
    yield from _problems_of_keys(options["by"], options["keys"], unknown=options["unknown_keys"])


def _problems_of_keys(by: tuple[str, ...], files: tuple[Path, ...], *, unknown: bool) -> Iterator[Problem]:
    if len(set(by)) < len(by):
        yield Problem("must name each column once", "by")
    if not unknown:
        yield from cannot_be_used(["delta"], "without --unknown-keys")
        if len(files) != len(by):
            got = f"got {counted(len(files), 'file')} for {counted(len(by), 'column')}"
            yield Problem(f"must be given once for each --by ({got}), or use --unknown-keys", "keys")
    elif not by:
        yield Problem("needs --by", "unknown_keys")
    elif files:
        yield Problem("cannot be used with --keys", "unknown_keys")


def release_from_table(data: tuple[str, ...], options: Mapping[str, Any], *, voice: Voice) -> None:
    """Release what `--aggregate` asks of files or a database, as the options say."""
    from hetdp.tables import parse_aggregate, plan_table, release_table

    aggregates = dict(parse_aggregate(text) for text in options["aggregates"])
    own = ("epsilon", "weights", "default_weight", "unit", "max_groups", "where", "population", "confidence")
    asked = {**{name: options[name] for name in own}, "by": _keys(options)}
    plan = plan_table(aggregates, **asked, within=options["within"], people=options["people"])
    keys = (key for column in plan.question.by if isinstance(column.keys, tuple) for key in column.keys)
    say_encoding(voice, keys, data)
    output, keep = options["output"], (*map(Path, data), options["ledger"], *options["keys"])
    if output is not None:
        check_ending(output, (".csv", ".json", ".parquet"))
        check_writable(output, keep=keep)
    if options["plot"] is not None:
        rows = 1 if plan.unknown else plan.n_groups * len(plan.aggregates)
        check_plot(options["plot"], keep=keep, output=output, rows=rows)
    if voice.dry_run or options["within"] is not None:
        _show_plan(plan, voice)
        return
    table: Any = data[0] if len(data) == 1 else list(data)
    charged = {name: options[name] for name in ("table_name", "limit", "new_people", "update_dials")}
    with _ledger(options, voice) as ledger:
        answer = release_table(table, aggregates, **asked, **charged, ledger=ledger)
    unwritten = write_paid(output, lambda path: _write(answer, path, output.suffix), voice)
    if voice.as_json:
        print_json(answer.public())
    else:
        _show(answer)
    if unwritten is not None:
        raise unwritten
    for remark in answer.remarks:
        voice.note(remark)
    if ledger is None:
        say_nobody_counts(voice)
    if options["plot"] is not None:
        write_plot(options["plot"], answer.plot, voice)


@contextmanager
def _ledger(options: Mapping[str, Any], voice: Voice) -> "Iterator[Ledger | None]":
    """Give the ledger of the people, made by its first charge if there is none; say what became of it."""
    from hetdp.accounting import Ledger

    path, on_exhausted = options["ledger"], options["on_exhausted"]
    if path is None:
        yield None
        return
    known, made = 0, None
    if path.exists():
        with Ledger.open(path, on_exhausted=on_exhausted) as ledger:
            refuse_profiles(ledger)
            known = ledger.size
            yield ledger
            known = ledger.size - known
    else:
        limit = DEFAULT_LIMITS["epsilon"] if options["limit"] is None else options["limit"]
        own = {"limit": limit, "weights_limit": options["weights_limit"], "on_exhausted": on_exhausted}
        with Ledger.of_people(path, **own, lazy=True) as ledger:
            yield ledger
        made = f"epsilon = {limit:g}"
    say_ledger(voice, path, "person", options, made=made, new=known)


def _keys(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `by` of `hetdp.release_table` takes."""
    from hetdp.tables import unknown_keys

    if options["unknown_keys"]:
        delta = 1e-9 if options["delta"] is None else options["delta"]
        return {column: unknown_keys(delta=delta) for column in options["by"]}
    return {column: _lines(path) for column, path in zip(options["by"], options["keys"], strict=True)}


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise DataError(f"must be a text file with one key per line: {path.name}: {reason}", parameter="keys") from None
    return [line.strip() for line in lines if line.strip()]


def _write(answer: "TableAnswer", path: Path, ending: str) -> None:
    """Write the answer in the format that an ending stands for."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    from hetdp.tables.plan import ANSWER_COLUMNS

    public = answer.public()
    rows = pa.Table.from_pylist([{"reason": None, **row} for row in public["rows"]])
    rows = rows.select([*answer.keys, *ANSWER_COLUMNS, "reason"]) if rows.num_rows else rows
    about = {name: fact for name, fact in public.items() if name != "rows"}
    if ending == ".csv":
        csv.write_csv(rows, path)
    elif ending == ".parquet":
        parquet.write_table(rows.replace_schema_metadata({"hetdp": json.dumps(about)}), path)
    else:
        path.write_text(json.dumps(public, indent=2) + "\n", encoding="utf-8")


def _show(answer: "TableAnswer") -> None:
    header = (*answer.keys, "", "estimate", "from", "to", *(["raw value"] if answer.dialled else []))
    rows = []
    for row in answer.rows:
        numbers = as_precise(row.estimate, row.low, row.high)
        # In a ratio weights cancel; without an estimate, the raw value is nothing but noise.
        ratio = not answer.plan.aggregates[row.aggregate].grows
        same = ratio if row.estimate is None else math.isclose(row.value, row.estimate)
        own = ([""] if same else as_precise(row.value)) if answer.dialled else []
        rows.append((*map(str, row.key), row.aggregate, *numbers, *own))
    if not rows:
        click.echo("No key passed the privacy threshold. Use a larger epsilon, more people, or public keys (--keys).")
        return
    print_rows("", header, rows)
    if any(row.low is not None for row in answer.rows):
        click.echo(f"{answer.plan.confidence:.0%} intervals, each by itself.")
    for reason, rows_without in _reasons(answer).items():
        some = [", ".join([*map(str, row.key), row.aggregate]) for row in rows_without[:_NAMED]]
        more = [f"{len(rows_without) - _NAMED} more"] if len(rows_without) > _NAMED else []
        click.echo(wrapped(f"No estimate of {listed([*some, *more])}: {reason}", to=sys.stdout))
    print_promise(answer.guarantee)


def _reasons(answer: "TableAnswer") -> dict[str, list["Row"]]:
    """Return why some rows have no estimate, with the rows."""
    found: dict[str, list[Row]] = {}
    for row in answer.rows:
        if row.reason is not None:
            found.setdefault(row.reason, []).append(row)
    return found


def _show_plan(plan: "TablePlan", voice: Voice) -> None:
    """Say what a release would cost, from public numbers alone."""
    growing = any(aggregate.grows for aggregate in plan.aggregates.values())
    reason = plan.obstacle(dialled=plan.question.weights is not None) if growing else None
    least = plan.people_for_an_estimate
    facts = {
        "dry_run": True,
        "epsilon": float_up(plan.epsilon),
        "delta": plan.delta,
        "split": plan.split,
        "noise_scale": plan.scales,
        "groups": "chosen from the data" if plan.unknown else plan.n_groups,
        **({"people_for_a_key": round(plan.people_for_a_key, 1)} if plan.unknown else {}),
        **({} if least is None else {"people_for_an_estimate": round(least, 1)}),
        **({} if reason is None else {"reason": reason}),
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
    shown = {
        "groups": facts["groups"],
        "people of weight 1 for a key": facts.get("people_for_a_key"),
        "people of weight 1 for an estimate": facts.get("people_for_an_estimate"),
    }
    print_facts("", shown)
    if reason is not None:
        click.echo(wrapped(f"Counts and totals will have no estimate: {reason}", to=sys.stdout))
    print_promise(plan.guarantee(simulated=False))
