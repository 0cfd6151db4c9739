"""A released table as a card, and drawn: estimates with their intervals by group, a panel for each aggregate."""

import math
from typing import TYPE_CHECKING, Any

from hetdp.accounting.cards import interval_cells, promised
from hetdp.accounting.rows import confidence_words, interval_row, promise_words
from hetdp.core.text import counted, listed, printable
from hetdp.pictures.cards import Card, CardTable, Glyph
from hetdp.pictures.drawing import WIDTH, drawn, interval_layers, layer, stacked, text_of, titled

if TYPE_CHECKING:
    from hetdp.tables.answer import TableAnswer

__all__ = ["plot_table", "table_card"]

#: Rows that a card shows, and reasons why there is no estimate.
_MOST, _REASONS = 24, 2


def _rows(answer: "TableAnswer", aggregate: str) -> list[dict[str, Any]]:
    """Return the rows of one aggregate, named by their group."""
    return [
        interval_row(
            printable(" · ".join(map(str, row.key))) or "all", row.estimate, row.low, row.high, _known(row.value)
        )
        for row in answer.rows
        if row.aggregate == aggregate
    ]


def _known(value: float) -> float | None:
    """Return a number, or None for that of a noisy count of 0."""
    return None if math.isnan(value) else value


def table_card(answer: "TableAnswer") -> Card:
    """Return the card of a table: a row per group and aggregate, and the promise."""
    # What is drawn beside the numbers has one scale for each aggregate.
    found = {name: _rows(answer, name) for name in answer.plan.aggregates}
    drawings = {name: zip(rows, interval_cells(rows), strict=True) for name, rows in found.items()}
    rows: list[tuple[str | Glyph, ...]] = []
    for row in answer.rows:
        own, cells = next(drawings[row.aggregate])
        same = row.estimate is not None and math.isclose(row.value, row.estimate)  # a ratio, in which dials cancel
        left = ("" if same else own["as_left"],) if answer.dialled else ()
        rows.append((*map(str, row.key), row.aggregate, *cells, *left))
    first = len(answer.keys) + 1
    left_name = ("as dials leave it",) if answer.dialled else ()
    header = (*answer.keys, "", "estimate", "from", "to", confidence_words(answer.plan.confidence), *left_name)
    numbers = (*range(first, first + 3), first + 4)
    reasons = list(dict.fromkeys(f"No estimate: {row.reason}" for row in answer.rows if row.reason is not None))
    more = [f"{len(reasons) - _REASONS} more reasons in .rows."] if len(reasons) > _REASONS else []
    parts = promised(answer.guarantee)
    parts["sentences"] = [*reasons[:_REASONS], *more, *answer.remarks, *parts["sentences"]]
    groups = counted(len({row.key for row in answer.rows}), "group") if answer.keys else ""
    table = CardTable(header, rows, numbers=numbers, most=_MOST, rest=" in .to_frame()")
    return Card("Table", about=groups, table=table, **parts)


def plot_table(answer: "TableAnswer") -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of a table."""
    by = f" by {listed(answer.keys)}" if answer.keys else ""
    told = {row.aggregate for row in answer.rows if row.estimate is not None}
    grey = any(name not in told for name in answer.plan.aggregates)
    title = titled(
        f"A released table: {listed(list(answer.plan.aggregates))}{by}",
        f"{confidence_words(answer.plan.confidence)} of each estimate by itself."
        + (" Grey: as dials leave it; there is no estimate." if grey else ""),
        promise_words(answer.guarantee),
    )
    panels = [
        {
            "title": printable(name),
            "width": WIDTH,
            "height": {"step": 24},
            "layer": interval_layers(
                _rows(answer, name),
                shown={"name": "group", "words": "estimate", "as_left": "as dials leave it"},
            ),
        }
        for name in answer.plan.aggregates
        if answer.rows
    ]
    if not panels:
        words = layer([{"words": "No group has enough people to be named."}], {"type": "text"}, text=text_of("words"))
        panels = [{"width": WIDTH, "height": 40, "layer": [words]}]
    return drawn(stacked(title, panels))
