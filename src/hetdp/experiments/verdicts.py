"""The paper's conclusions put to the test: each number with an interval that allows for looking again, then a word.

Runs go on until every number is decided, or until a stated most. Whoever looks at an interval several times, and stops
when they like what they see, is wrong more often than each interval says. Here, the looks are fixed beforehand (`looks`
of the settings), and the chance to be wrong is divided among all intervals and all looks: by the union bound, all that
are ever looked at hold together with 95 %, whenever one stops.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.claims import Claim, claims_about
from hetdp.experiments.configurations import Configuration
from hetdp.experiments.measurements import MeanOverRuns, Measurements, mean_over_runs
from hetdp.experiments.paper_claims import CONCLUSIONS, Conclusion
from hetdp.experiments.prepared import DataSet
from hetdp.experiments.sweep import SweepSettings

__all__ = ["DIRECTIONS", "ERROR_RATE", "SIZES", "Check", "Verdict", "judge_claims", "unsettled"]

#: The chance that any interval of the whole table misses its true value at any look, if runs are about normal.
ERROR_RATE = 0.05
#: Every word a verdict on a direction can be.
DIRECTIONS = ("confirmed", "in part", "open", "refuted", "not tested")
#: Every word a verdict on a size can be; nothing if nothing is published.
SIZES = ("as published", "smaller", "larger", "opposite", "in part", "open", "")
#: Runs that differ by less than this do not differ: rounding of means.
_NO_SPREAD = 1e-12


@dataclass(frozen=True)
class Check:
    """A claim and what became of it.

    Attributes
    ----------
    claim
        The claim, with the runs that were looked at.
    found
        The mean of its number, and its interval.
    outcome
        Its direction: "holds", "fails", "open"; "in part" if it holds on average, but in too few mixes; "not tested" if
        all runs give the same number, so that they say nothing about spread; "shown" if nothing is asked.
    size
        "as published", "smaller", "larger", "opposite" (of the other sign), "open", or "" if nothing is published.
    """

    claim: Claim
    found: MeanOverRuns
    outcome: str
    size: str

    @property
    def settled(self) -> bool:
        """Whether more runs would decide nothing more."""
        return "open" not in (self.outcome, self.size)

    @property
    def published(self) -> str:
        """What the published points say: "holds", "fails", or "" if there are none."""
        return {None: "", True: "holds", False: "fails"}[self.claim.published_holds]


@dataclass(frozen=True)
class Verdict:
    """What our runs say about one conclusion on one data set.

    Attributes
    ----------
    conclusion, data
        What it is about.
    extended
        Whether the paper says nothing about such data, and the test is extended to them by us.
    checks, confidence
        Its claims, and the confidence of each interval.
    """

    conclusion: Conclusion
    data: str
    extended: bool
    checks: tuple[Check, ...]
    confidence: float

    @property
    def direction(self) -> str:
        """The directions in a word: a conclusion about several numbers is refuted by one that fails.

        If others hold, it is so in part.
        """
        found = {check.outcome for check in self.deciding} - {"shown"}
        if "fails" in found:
            return "in part" if found & {"holds", "in part"} else "refuted"
        if found <= {"not tested"}:
            return "not tested"
        if found & {"open", "not tested"}:
            return "open"
        return "in part" if "in part" in found else "confirmed"

    @property
    def size(self) -> str:
        """The sizes in a word: one that is not as published decides, unless others are."""
        found = {check.size for check in self.deciding} - {""}
        if len(found) <= 1:
            return next(iter(found), "")
        differing = found & {"smaller", "larger", "opposite"}
        if not differing:
            return "open"
        return differing.pop() if len(found - {"open"}) == 1 else "in part"

    @property
    def runs(self) -> int:
        """How many runs were needed, or used without an answer."""
        return max((check.found.runs for check in self.deciding), default=0)

    @property
    def deciding(self) -> tuple[Check, ...]:
        """Its claims without cross-checks."""
        return tuple(check for check in self.checks if check.claim.counts)


def judge_claims(measured: Measurements, settings: SweepSettings, data: Sequence[DataSet]) -> list[Verdict]:
    """Return a verdict for every conclusion and data set that was measured, each with as many runs as it needed."""
    first = [claim for one in data for claim in claims_about(measured.first(settings.looks[0]), settings, one)]
    intervals = sum(claim.intervals for claim in first) * len(settings.looks)
    confidence = 1.0 - ERROR_RATE / max(1, intervals)
    checks: dict[tuple[str, str, str], Check] = {}
    for look in settings.looks:
        seen = measured.first(look)
        for claim in (claim for one in data for claim in claims_about(seen, settings, one)):
            key = (claim.conclusion, claim.data, claim.text)
            before = checks.get(key)
            if before is None or not before.settled or not claim.counts:
                checks[key] = _check(claim, confidence, before)
    verdicts = []
    for conclusion in CONCLUSIONS:
        for one in data:
            mine = tuple(found for key, found in checks.items() if key[:2] == (conclusion.key, one.name))
            if mine:
                verdicts.append(Verdict(conclusion, one.name, one.paper not in conclusion.about, mine, confidence))
    return verdicts


def unsettled(verdicts: Iterable[Verdict]) -> dict[str, set[Configuration]]:
    """Return what has to be run again to decide what is open, by data set; cross-checks go with what they check."""
    needed: dict[str, set[Configuration]] = {}
    for verdict in verdicts:
        if not all(check.settled for check in verdict.deciding):
            for check in verdict.checks:
                if not check.settled:
                    needed.setdefault(verdict.data, set()).update(check.claim.needs)
    return needed


def _check(claim: Claim, confidence: float, before: Check | None) -> Check:
    """Return what became of a claim; what was decided at an earlier look stays decided."""
    found = mean_over_runs(claim.values, confidence=confidence)
    now = Check(claim, found, _direction(claim, confidence), _size(claim, found))
    if before is None:
        return now
    held = {before.outcome, now.outcome} & {"holds", "in part"} and before.outcome != "fails"
    if held:  # on average; mixes are counted anew
        return replace(now, outcome=_in_enough(claim), size=_first((before.size, now.size)))
    return replace(now, outcome=_first((before.outcome, now.outcome)), size=_first((before.size, now.size)))


def _first(words: Collection[str]) -> str:
    return next((word for word in words if word != "open"), "open")


def _direction(claim: Claim, confidence: float) -> str:
    rooms = [
        room
        for room in (
            None if claim.low is None else claim.values - claim.low,
            None if claim.high is None else claim.high - claim.values,
        )
        if room is not None
    ]
    if not rooms:
        return "shown"
    if _spreadless(claim.values) or any(_spreadless(room) for room in rooms):
        return "not tested"
    within = [mean_over_runs(room, confidence=confidence) for room in rooms]
    if any(room.high < 0 for room in within):
        return "fails"
    return _in_enough(claim) if all(room.low > 0 for room in within) else "open"


def _in_enough(claim: Claim) -> str:
    return "holds" if claim.mixes is None or claim.mixes.ours >= claim.mixes.needed else "in part"


def _size(claim: Claim, found: MeanOverRuns) -> str:
    if claim.size is None:
        return ""
    low, high = claim.size
    if low <= found.low and found.high <= high:
        return "as published"
    if low <= found.high and found.low <= high:
        return "open"
    sign = -1 if (claim.published or 0.0) < 0 else 1  # a fall of 0.1 is smaller than one of 0.2
    if max(sign * found.low, sign * found.high) < 0:
        return "opposite"
    return "smaller" if sign * found.mean < sign * (claim.published or 0.0) else "larger"


def _spreadless(values: NDArray[np.float64]) -> bool:
    """Return whether several runs all give the same number; one run alone is another matter."""
    return values.size > 1 and float(np.ptp(values)) < _NO_SPREAD
