"""The table of verdicts, for readers who hold the paper in the other hand: its words, direction, size and runs."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hetdp.core.text import listed
from hetdp.experiments.measurements import MeanOverRuns
from hetdp.experiments.paper import CONCLUSIONS, HARDLY, NO_CHANGE, TIMES, Conclusion
from hetdp.experiments.verdicts import DIRECTIONS, ERROR_RATE, SIZES, Check, Verdict


def tally(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return how often each word was said about what the paper concludes, and how many verdicts are our extensions."""
    mine = [verdict for verdict in verdicts if not verdict.extended]
    directions, sizes = Counter(one.direction for one in mine), Counter(one.size for one in mine)
    return {
        "directions": [(word, directions[word]) for word in DIRECTIONS if directions[word]],
        "sizes": [(word, sizes[word]) for word in SIZES if word and sizes[word]],
        "extended": sum(verdict.extended for verdict in verdicts),
    }


def verdict_rows(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return the table of verdicts, one row for each conclusion."""
    rows = []
    for conclusion in CONCLUSIONS:
        found = [verdict for verdict in verdicts if verdict.conclusion == conclusion]
        if not found:
            continue
        differs = any(
            (one.direction, one.size) not in {("confirmed", ""), ("confirmed", "as published")} for one in found
        )
        rows.append(
            {
                "title": conclusion.title,
                "quote": conclusion.quote,
                "about": _about(conclusion),
                "section": conclusion.section,
                "test": conclusion.test,
                "size": conclusion.size,
                "reason": conclusion.reason if differs else "",
                "cells": [
                    {
                        "data": one.data,
                        "direction": one.direction,
                        "size": one.size,
                        "runs": one.runs,
                        "extended": one.extended,
                        "printed": _printed(one.checks),
                        "numbers": [_check_row(check) for check in one.checks],
                    }
                    for one in found
                ],
                "checks": [_check_row(check) for verdict in found for check in verdict.checks],
            }
        )
    return rows


def verdicts_markdown(verdicts: Sequence[Verdict]) -> str:
    """Return the table of verdicts as Markdown: for every conclusion its words, then every number on every data set."""
    lines = []
    for row in verdict_rows(verdicts):
        lines += [
            f"**{row['title']}** The paper, {row['section']} ({row['about']}): “{row['quote']}”.",
            f"Direction: {row['test']}. Size, in its words: {row['size']}.",
            "",
            "| data | number | published | ours | interval | direction | size | runs |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for cell in row["cells"]:
            both = (cell["direction"], f"{cell['size'] or 'none published'}", f"{cell['runs']}")
            words = [f"*{word}*" if cell["extended"] else f"**{word}**" for word in both]
            lines.append(f"| {cell['data']} | | | | | {' | '.join(words)} |")
            for number in cell["numbers"]:
                mixes = f"; {number['mixes']}" if number["mixes"] else ""
                cells = (number["text"] + mixes, number["published"], number["mean"], number["interval"])
                outcomes = (number["outcome"], number["size"], str(number["runs"]))
                lines.append(f"| | {' | '.join((*cells, *outcomes))} |")
        lines.append("")
    return "\n".join([*lines, verdict_note(verdicts), ""])


def _about(conclusion: Conclusion) -> str:
    return listed([name.capitalize() for name in conclusion.about])


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
        "size": check.size,
        "runs": str(check.found.runs),
        "mixes": "" if claim.mixes is None else claim.mixes.text,
        "published": "" if claim.published is None else f"{claim.published:+.4f}",
    }


def _interval(found: MeanOverRuns) -> str:
    return f"{found.low:+.4f} to {found.high:+.4f}" if math.isfinite(found.low) else "one run only"


def verdict_note(verdicts: Sequence[Verdict]) -> str:
    """Return how verdicts are reached."""
    confidence = verdicts[0].confidence if verdicts else 1.0
    return (
        "Each conclusion is expressed as one or more numbers: differences within each run between configurations with "
        "the same test items and the same noise (paired). Intervals are Student's t over the runs, at "
        f"{100 * confidence:.3f} % each: the error rate is divided among all intervals of the table, so that all "
        f"together hold with {1 - ERROR_RATE:.0%} (union bound). Direction: a conclusion is confirmed if every number "
        "lies within its bounds, and refuted if one lies outside and none within. It holds in part if some do and some "
        "do not, or in fewer mixes than the paper says, and is open if an interval contains a bound. "
        f"“Almost no effect” is a change below {NO_CHANGE:.0%} of the distance between random and true neighbours, "
        f"“hardly punished” a loss below {HARDLY:.0%} of it, compared within each run. Size: as published if the "
        f"interval lies between the published number over {TIMES:g} and times {TIMES:g}, or less than {NO_CHANGE:.0%} "
        "of the published distance from it; else smaller or larger, or open if it contains one of these ends. "
        "Published points are taken as printed. Extended by us: the paper does not say this about such data. All "
        "intervals are about the runs on one data set of each kind (other test items, weights and noise), not about "
        "other data of the same kind."
    )
