"""Parts that drawings share: titles, axes in words, estimates with their intervals."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from hetdp.core.errors import InvalidInput
from hetdp.core.text import printable
from hetdp.pictures.style import BLUE, MUTED, Specification

__all__ = [
    "WIDTH",
    "amount",
    "check_rows",
    "decades",
    "drawn",
    "interval_layers",
    "layer",
    "name_axis",
    "text_of",
    "titled",
    "tooltip",
]

#: Of a panel, in pixels.
WIDTH = 480
#: Letters of a subtitle that fit beside each other above such a panel, and its names.
_LETTERS = 84
#: Up to this many decades of a logarithmic axis have room for numbers between the powers of ten.
_FEW_DECADES = 3
_TAG = re.compile(r"<(?=[/!]|script)", re.IGNORECASE)
#: More rows take minutes to draw, and nobody could tell them apart.
_MOST_ROWS = 1_000


def drawn(specification: Specification) -> Any:  # noqa: ANN401  (altair is optional)
    """Return a drawing as a chart of altair; refuse where that is missing.

    Examples
    --------
    >>> point = {"mark": "point", "data": {"values": [{"x": 1}]}, "encoding": {"x": amount("x", "loss")}}
    >>> type(drawn({"layer": [point]})).__name__
    'LayeredPicture'
    """
    from hetdp.pictures.chart import as_chart

    specification = _without_tags(specification)
    panels = specification.get("vconcat", [specification])
    rows = {tuple(row.items()) for panel in panels for one in panel["layer"] for row in one["data"]["values"]}
    check_rows(len(rows))
    return as_chart(specification)


def _without_tags(part: Any) -> Any:  # noqa: ANN401  (of a specification)
    """Return a part of a drawing in which no text begins or ends a script or a comment, wherever altair may put it.

    What follows such a "<" is set apart by a blank of no width: names are still read as they are.
    """
    if isinstance(part, str):
        return _TAG.sub("<\u200b", part)
    if isinstance(part, Mapping):
        return {name: _without_tags(own) for name, own in part.items()}
    return [_without_tags(own) for own in part] if isinstance(part, list | tuple) else part


def check_rows(rows: int, *, name: str = "a picture") -> None:
    """Refuse a drawing of too many rows.

    Examples
    --------
    >>> check_rows(20_000)
    Traceback (most recent call last):
    ...
    hetdp.core.errors.InvalidInput: a picture must have at most 1,000 rows (got 20,000): ask for fewer bins ...
    """
    if rows > _MOST_ROWS:
        raise InvalidInput(
            f"{name} must have at most {_MOST_ROWS:,} rows. Got {rows:,} instead: ask for fewer bins or groups."
        )


def titled(title: str, *sentences: str) -> Specification:
    """Return a title, and below it what must be said, in lines that fit.

    Examples
    --------
    >>> titled("A mean", "95 % interval.")
    {'text': 'A mean', 'subtitle': ['95 % interval.']}
    """
    lines = [line for said in sentences for line in textwrap.wrap(printable(said), _LETTERS)]
    return {"text": printable(title), **({"subtitle": lines} if lines else {})}


def amount(field: str, title: str | None = None, **more: Any) -> Specification:  # noqa: ANN401  (words of Vega-Lite)
    """Return a channel of numbers, its axis titled in words and with few lines behind the drawing.

    Examples
    --------
    >>> amount("low", "hours")["title"]
    'hours'
    """
    scale = {"zero": False, "nice": False, "padding": 12, **more.pop("scale", {})}
    axis = {"tickCount": 5, "domain": False, "ticks": False, "labelPadding": 6, **more.pop("axis", {})}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis, **more}


def name_axis(rows: Sequence[Mapping[str, Any]], title: str | None = None) -> Specification:
    """Return the channel of the names of rows, one below the other, in the order of the rows.

    Examples
    --------
    >>> name_axis([{"name": "icu"}, {"name": "er"}])["sort"]
    ['icu', 'er']
    """
    axis = {"ticks": False, "domain": False, "labelLimit": 220, "labelPadding": 8}
    names = list(dict.fromkeys(row["name"] for row in rows))
    return {"field": "name", "type": "nominal", "sort": names, "title": title, "axis": axis}


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


def tooltip(fields: Mapping[str, str]) -> list[Specification]:
    """Return what is shown where one points: titles by field, all of them texts."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in fields.items()]


def layer(rows: Sequence[Mapping[str, Any]], mark: Specification, **channels: Any) -> Specification:  # noqa: ANN401
    """Return one layer: rows, how each is marked, and where.

    Examples
    --------
    >>> layer([{"x": 1}], {"type": "point"}, x=amount("x"))["mark"]
    {'type': 'point'}
    """
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": channels}


def text_of(field: str) -> Specification:
    """Return the channel of a text."""
    return {"field": field, "type": "nominal"}


def interval_layers(rows: Sequence[Mapping[str, Any]], *, shown: Mapping[str, str]) -> list[Specification]:
    """Return the layers that show estimates beside their intervals, a line for each name.

    Where nothing has an estimate, what was released as it is is shown in grey: beside estimates, it could be anywhere.

    Parameters
    ----------
    rows
        Each with `name`, `estimate`, `low` and `high`, or None for what cannot be told, and `value`: what was released.
    shown
        Fields that the tooltip shows, and what they are called there.
    """
    known = [row for row in rows if row["estimate"] is not None]
    bounded = [row for row in known if row["low"] is not None]
    released = [row for row in rows if not known and row["value"] is not None]
    neither = [row for row in rows if row not in known and row not in released]
    at: dict[str, Any] = {"y": name_axis(rows), "tooltip": tooltip(shown)}
    reach = {"type": "rule", "strokeWidth": 7, "strokeCap": "round", "opacity": 0.32, "color": BLUE}
    point = {"type": "point", "filled": True, "size": 64, "opacity": 1, "color": BLUE}
    grey = {"type": "tick", "thickness": 2, "size": 14, "opacity": 1, "color": MUTED}
    words = {"type": "text", "align": "left", "dx": 4, "color": MUTED, "text": "no estimate"}
    layers = [
        layer(bounded, reach, **at, x=amount("low"), x2={"field": "high"}),
        layer(known, point, **at, x=amount("estimate")),
        layer(released, grey, **at, x=amount("value")),
        layer(neither, words, **at, x={"value": 0}),
    ]
    return [one for one in layers if one["data"]["values"]]


def stacked(title: Specification, panels: Sequence[Specification]) -> Specification:
    """Return panels below each other, under a title of their own.

    Examples
    --------
    >>> stacked(titled("A table"), [])["vconcat"]
    []
    """
    return {"title": {**title, "offset": 18}, "vconcat": list(panels), "spacing": 20}
