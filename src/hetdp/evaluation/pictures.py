"""An evaluation drawn: quality against total loss, between what needs no privacy and what needs no profile. Exact."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hetdp.cards import BLUE, GREEN, MUTED, OCHRE, ORANGE, PINK, PURPLE
from hetdp.core.checks import one_of
from hetdp.core.errors import InvalidInput
from hetdp.evaluation.results import (
    EASE,
    HOLDER_POPULARITY,
    MATRIX_MODEL,
    MODEL,
    PRIVATE_POPULARITY,
    NeighborRow,
)
from hetdp.plots import WIDTH, Specification, amount, decades, drawn, layer, stacked, text_of, titled, tooltip

if TYPE_CHECKING:
    from hetdp.evaluation.results import Evaluation, ItemRow

__all__ = ["ITEM_MEASURES", "plot_evaluation"]

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
}
_WORDS = {"ndcg": "NDCG", EASE: "no privacy"}
_HEIGHT = 240
#: Pixels between two labels beside the panel, and between points that have the same loss.
_APART, _BESIDE = 15, 5
#: Up to so many losses have a tick each.
_TICKS = 5
_LOSS = "total loss of an item of weight 1, against everybody together (epsilon, logarithmic)"


def plot_evaluation(found: "Evaluation", table: str | None, measure: str) -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of both tables, or of one."""
    one_of("measure", measure, ITEM_MEASURES)
    tables: dict[str, tuple[Sequence[ItemRow | NeighborRow], str]] = {
        "items": (found.items, measure),
        "neighbors": (found.neighbors, "recall"),
    }
    if table is not None:
        one_of("table", table, tuple(tables))
        tables = {table: tables[table]}
    panels = [
        panel
        for name, (rows, by) in tables.items()
        for weights in dict.fromkeys(row.weights for row in rows if row.against_all is not None)
        for panel in [_panel(name, [row for row in rows if row.weights in (None, weights)], by, weights)]
    ]
    if not panels:
        raise InvalidInput("must be one that was measured", parameter="table")
    title = titled(
        "What privacy costs: quality against total loss",
        "Private: measured without noise, for whoever may see the data. Means over runs and users with their "
        "95 % intervals; dashed lines know no privacy.",
    )
    return drawn(stacked(title, panels))


def _panel(table: str, rows: "Sequence[ItemRow | NeighborRow]", measure: str, weights: str | None) -> Specification:
    """Return one panel: points that have a loss, lines for what has none, and names beside it."""
    points = [_point(row, measure) for row in rows if row.against_all is not None]
    lines = [_point(row, measure) for row in rows if row.against_all is None]
    words = _WORDS.get(measure, measure)
    what = f"{'Recommendations' if table == 'items' else 'Neighbours'}: {words}"
    losses = sorted({point["loss"] for point in points})
    names = list(dict.fromkeys(point["name"] for point in points))
    ends = [losses[0] / 1.4, losses[-1] * 1.4]
    points = [{**point, "shift": _shift(point, points, ends)} for point in points]
    span = _span([*(point[end] for point in points for end in ("low", "high")), *(line["mean"] for line in lines)])
    across = {"type": "log", "nice": False, "padding": 0, "domain": ends}
    ticks = losses if len(losses) <= _TICKS else decades(losses)
    axis = {"values": ticks, "grid": False, "format": ",~g", "labelOverlap": True}
    x = amount("loss", _LOSS, scale=across, axis=axis)
    y, low, place = (
        amount(field, words if field == "mean" else None, scale={"domain": span, "padding": 0})
        for field in ("mean", "low", "place")
    )
    colors = {"domain": names, "range": [_COLORS.get(name, MUTED) for name in names]}
    color = {"field": "name", "type": "nominal", "legend": None, "scale": colors}
    told = tooltip({"name": "method", "epsilon": "epsilon", "words": what, "lost": "total loss"})
    at: dict[str, Any] = {"x": x, "color": color, "tooltip": told}
    labels = _labels(points, lines, span)
    dot = {"type": "point", "filled": True, "size": 46, "opacity": 1}
    reach = {"type": "rule", "strokeWidth": 2, "opacity": 0.5}
    shift = {"xOffset": {"expr": "datum.shift"}}
    dashed = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.3, "color": MUTED}
    beside = {"type": "text", "align": "left", "dx": 16}
    dotted, right = [label for label in labels if label["dotted"]], {"value": WIDTH}
    return {
        "title": what if weights is None else f"{what}, weights {weights}",
        "width": WIDTH,
        "height": _HEIGHT,
        "layer": [
            layer(lines, dashed, y=y, tooltip=tooltip({"name": "method", "words": what})),
            layer(points, {**reach, **shift}, **at, y=low, y2={"field": "high"}),
            layer(points, {"type": "line", "strokeWidth": 2, **shift}, **at, y=y),
            layer(points, {**dot, **shift}, **at, y=y),
            layer(dotted, {**dot, "xOffset": 9}, x=right, y=place, color=color),
            layer(labels, beside, x=right, y=place, text=text_of("label")),
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


def _shift(point: Mapping[str, Any], points: Sequence[Mapping[str, Any]], ends: Sequence[float]) -> float:
    """Return how many pixels a point stands beside its loss, which others have too: an eighth of the loss at most."""
    same = [other["name"] for other in points if other["loss"] == point["loss"]]
    room = WIDTH * math.log(1.25) / math.log(ends[1] / ends[0])
    step = min(_BESIDE, room / max(1, len(same) - 1))
    return step * (same.index(point["name"]) - (len(same) - 1) / 2)


def _span(ends: Sequence[float]) -> list[float]:
    """Return the ends of the axis: a little more than what is shown."""
    low, high = min(ends), max(ends)
    air = 0.06 * max(high - low, 0.01)
    return [max(0.0, low - air), high + air]


def _labels(
    points: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], span: Sequence[float]
) -> list[dict[str, Any]]:
    """Return a name beside the panel for each curve, where it ends, and for each line; moved apart where they meet."""
    ends = {point["name"]: point for point in sorted(points, key=lambda point: point["loss"])}
    wanted = [{"name": name, "dotted": True, "mean": point["mean"]} for name, point in ends.items()]
    wanted += [{"name": line["name"], "dotted": False, "mean": line["mean"]} for line in lines]
    step = _APART * (span[1] - span[0]) / _HEIGHT
    places = _apart([label["mean"] for label in wanted], step)
    return [
        {**label, "place": place, "label": _WORDS.get(label["name"], label["name"])}
        for label, place in zip(wanted, places, strict=True)
    ]


def _apart(places: Sequence[float], step: float) -> list[float]:
    """Return places at least a step from each other, in the same order, as near as may be to those wanted.

    Places that come too near share one block, centred where its members would be on average.

    Examples
    --------
    >>> _apart([0.0, 0.1, 5.0], 1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(places)), key=lambda one: places[one])
    blocks: list[list[float]] = []  # for each, where its first would be: one number per member
    for rank, one in enumerate(order):
        blocks.append([places[one] - step * rank])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    found = [_mean(block) for block in blocks for _ in block]
    moved = dict(zip(order, (first + step * rank for rank, first in enumerate(found)), strict=True))
    return [moved[one] for one in range(len(places))]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
