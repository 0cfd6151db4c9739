"""Answers, promises, models and ledgers as cards for notebooks and as charts: what is public of them.

`plot_what_is_left` alone is private: it shows the owner of the data what is left to each account.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import loss_of, steps_of
from hetdp.accounting.guarantee import Guarantee, in_digits
from hetdp.accounting.label import Spending
from hetdp.cards import BLUE, INK, ORANGE, PAPER, Card, CardTable, Glyph, bar, interval
from hetdp.core.errors import InvalidInput, LedgerError
from hetdp.core.estimator import Estimator, shown_params
from hetdp.core.text import as_precise, counted, printable, several
from hetdp.plots import (
    WIDTH,
    Specification,
    amount,
    drawn,
    layer,
    name_axis,
    text_of,
    titled,
    tooltip,
)

if TYPE_CHECKING:
    from hetdp.accounting.ledger.ledger import Ledger
    from hetdp.accounting.ledger.state import Entry
    from hetdp.accounting.releasing import Release

#: Charges that are shown, and numbers of a vector.
_LAST, _MOST = 5, 12
#: Bars of what is left in a ledger.
_BARS = 24
#: Charges of a ledger that are drawn one by one: the last ones.
_CHARGES = 30


# -- rows -----------------------------------------------------------------------------------------------------------


def charged_when(entry: "Entry") -> str:
    """Return when a ledger was charged, as people write it, in UTC."""
    return entry.time.replace("T", " ").removesuffix("+00:00")


def confidence_words(confidence: float | None) -> str:
    """Return what an interval is, in words; nothing where there is none.

    Examples
    --------
    >>> confidence_words(0.95)
    '95 % interval'
    """
    return "" if confidence is None else f"{100 * confidence:g} % interval"


def promise_words(guarantee: Guarantee) -> str:
    """Return a promise as a sentence.

    Examples
    --------
    >>> promise_words(Guarantee("epsilon", 1.0, simulated=True))
    'Simulated: nothing is promised.'
    """
    short = guarantee.short
    return f"{short[:1].upper()}{short[1:]}."


def interval_row(
    name: str, estimate: float | None, low: float | None, high: float | None, value: float | None
) -> dict[str, Any]:
    """Return a row: numbers, and texts as precise as the interval is narrow.

    Examples
    --------
    >>> row = interval_row("er", 34.234, 31.9, 36.5, 30.0)
    >>> row["words"], row["as_left"]
    ('34.2 (31.9 to 36.5)', '30.0')
    """
    shown, begin, end = as_precise(estimate, low, high)
    places = len(shown.partition(".")[2]) if begin else None
    (left,) = as_precise(value) if places is None or value is None else (f"{value:,.{places}f}",)
    return {
        "name": name,
        "estimate": estimate,
        "low": low,
        "high": high,
        "value": value,
        "shown": shown,
        "from": begin,
        "to": end,
        "words": f"{shown} ({begin} to {end})" if begin else shown or "no estimate",
        "as_left": left,
    }


def main_part(answer: "Release") -> str:
    """Return which part of an answer is shown first."""
    return "raw value" if answer.estimate is None else "estimate"


def one_row(answer: "Release") -> dict[str, Any]:
    """Return the row of an answer that is one number."""
    main = answer.value if answer.estimate is None else answer.estimate
    numbers = (main, answer.low, answer.high, answer.value)
    return interval_row("", *(None if number is None else float(number) for number in numbers))


def vector_rows(answer: "Release") -> list[dict[str, Any]]:
    """Return one row per number of an answer: of a histogram under the names of its bins, else numbered."""
    values: NDArray[np.float64] = np.atleast_1d(answer.value)
    query = histogram_of(answer)
    names = map(str, range(values.size)) if query is None else query.labels
    main = values if answer.estimate is None else answer.estimate
    numbers = (main, answer.low, answer.high, values)
    columns = ([None] * values.size if found is None else np.atleast_1d(found).tolist() for found in numbers)
    return [interval_row(name, *cells) for name, *cells in zip(names, *columns, strict=True)]


def histogram_of(answer: "Release") -> Any:  # noqa: ANN401  (a histogram of either kind)
    """Return the query of a histogram, whose bins are public; None for other answers."""
    if answer.paid is None:
        return None
    mechanism: Any = answer.paid[0].mechanism
    query = getattr(getattr(mechanism, "base", mechanism), "query", None)  # the base of what is sampled
    return query if hasattr(query, "labels") else None


# -- cards ----------------------------------------------------------------------------------------------------------


def promised(guarantee: Guarantee) -> dict[str, Any]:
    """Return the parts of a card that tell a promise: in a line, what it means, and in full."""
    if guarantee.simulated:
        return {"marks": ("simulated: do not publish",), "sentences": [guarantee.text]}
    return {
        "sentences": [promise_words(guarantee), guarantee.label().headline],
        "folded": {"The promise in full": guarantee.text},
    }


def guarantee_card(guarantee: Guarantee) -> Card:
    """Return the card of a promise."""
    return Card("Guarantee", **promised(guarantee))


def model_card(model: Estimator, guarantee: Guarantee | None) -> Card:
    """Return the card of a model: its parameters, and once it is fitted what it promises."""
    chosen, usual = shown_params(model)
    parts: dict[str, Any] = {"about": "not fitted yet" if guarantee is None else "fitted"}
    parts |= {} if guarantee is None else promised(guarantee)
    folded = {**parts.pop("folded", {}), **({"Parameters as by default": usual} if usual else {})}
    return Card(type(model).__name__, facts=chosen, folded=folded, **parts)


def release_card(answer: "Release") -> Card:
    """Return the card of an answer: the estimate and its interval, what was released, and the promise."""
    facts: dict[str, str | Glyph] = {}
    lead = table = None
    if isinstance(answer.value, np.ndarray):
        table = _vector_table(answer)
    else:
        row, main = one_row(answer), main_part(answer)
        sure = f"{row['from']} to {row['to']} ({confidence_words(answer.confidence)})" if row["from"] else ""
        lead = (row["shown"], sure if answer.estimate is not None else f"{main}, {sure}".removesuffix(", "))
        if answer.estimate is not None:
            facts["raw value"] = row["as_left"]
    if answer.reason is not None:
        facts["no estimate"] = answer.reason
    if answer.scale is not None:
        facts["noise"] = f"{answer.noise}, scale {answer.scale:.6g}"
    for one in answer.classes or ():
        facts[f"noise of weights from {one.boundary:g}"] = f"{answer.noise}, scale {one.scale:.6g}"
    return Card("Release", about=answer.query, lead=lead, table=table, facts=facts, **promised(answer.guarantee))


def _vector_table(answer: "Release") -> CardTable:
    """Return the table of a histogram, or of another vector."""
    rows, main = vector_rows(answer), main_part(answer)
    if answer.low is None:
        noisy = [(row["name"], row["shown"]) for row in rows]
        return CardTable(("", main), noisy, numbers=(1,), most=_MOST, rest=" in .value")
    header = ("", main, "from", "to", confidence_words(answer.confidence))
    shown = [(row["name"], *cells) for row, cells in zip(rows, interval_cells(rows), strict=True)]
    return CardTable(header, shown, numbers=(1, 2, 3), most=_MOST, rest=" in .low and .high")


def interval_cells(rows: "list[dict[str, Any]]") -> Iterator[tuple[str | Glyph, ...]]:
    """Yield the cells of estimates with their intervals, and a small drawing of each on a common scale."""
    known = [row[end] for row in rows for end in ("estimate", "low", "high") if row[end] is not None]
    for row in rows:
        drawing: str | Glyph = ""
        if row["estimate"] is not None:
            span = (min(known), max(known))
            drawing = interval(row["low"], row["estimate"], row["high"], span, f"{row['name']}: {row['words']}")
        yield row["shown"], row["from"], row["to"], drawing


def ledger_card(ledger: "Ledger") -> Card:
    """Return the card of a ledger: what is public about it, and how many accounts there are, which is private."""
    place = "in memory" if ledger.path is None else f"file {ledger.path.name}"
    try:
        facts, history = dict(_ledger_facts(ledger)), ledger.history
        kind = several(ledger.protects) if ledger.colluders is None else "profiles"
    except LedgerError:
        return Card("Ledger", about=f"closed or unreadable, {place}")
    charges = [
        (
            entry.description or "a charge",
            "not said" if entry.amount is None else f"{entry.unit} = {in_digits(entry.amount)}",
            charged_when(entry),
        )
        for entry in reversed(history)
    ]
    header = ("last charges", "level", "when (UTC)")
    table = CardTable(header, charges, numbers=(1,), most=_LAST, rest=" in .history") if charges else None
    return Card(f"Ledger of {kind}", about=f"{counted(len(history), 'charge')}, {place}", facts=facts, table=table)


def _ledger_facts(ledger: "Ledger") -> Iterator[tuple[str, str | Glyph]]:
    spending, limit = Spending.of(ledger), ledger.limit
    boundless = limit is None or math.isinf(limit)
    if math.isinf(spending.spent):
        yield "spent at weight 1", "not known: a charge did not say its level"
    else:
        words = f"{spending.unit} = {in_digits(spending.spent)}" + ("" if boundless else f" of {limit:g}")
        yield "spent at weight 1", words
        if limit is not None and not boundless:
            yield "", bar(spending.spent / limit if limit else 1.0, words)
    accounts: Mapping[str, tuple[float, float | None]] = {
        "spent by weights": (ledger.weights_spent, ledger.weights_limit),
        "delta": (ledger.delta_spent, ledger.delta_limit),
    }
    for name, (spent, most) in accounts.items():
        if spent or most is not None:
            yield name, in_digits(spent) + ("" if most is None or math.isinf(most) else f" of {most:g}")
    yield "against", spending.against
    if ledger.colluders is None:
        yield "private", counted(ledger.size, ledger.protects, several(ledger.protects))


# -- charts ---------------------------------------------------------------------------------------------------------


def plot_release(answer: "Release", column: str = "") -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of an answer with its interval: a number, or bars of a histogram."""
    vector, sure = isinstance(answer.value, np.ndarray), confidence_words(answer.confidence)
    said = f"{sure}{' of each bar by itself' if vector else ''}." if sure else ""
    why = "" if answer.reason is None else f"No estimate: {answer.reason}"
    about = _about(answer.query, column)
    title = titled(f"A released {about}", said, why, promise_words(answer.guarantee))
    bars = _bars(answer, printable(column) or "value") if vector else None
    panel = bars or {"layer": _one_number(answer, about), "height": 66}
    return drawn({"title": title, "width": WIDTH, **panel})


def _about(asked: str, column: str) -> str:
    """Return what was asked, of which column if that is known."""
    return printable(f"{asked} of {column}" if column else asked)


def _one_number(answer: "Release", about: str) -> list[Specification]:
    """Return the layers of an estimate, or of a raw value without one, in its interval."""
    row = one_row(answer)
    told = tooltip(_told(answer))
    ends = [end for end in (row["low"], row["high"], row["estimate"], row["value"]) if end is not None]
    # Where there is one number only, as wide as its noise, or as a tenth of it.
    air = 0.08 * (max(ends) - min(ends)) or 3 * (answer.scale or 0.0) or 0.1 * abs(ends[0]) or 1.0
    scale = {"domain": [min(ends) - air, max(ends) + air], "padding": 0}

    def at(mark: Specification, field: str, *, y: int = 34, **more: Any) -> Specification:  # noqa: ANN401
        return layer([row], mark, x=amount(field, about, scale=scale), y={"value": y}, tooltip=told, **more)

    layers = []
    if row["low"] is not None:
        reach = {"type": "rule", "strokeWidth": 9, "strokeCap": "round", "opacity": 0.32, "color": BLUE}
        layers.append(at(reach, "low", x2={"field": "high"}))
    layers.append(at({"type": "point", "filled": True, "size": 110, "opacity": 1, "color": BLUE}, "estimate"))
    layers.append(at({"type": "text", "fontWeight": 600, "fontSize": 13}, "estimate", y=12, text=text_of("words")))
    return layers


def _bars(answer: "Release", column: str) -> Specification:
    """Return bars with their intervals: beside each other over numbers, below each other by name."""
    rows, query = vector_rows(answer), histogram_of(answer)
    told = tooltip({"name": "bin", **_told(answer)})
    field, words = "estimate", main_part(answer)
    from_zero = {"zero": True, "padding": 0, "nice": True}  # no interval ends at the very edge
    bar = {"type": "bar", "color": BLUE, "opacity": 0.55, "stroke": PAPER, "strokeWidth": 1}
    reach = {"type": "rule", "color": INK, "strokeWidth": 1.6}
    if query is None or hasattr(query, "categories"):
        wide = amount(field, words, scale=from_zero)
        layers = [layer(rows, bar, y=name_axis(rows), x=wide, tooltip=told)]
        ends = {"y": name_axis(rows), "x": amount("low", words, scale=from_zero), "x2": {"field": "high"}}
        shape: Specification = {"height": {"step": 24}}
    else:
        edges = query.edges
        for row, begin, end in zip(rows, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            row |= {"begin": begin, "end": end, "middle": (begin + end) / 2}
        over = {"axis": {"grid": False}, "scale": {"padding": 0}}
        high = amount(field, words, scale=from_zero)
        layers = [
            layer(
                rows,
                bar,
                x=amount("begin", column, **over),
                x2={"field": "end"},
                y=high,
                y2={"datum": 0},
                tooltip=told,
            )
        ]
        ends = {
            "x": amount("middle", column, **over),
            "y": amount("low", words, scale=from_zero),
            "y2": {"field": "high"},
        }
        shape = {"height": 220}
    if answer.low is not None:
        layers.append(layer(rows, reach, **ends, tooltip=told))
    return {"layer": layers, **shape}


def _told(answer: "Release") -> dict[str, str]:
    """Return what a tooltip shows of a row, by field."""
    return {"words": main_part(answer), **({} if answer.estimate is None else {"as_left": "raw value"})}


def plot_charges(ledger: "Ledger") -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of what weight 1 has lost, charge by charge, beside its limit. Public."""
    history, unit = ledger.history, ledger.unit
    limit = ledger.limit if ledger.limit is not None and math.isfinite(ledger.limit) else None
    steps = [steps_of(entry.amount, entry.unit, wanted=unit) for entry in history if entry.amount is not None]
    if not history or len(steps) < len(history):
        raise InvalidInput(
            "must have charges that say their level to be drawn",
            parameter="ledger",
            got="one that does not" if history else "none",
        )
    ends = [loss_of(total) for total in itertools.accumulate(steps)]
    rows = [
        {
            "name": f"{number}. {printable(entry.description) or 'a charge'}",
            "begin": begin,
            "end": end,
            "level": f"{entry.unit} = {in_digits(entry.amount or 0.0)}",
            "when": charged_when(entry),
        }
        for number, (entry, begin, end) in enumerate(zip(history, [0.0, *ends[:-1]], ends, strict=True), start=1)
    ][-_CHARGES:]
    total = f"{unit} = {in_digits(ledger.spent_by_weight_1)}"
    earlier = f"The last {len(rows)} of {len(history):,} charges. " if len(rows) < len(history) else ""
    delta = f" Besides, delta = {in_digits(ledger.delta_spent)}." if ledger.delta_spent else ""
    title = titled(
        f"What weight 1 has lost: {total}{'' if limit is None else f' of {in_digits(limit)}'}",
        f"{earlier}Against {ledger.adversary}.{delta}",
    )
    scale = {"domain": [0, 1.04 * max(ends[-1], limit or 0.0)], "padding": 0}
    words = f"{unit}, added up"
    along = amount("begin", words, scale=scale)
    told = tooltip({"name": "charge", "level": "level", "when": "when (UTC)"})
    bar = {"type": "bar", "color": BLUE, "opacity": 0.85, "height": 12}
    layers = [layer(rows, bar, y=name_axis(rows), x=along, x2={"field": "end"}, tooltip=told)]
    if limit is not None:
        end = {"type": "rule", "color": ORANGE, "strokeWidth": 2}
        layers.append(layer([{"limit": limit}], end, x=amount("limit", words, scale=scale)))
    return drawn({"title": title, "width": WIDTH, "height": {"step": 26}, "layer": layers})


def plot_what_is_left(ledger: "Ledger") -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of what is left to each account. Exact: for the owner of the data."""
    if ledger.colluders is not None:
        raise InvalidInput(
            "must have accounts to be drawn (got one of profiles)",
            parameter="ledger",
            hint="Its total, limit and left are public.",
        )
    limits, left, active = ledger.limits, ledger.remaining, ledger.active
    bounded = np.isfinite(limits)
    most = float(limits[bounded].max(initial=0.0))
    if not most:
        raise InvalidInput("must know somebody with a limit to be drawn (got nobody)", parameter="ledger")
    who, unit = several(ledger.protects), ledger.unit
    nothing = bounded & (left <= 0)
    edges = np.linspace(0.0, most, _BARS + 1)
    rows = _stacked(left[nothing], left[bounded & ~nothing], edges)
    counts = {
        counted(limits.size, ledger.protects, who): limits.size,
        f"{nothing.sum():,} with nothing left (orange)": nothing.sum(),
        f"{(~active).sum():,} dropped for good": (~active).sum(),
        f"{(~bounded).sum():,} without a limit, not shown": (~bounded).sum(),
    }
    title = titled(
        f"Private: what {who} of a ledger have left",
        "Exact, for the owner of the data alone.",
        ", ".join(words for words, number in counts.items() if number) + ".",
    )
    states = {"domain": ["something", "nothing"], "range": [BLUE, ORANGE]}
    bars = layer(
        rows,
        {"type": "bar", "opacity": 0.85, "stroke": PAPER, "strokeWidth": 1},
        x=amount("begin", f"what is left ({unit})", axis={"grid": False}, scale={"domain": [0, most], "padding": 0}),
        x2={"field": "end"},
        y=amount("top", who, scale={"zero": True, "padding": 0, "nice": True}),
        y2={"field": "bottom"},
        color={"field": "state", "type": "nominal", "legend": None, "scale": states},
        tooltip=tooltip({"range": f"{unit} left", "number": who}),
    )
    return drawn({"title": title, "width": WIDTH, "height": 200, "layer": [bars]})


def _stacked(
    nothing: NDArray[np.float64], something: NDArray[np.float64], edges: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return a row for each bar that somebody is in: those with nothing left below the others of the first bar."""
    below, above = (np.histogram(left, edges)[0].tolist() for left in (nothing, something))
    rows = []
    for begin, end, none, some in zip(edges[:-1].tolist(), edges[1:].tolist(), below, above, strict=True):
        bar = {"begin": begin, "end": end}
        if none:
            rows.append({**bar, "bottom": 0, "top": none, "number": f"{none:,}", "state": "nothing", "range": "0"})
        if some:
            span = {"bottom": none, "top": none + some, "number": f"{some:,}"}
            rows.append({**bar, **span, "state": "something", "range": f"{begin:.3g} to {end:.3g}"})
    return rows
