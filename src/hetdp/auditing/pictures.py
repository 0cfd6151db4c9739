"""An audit drawn: what is certified to leak beside what was claimed, item by item. The owner's, as the report is."""

from typing import Any

from hetdp.auditing.report import NOTHING, OWNERS, VIOLATED, AuditReport, AuditRow
from hetdp.cards import BLUE, INK, RED, Card, CardTable, bar
from hetdp.core.text import counted, printable
from hetdp.plots import WIDTH, amount, drawn, layer, name_axis, titled, tooltip

#: Rows that a picture has room for: those that come closest to their claim.
_MOST = 60


def _held(report: "AuditReport") -> str:
    return f"Bounds hold together with confidence {report.confidence:.10g}; no violation found is not a proof."


def _nearest(row: "AuditRow") -> float:
    return row.lower_bound / max(row.claimed, 1e-9)


def audit_card(report: "AuditReport") -> Card:
    """Return the card of a report: a row per item."""
    most = max((max(row.claimed, row.lower_bound) for row in report.rows), default=0.0) or 1.0
    rows = [
        (
            str(row.item),
            f"{row.claimed:.4g}",
            f"{row.lower_bound:.4g}",
            bar(row.lower_bound / most, f"at least {row.lower_bound:.4g}", RED if row.verdict == VIOLATED else BLUE),
            row.verdict,
            row.event,
        )
        for row in report.rows
    ]
    header = ("item", "claimed", "loss at least", "", "verdict", "event")
    left = report.planned_rows - len(report.rows)
    stopped = [f"Interrupted: {counted(left, 'pair')} left."] if left > 0 else []
    return Card(
        "Audit",
        about=report.subject,
        marks=("private", *(["violated"] if report.verdict == VIOLATED else [])),
        table=CardTable(header, rows, numbers=(1, 2), rest=" in .rows"),
        sentences=[*stopped, f"{report.verdict.capitalize()}. {_held(report)} {OWNERS}"],
    )


def plot_audit(report: "AuditReport") -> Any:  # noqa: ANN401  (altair is optional)
    """Return the drawing of a report."""
    kept = sorted(report.rows, key=_nearest, reverse=True)[:_MOST]
    rows = [
        {
            "name": printable(str(row.item)),
            "claimed": row.claimed,
            "bound": row.lower_bound,
            "zero": 0,
            "verdict": row.verdict,
            "numbers": f"at least {row.lower_bound:.4g}, claimed {row.claimed:.4g}",
            "event": printable(row.event),
        }
        for row in report.rows
        if row in kept
    ]
    fewer = f"The {_MOST} of {len(report.rows):,} rows that come closest." if len(report.rows) > _MOST else ""
    title = titled(
        f"{report.subject}: {report.verdict}",
        "Bar: what it leaks at least, certified. Line: what was claimed.",
        f"{_held(report)} {OWNERS} {fewer}",
    )
    verdicts = {"field": "verdict", "type": "nominal", "legend": None}
    verdicts["scale"] = {"domain": [VIOLATED, NOTHING], "range": [RED, BLUE]}  # type: ignore[assignment]
    told = tooltip({"name": "item", "numbers": "loss", "verdict": "verdict", "event": "event"})
    at: dict[str, Any] = {"y": name_axis(rows, "item"), "tooltip": told}
    words = "privacy loss (epsilon)"
    scale = {"zero": True, "padding": 0, "nice": True}
    layers = [
        layer(
            rows,
            {"type": "bar", "height": 11, "cornerRadius": 2},
            **at,
            x=amount("bound", words, scale=scale),
            color=verdicts,
        ),
        layer(
            rows,
            {"type": "tick", "thickness": 2.5, "size": 19, "color": INK, "opacity": 1},
            **at,
            x=amount("claimed", words, scale=scale),
        ),
    ]
    return drawn({"title": title, "width": WIDTH, "height": {"step": 26}, "layer": layers})
