"""The paper's conclusions put to the test: each as numbers with bounds, each number with an interval, then a word."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.configurations import Configuration
from hetdp.experiments.measurements import MeanOverRuns, Measurements, Values, mean_over_runs
from hetdp.experiments.paper_claims import CONCLUSIONS, HARDLY, NO_CHANGE, Conclusion
from hetdp.experiments.published_figures import PUBLISHED_MIXES, Published, published_for
from hetdp.experiments.sweep import SweepSettings, group_baseline, paper_configurations
from hetdp.experiments.weight_rules import GROUPS, GroupRule, SliceRule

__all__ = ["ERROR_RATE", "OUTCOMES", "Check", "Claim", "Mixes", "Verdict", "claims_about", "judge_claims"]

#: The chance that any interval of the whole table misses its true value, if runs are about normal (Bonferroni).
ERROR_RATE = 0.05
#: Every word a verdict can be.
OUTCOMES = ("confirmed", "in part", "open", "refuted", "not tested")
#: Runs that differ by less than this do not differ: rounding of means.
_NO_SPREAD = 1e-12
#: Groups differ by who is in them, too. What true neighbours give the same people takes that out, and adds noise.
_CROSS_CHECK = ", over true neighbours of the same people (cross-check)"


@dataclass(frozen=True)
class Mixes:
    """In how many mixes of people something is so.

    Attributes
    ----------
    ours, published
        By our means, and by the paper's points (None if it has none).
    of, needed
        How many mixes there are, and how many of ours the conclusion asks for.
    """

    ours: int
    published: int | None
    of: int
    needed: int

    @property
    def text(self) -> str:
        """Both counts in words."""
        said = "" if self.published is None else f", the published points in {self.published}"
        return f"ours in {self.ours} of {self.of} mix{'es' if self.of != 1 else ''}{said}"


@dataclass(frozen=True)
class Claim:
    """A statement that a number lies between two bounds.

    Attributes
    ----------
    conclusion, data
        What it belongs to.
    text
        The number in words.
    values
        The number in each run: a difference between two configurations with the same test items and the same noise.
    low, high
        Bounds in each run, or one for all; None if there is none. A bound that is a share of the distance between
        random and true neighbours is as random as that distance, so it is compared within each run.
    published, published_holds
        The same number from the paper's points, and whether it lies within the same bounds; None if there are none.
    mixes
        In how many mixes of people it is so, if the conclusion speaks of that.
    counts
        Whether it decides the verdict. A cross-check does not: it is the same number put another way, shown so that a
        reader sees whether the verdict hangs on how the number was put. Nor does a number without bounds.
    """

    conclusion: str
    data: str
    text: str
    values: Values
    low: Values | float | None = 0.0
    high: Values | float | None = None
    published: float | None = None
    published_holds: bool | None = None
    mixes: Mixes | None = None
    counts: bool = True


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
    found: MeanOverRuns
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
    measured: Measurements, settings: SweepSettings, data: Sequence[str], *, built_in: Collection[str] = ()
) -> list[Verdict]:
    """Return a verdict for every conclusion and data set that was measured."""
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
    found = mean_over_runs(claim.values, confidence=confidence)
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
    within = [mean_over_runs(room, confidence=confidence) for room in rooms]
    if any(room.high < 0 for room in within):
        return Check(claim, found, "fails")
    if not all(room.low > 0 for room in within):
        return Check(claim, found, "open")
    enough = claim.mixes is None or claim.mixes.ours >= claim.mixes.needed
    return Check(claim, found, "holds" if enough else "in part")


def _spreadless(values: NDArray[np.float64]) -> bool:
    """Return whether several runs all give the same number; one run alone is another matter."""
    return values.size > 1 and float(np.ptp(values)) < _NO_SPREAD


def claims_about(measured: Measurements, settings: SweepSettings, data: str, *, built_in: bool) -> Iterator[Claim]:
    """Yield the claims about one data set; those whose runs are missing are left out."""
    yield from _Claims(measured, settings, data, published_for(data) if built_in else None).all()


class _Claims:
    """The claims about one data set."""

    def __init__(self, measured: Measurements, settings: SweepSettings, data: str, published: Published | None) -> None:
        self._measured, self._settings, self._data, self._published = measured, settings, data, published
        ends = [measured.runs(data, Configuration(engine=engine, k=settings.k)) for engine in ("baseline", "random")]
        self._ends = None if ends[0] is None or ends[1] is None else (ends[0], ends[1])

    def all(self) -> Iterator[Claim]:
        """Yield all claims."""
        if self._ends is None:
            return
        baseline, random = self._ends
        yield from self._ranges((baseline + random) / 2)
        yield from self._slices(baseline - random)
        yield from self._groups()
        yield from self._punished(baseline - random)

    @cached_property
    def _main(self) -> list[Configuration]:
        return list(paper_configurations(self._settings))

    @property
    def _printed_gap(self) -> float:
        return math.nan if self._published is None else self._published.baseline - self._published.random

    def _sliced(self, lower: float) -> dict[SliceRule, Values]:
        found = {}
        for one in self._main:
            rule = one.weights
            if isinstance(rule, SliceRule) and rule.lower == lower:
                runs = self._measured.runs(self._data, one)
                if runs is not None:
                    found[rule] = runs
        return found

    def _by_lower(self, lower: float) -> Values | None:
        found = list(self._sliced(lower).values())
        return np.asarray(np.mean(found, axis=0)) if found else None

    def _above_zero(
        self, key: str, text: str, values: Values, said: float | None, *, mixes: Mixes | None = None
    ) -> Claim:
        holds = None if said is None else said > 0
        return Claim(key, self._data, text, values, published=said, published_holds=holds, mixes=mixes)

    def _ranges(self, middle: Values) -> Iterator[Claim]:
        printed = self._published
        found = {lower: self._by_lower(lower) for lower in (0.0, 0.5, 0.9)}
        for few, many in ((0.0, 0.5), (0.5, 0.9)):
            below, above = found[few], found[many]
            if below is not None and above is not None:
                said = None if printed is None else printed.by_lower[many] - printed.by_lower[few]
                text = f"from {many:g} minus from {few:g}"
                if few == 0.0:
                    yield self._above_zero("range", text, above - below, said)
                else:  # "not much difference": the paper asks for no sign, and gives no bound
                    yield Claim("range", self._data, text, above - below, low=None, published=said, counts=False)
        for lower, sign, key in ((0.5, 1, "close"), (0.9, 1, "close"), (0.0, -1, "zero")):
            runs = found[lower]
            if runs is not None:
                said = None
                if printed is not None:
                    said = sign * (printed.by_lower[lower] - (printed.baseline + printed.random) / 2)
                side = "above" if sign > 0 else "below"
                yield self._above_zero(key, f"from {lower:g}: {side} the middle by", sign * (runs - middle), said)

    def _slices(self, gap: Values) -> Iterator[Claim]:
        for lower, key, sign in ((0.5, "slices", 1), (0.9, "slices", 1), (0.0, "fall", -1)):
            found = self._sliced(lower)
            if not found:
                continue
            few, many = min(found, key=lambda rule: rule.n), max(found, key=lambda rule: rule.n)
            if few.values == many.values:  # one slice and two are the same rule: nothing to compare
                continue
            said = None
            if self._published is not None and {(lower, few.n), (lower, many.n)} <= self._published.by_slices.keys():
                points = self._published.by_slices
                said = sign * (points[lower, many.n] - points[lower, few.n])
            values = sign * (found[many] - found[few])
            text = f"from {lower:g}: {few.n} to {many.n} slices"
            if key == "fall":
                yield self._above_zero(key, text, values, said)
                continue
            holds = None if said is None else abs(said) < NO_CHANGE * self._printed_gap
            margin = NO_CHANGE * gap
            yield Claim(key, self._data, text, values, low=-margin, high=margin, published=said, published_holds=holds)

    def _all_mixes(self) -> list[Configuration]:
        way = self._settings.per[0]
        return [
            one for one in self._main if one.private and isinstance(one.weights, GroupRule) and one.weights.per == way
        ]

    def _mixes(self) -> list[Configuration]:
        """Return the published mixes if the sweep has any of them, else all in which every group has members."""
        everything = [one for one in self._all_mixes() if min(_shares(one)) > 0]
        return [one for one in everything if _shares(one)[:2] in PUBLISHED_MIXES] or everything

    def _groups(self) -> Iterator[Claim]:
        for key, better, worse in (
            ("strict", "pragmatists", "fundamentalists"),
            ("strict", "unconcerned", "fundamentalists"),
            ("often", "unconcerned", "pragmatists"),
        ):
            mixes = self._mixes()
            above, below = (self._measured.average(self._data, mixes, group=group) for group in (better, worse))
            if above is None or below is None:
                continue
            said = self._said(mixes, better, worse)
            text = f"{better} minus {worse}"
            counted = self._counted(mixes, key, (better, worse), said)
            mean = float(np.mean(said)) if said else None
            yield self._above_zero(key, text, above - below, mean, mixes=counted)
            best = [self._cost(mixes, group) for group in (better, worse)]
            if best[0] is not None and best[1] is not None:
                yield Claim(key, self._data, text + _CROSS_CHECK, best[0] - best[1], counts=False)

    def _said(self, mixes: Sequence[Configuration], better: str, worse: str) -> list[float]:
        """Return the difference between two groups by the paper's points, in the mixes that both have."""
        points: Mapping[tuple[float, str, float], float] = {} if self._published is None else self._published.by_groups
        places = [(_shares(one)[1], _shares(one)[0]) for one in mixes]
        return [points[p, better, f] - points[p, worse, f] for p, f in places if (p, better, f) in points]

    def _counted(
        self, mixes: Sequence[Configuration], key: str, groups: tuple[str, str], said: Sequence[float]
    ) -> Mixes:
        ours = 0
        for one in mixes:
            above, below = (self._measured.runs(self._data, one, group=group) for group in groups)
            ours += above is not None and below is not None and bool(above.mean() > below.mean())
        needed = len(mixes) if key == "strict" else len(mixes) // 2 + 1
        printed = sum(value > 0 for value in said) if len(said) == len(mixes) else None
        return Mixes(ours, printed, len(mixes), needed)

    def _cost(self, mixes: Sequence[Configuration], group: str) -> Values | None:
        """Return the recall of a group over that of the same people with true neighbours, averaged over mixes."""
        references = [group_baseline(self._settings, _shares(one)) for one in mixes]
        found = self._measured.average(self._data, mixes, group=group)
        best = self._measured.average(self._data, references, group=group)
        return None if found is None or best is None else found - best

    def _punished(self, gap: Values) -> Iterator[Claim]:
        """Compare the mix with the most fundamentalists with the one with the fewest, with the fewest pragmatists."""
        few_pragmatists = min(self._settings.pragmatists, default=math.nan)
        found = sorted(
            ((_shares(one)[0], one) for one in self._mixes() if _shares(one)[1] == few_pragmatists),
            key=lambda pair: pair[0],
        )
        if len(found) < 2:  # noqa: PLR2004  (a change needs two)
            return
        (few, first), (many, last) = found[0], found[-1]
        for group in [GROUPS[2], GROUPS[1]]:
            before, after = (self._measured.runs(self._data, one, group=group) for one in (first, last))
            costs = [self._cost([one], group) for one in (first, last)]
            if before is None or after is None:
                continue
            said = None
            if self._published is not None:
                points = self._published.by_groups
                if {(few_pragmatists, group, few), (few_pragmatists, group, many)} <= points.keys():
                    said = points[few_pragmatists, group, few] - points[few_pragmatists, group, many]
            holds = None if said is None else said < HARDLY * self._printed_gap
            text = f"loss of the {group}, {few:.0%} to {many:.0%} fundamentalists"
            margin = HARDLY * gap
            yield Claim(
                "punished",
                self._data,
                text,
                before - after,
                low=None,
                high=margin,
                published=said,
                published_holds=holds,
            )
            if costs[0] is not None and costs[1] is not None:
                values = costs[0] - costs[1]
                yield Claim("punished", self._data, text + _CROSS_CHECK, values, low=None, high=margin, counts=False)


def _shares(configuration: Configuration) -> tuple[float, float, float]:
    rule = configuration.weights
    assert isinstance(rule, GroupRule)  # noqa: S101  (callers choose groups only)
    return rule.fundamentalists, rule.pragmatists, rule.unconcerned
