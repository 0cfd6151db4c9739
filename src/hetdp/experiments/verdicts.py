"""The paper's conclusions, tested: each number has an interval, and the intervals of the whole table hold together.

The chance to be wrong is divided among all intervals of the table (union bound): all of them hold together with 95 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.claims import Claim, claims_about
from hetdp.experiments.measurements import MeanOverRuns, Measurements, mean_over_runs
from hetdp.experiments.paper import CONCLUSIONS, Conclusion
from hetdp.experiments.prepared import DataSet
from hetdp.experiments.sweep import SweepSettings

#: The chance that any interval of the whole table misses its true value, if runs are about normal.
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
        found = {check.outcome for check in self.checks} - {"shown"}
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
        found = {check.size for check in self.checks} - {""}
        if len(found) <= 1:
            return next(iter(found), "")
        differing = found & {"smaller", "larger", "opposite"}
        if not differing:
            return "open"
        return differing.pop() if len(found - {"open"}) == 1 else "in part"

    @property
    def runs(self) -> int:
        """The number of runs."""
        return max((check.found.runs for check in self.checks), default=0)


def judge_claims(measured: Measurements, settings: SweepSettings, data: Sequence[DataSet]) -> list[Verdict]:
    """Return a verdict for every conclusion and data set that was measured."""
    claims = [claim for one in data for claim in claims_about(measured, settings, one)]
    confidence = 1.0 - ERROR_RATE / max(1, sum(claim.intervals for claim in claims))
    verdicts = []
    for conclusion in CONCLUSIONS:
        for one in data:
            mine = [claim for claim in claims if (claim.conclusion, claim.data) == (conclusion.key, one.name)]
            if mine:
                checks = tuple(_check(claim, confidence) for claim in mine)
                verdicts.append(Verdict(conclusion, one.name, one.paper not in conclusion.about, checks, confidence))
    return verdicts


def _check(claim: Claim, confidence: float) -> Check:
    """Return what became of a claim."""
    found = mean_over_runs(claim.values, confidence=confidence)
    return Check(claim, found, _direction(claim, confidence), _size(claim, found))


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
