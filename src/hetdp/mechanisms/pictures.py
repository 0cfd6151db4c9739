"""A comparison of mechanisms: as a card, drawn, and as an image that needs nothing installed."""

import math
from html import escape
from typing import TYPE_CHECKING, Any

from hetdp.core.text import printable
from hetdp.pictures.cards import Card, CardTable, bar
from hetdp.pictures.drawing import WIDTH, amount, decades, drawn, layer, name_axis, text_of, titled, tooltip
from hetdp.pictures.style import GREEN, INK, LINE, MUTED, PAPER, follow_dark

if TYPE_CHECKING:
    from hetdp.mechanisms.comparison import Comparison, Contender

__all__ = ["comparison_card", "comparison_svg", "plot_comparison"]

_LOG = "root mean squared error (logarithmic)"
#: Standard errors to either side of a simulated error.
_SURE = 1.96
#: Bars of a card end at so many times the smallest error: the good ones are what is to be compared.
_LONGEST = 4


def _title(found: "Comparison") -> str:
    return f"Error of the {found.query} of {found.items:,} items at epsilon = {found.epsilon:g}"


def _color(found: "Comparison", contender: "Contender") -> str:
    return GREEN if contender is found.recommended else MUTED


def comparison_card(found: "Comparison") -> Card:
    """Return the card of a comparison: a row per mechanism, and how to release with the one recommended."""
    most = _LONGEST * found.contenders[0].rmse or 1.0
    rows = [
        (
            one.name,
            f"{one.rmse:.3g} ± {one.uncertainty:.1g}",
            f"{one.bias:+.2g}",
            bar(one.rmse / most, f"{one.rmse:.3g}", _color(found, one)),
        )
        for one in found.contenders
    ]
    return Card(
        "Comparison",
        about=f"{found.query} of {found.items:,} items, epsilon = {found.epsilon:g}, simulated",
        table=CardTable(("mechanism", "error", "bias", f"up to {_LONGEST} times the smallest"), rows, numbers=(1, 2)),
        sentences=[f"Recommended: {found.reason}"],
        code=found.command,
    )


def plot_comparison(found: "Comparison") -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of a comparison: errors on a logarithmic scale, with the luck of the simulation."""
    rows: list[dict[str, Any]] = [
        {
            "name": printable(one.name),
            "error": max(one.rmse, 1e-300),
            "low": max(one.rmse - _SURE * one.uncertainty, one.rmse / 10, 1e-300),
            "high": max(one.rmse + _SURE * one.uncertainty, 1e-300),
            "shown": f"{one.rmse:.3g}",
            "bias": f"{one.bias:+.2g}",
            "recommended": "yes" if one is found.recommended else "no",
        }
        for one in found.contenders
    ]
    title = titled(
        _title(found), "Simulated from public knowledge, with the 95 % interval of each; green: recommended."
    )
    scale = {"type": "log", "nice": False, "padding": 14}
    color = {"field": "recommended", "type": "nominal", "legend": None}
    color["scale"] = {"domain": ["yes", "no"], "range": [GREEN, MUTED]}  # type: ignore[assignment]
    told = tooltip({"name": "mechanism", "shown": "error", "bias": "bias", "recommended": "recommended"})
    at: dict[str, Any] = {"y": name_axis(rows), "color": color, "tooltip": told}
    axis = {"values": decades([row[end] for row in rows for end in ("low", "high")]), "format": "~g"}
    low, x, to = (amount(field, _LOG, scale=scale, axis=axis) for field in ("low", "error", "high"))
    layers = [
        layer(
            rows,
            {"type": "rule", "strokeWidth": 7, "strokeCap": "round", "opacity": 0.32},
            **at,
            x=low,
            x2={"field": "high"},
        ),
        layer(rows, {"type": "point", "filled": True, "size": 80, "opacity": 1}, **at, x=x),
        layer(rows, {"type": "text", "align": "left", "dx": 10}, y=name_axis(rows), x=to, text=text_of("shown")),
    ]
    return drawn({"title": title, "width": WIDTH, "height": {"step": 28}, "layer": layers})


def comparison_svg(found: "Comparison") -> str:
    """Return an image of a comparison without anything installed: a point for each error, on a logarithmic scale."""
    errors = [max(one.rmse, 1e-300) for one in found.contenders]
    low, high = math.log10(min(errors)) - 0.3, math.log10(max(errors)) + 1e-9
    rows = []
    for place, (one, error) in enumerate(zip(found.contenders, errors, strict=True)):
        x, y = 280 + 260 * (math.log10(error) - low) / (high - low), 66 + 28 * place
        color = _color(found, one)
        rows.append(
            f'<text x="250" y="{y + 4}" text-anchor="end" fill="{INK}">{escape(printable(one.name))}</text>'
            f'<line x1="262" x2="{x:.0f}" y1="{y}" y2="{y}" stroke="{LINE}" stroke-width="2"/>'
            f'<circle cx="{x:.0f}" cy="{y}" r="5.5" fill="{color}"/>'
            f'<text x="{x + 12:.0f}" y="{y + 4}" fill="{MUTED}">{one.rmse:.3g}</text>'
        )
    title, wide, tall = escape(_title(found)), 640, 64 + 28 * len(rows)
    return follow_dark(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" viewBox="0 0 {wide} {tall}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="13"><title>{title}</title>'
        f'<rect width="{wide}" height="{tall}" fill="{PAPER}"/>'
        f'<text x="14" y="24" font-size="14" font-weight="600" fill="{INK}">{title}</text>'
        f'<text x="14" y="42" font-size="12" fill="{MUTED}">simulated; logarithmic scale; green: recommended</text>'
        f"{''.join(rows)}</svg>\n"
    )
