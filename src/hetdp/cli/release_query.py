"""`hetdp release --query`: one answer about all rows of a file, each with its own privacy weight."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting import Ledger, Release, plan, release as release_answer
from hetdp.accounting.guarantee import in_digits
from hetdp.accounting.ledger import LedgerView
from hetdp.accounting.ledger.identity import Ids, canonical_ids
from hetdp.cli.options import cannot_be_used
from hetdp.cli.output import (
    DEFAULT_LIMITS,
    Voice,
    check_ending,
    check_plot,
    check_writable,
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
    write_plot,
)
from hetdp.core.errors import DataError, InvalidInput, Problem
from hetdp.core.text import counted
from hetdp.core.vectors import constant
from hetdp.mechanisms.by_name import CATEGORICAL, SELECTED, default_mechanism, mechanism_named
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.mechanisms.weight_class import DEFAULT_BOUNDARIES
from hetdp.profiles import Categories
from hetdp.profiles.columns import Table, read_table, weight_remark

#: Options of the question.
_ASKED = ("lower", "upper", "center", "bins", "quantile", "step", "mechanism", "multiplier", "boundaries")
#: Questions whose names are no words.
_WORDS = {"l0": "number of rows that are not 0", "squared_norm": "sum of squares"}


def release_from_query(
    data: Path,
    *,
    query: str,
    column: str,
    weights: str | None,
    default_weight: float | None,
    voice: Voice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Release one answer about all rows of a file."""
    output = options["output"]
    names = {column: "column", weights: "weights", options["id_column"]: "id_column"}
    table = read_table(data, {name: parameter for name, parameter in names.items() if name is not None})
    if weights is not None:
        voice.note(weight_remark(weights, default_weight))
    own = table.weights(weights, default=default_weight)
    categories = _categories(options["categories"], options["categories_file"])
    say_encoding(voice, categories.labels if categories else (), [data])
    asked = {name: options[name] for name in _ASKED if options[name] is not None}
    with voice.remarks():
        mechanism = mechanism_named(query, own, categories=categories, public=weights is None, **asked)
    if options["within"] is not None:
        _show_level(mechanism, options, table.rows, voice)
        return
    _check_files(data, options, bars=options["bins"] or len(categories.labels if categories else ()) or 1)
    values = _values(table, column, {**options, "query": query}, categories)
    with _ledger(table, options, replace(voice, quiet=voice.quiet or voice.dry_run)) as ledger:
        if voice.dry_run:
            _show_plan(mechanism, query, table, ledger, options, voice=voice)
            return
        level = {name: options[name] for name in ("epsilon", "rho", "confidence")}
        answer = release_answer(mechanism, values, ledger=ledger, description=f"{mechanism.name} of {column}", **level)
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
    if categories is None and not table.typed and (query != "count" or options["lower"] is not None):
        odd = 0.0 if query == "count" else float(mechanism.domain.center[0])
        voice.note(f"Cells of column {column!r} that are not numbers count as {odd:g}. How many there are is private.")
    for remark in _remarks(public, options["boundaries"], dropping=dropping, weighted=weights is not None):
        voice.note(remark)
    if ledger is None:
        say_nobody_counts(voice)
    if options["plot"] is not None:
        write_plot(options["plot"], partial(answer.plot, column=column), voice)


def query_problems(options: dict[str, Any]) -> Iterator[Problem]:
    """Yield all that is missing or contradictory in the options of one query."""
    if options["query"] is None:
        yield Problem("is required, or --aggregate for answers per group", "query")
    if options["column"] is None:
        yield Problem("is required", "column")
    if options["query"] is not None:
        yield from _problems_of_values(options["query"], options)
        yield from _problems_of_mechanisms(options["query"], options)
    levels = [f"--{name}" for name in ("epsilon", "rho", "within") if options[name] is not None]
    if not levels:
        yield Problem("is required, or --rho, or --within to choose an epsilon", "epsilon")
    elif len(levels) > 1:
        yield Problem(f"{levels[0]} cannot be used with {' and '.join(levels[1:])}")
    if options["ledger"] is None:
        yield from cannot_be_used(["id_column"], "without --ledger")
    if options["weights"] is None:
        yield from cannot_be_used(["default_weight", "boundaries"], "without --weight-column")


def _problems_of_values(query: str, options: dict[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with the public range or categories, and options that this query has no use for."""
    categorical = options["categories"] is not None or options["categories_file"] is not None
    uses = {
        "bins": query == "histogram",
        "center": query != "count",
        "quantile": query == "quantile",
        "step": query in SELECTED and query != "mode",
        "categories": query in CATEGORICAL,
        "categories_file": query in CATEGORICAL,
        "plot": query != "mode",  # a category is no number to draw
    }
    yield from cannot_be_used([name for name, of_use in uses.items() if not of_use], f"with --query {query}")
    if options["categories"] is not None and options["categories_file"] is not None:
        yield Problem("cannot be used with --categories-file", "categories")
    if categorical and query in CATEGORICAL:
        yield from cannot_be_used(["lower", "upper", "center", "bins"], "with categories")
    elif query == "mode":
        yield Problem("is required for --query mode: a public list, or a file (--categories-file)", "categories")
    elif query != "count":
        for name in ("lower", "upper"):
            if options[name] is None:
                yield Problem(f"is required for --query {query}: the range of values must be public", name)
    if query == "quantile" and options["quantile"] is None:
        yield Problem("is required for --query quantile", "quantile")


def _problems_of_mechanisms(query: str, options: dict[str, Any]) -> Iterator[Problem]:
    """Yield what the mechanism needs, and what it has no use for."""
    kind = options["mechanism"] or default_mechanism(query)
    about = f"with --query {query}" if query in SELECTED else f"with --mechanism {kind}"
    if kind in ("exponential", "sampling"):
        yield from cannot_be_used(["rho", "within"], about)
    if kind != "stretching":
        yield from cannot_be_used(["multiplier"], about)
    if kind != "classes":
        yield from cannot_be_used(["boundaries"], about)
    if kind in ("classes", "exponential") and query != "count":  # which has no use for it anyway
        yield from cannot_be_used(["center"], about)
    if query == "variance":
        yield from cannot_be_used(["within"], about)


def _check_files(data: Path, options: dict[str, Any], *, bars: int) -> None:
    """Refuse files that could not be written, before anything is spent."""
    keep = (data, options["ledger"], options["categories_file"])
    if options["output"] is not None:
        check_ending(options["output"], (".json",))
        check_writable(options["output"], keep=keep)
    if options["plot"] is not None:
        check_plot(options["plot"], keep=keep, output=options["output"], rows=bars)


def _categories(listed: str | None, path: Path | None) -> Categories | None:
    """Return the public categories, if there are any."""
    if path is None:
        return None if listed is None else Categories(listed.split(","))
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError):
        raise DataError("must be a text file in UTF-8", parameter="categories_file", got=str(path)) from None
    return Categories(line for line in lines if line.strip())


def _values(
    table: Table,
    column: str,
    options: dict[str, Any],
    categories: Categories | None,
) -> NDArray[np.float64]:
    """Return the private values of a question; no cell is a reason to refuse."""
    if options["query"] == "count":
        return table.indicators(column, options["lower"], options["upper"])
    return table.numbers(column) if categories is None else table.codes(column, categories)


def _labels(table: Table, column: str) -> Ids:
    """Return who the rows are, each somebody else."""
    try:
        ids = canonical_ids(table.labels(column))
    except InvalidInput:
        raise DataError(
            f"must identify each row of {table.path.name}: column {column!r} has cells that are not identifiers",
            parameter="id_column",
        ) from None
    if ids.repeated:
        raise DataError(
            f"must identify each row of {table.path.name}: column {column!r} has repeated identifiers",
            parameter="id_column",
            hint="If a person may have several rows, use --aggregate with --unit.",
        )
    return ids


@contextmanager
def _ledger(table: Table, options: dict[str, Any], voice: Voice) -> Iterator[Ledger | LedgerView | None]:
    """Give the ledger as this table's rows see it, made by its first charge if there is none; say what became of it."""
    path, id_column, on_exhausted = (options[name] for name in ("ledger", "id_column", "on_exhausted"))
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
            must = "is required" if ledger.labelled else "cannot be used"
            how = "with" if ledger.labelled else "without"
            raise DataError(f"{must}: {path.name} was created {how} ids", parameter="id_column")
        if labels is None and ledger.size != table.rows:
            raise DataError(
                f"{table.path.name} has {counted(table.rows, 'row')}, and {path.name} was created for {ledger.size}",
                hint="A ledger created with --id-column lets rows be added and removed.",
            )
        limit = DEFAULT_LIMITS[ledger.unit] if options["limit"] is None else options["limit"]
        view = None if labels is None else ledger.view(labels, limit=limit, new_people=options["new_people"])
        new = 0 if view is None else view.new
        yield ledger if view is None else view
    say_ledger(voice, path, "row" if labels is None else "person", options, new=new)


def _worded(
    query: str, answer: Release, mechanism: Mechanism, categories: Categories | None, quantile: float | None
) -> dict[str, Any]:
    """Return what else is public about an answer: what its cells or its number stand for."""
    if quantile is not None:
        return {"query": query, "quantile": quantile}
    if categories is None:
        of: Any = getattr(mechanism, "base", mechanism)  # of what is sampled
        return {"edges": of.query.edges.tolist()} if query == "histogram" else {}
    chosen = {"value": categories.labels[int(answer.value)]} if query == "mode" else {}
    return {**chosen, "categories": list(categories.labels)}


def _remarks(
    public: dict[str, Any], boundaries: list[float] | None, *, dropping: bool, weighted: bool
) -> Iterator[str]:
    """Yield what to keep in mind; none of it depends on a value or a weight."""
    query = public["query"]
    if dropping:
        yield "Rows with too little budget do not count any more. How many there are is private."
    if "classes" in public and weighted:
        lowest = (boundaries or DEFAULT_BOUNDARIES)[-1]
        counts = {"histogram": "do not count", "count": "count as one half"}.get(query)
        if query in ("mean", "total"):
            counts = f"count as {(public['lower'] + public['upper']) / 2:g}, the middle of the range"
        counts = counts or "count as the middle of what a row can add"
        yield f"Rows with a privacy weight below {lowest:g} {counts}. --weight-classes sets this limit."
    elif query in SELECTED and (weighted or dropping):
        yield "Rows count in proportion to their privacy weights: the answer is mostly about those with large ones."
    elif weighted:
        yield (
            f"Small privacy weights move the {_WORDS.get(query, query)} towards that of rows at the centre. The "
            "interval is that of the noise alone."
        )
    if query in ("maximum", "minimum"):
        yield (
            f"The {query} of a few rows stays secret. This is the last value reached by rows whose weights sum to "
            "about 20 / epsilon. With a chance of 1 in 40, or more with few rows, it is beyond all rows."
        )


def _show(public: dict[str, Any]) -> None:
    """Print an answer and its interval."""
    query, found = public["query"], public["estimate"] is not None
    words = f"quantile {public['quantile']:g}" if query == "quantile" else _WORDS.get(query, query)
    sure = "interval" if public["confidence"] is None else f"{100 * public['confidence']:g} % interval"
    main = public["estimate"] if found else public["value"]
    if query in SELECTED and isinstance(main, float):
        main = f"{main:.15g}"  # a candidate: no digit of it is noise
    facts: dict[str, Any] = {}
    if query == "histogram":
        _show_bins(public, "estimate" if found else "raw value", main)
        facts[sure] = None if public["low"] is None else "of each bin by itself"
    else:
        facts[f"estimate of the {words}" if found else words] = main
        facts[sure] = None if public["low"] is None else f"{public['low']:.6g} to {public['high']:.6g}"
    facts["no estimate"] = None if query in SELECTED else public["reason"]
    spread = "noise standard deviation" if public["noise"] == "gaussian" else "noise scale"
    facts[spread] = public["scale"]
    several = {one["boundary"]: one["scale"] for one in public.get("classes", ()) if public["scale"] is None}
    facts |= {f"{spread}, weights from {boundary:g}": scale for boundary, scale in several.items()}
    print_facts("", facts)


def _show_bins(public: dict[str, Any], name: str, main: list[float]) -> None:
    """Print the bins of a histogram."""
    labels = public.get("categories") or [f"{low:g} to {high:g}" for low, high in pairwise(public["edges"])]
    columns: dict[str, list[float]] = {name: main}
    if public["low"] is not None:
        columns |= {"from": public["low"], "to": public["high"]}
    columns |= {"share": public["shares"]} if "shares" in public else {}
    rows = [
        (
            label,
            *(f"{cell:.3f}" if column == "share" else f"{cell:.1f}" for column, cell in zip(columns, row, strict=True)),
        )
        for label, row in zip(labels, zip(*columns.values(), strict=True), strict=True)
    ]
    print_rows("histogram", ("category" if "categories" in public else "bin", *columns), rows)


def _show_level(mechanism: Mechanism, options: dict[str, Any], rows: int, voice: Voice) -> None:
    """Say which epsilon makes the interval narrow enough. Public numbers only; nothing is spent."""
    prepared = plan(mechanism, within=options["within"], confidence=options["confidence"])
    facts = {
        "epsilon": prepared.amount,
        "within": options["within"],
        "confidence": options["confidence"],
        "rows": rows,
        "each_weight_loses": float(in_digits(prepared.weights_amount)),
    }
    if voice.as_json:
        print_json(facts)
    else:
        print_facts(
            "Nothing was spent; no value was read", {name.replace("_", " "): one for name, one in facts.items()}
        )


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
    prepared = plan(mechanism, epsilon=options["epsilon"], rho=options["rho"])
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
        "each_weight_loses": float(in_digits(prepared.weights_amount)),
    }
    private = {
        "largest_loss": float(in_digits(float(losses.max()))),
        "mean_loss": float(in_digits(float(np.nextafter(losses.mean() * (1 + 1e-12), np.inf)))),
        "rows_with_too_little_budget": unable,
        "rows_dropped_before": dropped,
        "would": "release" if unable == 0 or options["on_exhausted"] == "drop" else "be refused (exit code 4)",
    }
    if voice.as_json:
        print_json(facts, private=private)
    else:
        words = {name.replace("_", " "): fact for name, fact in facts.items() if name not in ("dry_run", "grid")}
        print_facts("Dry run: nothing was spent", words)
        print_private({name.replace("_", " "): fact for name, fact in private.items()})
