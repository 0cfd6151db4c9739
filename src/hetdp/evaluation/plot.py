"""The chart of an evaluation: quality against total loss, beside what knows no privacy. Exact, so private."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hetdp.cards import BLUE, GREEN, INK, MUTED, OCHRE, ORANGE, PINK, PURPLE
from hetdp.core.checks import one_of
from hetdp.core.errors import InvalidInput
from hetdp.evaluation.results import (
    EASE,
    HOLDER_POPULARITY,
    MATRIX_MODEL,
    MODEL,
    POPULARITY,
    PRIVATE_POPULARITY,
    SAME,
    TRUE,
    NeighborRow,
)
from hetdp.plots import WIDTH, Specification, amount, decades, drawn, layer, stacked, titled, tooltip

if TYPE_CHECKING:
    from hetdp.evaluation.results import Evaluation, ItemRow

#: What recommendations are drawn by.
ITEM_MEASURES = ("ndcg", "recall", "precision")
_COLORS = {
    "exact": PURPLE,
    "gossip": ORANGE,
    "sketch": BLUE,
    MODEL: GREEN,
    MATRIX_MODEL: PINK,
    PRIVATE_POPULARITY: MUTED,
    HOLDER_POPULARITY: OCHRE,
    EASE: INK,
    POPULARITY: BLUE,
    TRUE: INK,
    SAME: OCHRE,
}
_HEIGHT = 240
#: Up to this number of losses, each has a tick.
_TICKS = 5
_LOSS = "total loss of an item of weight 1, against everybody together (epsilon, logarithmic)"


def plot_evaluation(found: "Evaluation", table: str | None, measure: str) -> Any:  # noqa: ANN401  (altair is optional)
    """Return the chart of both tables, or of one."""
    one_of("measure", measure, ITEM_MEASURES)
    tables: dict[str, tuple[Sequence[ItemRow | NeighborRow], str]] = {
        "items": (found.items, measure),
        "neighbors": (found.neighbors, "recall"),
    }
    if table is not None:
        one_of("table", table, tuple(tables))
        tables = {table: tables[table]}
    panels = [
        _panel(name, [row for row in rows if row.weights in (None, weights)], by, weights)
        for name, (rows, by) in tables.items()
        for weights in dict.fromkeys(row.weights for row in rows if row.against_all is not None)
    ]
    if not panels:
        raise InvalidInput("must be one that was measured", parameter="table")
    title = titled(
        "What privacy costs: quality against total loss",
        "Private: measured without noise, for the owner of the data. Means over runs and users with their "
        "95 % intervals; dashed lines know no privacy.",
    )
    return drawn({**stacked(title, panels), "resolve": {"scale": {"color": "independent"}}})


def _panel(table: str, rows: "Sequence[ItemRow | NeighborRow]", measure: str, weights: str | None) -> Specification:
    """Return one panel: points for methods that have a loss, dashed lines for methods that have none."""
    points = [_point(row, measure) for row in rows if row.against_all is not None]
    lines = [_point(row, measure) for row in rows if row.against_all is None]
    words = "NDCG" if measure == "ndcg" else measure
    what = f"{'Recommendations' if table == 'items' else 'Neighbours'}: {words}"
    losses = sorted({point["loss"] for point in points})
    axis = {"values": losses if len(losses) <= _TICKS else decades(losses), "grid": False, "format": ",~g"}
    across = {"type": "log", "nice": False, "domain": [losses[0] / 1.4, losses[-1] * 1.4]}
    x = amount("loss", _LOSS, scale=across, axis={**axis, "labelOverlap": True})
    y, low = (amount(field, words, scale={"zero": False}) for field in ("mean", "low"))
    names = list(dict.fromkeys(point["name"] for point in (*points, *lines)))
    colors = {"domain": names, "range": [_COLORS.get(name, MUTED) for name in names]}
    color = {"field": "name", "type": "nominal", "scale": colors, "legend": {"title": None}}
    told = tooltip({"name": "method", "epsilon": "epsilon", "words": what, "lost": "total loss"})
    at: dict[str, Any] = {"x": x, "color": color, "tooltip": told}
    dashed = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.3}
    return {
        "title": what if weights is None else f"{what}, weights {weights}",
        "width": WIDTH,
        "height": _HEIGHT,
        "layer": [
            layer(lines, dashed, y=y, color=color, tooltip=tooltip({"name": "method", "words": what})),
            layer(points, {"type": "rule", "strokeWidth": 2, "opacity": 0.5}, **at, y=low, y2={"field": "high"}),
            layer(points, {"type": "line", "strokeWidth": 2}, **at, y=y),
            layer(points, {"type": "point", "filled": True, "size": 46, "opacity": 1}, **at, y=y),
        ],
    }


def _point(row: "ItemRow | NeighborRow", measure: str) -> dict[str, Any]:
    mean = getattr(row, measure)
    half = row.half_width if isinstance(row, NeighborRow) else getattr(row, f"{measure}_half_width")
    return {
        "name": row.method,
        "epsilon": "" if row.epsilon is None else f"{row.epsilon:g}",
        "loss": row.against_all,
        "lost": "" if row.against_all is None else f"{row.against_all:,.6g}",
        "mean": mean,
        "low": max(0.0, mean - half),
        "high": min(1.0, mean + half),
        "words": f"{mean:.4f} ± {half:.4f}",
    }
