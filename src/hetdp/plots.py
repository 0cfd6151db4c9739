"""Charts of results: one theme, the parts that drawings share, and files (.svg, .png, .html) that fetch nothing.

Only `drawn` and `save` need the extra `plot`: importing this module loads neither altair nor vl-convert.
"""

import functools
import io
import math
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hetdp.cards import BLUE, DARK, INK, LINE, MUTED, PAPER
from hetdp.core.errors import InvalidInput
from hetdp.core.files import write_whole
from hetdp.core.optional import require_all
from hetdp.core.text import printable

__all__ = ["save"]

#: A drawing in the words of Vega-Lite: plain data.
Specification = dict[str, Any]
#: Width of a panel, in pixels, and how many letters of a subtitle fit above it.
WIDTH, _LETTERS = 480, 84
#: Up to this many decades of a logarithmic axis have room for numbers between the powers of ten.
_FEW_DECADES = 3
#: More rows take minutes to draw and cannot be told apart.
_MOST_ROWS = 1_000
_PACKAGES = ("altair", "vl_convert")
_ENDINGS = (".svg", ".png", ".html")
_TAG = re.compile(r"<(?=[/!]|script)", re.IGNORECASE)


def __dir__() -> list[str]:
    return __all__


# -- theme ------------------------------------------------------------------------------------------------------------

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"
_AXIS_TEXT = {"labelColor": MUTED, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11.5}
_AXIS_LINES = {"gridColor": LINE, "domainColor": MUTED, "tickColor": MUTED}
_SUBTITLE = {"subtitleColor": MUTED, "subtitleFontSize": 11, "subtitleLineHeight": 15, "subtitlePadding": 5}
_CONFIG: Specification = {
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {**_AXIS_TEXT, **_AXIS_LINES, "titleFontWeight": 500, "titlePadding": 6, "labelSeparation": 6},
    "title": {"fontSize": 12.5, "fontWeight": 600, "color": INK, "anchor": "start", "offset": 8, **_SUBTITLE},
    "text": {"color": INK, "fontSize": 11},
}


def styled(specification: Specification) -> Specification:
    """Return a complete specification with the theme; what the specification sets itself is kept."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        **specification,
        "config": {**_CONFIG, **specification.get("config", {})},
    }


def _dark_rules(scope: str) -> str:
    """Return the CSS that changes the theme's ink and paper within some elements on dark pages."""
    rules = "".join(
        f'{scope} [{what}="{light}"]{{{what}:{dark}}}' for light, dark in DARK.items() for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme: dark){{{rules}}}"


def follow_dark(drawing: str) -> str:
    """Return an SVG file whose ink and paper follow the colour scheme of the page; other drawings are unchanged."""
    head, tail = drawing.split(">", 1)
    head = head.replace("<svg", '<svg data-by="hetdp"', 1)
    return f"{head}><style>{_dark_rules('[data-by=hetdp]')}</style>{tail}"


# -- charts -----------------------------------------------------------------------------------------------------------


def drawn(specification: Specification) -> Any:  # noqa: ANN401  (altair is optional)
    """Return a chart of altair: of panels below each other (`vconcat`), or of one panel (`layer`).

    The chart has the theme "hetdp" unless another one is enabled (`alt.theme`). Notebooks show it as an SVG image
    unless another renderer is enabled (`alt.renderers`).
    """
    require_all(_PACKAGES, extra="plot", purpose="A picture")
    specification = _without_tags(specification)
    panels = specification.get("vconcat", [specification])
    check_rows(len({tuple(row.items()) for panel in panels for one in panel["layer"] for row in one["data"]["values"]}))
    layered, stacked_charts, panel_of_many = _chart_classes()
    if "vconcat" in specification:
        return stacked_charts(**{**specification, "vconcat": [_panel(panel_of_many, panel) for panel in panels]})
    return _panel(layered, specification)


def _panel(kind: Any, specification: Specification) -> Any:  # noqa: ANN401  (a class of altair)
    import altair as alt

    # Charts rather than parts of a schema, so that people can go on with each of them.
    return kind(**{**specification, "layer": [alt.Chart.from_dict(layer) for layer in specification["layer"]]})


@functools.cache
def _chart_classes() -> tuple[Any, Any, Any]:
    """Return the classes of a chart of one panel, of a chart of several, and of one of the several."""
    import altair as alt

    @alt.theme.register("hetdp", enable=False)
    def _theme() -> alt.theme.ThemeConfig:
        return {"config": _CONFIG, "padding": 12}  # type: ignore[typeddict-item]

    class _Themed:
        def to_dict(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401  (those of altair)
            with alt.theme.enable("hetdp" if alt.theme.active == "default" else alt.theme.active):
                return super().to_dict(*arguments, **settings)  # type: ignore[misc]

        def _repr_mimebundle_(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401  (those of altair)
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*arguments, **settings)  # type: ignore[misc]
            return {"image/svg+xml": _as_svg(self), "text/plain": f"<chart: {_title_of(self)}>"}

    class LayeredChart(_Themed, alt.LayerChart):
        pass

    class StackedChart(_Themed, alt.VConcatChart):
        pass

    return LayeredChart, StackedChart, alt.LayerChart


def _without_tags(part: Any) -> Any:  # noqa: ANN401  (of a specification)
    """Return a part of a drawing in which no text can begin or end a script or a comment of an HTML page.

    A blank of no width follows such a "<", so that names are read as before.
    """
    if isinstance(part, str):
        return _TAG.sub("<\u200b", part)
    if isinstance(part, Mapping):
        return {name: _without_tags(own) for name, own in part.items()}
    return [_without_tags(own) for own in part] if isinstance(part, list | tuple) else part


def check_rows(rows: int) -> None:
    """Refuse a drawing of too many rows."""
    if rows > _MOST_ROWS:
        raise InvalidInput(
            f"must have at most {_MOST_ROWS:,} rows", parameter="plot", got=rows, hint="Ask for fewer bins or groups."
        )


# -- files ------------------------------------------------------------------------------------------------------------


def check_picture(path: str | os.PathLike[str], *, parameter: str = "path") -> Path:
    """Return the path of a picture; refuse one that cannot be drawn before anything is done for it."""
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        raise InvalidInput("must end in .svg, .png or .html", parameter=parameter, got=place.name)
    require_all(_PACKAGES, extra="plot", purpose="A picture")
    return place


def save(chart: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401  (a chart of altair, which is optional)
    """Write a chart to a file that needs no network: .svg, .png or .html.

    Parameters
    ----------
    chart
        What ``.plot()`` returns, or any other chart of altair.
    path
        The ending says what is written. SVG and HTML follow the colour scheme of the page; PNG is light; HTML has
        tooltips.

    Examples
    --------
    >>> import tempfile
    >>> import hetdp
    >>> answer = hetdp.compare("mean", [0, 0.5, 1], 1.0, 100, runs=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(answer.plot(), f"{folder}/errors.svg")
    """
    place = check_picture(path)
    write_whole(place, as_bytes(chart, place.suffix))


def as_bytes(chart: Any, ending: str) -> bytes:  # noqa: ANN401  (a chart of altair)
    """Return the contents of the file that an ending stands for."""
    if ending.lower() == ".png":
        image = io.BytesIO()
        chart.save(image, format="png", scale_factor=2)
        return image.getvalue()
    return (_as_svg(chart) if ending.lower() == ".svg" else _as_html(chart)).encode()


def _as_svg(chart: Any) -> str:  # noqa: ANN401  (a chart of altair)
    text = io.StringIO()
    chart.save(text, format="svg")
    head, tail = follow_dark(text.getvalue()).split(">", 1)
    return f'{head} role="img"><title>{escape(_title_of(chart))}</title>{tail}\n'


def _as_html(chart: Any) -> str:  # noqa: ANN401  (a chart of altair)
    text = io.StringIO()
    # Drawn as SVG, whose colours rules of CSS can reach; its paper is that of the page.
    chart.save(text, format="html", inline=True, embed_options={"renderer": "svg", "actions": False})
    paper = f"body{{margin:0;background:{PAPER}}}.vega-embed svg{{background:none!important}}"
    dark = f"@media (prefers-color-scheme: dark){{body{{background:{DARK[PAPER]}}}}}{_dark_rules('.vega-embed')}"
    scheme = '<meta name="color-scheme" content="light dark">'
    return text.getvalue().replace("<head>", f"<head>{scheme}<style>{paper}{dark}</style>", 1)


def _title_of(chart: Any) -> str:  # noqa: ANN401  (a chart of altair)
    title = chart.to_dict().get("title", "A chart")
    return str(title.get("text", "A chart") if isinstance(title, Mapping) else title)


# -- parts of drawings ------------------------------------------------------------------------------------------------


def titled(title: str, *sentences: str) -> Specification:
    """Return a title, and below it sentences in lines that fit.

    Examples
    --------
    >>> titled("A mean", "95 % interval.")
    {'text': 'A mean', 'subtitle': ['95 % interval.']}
    """
    lines = [line for said in sentences for line in textwrap.wrap(printable(said), _LETTERS)]
    return {"text": printable(title), **({"subtitle": lines} if lines else {})}


def stacked(title: Specification, panels: Sequence[Specification]) -> Specification:
    """Return panels below each other, under a title of their own."""
    return {"title": {**title, "offset": 18}, "vconcat": list(panels), "spacing": 20}


def layer(rows: Sequence[Mapping[str, Any]], mark: Specification, **channels: Any) -> Specification:  # noqa: ANN401
    """Return one layer: rows, how each is marked, and where."""
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": channels}


def amount(field: str, title: str | None = None, **more: Any) -> Specification:  # noqa: ANN401  (words of Vega-Lite)
    """Return a channel of numbers with few grid lines."""
    scale = {"zero": False, "nice": False, "padding": 12, **more.pop("scale", {})}
    axis = {"tickCount": 5, "domain": False, "ticks": False, "labelPadding": 6, **more.pop("axis", {})}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis, **more}


def name_axis(rows: Sequence[Mapping[str, Any]], title: str | None = None) -> Specification:
    """Return the channel of the names of rows, one below the other, in the order of the rows."""
    axis = {"ticks": False, "domain": False, "labelLimit": 220, "labelPadding": 8}
    names = list(dict.fromkeys(row["name"] for row in rows))
    return {"field": "name", "type": "nominal", "sort": names, "title": title, "axis": axis}


def text_of(field: str) -> Specification:
    """Return the channel of a text."""
    return {"field": field, "type": "nominal"}


def tooltip(fields: Mapping[str, str]) -> list[Specification]:
    """Return a tooltip of texts: titles by field."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in fields.items()]


def decades(places: Sequence[float]) -> list[float]:
    """Return the ticks of a logarithmic axis: powers of ten, and 2 and 5 times those where there are few.

    Examples
    --------
    >>> decades([0.5, 3.0])
    [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    low, high = math.floor(math.log10(min(places))), math.ceil(math.log10(max(places)))
    steps = (1.0,) if high - low > _FEW_DECADES else (1.0, 2.0, 5.0)
    return [float(f"{step * 10.0**power:.6g}") for power in range(low, high + 1) for step in steps]


def interval_layers(
    rows: Sequence[Mapping[str, Any]], *, shown: Mapping[str, str], axis: Mapping[str, Any] | None = None
) -> list[Specification]:
    """Return the layers that show estimates beside their intervals, a line for each name.

    If no row has an estimate, raw values are shown in grey.

    Parameters
    ----------
    rows
        Each with `name`, `estimate`, `low`, `high` and `value` (the raw value); None for what is not known.
    shown
        Fields that the tooltip shows, and their titles.
    axis
        What the axis of numbers has, as for `amount`.
    """
    known = [row for row in rows if row["estimate"] is not None]
    bounded = [row for row in known if row["low"] is not None]
    released = [row for row in rows if not known and row["value"] is not None]
    neither = [row for row in rows if row not in known and row not in released]

    def along(field: str) -> Specification:
        return amount(field, **(axis or {}))

    at: dict[str, Any] = {"y": name_axis(rows), "tooltip": tooltip(shown)}
    reach = {"type": "rule", "strokeWidth": 7, "strokeCap": "round", "opacity": 0.32, "color": BLUE}
    point = {"type": "point", "filled": True, "size": 64, "opacity": 1, "color": BLUE}
    grey = {"type": "tick", "thickness": 2, "size": 14, "opacity": 1, "color": MUTED}
    words = {"type": "text", "align": "left", "dx": 4, "color": MUTED, "text": "no estimate"}
    layers = [
        layer(bounded, reach, **at, x=along("low"), x2={"field": "high"}),
        layer(known, point, **at, x=along("estimate")),
        layer(released, grey, **at, x=along("value")),
        layer(neither, words, **at, x={"value": 0}),
    ]
    return [one for one in layers if one["data"]["values"]]
