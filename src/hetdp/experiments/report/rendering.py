"""Write a report: one HTML file that needs nothing else, with its charts as Vega-Lite specifications."""

import base64
import datetime as dt
import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from hetdp._version import __version__
from hetdp.cards import MUTED
from hetdp.experiments.figure_points import BY_OVERLAP, SAME, TAKING_PART, TRUE, FigurePoint
from hetdp.experiments.paper import published_source
from hetdp.experiments.report import contents
from hetdp.experiments.report.contents import SweepEvaluation
from hetdp.experiments.report.figures import FIGURES, Figure, Series, differences, present_series
from hetdp.experiments.report.verdict_table import tally, verdict_note, verdict_rows
from hetdp.plots import Specification, decades, styled

TITLE = "Heterogeneous differential privacy, evaluated"
_HEIGHT = {"figure3": 150, "poll": 110, "practice": 200, "ways": 170}
#: Figures of engines that rank by overlap, whose scale ends elsewhere.
_RANKED_BY_OVERLAP = ("engines_one", "engines_all")
_GROUPS = ["all", TAKING_PART, "fundamentalists", "pragmatists", "unconcerned"]
#: Short names of dashed lines, where the first word does not do.
_LABELS = {BY_OVERLAP: "overlap", SAME: "same"}
#: Space around the highest and the lowest point, as a share of their distance.
_AIR = 0.1


def render_html(evaluation: SweepEvaluation, *, title: str = TITLE) -> str:
    """Return the report as one HTML file without any external request."""
    import jinja2
    from markupsafe import Markup

    charts: dict[str, Any] = {}
    figures = [_drawn(figure, evaluation, charts) for figure in FIGURES]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    numbers = contents.numbers_csv(evaluation.points)
    return environment.from_string(_part("template.html")).render(
        title=title,
        version=__version__,
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        css=Markup(_part("style.css")),  # noqa: S704  (a file of ours)
        summary=contents.summary(evaluation),
        lead=contents.lead(evaluation),
        answer=contents.answer(evaluation),
        tally=tally(evaluation.verdicts),
        figures=[figure for figure in figures if figure["panels"]],
        verdicts=verdict_rows(evaluation.verdicts),
        verdict_note=verdict_note(evaluation.verdicts),
        differences=differences(evaluation.points),
        rivals=contents.rivals(evaluation),
        method=contents.method(evaluation),
        csv=base64.b64encode(numbers.encode()).decode(),
        source=published_source(),
        bundle=Markup(_bundle()),  # noqa: S704  (a library of ours)
        charts=Markup(_script_json(charts)),  # noqa: S704  (escaped)
    )


def _points(figure: Figure, evaluation: SweepEvaluation) -> list[FigurePoint]:
    return [point for point in evaluation.points if point.figure == figure.key]


def _panels(figure: Figure, evaluation: SweepEvaluation, series: Sequence[Series]) -> list[tuple[str, Any]]:
    """Return the title and the chart of each panel, data set by data set."""
    points = _points(figure, evaluation)
    found = []
    for data in evaluation.data:
        mine = [point for point in points if point.data == data]
        hidden = TRUE if figure.key in _RANKED_BY_OVERLAP else BY_OVERLAP
        ends = [
            point
            for point in evaluation.points
            if point.figure == "ends" and point.data == data and point.series != hidden
        ]
        for panel in dict.fromkeys(point.panel for point in mine):
            shown = [point for point in mine if point.panel == panel]
            title = f"{data} · {panel}" if panel else data
            found.append((title, _panel_chart(figure, shown, ends, series)))
    return found


def _drawn(figure: Figure, evaluation: SweepEvaluation, charts: dict[str, Any]) -> dict[str, Any]:
    """Return what the template needs to know about a figure, and add its charts."""
    points = _points(figure, evaluation)
    series = present_series(figure, points)
    panels = []
    for place, (title, chart) in enumerate(_panels(figure, evaluation, series)):
        name = f"chart-{figure.key}-{place}"
        charts[name] = styled({"width": "container", "height": _HEIGHT.get(figure.key, 210), **chart})
        panels.append({"id": name, "title": title})
    each = len(panels) // max(1, len(evaluation.data))
    layout = "four" if each == len(("10 %", "20 %", "60 %", "70 %")) else {1: "one", 2: "two"}.get(len(panels), "")
    return {
        "key": figure.key,
        "title": figure.title,
        "caption": figure.caption,
        "series": series,
        "published": any(point.published is not None for point in points),
        "layout": layout,
        "panels": panels,
    }


def _panel_chart(
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


def _part(name: str) -> str:
    return resources.files("hetdp.experiments.report").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _bundle() -> str:
    """Return Vega with everything it needs, fit for a script element."""
    import vl_convert

    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return re.sub("</(script)", r"<\\/\1", bundle, flags=re.IGNORECASE)


def _script_json(value: object) -> str:
    """Return JSON fit for a script element, whatever names of data sets hold."""
    return json.dumps(value).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
