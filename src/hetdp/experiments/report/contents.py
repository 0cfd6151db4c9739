"""The words and tables of a report: the answer of the first screen, the method, and every number as CSV."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hetdp.core.words import counted, listed
from hetdp.experiments.datasets import Statistics
from hetdp.experiments.marks import BY_OVERLAP, Mark
from hetdp.experiments.measurements import CONFIDENCE
from hetdp.experiments.reach import Reach
from hetdp.experiments.settings import Settings
from hetdp.experiments.verdicts import Verdict

__all__ = [
    "Evaluation",
    "answer",
    "lead",
    "method",
    "numbers_csv",
]

#: "It works" means that private neighbours get this far on the way from random to true ones.
WORKS = 0.8
#: A total loss that still promises something: e^3 is 20.
MODERATE = 3.0
_SHOWN_LEVELS = (1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Evaluation:
    """Everything that a report is made from."""

    settings: Settings
    statistics: dict[str, Statistics]
    marks: tuple[Mark, ...]
    verdicts: tuple[Verdict, ...]
    reaches: dict[str, tuple[Reach, ...]]
    tasks: int
    seconds: float

    @property
    def data(self) -> list[str]:
        """Names of the data sets."""
        return list(self.statistics)

    def end(self, data: str, series: str) -> float | None:
        """Return the recall of true or of random neighbours, or None if it was not measured."""
        return next(
            (mark.recall for mark in self.marks if (mark.figure, mark.data, mark.series) == ("ends", data, series)),
            None,
        )

    def way(self, data: str, recall: float) -> float:
        """Return how far a recall is on the way from random to true neighbours; above 1 is better than the latter."""
        random, true = self.end(data, "random neighbours"), self.end(data, "true neighbours")
        if random is None or true is None or true <= random:
            return float("nan")
        return (recall - random) / (true - random)

    def published_once(self, data: str) -> dict[float, float]:
        """Return the recall of the sketch engine by total loss."""
        found = [
            mark for mark in self.marks if (mark.figure, mark.data, mark.series) == ("engines_all", data, "sketch")
        ]
        return {float(mark.x): mark.recall for mark in sorted(found, key=lambda mark: float(mark.x))}

    def comparisons(self, data: str) -> int:
        """Return with how many distinct peers the gossip engine compared some node; 0 if it was not measured."""
        both = [
            [mark.x for mark in self.marks if (mark.figure, mark.data, mark.series) == (figure, data, "gossip")]
            for figure in ("engines_all", "engines_one")
        ]
        times = [float(total) / float(one) for total, one in zip(*both, strict=True)]
        return round(max(times, default=0))

    def gossip(self, data: str) -> float | None:
        """Return the recall of the paper's protocol with the mix of the poll, or of all slices if there is no mix."""
        for figure, series, x in (("practice", "a dial for every item", "all"), ("figure1", "gossip", 0.5)):
            for mark in self.marks:
                if (mark.figure, mark.data, mark.series, mark.x) == (figure, data, series, x):
                    return mark.recall
        return None


def lead(evaluation: Evaluation) -> str:
    """Return the answer in a few sentences."""
    found = {data: curve for data, curve in evaluation.reaches.items() if curve}
    pointless = _pointless(evaluation)
    if not found:
        printed = any(mark.published is not None for mark in evaluation.marks)
        beside = ", with the published points" if printed else ""
        first = "The evaluation of the paper, run again: recall of private neighbours beside that of random and of true"
        return f"{first} ones{beside}. {pointless}".rstrip()
    works, dear, unsure, never = [], [], [], []
    for data, curve in found.items():
        surely = [reach for reach in curve if reach.low >= WORKS]
        best = max(curve, key=lambda reach: reach.share)
        if surely and surely[0].loss <= MODERATE:
            works.append(f"{data} from a total loss of {surely[0].loss:g}")
        elif surely:
            dear.append(_dear(evaluation, data, curve, surely[0].loss))
        elif best.share >= WORKS:
            low = f"; lower end {math.floor(100 * best.low)}%" if math.isfinite(best.low) else ", one run"
            unsure.append(f"{data} (at {best.loss:g}: {best.share:.0%}{low})")
        else:
            never.append(f"{data} (at best {best.share:.0%} of the way, at {best.loss:g})")
    parts = []
    if works:
        parts.append(
            f"Published once, private neighbours get at least {WORKS:.0%} of the way from random to true neighbours "
            f"(the lower end of a {CONFIDENCE:.0%} interval) on {listed(works)}, counted against everybody together."
        )
    parts += dear
    if unsure:
        parts.append(f"Whether published sketches get {WORKS:.0%} of the way is not certain on {listed(unsure)}.")
    if never:
        parts.append(f"Published sketches do not get {WORKS:.0%} of the way on {listed(never)}.")
    most = max(evaluation.comparisons(data) for data in found)
    if most:
        parts.append(
            f"The paper's pairwise protocol compares a person with up to {most} others, and what all of them together "
            "learn adds up to as many times its epsilon."
        )
    return " ".join([*parts, pointless]).rstrip()


def _pointless(evaluation: Evaluation) -> str:
    """Return on which data true neighbours are no better than random ones, so that nothing can be told."""
    names = [
        data
        for data in evaluation.data
        for random, true in [(evaluation.end(data, "random neighbours"), evaluation.end(data, "true neighbours"))]
        if random is not None and true is not None and true <= random
    ]
    if not names:
        return ""
    return (
        f"On {listed(names)} even true neighbours are no better than random ones: these data cannot tell how well any "
        "engine does."
    )


def _dear(evaluation: Evaluation, data: str, curve: Sequence[Reach], enough: float) -> str:
    """Return that something works at a large loss only, and how far it gets at a moderate one."""
    facts = evaluation.statistics[data]
    moderate = [reach for reach in curve if reach.loss <= MODERATE]
    reached = f" ({moderate[-1].share:.0%} of the way at {moderate[-1].loss:g})" if moderate else ""
    return (
        f"On {data}, where a profile holds {facts.mean_size:.0f} of {facts.items:,} items, published sketches "
        f"do not work at a total loss of {MODERATE:g} or less{reached}: it takes {enough:g}."
    )


def answer(evaluation: Evaluation) -> dict[str, Any]:
    """Return the table of the first screen."""
    levels = [level for level in _SHOWN_LEVELS if all(level in evaluation.published_once(d) for d in evaluation.data)]
    overlap = all(evaluation.end(data, BY_OVERLAP) is not None for data in evaluation.data)
    rows = []
    for data in evaluation.data:
        curve, facts, gossip = evaluation.published_once(data), evaluation.statistics[data], evaluation.gossip(data)
        shares = {reach.loss: reach.share for reach in evaluation.reaches.get(data, ())}
        cells = [
            _cell(evaluation.end(data, "random neighbours")),
            None if gossip is None else _cell(gossip, evaluation.way(data, gossip)),
            *(_cell(curve[level], shares.get(level)) for level in levels),
            *([_cell(evaluation.end(data, BY_OVERLAP))] if overlap else []),
            _cell(evaluation.end(data, "true neighbours")),
        ]
        if cells[1] is not None and evaluation.comparisons(data):
            cells[1]["remark"] = f"total loss up to {evaluation.comparisons(data)} epsilon"
        words = f"{facts.users:,} people, {facts.items:,} items, {facts.mean_size:.0f} each"
        rows.append({"name": data, "facts": words, "cells": cells})
    columns = [
        "random neighbours",
        "paper's gossip, mean over epsilon",
        *(f"published once, total loss {level:g}" for level in levels),
        *(["true by overlap, not private"] if overlap else []),
        "true by cosine, not private",
    ]
    k = evaluation.settings.k
    note = (
        f"Recall: the share of a person's hidden items that their {k} neighbours have. {_people(evaluation.settings)} "
        "Loss is that of an item of weight 1; an item of weight v loses v times as much, an item of weight 0 nothing. "
        "Gossip ranks by cosine, as in the paper, so its way ends at true neighbours by cosine. Published sketches are "
        "ranked by overlap, so theirs ends at true neighbours by overlap."
    )
    short = [
        "random",
        "gossip, mean over epsilon",
        *(f"sketch, total loss {level:g}" for level in levels),
        *(["true by overlap, not private"] if overlap else []),
        "true by cosine, not private",
    ]
    return {"columns": columns, "short": short, "rows": rows, "note": note}


def _people(settings: Settings) -> str:
    strict, between, unconcerned = (f"{100 * share:.3g} %" for share in settings.mixes[0])
    return f"People choose weights as three groups: {strict} strict, {between} in between, {unconcerned} unconcerned."


def _cell(recall: float | None, way: float | None = None) -> dict[str, Any] | None:
    if recall is None:
        return None
    share = None if way is None or not math.isfinite(way) else round(100 * way)
    return {"recall": f"{recall:.3f}", "share": share, "remark": ""}


def method(evaluation: Evaluation) -> list[str]:
    """Return how everything was measured."""
    settings = evaluation.settings
    levels = ", ".join(f"{epsilon:g}" for epsilon in settings.epsilons)
    protocol = (
        "Protocol of the paper: each item of a profile that somebody else also has goes to the test set with "
        f"probability 0.1; {settings.cycles} cycles of gossip (Cyclon under Vicinity, views of 10) find {settings.k} "
        "neighbours; recall is the share of test items in the full profiles of the neighbours; a person without test "
        "items counts 0."
    )
    scores = (
        f"Scores of the figures of the paper: noisy scalar product of the weighted profiles ({settings.combine} of "
        f"both weights) as {settings.score}; sizes are declared public for the cosine, as the paper implies. Noise is "
        "discrete Laplace of scale 1 / epsilon, once per pair of people."
    )
    runs = (
        f"{counted(settings.runs, 'run')} of every configuration, seeds {settings.seed} to "
        f"{settings.seed + settings.runs - 1}. A "
        "seed fixes the test items, the weights and the noise, the same for all configurations. Groups are exact "
        "shares of the people and drawn anew in every run; the paper kept them for a set of runs."
    )
    bars = (
        f"Error bars are {CONFIDENCE:.0%} intervals of the mean over runs (Student's t), cut off at 0 and 1, and hold "
        "for these data sets: other generated sets of the same kind would differ by more. Those of the paper are "
        "variances, and are not shown."
    )
    loss = (
        "Total loss: exact, epsilon for each of the other users as a recipient; gossip, epsilon times the largest "
        "number of distinct peers that any node was compared with; sketch, epsilon once."
    )
    work = f"{counted(evaluation.tasks, 'run')} took {evaluation.seconds:,.0f} seconds of one processor."
    return [protocol, scores, f"Averages over epsilon are over {levels}.", runs, bars, loss, work]


def numbers_csv(marks: Sequence[Mark]) -> str:
    """Return every number of the figures as CSV.

    Examples
    --------
    >>> print(numbers_csv([Mark("figure1", "mine", "", "gossip", 0.5, 0.25, 0.2, 0.3, 10, 0.22)]))
    figure,data,panel,series,x,recall,low,high,runs,published
    figure1,mine,,gossip,0.5,0.25,0.2,0.3,10,0.22
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["figure", "data", "panel", "series", "x", "recall", "low", "high", "runs", "published"])
    for mark in marks:
        numbers = ["" if math.isnan(number) else f"{number:.6g}" for number in (mark.recall, mark.low, mark.high)]
        place = mark.x if isinstance(mark.x, str) else f"{mark.x:.6g}"
        printed = "" if mark.published is None else f"{mark.published:.6g}"
        writer.writerow([mark.figure, mark.data, mark.panel, mark.series, place, *numbers, mark.runs, printed])
    return text.getvalue()
