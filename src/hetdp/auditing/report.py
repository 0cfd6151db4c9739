"""Results of audits: findings, which every audit has, and reports with a lower bound beside each claim."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

from hetdp.cards import BLUE, INK, RED, Card, CardTable, bar
from hetdp.core.text import counted, printable
from hetdp.plots import WIDTH, amount, drawn, layer, name_axis, titled, tooltip

#: The verdicts. There is no "private": runs can refute a promise, never prove it.
VIOLATED, NOTHING = "violated", "no violation found"
#: Every report of one mechanism says this.
OWNERS = "Private, for the owner: claims and bounds tell weights."
#: Rows that a picture has room for: those that come closest to their claim.
_MOST = 60


def rounded_up(number: float, digits: int = 4) -> str:
    """Return a number with a few digits, not below its value."""
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(number)))):g}"


@dataclass(frozen=True)
class Finding:
    """The result of one audit of one subject; it holds no private value and no message of an exception.

    Attributes
    ----------
    audit
        "statistical", "noise scale", "replay", "sampler", "floating point" or "ledger".
    subject
        What was audited.
    verdict
        "violated" or "no violation found".
    words
        The outcome in a sentence.
    figures
        The numbers behind it.
    smallest
        The smallest violation that this audit would have found. Where chance plays a part, with probability 99.9 %.
    """

    audit: str
    subject: str
    verdict: str
    words: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    smallest: str = ""

    def __str__(self) -> str:
        end = f" Would have found: {self.smallest}." if self.smallest else ""
        return f"{self.subject} ({self.audit} audit): {self.verdict}. {self.words}{end}"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class AuditRow:
    """What the runs say about one item.

    Attributes
    ----------
    item
        The item in which the two profiles differ.
    claimed
        The promised loss.
    lower_bound
        The largest certified loss; the true loss is at least this, up to the false-alarm rate.
    event
        The event that certifies it, in words.
    samples
        Runs per side that the event was counted on.
    detectable
        The smallest loss that would have been found with probability 99.9 %, if an event of probability 1/2 shows it,
        as it does for Laplace noise. A loss that only rare outputs show takes more runs.
    """

    item: Hashable
    claimed: float
    lower_bound: float
    event: str
    samples: int
    detectable: float

    def __repr__(self) -> str:
        return f"AuditRow(private: {self.verdict})"

    @property
    def verdict(self) -> str:
        """Whether the bound is above the claim."""
        return VIOLATED if self.lower_bound > self.claimed else NOTHING

    @property
    def nearness(self) -> float:
        """The certified loss as a share of the claim."""
        return self.lower_bound / max(self.claimed, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return the row, ready for JSON."""
        item = self.item if isinstance(self.item, str | int) else str(self.item)
        return {**asdict(self), "item": item, "verdict": self.verdict}


@dataclass(frozen=True, repr=False)
class AuditReport:
    """Lower bounds on the privacy loss of every audited item, beside what was claimed.

    Claims and bounds tell weights: the report is for the owner. "No violation found" is not a proof.

    Attributes
    ----------
    subject
        What was audited.
    rows
        One per audited pair of adjacent profiles.
    confidence
        Probability that all bounds of this report hold together.
    planned_rows
        How many rows a complete audit has.
    """

    subject: str
    rows: Sequence[AuditRow]
    confidence: float
    planned_rows: int = 0

    def __repr__(self) -> str:
        return f"AuditReport(private: {self.subject}, {self.verdict}, {counted(len(self.rows), 'row')})"

    @property
    def verdict(self) -> str:
        """The worst verdict of all rows."""
        return VIOLATED if any(row.verdict == VIOLATED for row in self.rows) else NOTHING

    @property
    def smallest(self) -> str:
        """The smallest violation that would have been found, relative to its claim."""
        if not self.rows:
            return "nothing: no pair is complete"
        if not any(math.isfinite(row.detectable) for row in self.rows):
            return "no loss at all: too few runs"
        row = min(self.rows, key=lambda row: row.detectable / max(row.claimed, 1e-9))
        return f"a loss of {rounded_up(row.detectable)} for item {row.item} (claimed {row.claimed:.4g})"

    @property
    def finding(self) -> Finding:
        """The report as a finding."""
        if not self.rows:
            return Finding("statistical", self.subject, self.verdict, "Nothing was measured.")
        worst = max(self.rows, key=lambda row: (row.verdict == VIOLATED, row.nearness))
        words = (
            f"Item {worst.item}: loss at least {worst.lower_bound:.4g}, claimed {worst.claimed:.4g} ({worst.event})."
        )
        return Finding("statistical", self.subject, self.verdict, words, self.to_dict(), self.smallest)

    def to_dict(self) -> dict[str, Any]:
        """Return the report, ready for JSON."""
        return {
            "subject": self.subject,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "smallest": self.smallest,
            "complete": len(self.rows) >= self.planned_rows,
            "private": OWNERS,
            "rows": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        lines = [f"{self.subject}: {self.verdict} (confidence {self.confidence:.10g}). {OWNERS}"]
        lines.append(f"{'item':>8}  {'claimed':>8}  {'at least':>8}  {'runs':>9}  {'verdict':<18}  event")
        lines += [
            f"{row.item!s:>8}  {row.claimed:8.4g}  {row.lower_bound:8.4g}  {row.samples:9,}  "
            f"{row.verdict:<18}  {row.event}"
            for row in self.rows
        ]
        if len(self.rows) < self.planned_rows:
            lines.append(f"Interrupted after {len(self.rows)} of {self.planned_rows} pairs.")
        return "\n".join([*lines, f"Would have found: {self.smallest}."])

    @property
    def _caution(self) -> str:
        held = f"Bounds hold together with confidence {self.confidence:.10g}; no violation found is not a proof."
        return f"{held} {OWNERS}"

    def plot(self) -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: for each item the certified loss beside the claim. It is private, as the report is.

        Needs the extra `plot`. Notebooks show it as an image; `hetdp.plots.save` writes it to a file.
        """
        kept = sorted(self.rows, key=lambda row: row.nearness, reverse=True)[:_MOST]
        rows = [
            {
                "name": printable(str(row.item)),
                "claimed": row.claimed,
                "bound": row.lower_bound,
                "verdict": row.verdict,
                "numbers": f"at least {row.lower_bound:.4g}, claimed {row.claimed:.4g}",
                "event": printable(row.event),
            }
            for row in self.rows
            if row in kept
        ]
        fewer = f"The {_MOST} of {len(self.rows):,} rows that come closest." if len(self.rows) > _MOST else ""
        about = "Bar: what it leaks at least, certified. Line: what was claimed."
        title = titled(f"{self.subject}: {self.verdict}", about, f"{self._caution} {fewer}")
        colours = {"domain": [VIOLATED, NOTHING], "range": [RED, BLUE]}
        verdicts = {"field": "verdict", "type": "nominal", "legend": None, "scale": colours}
        shown = tooltip({"name": "item", "numbers": "loss", "verdict": "verdict", "event": "event"})
        at: dict[str, Any] = {"y": name_axis(rows, "item"), "tooltip": shown}
        scale, words = {"zero": True, "padding": 0, "nice": True}, "privacy loss (epsilon)"
        bars = {"type": "bar", "height": 11, "cornerRadius": 2}
        lines = {"type": "tick", "thickness": 2.5, "size": 19, "color": INK, "opacity": 1}
        layers = [
            layer(rows, bars, **at, x=amount("bound", words, scale=scale), color=verdicts),
            layer(rows, lines, **at, x=amount("claimed", words, scale=scale)),
        ]
        return drawn({"title": title, "width": WIDTH, "height": {"step": 26}, "layer": layers})

    def _repr_html_(self) -> str:
        most = max((max(row.claimed, row.lower_bound) for row in self.rows), default=0.0) or 1.0
        rows = []
        for row in self.rows:
            bound, colour = f"{row.lower_bound:.4g}", RED if row.verdict == VIOLATED else BLUE
            drawing = bar(row.lower_bound / most, f"at least {bound}", colour)
            rows.append((str(row.item), f"{row.claimed:.4g}", bound, drawing, row.verdict, row.event))
        header = ("item", "claimed", "loss at least", "", "verdict", "event")
        left = self.planned_rows - len(self.rows)
        stopped = [f"Interrupted: {counted(left, 'pair')} left."] if left > 0 else []
        return Card(
            "Audit",
            about=self.subject,
            marks=("private", *([VIOLATED] if self.verdict == VIOLATED else [])),
            table=CardTable(header, rows, numbers=(1, 2), rest=" in .rows"),
            sentences=[
                *stopped,
                f"{self.verdict.capitalize()}. Would have found: {self.smallest}. {self._caution}",
            ],
        ).html()


class AuditInterrupted(KeyboardInterrupt):
    """Ctrl-C during an audit.

    Attributes
    ----------
    report
        The rows that were complete by then.
    """

    def __init__(self, report: AuditReport) -> None:
        super().__init__("audit interrupted")
        self.report = report
