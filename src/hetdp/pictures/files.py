"""Charts as files that are whole or not there: SVG that follows dark pages, PNG, and HTML that fetches nothing."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hetdp.core.errors import InvalidInput
from hetdp.core.files import write_whole
from hetdp.core.optional import require_all
from hetdp.pictures.style import DARK, PAPER, dark_rules, follow_dark

__all__ = ["ENDINGS", "INERT", "PACKAGES", "as_bytes", "as_svg", "check_picture", "save", "title_of"]

#: What draws pictures.
PACKAGES = ("altair", "vl_convert")
#: What a file of a picture may end in.
ENDINGS = (".svg", ".png", ".html")


class _Inert(json.JSONEncoder):
    """JSON that can stand in a script: no text in it can end the script."""

    def encode(self, o: object) -> str:
        return super().encode(o).replace("<", "\\u003c")


#: How altair is to write specifications into pages: names of groups may be anybody's texts.
INERT = {"cls": _Inert}
#: Points of a PNG to a pixel of the drawing, which is small.
_SCALE = 2


def check_picture(path: str | os.PathLike[str], *, name: str = "path") -> Path:
    """Return the path of a picture to come; refuse one that could not be drawn, before anything is done for it.

    Parameters
    ----------
    path
        Of the file.
    name
        What it is called where it is given.

    Examples
    --------
    >>> check_picture("answer.svg").name
    'answer.svg'
    >>> check_picture("answer.pdf")
    Traceback (most recent call last):
    ...
    hetdp.core.errors.InvalidInput: path must end in .svg, .png or .html (got 'answer.pdf').
    """
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        raise InvalidInput("must end in .svg, .png or .html", parameter=name, got=place.name)
    require_all(PACKAGES, extra="plot", purpose="A picture")
    return place


def save(chart: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401  (a chart of altair, which is optional)
    """Write a chart to a file that needs no network: .svg, .png or .html.

    Parameters
    ----------
    chart
        What ``.plot()`` returns, or any other chart of altair.
    path
        The ending says what is written. SVG follows the colour scheme of the page that it is shown in; PNG is light;
        HTML has tooltips.

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
    kind = ending.lower()
    if kind == ".png":
        drawn = io.BytesIO()
        chart.save(drawn, format="png", scale_factor=_SCALE)
        return drawn.getvalue()
    return (as_svg(chart) if kind == ".svg" else _as_html(chart)).encode()


def as_svg(chart: Any) -> str:  # noqa: ANN401  (a chart of altair)
    """Return a chart as an SVG image: one that follows dark pages, and says by its title what it shows."""
    text = io.StringIO()
    chart.save(text, format="svg")
    head, tail = follow_dark(text.getvalue()).split(">", 1)
    return f'{head} role="img"><title>{escape(title_of(chart))}</title>{tail}\n'


def _as_html(chart: Any) -> str:  # noqa: ANN401  (a chart of altair)
    text = io.StringIO()
    # Drawn as SVG, whose colours rules of CSS can reach; its paper is that of the page.
    options = {"renderer": "svg", "actions": False}
    chart.save(text, format="html", inline=True, embed_options=options, json_kwds=INERT)
    paper = f"body{{margin:0;background:{PAPER}}}.vega-embed svg{{background:none!important}}"
    rules = f"{paper}@media (prefers-color-scheme: dark){{body{{background:{DARK[PAPER]}}}}}{dark_rules('.vega-embed')}"
    scheme = '<meta name="color-scheme" content="light dark">'
    return text.getvalue().replace("<head>", f"<head>{scheme}<style>{rules}</style>", 1)


def title_of(chart: Any) -> str:  # noqa: ANN401  (a chart of altair)
    """Return the title of a chart, or of its first panel that has one."""
    return _title(chart.to_dict())


def _title(specification: Mapping[str, Any]) -> str:
    title = specification.get("title", "")
    words = title.get("text", "") if isinstance(title, Mapping) else title
    text = " ".join(words) if isinstance(words, Sequence) and not isinstance(words, str) else str(words)
    panels = [panel for kind in ("vconcat", "hconcat", "concat") for panel in specification.get(kind, ())]
    return text or next((found for panel in panels if (found := _title(panel))), "A chart")
