"""What our runs say about the paper's conclusions: each claim gets an interval, each conclusion a word."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.claims import Claim, claims_about
from hetdp.experiments.conclusions import CONCLUSIONS, Conclusion
from hetdp.experiments.measurements import Estimate, Measurements, estimate
from hetdp.experiments.settings import Settings

__all__ = ["ERROR_RATE", "OUTCOMES", "Check", "Verdict", "judge_claims"]

#: The chance that any interval of the whole table misses its true value, if runs are about normal (Bonferroni).
ERROR_RATE = 0.05
#: Every word a verdict can be.
OUTCOMES = ("confirmed", "in part", "open", "refuted", "not tested")
#: Runs that differ by less than this do not differ: rounding of means.
_NO_SPREAD = 1e-12


@dataclass(frozen=True)
class Check:
    """A claim and what became of it.

    Attributes
    ----------
    outcome
        "holds", "fails", "open"; "in part" if it holds on average, but in too few mixes; "not tested" if all runs give
        the same number, so that they say nothing about spread; "shown" if nothing is asked.
    """

    claim: Claim
    found: Estimate
    outcome: str

    @property
    def published(self) -> str:
        """What the paper's own points say: "holds", "fails", or "" if there are none."""
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
    def outcome(self) -> str:
        """The checks in a word: confirmed if all hold, refuted if all fail, in part if some hold and some fail."""
        outcomes = {check.outcome for check in self.checks if check.claim.counts}
        if len(outcomes) == 1:
            only = outcomes.pop()
            return {"holds": "confirmed", "fails": "refuted"}.get(only, only)
        if not outcomes:
            return "not tested"
        decided = outcomes <= {"holds", "fails", "in part"}
        return "in part" if decided or {"holds", "fails"} <= outcomes else "open"


def judge_claims(
    measured: Measurements, settings: Settings, data: Sequence[str], *, built_in: Collection[str] = ()
) -> list[Verdict]:
    """Return a verdict for every conclusion and data set that was measured.

    Parameters
    ----------
    measured
        The runs.
    settings
        The sweep they come from.
    data, built_in
        Names of the data sets, and of those that are built in: no others have published points.
    """
    claims = [claim for name in data for claim in claims_about(measured, settings, name, built_in=name in built_in)]
    intervals = sum(max(1, (claim.low is not None) + (claim.high is not None)) for claim in claims)
    confidence = 1.0 - ERROR_RATE / max(1, intervals)
    checks = [_check(claim, confidence) for claim in claims]
    verdicts = []
    for conclusion in CONCLUSIONS:
        for name in data:
            mine = tuple(one for one in checks if (one.claim.conclusion, one.claim.data) == (conclusion.key, name))
            if mine:
                extended = name not in built_in or name not in conclusion.about
                verdicts.append(Verdict(conclusion, name, extended, mine, confidence))
    return verdicts


def _check(claim: Claim, confidence: float) -> Check:
    found = estimate(claim.values, confidence=confidence)
    rooms = [
        room
        for room in (
            None if claim.low is None else claim.values - claim.low,
            None if claim.high is None else claim.high - claim.values,
        )
        if room is not None
    ]
    if not rooms:
        return Check(claim, found, "shown")
    if _spreadless(claim.values) or any(_spreadless(room) for room in rooms):
        return Check(claim, found, "not tested")
    within = [estimate(room, confidence=confidence) for room in rooms]
    if any(room.high < 0 for room in within):
        return Check(claim, found, "fails")
    if not all(room.low > 0 for room in within):
        return Check(claim, found, "open")
    enough = claim.mixes is None or claim.mixes.ours >= claim.mixes.needed
    return Check(claim, found, "holds" if enough else "in part")


def _spreadless(values: NDArray[np.float64]) -> bool:
    """Return whether several runs all give the same number; one run alone is another matter."""
    return values.size > 1 and float(np.ptp(values)) < _NO_SPREAD
