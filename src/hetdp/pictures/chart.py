"""Charts of altair that look like the house, and show themselves as a picture that needs no script and no network.

Importing this needs the extra `plot`, so it is imported when something is drawn.
"""

from typing import Any

from hetdp.core.optional import require_all
from hetdp.pictures.files import INERT, PACKAGES, as_svg, title_of
from hetdp.pictures.style import Specification, house_style

require_all(PACKAGES, extra="plot", purpose="A picture")

import altair as alt  # noqa: E402  (where it is missing, that has been said in words)

__all__ = ["LayeredPicture", "Picture", "StackedPicture", "as_chart"]

_THEME = "hetdp"


def _theme() -> alt.theme.ThemeConfig:
    return {"config": house_style(), "padding": 12}  # type: ignore[typeddict-item]


alt.theme.register(_THEME, enable=False)(_theme)


class Picture:
    """What ``.plot()`` of results has beyond any chart of altair: change it, compose it, save it as any other.

    It has the style of the house unless another theme is enabled (`alt.theme`), and notebooks show it as an SVG image
    unless another renderer is (`alt.renderers`): nothing is fetched, and it follows dark pages. To give that style to
    charts that it is composed with, `alt.theme.enable("hetdp")`.
    """

    def to_dict(self, *arguments: Any, **settings: Any) -> dict[str, Any]:  # noqa: ANN401  (those of altair)
        """Return the specification, as altair does."""
        mine = _THEME if alt.theme.active == "default" else alt.theme.active
        with alt.theme.enable(mine):
            made: dict[str, Any] = super().to_dict(*arguments, **settings)  # type: ignore[misc]
        return made

    def to_html(self, *arguments: Any, **settings: Any) -> str:  # noqa: ANN401  (those of altair)
        """Return a page, as altair does, in which no text of the drawing can be a script."""
        page: str = super().to_html(*arguments, **{"json_kwds": INERT, **settings})  # type: ignore[misc]
        return page

    def save(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401  (those of altair)
        """Write a file, as altair does; no text of the drawing can be a script in a page."""
        super().save(*arguments, **{"json_kwds": INERT, **settings})  # type: ignore[misc]

    def _repr_mimebundle_(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401  (those of altair)
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **settings)  # type: ignore[misc]
        return {"image/svg+xml": as_svg(self), "text/plain": f"<picture: {title_of(self)}>"}


class LayeredPicture(Picture, alt.LayerChart):
    """A picture of one panel."""


class StackedPicture(Picture, alt.VConcatChart):
    """A picture of panels below each other."""


def as_chart(specification: Specification) -> "LayeredPicture | StackedPicture":
    """Return a picture of panels (`vconcat`), or of one (`layer`)."""
    if "vconcat" in specification:
        panels = [_panel(alt.LayerChart, panel) for panel in specification["vconcat"]]
        return StackedPicture(**{**specification, "vconcat": panels})
    one: LayeredPicture = _panel(LayeredPicture, specification)
    return one


def _panel(kind: Any, specification: Specification) -> Any:  # noqa: ANN401  (a class of altair)
    # Charts rather than parts of a schema, so that people can go on with each of them.
    layers = [alt.Chart.from_dict(layer) for layer in specification["layer"]]
    return kind(**{**specification, "layer": layers})
