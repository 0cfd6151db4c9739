"""The words and tables of a report: the answer of the first screen, the method, every number as CSV."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hetdp.core.text import agreeing, counted, duration, listed
from hetdp.datasets import Statistics
from hetdp.evaluation.results import SAME as SAME_PEOPLE, THIRDS, TRUE as TRUE_PEOPLE, Evaluation, ItemRow
from hetdp.experiments.figure_points import BY_OVERLAP, RANDOM, SAME, TRUE, FigurePoint
from hetdp.experiments.measurements import CONFIDENCE, GapClosed
from hetdp.experiments.sweep import SweepSettings
from hetdp.experiments.verdicts import Verdict

#: "It works" means that private neighbours get this far on the way from random to true ones.
WORKS = 0.8
#: A total loss that still promises something: e^3 is 20.
MODERATE = 3.0
_SHOWN_LEVELS = (1.0, 3.0, 10.0)


@dataclass(frozen=True)
class SweepEvaluation:
    """Everything that a report is made from."""

    settings: SweepSettings
    statistics: dict[str, Statistics]
    points: tuple[FigurePoint, ...]
    verdicts: tuple[Verdict, ...]
    gaps_closed: dict[str, tuple[GapClosed, ...]]
    tasks: int
    seconds: float
    rivals: dict[str, Evaluation] = field(default_factory=dict)

    @property
    def data(self) -> list[str]:
        """Names of the data sets."""
        return list(self.statistics)

    def end(self, data: str, series: str) -> float | None:
        """Return the recall of true or of random neighbours, or None if it was not measured."""
        return next(
            (
                point.recall
                for point in self.points
                if (point.figure, point.data, point.series) == ("ends", data, series)
            ),
            None,
        )

    def way(self, data: str, recall: float) -> float:
        """Return how far a recall is on the way from random to true neighbours; above 1 is better than the latter."""
        random, true = self.end(data, RANDOM), self.end(data, TRUE)
        if random is None or true is None or true <= random:
            return float("nan")
        return (recall - random) / (true - random)

    def published_once(self, data: str) -> dict[float, float]:
        """Return the recall of the sketch engine by total loss."""
        found = [
            point
            for point in self.points
            if (point.figure, point.data, point.series) == ("engines_all", data, "sketch")
        ]
        return {float(point.x): point.recall for point in sorted(found, key=lambda point: float(point.x))}

    def comparisons(self, data: str) -> int:
        """Return with how many distinct peers the gossip engine compared some node; 0 if it was not measured."""
        both = [
            [point.x for point in self.points if (point.figure, point.data, point.series) == (figure, data, "gossip")]
            for figure in ("engines_all", "engines_one")
        ]
        times = [float(total) / float(one) for total, one in zip(*both, strict=True)]
        return round(max(times, default=0))

    def gossip(self, data: str) -> float | None:
        """Return the recall of the paper's protocol with the mix of the poll, or of all slices if there is no mix."""
        for figure, series, x in (("practice", "a dial for every item", "all"), ("figure1", "gossip", 0.5)):
            for point in self.points:
                if (point.figure, point.data, point.series, point.x) == (figure, data, series, x):
                    return point.recall
        return None


def summary(evaluation: SweepEvaluation) -> str:
    """Return the answer in two sentences that need no explanation: does it work, does the paper hold."""
    well: list[str] = []
    badly: list[str] = []
    for data, curve in evaluation.gaps_closed.items():
        if curve:
            (well if any(one.low >= WORKS and one.loss <= MODERATE for one in curve) else badly).append(data)
    found = "people whose profiles are blurred before anybody sees them still find others of similar taste"
    if well and badly:
        but = f"on {listed(badly)} that is not certain, or costs most of the protection"
        first = f"On {listed(well)}, {found}, nearly as well as without any protection; {but}."
    elif well:
        first = f"On {listed(well)}, {found}, nearly as well as without any protection."
    elif badly:
        first = f"On {listed(badly)}, people whose profiles are well blurred may not find others of similar taste."
    else:
        first = "We looked for people of similar taste again as the paper did, with profiles that noise protects."
    mine = [verdict for verdict in evaluation.verdicts if not verdict.extended]
    if not mine:
        return f"{first} The paper says nothing about such data, so there is nothing of it to confirm or refute."
    held, broken = (sum(verdict.direction == word for verdict in mine) for word in ("confirmed", "refuted"))
    rest = len(mine) - held - broken
    second = (
        f"Of {counted(len(mine), 'thing')} that the paper concludes about such data, {held} came out the same way in "
        f"our runs, {broken} the other way, and {rest} {agreeing(rest, 'was', 'were')} so in part or not certain."
    )
    if not held + broken:
        second = "So few runs decide none of the paper's conclusions."
    return f"{first} {second}"


def lead(evaluation: SweepEvaluation) -> str:
    """Return the answer with its qualifiers, in a few sentences."""
    found = {data: curve for data, curve in evaluation.gaps_closed.items() if curve}
    pointless = _pointless(evaluation)
    if not found:
        printed = any(point.published is not None for point in evaluation.points)
        beside = ", with the published points" if printed else ""
        first = "The evaluation of the paper, run again: recall of private neighbours beside that of random and of true"
        return f"{first} ones{beside}. {pointless}".rstrip()
    works, dear, unsure, never = [], [], [], []
    for data, curve in found.items():
        surely = [one for one in curve if one.low >= WORKS]
        best = max(curve, key=lambda one: one.share)
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


def _pointless(evaluation: SweepEvaluation) -> str:
    """Return on which data true neighbours are no better than random ones, so that nothing can be told."""
    names = [
        data
        for data in evaluation.data
        for random, true in [(evaluation.end(data, RANDOM), evaluation.end(data, TRUE))]
        if random is not None and true is not None and true <= random
    ]
    if not names:
        return ""
    return (
        f"On {listed(names)} even true neighbours are no better than random ones: these data cannot tell how well any "
        "engine does."
    )


def _dear(evaluation: SweepEvaluation, data: str, curve: Sequence[GapClosed], enough: float) -> str:
    """Return that something works at a large loss only, and how far it gets at a moderate one."""
    facts = evaluation.statistics[data]
    moderate = [one for one in curve if one.loss <= MODERATE]
    reached = f" ({moderate[-1].share:.0%} of the way at {moderate[-1].loss:g})" if moderate else ""
    return (
        f"On {data}, where a profile holds {facts.mean_size:.0f} of {facts.items:,} items, published sketches "
        f"do not work at a total loss of {MODERATE:g} or less{reached}: it takes {enough:g}."
    )


def answer(evaluation: SweepEvaluation) -> dict[str, Any]:
    """Return the table of the first screen."""
    levels = [level for level in _SHOWN_LEVELS if all(level in evaluation.published_once(d) for d in evaluation.data)]
    overlap = all(evaluation.end(data, BY_OVERLAP) is not None for data in evaluation.data)
    rows = []
    for data in evaluation.data:
        curve, facts, gossip = evaluation.published_once(data), evaluation.statistics[data], evaluation.gossip(data)
        same = evaluation.end(data, SAME)
        shares = {one.loss: one.share for one in evaluation.gaps_closed.get(data, ())}
        cells = [
            _cell(evaluation.end(data, RANDOM)),
            None if same is None else _cell(same, evaluation.way(data, same)),
            None if gossip is None else _cell(gossip, evaluation.way(data, gossip)),
            *(_cell(curve[level], shares.get(level)) for level in levels),
            *([_cell(evaluation.end(data, BY_OVERLAP))] if overlap else []),
            _cell(evaluation.end(data, TRUE)),
        ]
        if cells[2] is not None and evaluation.comparisons(data):
            cells[2]["remark"] = f"total loss up to {evaluation.comparisons(data)} epsilon"
        words = f"{facts.users:,} people, {facts.items:,} items, {facts.mean_size:.0f} each"
        rows.append({"name": data, "facts": words, "cells": cells})
    k = evaluation.settings.k
    columns = [
        "random neighbours",
        f"the same {k} people for everybody, not private",
        "paper's gossip, mean over epsilon",
        *(f"published once, total loss {level:g}" for level in levels),
        *(["true by overlap, not private"] if overlap else []),
        "true by cosine, not private",
    ]
    note = (
        f"Recall: the share of a person's hidden items that their {k} neighbours have. It rewards coverage: the same "
        f"{k} people for everybody, chosen to hold most of what people have, are like nobody, so only what neighbours "
        f"find beyond them is likeness. {_people(evaluation.settings)} "
        "Loss is that of an item of weight 1; an item of weight v loses v times as much, an item of weight 0 nothing. "
        "Gossip ranks by cosine, as in the paper, so its way ends at true neighbours by cosine. Published sketches are "
        "ranked by overlap, so theirs ends at true neighbours by overlap."
    )
    short = [
        "random",
        "same for everybody, not private",
        "gossip, mean over epsilon",
        *(f"sketch, total loss {level:g}" for level in levels),
        *(["true by overlap, not private"] if overlap else []),
        "true by cosine, not private",
    ]
    return {"columns": columns, "short": short, "rows": rows, "note": note}


def _people(settings: SweepSettings) -> str:
    strict, between, unconcerned = (f"{100 * share:.3g} %" for share in settings.mixes[0])
    return f"People choose weights as three groups: {strict} strict, {between} in between, {unconcerned} unconcerned."


def _cell(recall: float | None, way: float | None = None) -> dict[str, Any] | None:
    if recall is None:
        return None
    share = None if way is None or not math.isfinite(way) else round(100 * way)
    return {"recall": f"{recall:.3f}", "share": share, "remark": ""}


def method(evaluation: SweepEvaluation) -> list[str]:
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
        f"{settings.seed + settings.runs - 1}, in every figure. A "
        "seed fixes the test items, the weights and the noise, the same for all configurations. Groups are exact "
        "shares of the people and drawn anew in every run; the paper kept them for a set of runs."
    )
    bars = (
        f"Error bars are {CONFIDENCE:.0%} intervals of the mean over runs (Student's t), cut off at 0 and 1, and hold "
        "for these data sets: other generated sets of the same kind would differ by more. Those of the paper are "
        "variances, and are not shown."
    )
    loss = (
        "Total loss: exact, epsilon for each of the other users as a recipient; gossip, the same, since any of them "
        "may be compared with a node (how many were is in results.sqlite); sketch, epsilon once."
    )
    work = f"{counted(evaluation.tasks, 'run')} took {duration(evaluation.seconds)} of one processor."
    return [protocol, scores, f"Averages over epsilon are over {levels}.", runs, bars, loss, work]


def rivals(evaluation: SweepEvaluation) -> dict[str, Any]:
    """Return the table of recommendations beside their rivals, and what the same ten people reach; empty if none."""
    if not evaluation.rivals:
        return {}
    rows = [
        {"data": data if not place else "", **_rival(row)}
        for data, found in evaluation.rivals.items()
        for place, row in enumerate(found.items)
    ]
    reached = []
    for data, found in evaluation.rivals.items():
        recalls = {row.method: row.recall for row in found.neighbors}
        reached.append(f"{recalls[SAME_PEOPLE]:.3f} on {data}, where true ones reach {recalls[TRUE_PEOPLE]:.3f}")
    k = evaluation.settings.k
    note = (
        f"Ten recommendations each; a tenth of the items was hidden. {_people(evaluation.settings)} Popularity "
        "recommends everybody the same; EASE is the model's closed form on exact profiles. Thirds: the share of hidden "
        "items that were recommended, of the most popular items that make up a third of all pairs, the next third, and "
        f"the others. Recall of neighbours rewards variety too: the same {k} people for everybody, chosen to hold most "
        f"of what people have, reach {listed(reached)}."
    )
    return {"rows": rows, "note": note, "thirds": THIRDS}


def _rival(row: ItemRow) -> dict[str, Any]:
    beyond = row.beyond_popularity
    thirds = [getattr(row, name) for name in THIRDS]
    return {
        "method": row.method,
        "loss": "none promised" if row.against_all is None else f"{row.against_all:g}",
        "precision": f"{row.precision:.3f}",
        "recall": f"{row.recall:.3f}",
        "ndcg": f"{row.ndcg:.3f} ± {row.ndcg_half_width:.3f}",
        "beyond": "" if beyond is None else f"{beyond:+.3f} ± {row.beyond_popularity_half_width:.3f}",
        "better": row.beats_popularity or "",
        "thirds": ["" if share is None else f"{share:.3f}" for share in thirds],
    }


def numbers_csv(points: Sequence[FigurePoint]) -> str:
    """Return every number of the figures as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["figure", "data", "panel", "series", "x", "recall", "low", "high", "runs", "published"])
    for point in points:
        numbers = ["" if math.isnan(number) else f"{number:.6g}" for number in (point.recall, point.low, point.high)]
        place = point.x if isinstance(point.x, str) else f"{point.x:.6g}"
        printed = "" if point.published is None else f"{point.published:.6g}"
        writer.writerow([point.figure, point.data, point.panel, point.series, place, *numbers, point.runs, printed])
    return text.getvalue()
