"""`hetdp release --query`: one answer about all rows of a file, each with a dial of its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import ByDial, Ledger, Release, plan, release as release_answer, release_by_dial
from hetdp.accounting.by_dial import WESTIN_LEVELS
from hetdp.accounting.guarantee import in_digits
from hetdp.accounting.ledger import LedgerView
from hetdp.accounting.ledger.identity import Ids, canonical_ids
from hetdp.cli.output import (
    DEFAULT_LIMITS,
    Voice,
    check_ending,
    check_writable,
    in_options,
    print_facts,
    print_json,
    print_private,
    print_promise,
    print_rows,
    refuse_profiles,
    say_encoding,
    say_ledger,
    say_nobody_counts,
    write_paid,
)
from hetdp.cli.plotting import check_plot, write_plot
from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.vectors import constant
from hetdp.mechanisms.accuracy import expected_weight
from hetdp.mechanisms.named import CATEGORICAL, SELECTED, default_mechanism, mechanism_named
from hetdp.mechanisms.plan import Mechanism
from hetdp.profiles import Categories
from hetdp.profiles.columns import Table, read_table, weight_remark

__all__ = ["release_from_query"]

#: What a question by name is told.
_ASKED = ("lower", "upper", "center", "bins", "quantile", "step", "mechanism", "threshold", "multiplier", "epsilon")
#: Options that have no effect without another.
_NEEDS = {
    "deviation": "within",
    "dial_levels": "by_dial",
    **dict.fromkeys(("limit", "weights_limit", "id_column", "new_people"), "ledger_path"),
}
#: What has an estimate that is divided by a sum of weights.
_ESTIMATED = ("mean", "total", "count", "variance", "histogram")
#: Questions whose names are no words.
_WORDS = {"l0": "number of rows that are not 0", "squared_norm": "sum of squares"}


def release_from_query(
    data: Path,
    *,
    query: str,
    column: str,
    weight_column: str | None,
    default_weight: float | None,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Release one answer about all rows of a file."""
    _check(query, default_weight, options)
    _check_estimate(query, options, weighted=weight_column is not None)
    output = options["output"]
    names = {column: "--column", weight_column: "--weight-column", options["id_column"]: "--id-column"}
    table = read_table(data, {name: option for name, option in names.items() if name is not None})
    if weight_column is not None:
        voice.note(weight_remark(weight_column, default_weight))
    with in_options({"column": "--weight-column"}):
        weights = table.weights(weight_column, default=default_weight)
    categories = _categories(options["categories"], options["categories_file"])
    say_encoding(voice, categories.labels if categories else (), [data])
    asked = {name: options[name] for name in _ASKED if options[name] is not None}
    with voice.remarks():
        mechanism = mechanism_named(
            query, weights, prior=options["westin"], categories=categories, public=weight_column is None, **asked
        )
    if options["multiplier"] == "best":
        voice.note(f"The best multiplier for this prior is {mechanism.multiplier:g}.")  # type: ignore[attr-defined]
    if options["within"] is not None:
        _show_level(mechanism, options, table.rows, voice)
        return
    bars = options["bins"] or len(categories.labels if categories else ()) or 1
    levels = len(options["dial_levels"] or WESTIN_LEVELS) - 1 if options["by_dial"] else 1
    _check_files(data, options, bars=bars * levels)
    values = _values(table, column, {**options, "query": query}, categories, weights.values > 0)
    with _ledger(table, options, replace(voice, quiet=voice.quiet or voice.dry_run)) as ledger:
        if voice.dry_run:
            _show_plan(mechanism, query, table, ledger, options, voice=voice)
            return
        answer = _answer(mechanism, values, ledger, {**options, "description": f"{mechanism.name} of {column}"})
        dropping = ledger is not None and ledger.drops
    public = {
        **answer.public(),
        "rows": table.rows,
        "lower": options["lower"],
        "upper": options["upper"],
        **({"on_exhausted": "drop"} if dropping else {}),
        **_worded(query, answer, mechanism, categories, options["quantile"]),
    }
    text = json.dumps(public, indent=2) + "\n"
    unwritten = write_paid(output, lambda path: path.write_text(text, encoding="utf-8"), voice)
    if voice.as_json:
        print_json(public)
    else:
        _show(public)
        print_promise(answer.guarantee)
    if unwritten is not None:
        raise unwritten
    for remark in _remarks(public, dropping=dropping, dials=weight_column is not None):
        voice.note(remark)
    if ledger is None:
        say_nobody_counts(voice)
    if options["plot"] is not None:
        write_plot(options["plot"], partial(answer.plot, column=column), voice)


def _check(query: str, default_weight: float | None, options: dict[str, Any]) -> None:
    """Refuse options that do not go together, in the words of the command line."""
    if sum(options[name] is not None for name in ("epsilon", "rho", "within")) != 1:
        raise click.UsageError("exactly one of --epsilon and --rho must be given (or --within, to find --epsilon).")
    for name, needed in _NEEDS.items():
        if options[name] and not options[needed]:
            words = (name.replace("_", "-"), needed.removesuffix("_path").replace("_", "-"))
            raise click.UsageError(f"--{words[0]} must not be given without --{words[1]}.")
    if options["output"] is not None:
        check_ending(options["output"], (".json",))
    _check_question(query, options)
    kind = options["mechanism"] or default_mechanism(query)
    if (options["threshold"] is None) == (kind == "threshold"):
        raise click.UsageError("--mechanism threshold and --threshold must be given together.")
    for name, usual, unfit in (
        ("rho", None, kind in ("exponential", "sampling")),
        ("denominator", None, kind in ("exponential", "sampling")),
        ("westin", None, query in SELECTED),
        ("multiplier", 1.0, kind != "stretching"),
    ):
        if unfit and options[name] != usual:
            about = f"--query {query}" if query in SELECTED else f"--mechanism {kind}"
            raise click.UsageError(f"--{name} must not be given for {about}: nothing is stretched.")
    if options["multiplier"] == "best" and (options["westin"] is None or options["epsilon"] is None):
        raise click.UsageError("--multiplier best needs --westin and --epsilon.")
    if default_weight is not None and not 0 <= default_weight <= 1:
        raise click.UsageError(f"--default-weight must lie in [0, 1], not {default_weight:g}.")


def _check_files(data: Path, options: dict[str, Any], *, bars: int) -> None:
    """Refuse files that could not be written, before anything is spent."""
    keep = (data, options["ledger_path"], options["categories_file"])
    if options["output"] is not None:
        check_writable(options["output"], keep=keep)
    if options["plot"] is not None:
        check_plot(options["plot"], keep=keep, output=options["output"], rows=bars)


def _check_estimate(query: str, options: dict[str, Any], *, weighted: bool) -> None:
    """Refuse to ask about levels or accuracy where no estimate is divided by a sum of weights."""
    kind = options["mechanism"] or default_mechanism(query)
    divided = query in _ESTIMATED and kind in ("stretching", "threshold") and options["denominator"] != 0
    for name in ("by_dial", "within"):
        if options[name] and not divided:
            raise click.UsageError(
                f"--{name.replace('_', '-')} must be asked of a {', '.join(_ESTIMATED[:-1])} or {_ESTIMATED[-1]}, by "
                "--mechanism stretching or threshold, with a denominator."
            )
    if options["by_dial"] and options["within"] is not None:
        raise click.UsageError("--by-dial must not be given with --within.")
    if options["by_dial"] and not weighted:
        raise click.UsageError("--by-dial must not be given without --weight-column.")


def _check_question(query: str, options: dict[str, Any]) -> None:
    """Refuse a question that lacks something public, and options that it has no use for."""
    categorical = options["categories"] is not None or options["categories_file"] is not None
    if options["categories"] is not None and options["categories_file"] is not None:
        raise click.UsageError("only one of --categories and --categories-file must be given.")
    if query == "mode" and not categorical:
        raise click.UsageError("--categories must be given for --query mode: they are public.")
    if categorical and query not in CATEGORICAL:
        raise click.UsageError(f"--categories must not be given for --query {query}.")
    for name in ("lower", "upper", "center", "bins"):
        if categorical and options[name] is not None:
            raise click.UsageError(f"--{name} must not be given with --categories.")
    for name, of_use in (
        ("bins", query == "histogram"),
        ("center", query != "count"),
        ("step", query in SELECTED and query != "mode"),
        ("plot", query != "mode"),  # a category is no number to draw
    ):
        if options[name] is not None and not of_use:
            raise click.UsageError(f"--{name} must not be given for --query {query}.")
    if (options["quantile"] is None) == (query == "quantile"):
        must = "must be" if query == "quantile" else "must not be"
        raise click.UsageError(f"--quantile {must} given for --query {query}.")
    if query != "count" and not categorical and (options["lower"] is None or options["upper"] is None):
        raise click.UsageError(f"--lower and --upper must be given for --query {query}: the range is public.")


def _categories(listed: str | None, path: Path | None) -> Categories | None:
    """Return the public categories, if there are any."""
    if path is None:
        return None if listed is None else Categories(listed.split(","))
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError):
        raise DataError("--categories-file must be a readable text file", got=str(path)) from None
    return Categories(line for line in lines if line.strip())


def _values(
    table: Table,
    column: str,
    options: dict[str, Any],
    categories: Categories | None,
    counting: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the private values of a question; those of rows that do not count are never a reason to refuse."""
    if options["query"] == "count":
        return table.indicators(column, options["lower"], options["upper"], counting)
    return table.numbers(column, counting) if categories is None else table.codes(column, categories)


def _answer(
    mechanism: Mechanism, values: NDArray[np.float64], ledger: Ledger | LedgerView | None, options: dict[str, Any]
) -> Release | ByDial:
    """Release what is asked, about all rows or by level of dials."""
    how = {name: options[name] for name in ("epsilon", "rho", "denominator", "confidence", "description")}
    if not options["by_dial"]:
        return release_answer(mechanism, values, ledger=ledger, **how)
    ends = {} if options["dial_levels"] is None else {"levels": options["dial_levels"]}
    return release_by_dial(mechanism, values, ledger=ledger, **ends, **how)  # type: ignore[arg-type]


def _labels(table: Table, column: str) -> Ids:
    """Return who the rows are, each somebody else."""
    labels = table.labels(column)
    must = f"--id-column {column!r} must identify each row of {table.path.name}"
    try:
        ids = canonical_ids(labels)
    except InvalidInput:
        raise DataError(f"{must}. Got something that is no identifier instead.") from None
    if ids.repeated:
        raise DataError(
            f"{must}. Got repeated identifiers instead. Where people have several rows: --aggregate, with --unit."
        )
    return ids


@contextmanager
def _ledger(table: Table, options: dict[str, Any], voice: Voice) -> Iterator[Ledger | LedgerView | None]:
    """Give the ledger as this table's rows see it, made by its first charge if there is none; say what became of it."""
    path, id_column, on_exhausted = (options[name] for name in ("ledger_path", "id_column", "on_exhausted"))
    if path is None:
        yield None
        return
    labels = None if id_column is None else _labels(table, id_column)
    unit = "epsilon" if options["rho"] is None else "rho"
    limit = DEFAULT_LIMITS[unit] if options["limit"] is None else options["limit"]
    if not path.exists():
        limits = constant(limit, table.rows)
        protects = "row" if labels is None else "person"
        kept = {"unit": unit, "items": labels, "weights_limit": options["weights_limit"], "protects": protects}
        with Ledger(limits, path, on_exhausted=on_exhausted, lazy=True, **kept) as ledger:
            yield ledger
        say_ledger(voice, path, protects, options, made=f"{unit} = {limit:g}")
        return
    with Ledger.open(path, on_exhausted=on_exhausted) as ledger:
        refuse_profiles(ledger)
        if (labels is not None) != ledger.labelled:
            must = (
                "be given: the ledger was made with" if ledger.labelled else "not be given: the ledger was made without"
            )
            raise DataError(f"--id-column must {must} ids.")
        if labels is None and ledger.size != table.rows:
            raise DataError(
                f"{table.path.name} must have as many rows as the ledger ({ledger.size})",
                got=table.rows,
                hint="A ledger made with --id-column lets rows come and go.",
            )
        limit = DEFAULT_LIMITS[ledger.unit] if options["limit"] is None else options["limit"]
        view = None if labels is None else ledger.view(labels, limit=limit, new_people=options["new_people"])
        new = 0 if view is None else view.new
        yield ledger if view is None else view
    say_ledger(voice, path, "row" if labels is None else "person", options, new=new)


def _worded(
    query: str, answer: Release | ByDial, mechanism: Mechanism, categories: Categories | None, quantile: float | None
) -> dict[str, Any]:
    """Return what else is public about an answer: what its cells or its number stand for."""
    if quantile is not None:
        return {"query": query, "quantile": quantile}
    if categories is None:
        counted: Any = getattr(mechanism, "base", mechanism)  # of what is sampled
        return {"edges": counted.query.edges.tolist()} if query == "histogram" else {}
    chosen = {"value": categories.labels[int(answer.value)]} if query == "mode" and isinstance(answer, Release) else {}
    return {**chosen, "categories": list(categories.labels)}


def _remarks(public: dict[str, Any], *, dropping: bool, dials: bool) -> Iterator[str]:
    """Yield what to keep in mind; none of it depends on a value or a weight."""
    query, weighted = public["query"], dials or dropping
    if "levels" in public:
        yield (
            "Where the levels differ by more than their intervals, dials go with values, and an estimate about all is "
            "about the relaxed rather than about all. Rows with dials at or below the lowest end are in no level."
        )
        return
    if dropping:
        yield "Rows that cannot pay do not count any more. How many there are is private."
    if public["estimate"] is not None and weighted:
        shown = "; --by-dial shows it" if dials and public["low"] is not None else ""
        yield (
            f"The estimate is the {query} weighted by dials: it is right where dials do not go with values. Where they "
            f"do, the strict are under-represented{shown}."
        )
    elif query in SELECTED and weighted:
        yield "Items count with their weights: this is a value for those with large weights rather than for all."
    elif weighted:
        yield f"Dials pull the {_WORDS.get(query, query)} toward what it would be if everybody were at the centre."
    if query in ("maximum", "minimum"):
        yield (
            "Meant is the last value that people of a weight of about 20 / epsilon together reach: how far a single "
            "one goes is a secret. Once in forty times, or more often with few people, the answer lies where nobody is."
        )


def _show(public: dict[str, Any]) -> None:
    """Print an answer: the estimate first, then what was released as it is."""
    if "levels" in public:
        _show_levels(public)
        return
    query, found = public["query"], public["estimate"] is not None
    words = f"quantile {public['quantile']:g}" if query == "quantile" else _WORDS.get(query, query)
    sure = f"{100 * public['confidence']:g} % interval" if public["low"] is not None else "interval"
    exact = query in SELECTED and isinstance(public["value"], float)  # a candidate: no digit of it is noise
    answer = f"{public['value']:.15g}" if exact else public["value"]
    if query != "histogram":
        facts = {
            words if not found else f"estimate of the {words}": public["estimate"] if found else answer,
            sure: None if public["low"] is None else f"{public['low']:.6g} to {public['high']:.6g}",
            # What dials do to a value that is chosen is said in a remark.
            "no interval" if found else "no estimate": None if query in SELECTED else public["reason"],
            f"{words}, as dials leave it": public["value"] if found else None,
        }
    else:
        edges = public.get("edges", [])
        labels = public.get("categories") or [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
        columns: dict[str, list[float]] = {"noisy count": public["value"]}
        if found:
            columns = {"estimate": public["estimate"], "from": public["low"], "to": public["high"]}
            columns["share"] = public["shares"]
            columns |= {"as dials leave it": public["value"]}
        rows = [
            (
                label,
                *(f"{cell:.3f}" if name == "share" else f"{cell:.1f}" for name, cell in zip(columns, row, strict=True)),
            )
            for label, row in zip(labels, zip(*columns.values(), strict=True), strict=True)
        ]
        print_rows("histogram", ("category" if "categories" in public else "bin", *columns), rows)
        facts = {sure: "of each bin by itself" if found else None, "no estimate": public["reason"]}
    spread = "noise standard deviation" if public["noise"] == "gaussian" else "noise scale"
    print_facts("", {**facts, spread: public["scale"]})


def _show_levels(public: dict[str, Any]) -> None:
    """Print an answer for each level of dials; of a histogram, shares."""
    bins = public.get("categories") or [f"{low:g} to {high:g}" for low, high in pairwise(public.get("edges", ()))]
    rows, reasons = [], {}
    for level in public["levels"]:
        dials = f"{level['above']:g} to {level['up_to']:g}"
        if level["estimate"] is None:
            reasons[f"no estimate for {dials}"] = level["reason"]
            continue
        numbers = [np.atleast_1d(level[name]) for name in ("estimate", "low", "high")]
        for place, cells in enumerate(zip(*numbers, strict=True)):
            label = (bins[place],) if bins else ()
            rows.append((dials, *label, *(f"{cell:.4g}" for cell in cells)))
    per_row = {"total": "mean", "count": "share", "histogram": "share"}.get(public["query"], public["query"])
    print_rows(f"{per_row} by dial", ("dials", *(("",) if bins else ()), "estimate", "from", "to"), rows)
    sure = f"{100 * (public['confidence'] or 0):g} % interval"
    print_facts("", {**reasons, sure: "of each level by itself" if rows else None})


def _show_level(mechanism: Mechanism, options: dict[str, Any], rows: int, voice: Voice) -> None:
    """Say which epsilon makes the interval narrow enough. Public numbers only; nothing is spent."""
    known = {name: options[name] for name in ("within", "confidence", "deviation", "denominator")}
    try:
        prepared = plan(mechanism, **known, drops=options["on_exhausted"] == "drop")
    except InvalidInput as error:
        raise InvalidInput(
            f"{error} {_what_helps(options, weighted=getattr(mechanism, 'public_weight', None) is None)}"
        ) from None
    even = "values spread evenly over their range"
    values = even if options["deviation"] is None else f"a standard deviation of {options['deviation']:g}"
    facts = {
        "epsilon": prepared.amount,
        "within": options["within"],
        "confidence": options["confidence"],
        "rows": rows,
        "each_weight_loses": float(in_digits(prepared.weights_amount)),
        "assumes": f"{expected_weight(mechanism)[1]}; {values}",  # type: ignore[arg-type]
    }
    if voice.as_json:
        print_json(facts)
    else:
        title = "Nothing was spent; no value was looked at"
        print_facts(title, {name.replace("_", " "): fact for name, fact in facts.items()})


def _what_helps(options: dict[str, Any], *, weighted: bool) -> str:
    """Say what makes a narrow interval easier to promise."""
    known = {
        "--westin with the shares of a public poll, in place of dials that leave half of the weight": (
            weighted and options["westin"] is None
        ),
        "--deviation with a public guess, in place of values spread evenly over their range": (
            options["deviation"] is None
        ),
        "a lower --confidence": True,
    }
    ways = "; ".join(way for way, of_use in known.items() if of_use)
    return f"What helps: {ways}. Or choose --epsilon: the interval of an answer rests on none of these assumptions."


def _show_plan(
    mechanism: Mechanism,
    query: str,
    table: Table,
    ledger: Ledger | LedgerView | None,
    options: dict[str, Any],
    *,
    voice: Voice,
) -> None:
    """Say what a release would cost. Nothing is spent, nothing is written."""
    level = {name: options[name] for name in ("epsilon", "rho", "denominator")}
    prepared = plan(mechanism, **level, drops=options["by_dial"] or (ledger is not None and ledger.drops))
    touched = 2 if options["by_dial"] else 1  # levels that one dial can change
    losses = prepared.losses
    unable = dropped = 0
    if ledger is not None:
        dropped = int((~ledger.active).sum())
        unable = int((~ledger.preview(losses, unit=prepared.unit)).sum()) - dropped
    facts = {
        "dry_run": True,
        "query": query,
        "rows": table.rows,
        prepared.unit: prepared.amount,
        "noise_scale": prepared.scale,
        "grid": prepared.grid,
        "each_weight_loses": float(in_digits(touched * prepared.weights_amount)),
    }
    private = {
        "largest_loss": float(in_digits(float(losses.max()))),
        "mean_loss": float(in_digits(float(np.nextafter(losses.mean() * (1 + 1e-12), np.inf)))),
        "rows_that_cannot_pay": unable,
        "rows_dropped_before": dropped,
        "would": "release" if unable == 0 or options["on_exhausted"] == "drop" else "be refused (exit code 4)",
    }
    if voice.as_json:
        print_json(facts, private=private)
    else:
        words = {name.replace("_", " "): fact for name, fact in facts.items() if name not in ("dry_run", "grid")}
        print_facts("Dry run: nothing was spent", words)
        print_private({name.replace("_", " "): fact for name, fact in private.items()})
