"""The table of verdicts: the paper's conclusions in its own words, what our runs say, and every number behind it."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hetdp.experiments.conclusions import CONCLUSIONS
from hetdp.experiments.measurements import Estimate
from hetdp.experiments.verdicts import ERROR_RATE, OUTCOMES, Check, Verdict

__all__ = ["tally", "verdict_note", "verdict_rows"]


def tally(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return how often each word was said about what the paper concludes, and how many verdicts are our extensions."""
    counts = Counter(verdict.outcome for verdict in verdicts if not verdict.extended)
    return {
        "outcomes": [(outcome, counts[outcome]) for outcome in OUTCOMES if counts[outcome]],
        "extended": sum(verdict.extended for verdict in verdicts),
    }


def verdict_rows(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return the table of verdicts, one row for each conclusion."""
    rows = []
    for conclusion in CONCLUSIONS:
        found = [verdict for verdict in verdicts if verdict.conclusion == conclusion]
        if not found:
            continue
        differs = any(verdict.outcome != "confirmed" for verdict in found)
        rows.append(
            {
                "title": conclusion.title,
                "quote": conclusion.quote,
                "about": ", ".join(name.removesuffix("_like").capitalize() for name in conclusion.about),
                "test": conclusion.test,
                "reason": conclusion.reason if differs else "",
                "cells": [
                    {
                        "data": one.data,
                        "outcome": one.outcome,
                        "extended": one.extended,
                        "printed": _printed(one.checks),
                        "mixes": [
                            f"{check.claim.text}: {check.claim.mixes.text}" for check in one.checks if check.claim.mixes
                        ],
                    }
                    for one in found
                ],
                "checks": [_check_row(check) for verdict in found for check in verdict.checks],
            }
        )
    return rows


def _printed(checks: Sequence[Check]) -> str:
    if any(check.claim.mixes is not None for check in checks):
        return ""  # told mix by mix
    said = {check.published for check in checks} - {""}
    if not said:
        return ""
    return "in part" if len(said) > 1 else {"holds": "yes", "fails": "no"}[said.pop()]


def _check_row(check: Check) -> dict[str, str]:
    claim = check.claim
    low, high = (None if bound is None else float(np.mean(bound)) for bound in (claim.low, claim.high))
    if low is None and high is None:
        bounds = "none"
    elif low is None:
        bounds = f"below {high:.4f}"
    elif high is None:
        bounds = f"above {low:g}"
    else:
        bounds = f"between {low:.4f} and {high:.4f}"
    return {
        "data": claim.data,
        "text": claim.text,
        "mean": f"{check.found.mean:+.4f}",
        "interval": _interval(check.found),
        "bounds": bounds,
        "outcome": check.outcome,
        "published": "" if claim.published is None else f"{claim.published:+.4f}",
    }


def _interval(found: Estimate) -> str:
    return f"{found.low:+.4f} to {found.high:+.4f}" if math.isfinite(found.low) else "one run only"


def verdict_note(verdicts: Sequence[Verdict], runs: int) -> str:
    """Return how verdicts are reached."""
    confidence = verdicts[0].confidence if verdicts else 1.0
    return (
        f"Each conclusion is put as one or more numbers. A number is a difference within each of {runs} "
        "runs between configurations with the same test items and the same noise (paired); its interval is Student's t "
        f"over the runs, at {100 * confidence:.2f} % each, so that all intervals of the table hold together with "
        f"{1 - ERROR_RATE:.0%} (Bonferroni). Bounds that are shares of the distance between random and true neighbours "
        "are compared within each run; their means are shown. Confirmed: every number lies within its bounds. Refuted: "
        "every number lies outside. In part: some do and some do not, or not in as many mixes as the paper says. Open: "
        "some interval reaches across a bound, and more runs are needed. Not tested: all runs give the same number. "
        "Cross-checks put a number another way; they are counted among the intervals, but do not decide. Extended by "
        "us: the paper does not say this about such data. All intervals are about the runs on one data set of each "
        "kind (other test items, weights and noise), not about other data of the same kind."
    )
