"""Draw the panels of a figure as Vega-Lite specifications, which are plain data."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hetdp.cards import INK, MUTED, PAPER
from hetdp.experiments.figure_points import BY_OVERLAP, SAME, TAKING_PART, FigurePoint
from hetdp.experiments.report.figures import Figure, Series
from hetdp.plots import Specification, decades, styled

__all__ = ["panel_chart", "whole_figure"]

_GROUPS = ["all", TAKING_PART, "fundamentalists", "pragmatists", "unconcerned"]
#: Short names of dashed lines, where the first word does not do.
_LABELS = {BY_OVERLAP: "overlap", SAME: "same"}
#: Space around the highest and the lowest point, as a share of their distance.
_AIR = 0.1
#: Panels of a figure in a file.
_WIDTH, _HEIGHT = 230, 190


def panel_chart(
    figure: Figure, points: Sequence[FigurePoint], ends: Sequence[FigurePoint], series: Sequence[Series]
) -> Specification:
    """Return one panel: one data set, or one data set and one share of pragmatists."""
    rows = [_row(point) for point in points]
    domain = {"domain": _span([*points, *ends]), "nice": False, "zero": False}
    color = {
        "field": "series",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": [one.name for one in series], "range": [one.color for one in series]},
    }
    if figure.kind == "dots":
        recall = {"type": "quantitative", "title": "recall", "scale": domain, "axis": {"tickCount": 4}}
        place = {
            "y": {
                "field": "x",
                "type": "nominal",
                "title": None,
                "sort": _GROUPS,
                "axis": {"ticks": False, "domain": False},
            },
            "yOffset": {"field": "series", "type": "nominal", "sort": [one.name for one in series]},
            "color": color,
        }
        return {"layer": [*_end_layers(ends, "x", recall), *_layers(figure, rows, place, ("x", recall))]}
    recall = {"type": "quantitative", "title": "recall", "scale": domain, "axis": {"tickCount": 5}}
    place = {"x": _across(figure, sorted({float(row["x"]) for row in rows})), "color": color}
    return {"layer": [*_end_layers(ends, "y", recall), *_layers(figure, rows, place, ("y", recall))]}


def _layers(
    figure: Figure, rows: list[dict[str, Any]], place: Mapping[str, Any], recall: tuple[str, Mapping[str, Any]]
) -> list[Specification]:
    """Return intervals, lines, points, published points, and large invisible points that are easy to hover."""
    channel, along = recall

    def layer(mark: Mapping[str, Any], field: str = "recall", **more: object) -> Specification:
        return {
            "mark": mark,
            "encoding": {**place, channel: {"field": field, **along}, **more},
            "data": {"values": rows},
        }

    dots = figure.kind == "dots"
    layers = [layer({"type": "rule", "strokeWidth": 1.6, "opacity": 0.5}, "low", **{f"{channel}2": {"field": "high"}})]
    if not dots:
        layers.append(layer({"type": "line", "strokeWidth": 2, "opacity": 0.9}))
    layers.append(layer({"type": "point", "filled": True, "size": 52 if dots else 32, "opacity": 1}))
    if any(row["printed"] is not None for row in rows):
        shape = {"type": "point", "shape": "diamond", "filled": False, "size": 58, "strokeWidth": 1.6, "opacity": 1}
        printed = [row for row in rows if row["printed"] is not None]
        layers.append({**layer(shape, "printed"), "data": {"values": printed}})
    layers.append(layer({"type": "point", "filled": True, "size": 260, "opacity": 0}, tooltip=_tooltip(figure, rows)))
    return layers


def _span(points: Sequence[FigurePoint]) -> list[float]:
    """Return the ends of the axis of recall."""
    values = [value for point in points for value in (point.recall, point.low, point.high, point.published)]
    shown = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min(shown), max(shown)
    air = _AIR * max(high - low, 0.01)
    return [round(max(0.0, low - air), 4), round(high + air, 4)]


def _row(point: FigurePoint) -> dict[str, Any]:
    bounded = math.isfinite(point.low)
    return {
        "series": point.series,
        "x": point.x,
        "recall": round(point.recall, 5),
        "low": round(point.low if bounded else point.recall, 5),
        "high": round(point.high if bounded else point.recall, 5),
        "interval": f"{point.low:.4f} to {point.high:.4f}" if bounded else "one run only",
        "runs": point.runs,
        "printed": point.published,
    }


def _tooltip(figure: Figure, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    text = figure.kind == "dots"
    kind = (
        {"type": "nominal", "title": "group"} if text else {"type": "quantitative", "title": figure.x, "format": ".4~r"}
    )
    shown = [
        {"field": "series", "type": "nominal", "title": "series"},
        {"field": "x", **kind},
        {"field": "recall", "type": "quantitative", "title": "recall", "format": ".4f"},
        {"field": "interval", "type": "nominal", "title": "95 % interval"},
        {"field": "runs", "type": "quantitative", "title": "runs"},
    ]
    if any(row["printed"] is not None for row in rows):
        shown.append({"field": "printed", "type": "quantitative", "title": "published", "format": ".4f"})
    return shown


def _across(figure: Figure, places: Sequence[float]) -> dict[str, Any]:
    """Return the horizontal axis of a figure with lines."""
    axis: dict[str, Any] = {"grid": False, "format": ".3~r", "labelFlush": False, "labelOverlap": True}
    scale: dict[str, Any] = {"zero": False, "nice": False, "padding": 10}
    if figure.key == "figure3":
        axis |= {"format": ".0%", "values": [0.2, 0.4, 0.6, 0.8]}
        scale |= {"domain": [min(0.1, *places), max(0.9, *places)]}
    elif figure.log:
        axis["values"] = decades(places)
        scale = {"type": "log", "nice": False, "domain": [min(places) / 1.3, max(places) * 1.3]}
    elif all(place.is_integer() for place in places):
        axis["values"] = list(places)
    return {"field": "x", "type": "quantitative", "title": figure.x, "scale": scale, "axis": axis}


def _end_layers(ends: Sequence[FigurePoint], channel: str, along: Mapping[str, Any]) -> list[Specification]:
    """Return dashed lines for true and random neighbours, and for the same people for everybody."""
    rows: list[dict[str, Any]] = [
        {"name": point.series, "recall": round(point.recall, 5), "printed": point.published} for point in ends
    ]
    tooltip = [
        {"field": "name", "type": "nominal", "title": "line"},
        {"field": "recall", "type": "quantitative", "title": "recall", "format": ".4f"},
    ]
    if any(point.published is not None for point in ends):
        tooltip.append({"field": "printed", "type": "quantitative", "title": "published", "format": ".4f"})
    place = {channel: {"field": "recall", **along}}
    rule = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.2, "color": MUTED}
    layers: list[Specification] = [
        {"mark": rule, "encoding": {**place, "tooltip": tooltip}, "data": {"values": rows}},
    ]
    if channel == "y":
        # Labels stand to the right of the lines, where no point can hide them.
        words = [{**row, "label": _LABELS.get(row["name"], row["name"].split()[0])} for row in rows]
        text = {"type": "text", "align": "left", "dx": 5, "fontSize": 10.5, "color": MUTED}
        label = {**place, "x": {"value": "width"}, "text": {"field": "label", "type": "nominal"}}
        layers.append({"mark": text, "encoding": label, "data": {"values": words}})
    return layers


def whole_figure(
    rows: Sequence[Sequence[tuple[str, Specification]]], series: Sequence[Series], *, published: bool
) -> Specification:
    """Return all panels of a figure side by side with a legend, for SVG and PNG files."""
    drawn = [
        {
            "hconcat": [{"title": title, "width": _WIDTH, "height": _HEIGHT, **chart} for title, chart in row],
            "spacing": 26,
        }
        for row in rows
    ]
    return styled({"background": PAPER, "vconcat": [_legend(series, published=published), *drawn], "padding": 12})


def _legend(series: Sequence[Series], *, published: bool) -> Specification:
    entries = [{"name": one.name, "color": one.color, "shape": "circle"} for one in series]
    if published:
        entries.append({"name": "published", "color": INK, "shape": "diamond"})
    place = 0
    for entry in entries:
        entry["x"] = place  # type: ignore[assignment]
        place += 30 + 7 * len(entry["name"])
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [0, 760], "nice": False}}
    color = {"field": "color", "type": "nominal", "scale": None}
    shape = {"field": "shape", "type": "nominal", "scale": None}
    return {
        "data": {"values": entries},
        "width": 760,
        "height": 16,
        "encoding": {"x": x},
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"color": color, "shape": shape},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 9, "fontSize": 12, "color": INK},
                "encoding": {"text": {"field": "name", "type": "nominal"}},
            },
        ],
    }
