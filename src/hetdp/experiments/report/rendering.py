"""Write a report: one HTML file that needs nothing else, and its figures as SVG and PNG."""

import base64
import datetime as dt
import functools
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from hetdp._version import __version__
from hetdp.core.files import write_whole
from hetdp.experiments.figure_points import BY_OVERLAP, TRUE, FigurePoint
from hetdp.experiments.published_figures import published_source
from hetdp.experiments.report import contents
from hetdp.experiments.report.charts import panel_chart, whole_figure
from hetdp.experiments.report.contents import SweepEvaluation
from hetdp.experiments.report.figures import FIGURES, Figure, Series, differences, present_series, remarks
from hetdp.experiments.report.verdict_table import tally, verdict_note, verdict_rows
from hetdp.plots import follow_dark, styled

__all__ = ["render_html", "write_figures"]

TITLE = "Heterogeneous differential privacy, evaluated"
_HEIGHT = {"figure3": 150, "poll": 110, "practice": 200, "ways": 170}
#: Figures of engines that rank by overlap, whose scale ends elsewhere.
_RANKED_BY_OVERLAP = ("engines_one", "engines_all")


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
        verdict_note=verdict_note(evaluation.verdicts, evaluation.settings.looks),
        differences=differences(evaluation.points),
        remarks=remarks(evaluation.points),
        rivals=contents.rivals(evaluation),
        method=contents.method(evaluation),
        csv=base64.b64encode(numbers.encode()).decode(),
        source=published_source(),
        bundle=Markup(_bundle()),  # noqa: S704  (a library of ours)
        charts=Markup(_script_json(charts)),  # noqa: S704  (escaped)
    )


def write_figures(evaluation: SweepEvaluation, folder: Path) -> list[Path]:
    """Write each figure as SVG and PNG into a folder, and return the files."""
    import vl_convert

    folder.mkdir(exist_ok=True)
    written = []
    for figure in FIGURES:
        points = _points(figure, evaluation)
        series = present_series(figure, points)
        panels = _panels(figure, evaluation, series)
        if not panels:
            continue
        wide = max(1, len(panels) // len(evaluation.data)) if figure.key == "figure3" else len(panels)
        rows = [panels[begin : begin + wide] for begin in range(0, len(panels), wide)]
        printed = any(point.published is not None for point in points)
        drawing = vl_convert.vegalite_to_svg(whole_figure(rows, series, published=printed))
        for ending, text in (("svg", follow_dark(drawing)), ("png", vl_convert.svg_to_png(drawing, scale=2.0))):
            path = folder / f"{figure.key}.{ending}"
            write_whole(path, text)
            written.append(path)
    return written


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
            found.append((title, panel_chart(figure, shown, ends, series)))
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
