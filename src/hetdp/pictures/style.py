"""One look for all pictures: ink and paper, light and dark, and colours that are readable on both."""

from typing import Any

__all__ = [
    "BLUE",
    "DARK",
    "GREEN",
    "INK",
    "LINE",
    "MUTED",
    "OCHRE",
    "ORANGE",
    "PAPER",
    "PINK",
    "PURPLE",
    "RED",
    "Specification",
    "dark_rules",
    "follow_dark",
    "house_style",
    "styled",
]

#: A drawing in the words of Vega-Lite: plain data.
Specification = dict[str, Any]

INK, MUTED, LINE, PAPER = "#22272e", "#5d6673", "#e3e6ea", "white"
#: What takes their place where readers prefer dark pages.
DARK = {PAPER: "#14181d", INK: "#e6eaf0", MUTED: "#9aa5b3", LINE: "#2d3540"}
#: Readable on white and on near-black, and told apart by most colour-blind people. No text is set in them: none of any
#: colour is easy to read on both.
BLUE, ORANGE, GREEN, PURPLE = "#3f7fd1", "#d97a1f", "#1f9e78", "#a565c9"
PINK, OCHRE = "#cf5590", "#a8842c"
#: For a promise that is broken.
RED = "#d8453b"

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"


def house_style() -> Specification:
    """Return the part of a specification that says how everything looks.

    Examples
    --------
    >>> house_style()["view"]
    {'stroke': None}
    """
    text = {
        "labelColor": MUTED,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "titleFontWeight": 500,
    }
    return {
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {
            **text,
            "gridColor": LINE,
            "domainColor": MUTED,
            "tickColor": MUTED,
            "titlePadding": 6,
            "labelSeparation": 6,
        },
        "title": {
            "fontSize": 12.5,
            "fontWeight": 600,
            "color": INK,
            "anchor": "start",
            "offset": 8,
            "subtitleColor": MUTED,
            "subtitleFontSize": 11,
            "subtitleLineHeight": 15,
            "subtitlePadding": 5,
        },
        "text": {"color": INK, "fontSize": 11},
    }


def styled(specification: Specification) -> Specification:
    """Return a complete specification in the style of the house; what it says itself is kept.

    Examples
    --------
    >>> styled({"mark": "point", "background": PAPER})["background"]
    'white'
    """
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        **specification,
        "config": {**house_style(), **specification.get("config", {})},
    }


def dark_rules(scope: str) -> str:
    """Return the rules of CSS by which ink and paper within some elements follow the preference for dark pages.

    Examples
    --------
    >>> "#picture [fill=" in dark_rules("#picture")
    True
    """
    rules = "".join(
        f'{scope} [{what}="{light}"]{{{what}:{dark}}}' for light, dark in DARK.items() for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme: dark){{{rules}}}"


def follow_dark(drawing: str) -> str:
    """Return an SVG file whose ink and paper follow the preference for dark pages, those of others left alone.

    As an image in a page, it follows the colour scheme of that page where the browser hands it on.

    Examples
    --------
    >>> "prefers-color-scheme: dark" in follow_dark('<svg width="1"><rect fill="white"/></svg>')
    True
    """
    head, tail = drawing.split(">", 1)
    head = head.replace("<svg", '<svg data-by="hetdp"', 1)
    return f"{head}><style>{dark_rules('[data-by=hetdp]')}</style>{tail}"
