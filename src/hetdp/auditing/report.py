"""What an audit says: rows with a lower bound beside each claim, and findings that every audit shares."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hetdp.core.text import counted

#: The verdicts. There is no "private": runs can refute a promise, never prove it.
VIOLATED, NOTHING = "violated", "no violation found"


#: What every report of one mechanism says of itself.
OWNERS = "Private, for the owner: claims and bounds tell weights."


@dataclass(frozen=True)
class Finding:
    """What one audit says about one subject; it holds no value and no text of an exception.

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
    """

    audit: str
    subject: str
    verdict: str
    words: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.subject} ({self.audit} audit): {self.verdict}. {self.words}"

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
        The largest certified loss; the true one is at least this, up to the false-alarm rate.
    event
        The event that certifies it, in words.
    samples
        Runs per side that the event was counted on.
    detectable
        The smallest true loss that so many runs were planned to find.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the row, ready for JSON."""
        item = self.item if isinstance(self.item, str | int) else str(self.item)
        return {**asdict(self), "item": item, "verdict": self.verdict}


@dataclass(frozen=True, repr=False)
class AuditReport:
    """Lower bounds on the privacy loss of every audited item, beside what was claimed.

    Claims and bounds tell weights: the report is the owner's. "No violation found" is not a proof.

    Attributes
    ----------
    subject
        What was audited.
    rows
        One per audited pair of adjacent profiles.
    confidence
        Chance that all bounds of this report hold together.
    cost
        What was planned, in words.
    planned_rows
        How many rows a complete audit has.
    """

    subject: str
    rows: Sequence[AuditRow]
    confidence: float
    cost: str = ""
    planned_rows: int = 0

    def __repr__(self) -> str:
        return f"AuditReport(private: {self.subject}, {self.verdict}, {counted(len(self.rows), 'row')})"

    @property
    def verdict(self) -> str:
        """The worst verdict of all rows."""
        return VIOLATED if any(row.verdict == VIOLATED for row in self.rows) else NOTHING

    @property
    def finding(self) -> Finding:
        """The report as a finding."""
        if not self.rows:
            return Finding("statistical", self.subject, self.verdict, "Nothing was measured.", {})
        worst = max(self.rows, key=lambda row: (row.verdict == VIOLATED, row.lower_bound / max(row.claimed, 1e-9)))
        words = (
            f"Item {worst.item}: loss at least {worst.lower_bound:.4g}, claimed {worst.claimed:.4g} ({worst.event})."
        )
        return Finding("statistical", self.subject, self.verdict, words, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the report, ready for JSON."""
        return {
            "subject": self.subject,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "cost": self.cost,
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
        return "\n".join(lines)

    def plot(self) -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: for each item the certified loss beside the claim. The owner's, as the report is.

        Needs the extra `plot`. Notebooks show it as an image; `hetdp.plots.save` writes it to a file.
        """
        from hetdp.auditing.pictures import plot_audit

        return plot_audit(self)

    def _repr_html_(self) -> str:
        from hetdp.auditing.pictures import audit_card

        return audit_card(self).html()


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
