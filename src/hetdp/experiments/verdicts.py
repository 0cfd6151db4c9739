"""The paper's conclusions, each put as claims about recall that our runs can confirm or refute."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.configurations import Configuration
from hetdp.experiments.measurements import Estimate, Measurements, estimate
from hetdp.experiments.published import Published, published_for
from hetdp.experiments.settings import Settings
from hetdp.experiments.sweeps import group_baseline, paper_configurations
from hetdp.experiments.weight_rules import GROUPS, Groups, Slices

__all__ = [
    "CONCLUSIONS",
    "ERROR_RATE",
    "HARDLY",
    "NO_CHANGE",
    "Check",
    "Claim",
    "Conclusion",
    "Verdict",
    "judge_claims",
]

#: The chance that any interval of the whole table misses its true value, if runs are about normal (Bonferroni).
ERROR_RATE = 0.05
#: "Does not matter": a change below this share of the distance between random and true neighbours.
NO_CHANGE = 0.1
#: "Hardly punished": a loss below this share of that distance.
HARDLY = 0.25

#: Groups differ by who is in them, too. What true neighbours give the same people takes that out, and adds noise.
_CROSS_CHECK = ", over true neighbours of the same people (cross-check)"

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Conclusion:
    """A conclusion of the paper.

    Attributes
    ----------
    key, title
        Name, and the conclusion in one sentence.
    test
        What is tested.
    reason
        The likely reason where our runs say otherwise.

    Privacy
    -------
    Public.
    """

    key: str
    title: str
    test: str
    reason: str


CONCLUSIONS = (
    Conclusion(
        "range",
        "The wider the range of weights, the lower the recall.",
        "recall with weights from 0.5 minus from 0, and from 0.9 minus from 0.5, are both above 0",
        "On dense profiles, recall is high with any neighbours, so there is little to lose; the survey points of the "
        "paper do not follow this conclusion either.",
    ),
    Conclusion(
        "close",
        "With weights from 0.5 or 0.9, recall stays close to the baseline.",
        "recall lies nearer to that of true neighbours than to that of random ones",
        "The average is taken over epsilons down to 0.1, where the noise of one comparison is larger than what two "
        "people with few items have in common.",
    ),
    Conclusion(
        "zero",
        "With weights from 0, recall comes close to random neighbours.",
        "recall lies nearer to that of random neighbours than to that of true ones",
        "Two people of a dense set share dozens of items. Weights from 0 make them count a quarter on average (the "
        "product of two weights), which still stands out of the noise unless epsilon is small.",
    ),
    Conclusion(
        "slices",
        "With weights from 0.5 or 0.9, the number of slices does not matter.",
        f"recall with the most slices minus with the fewest lies within {NO_CHANGE:.0%} of the distance between random "
        "and true neighbours",
        "More slices bring weights together: the mean stays, so does the mean of a product of two, but fewer items "
        "count in full. The paper's Digg points fall as well.",
    ),
    Conclusion(
        "fall",
        "With weights from 0, recall falls as slices are added.",
        "recall with the fewest slices minus with the most is above 0",
        "If every owner draws weights of their own, a common item counts a quarter on average, however many slices "
        "there are; only the spread changes. If all owners of an item share its weight, it counts the mean square: "
        "0.50 with two slices, 0.35 with ten. The paper may mean the latter; the figure on shared weights compares.",
    ),
    Conclusion(
        "strict",
        "Pragmatists and Unconcerned have better recall than Fundamentalists.",
        "mean over all mixes of pragmatists minus fundamentalists, and of unconcerned minus fundamentalists, above 0",
        "Where everybody's recall is near 1, groups can hardly differ.",
    ),
    Conclusion(
        "often",
        "Unconcerned often have better recall than Pragmatists.",
        "mean over all mixes of unconcerned minus pragmatists above 0",
        "Where everybody's recall is near 1, groups can hardly differ.",
    ),
    Conclusion(
        "punished",
        "Liberal groups are hardly punished as the conservative share grows from 20 to 80 %.",
        f"loss of the unconcerned and of the pragmatists below {HARDLY:.0%} of the distance between random and true "
        "neighbours",
        "The paper's text speaks of a fall from 0.22 to 0.19; its own points of the unconcerned on Delicious fall from "
        "0.215 to 0.166. Common items count by the product of both weights: strict neighbours do cost liberal users.",
    ),
)


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
        Bounds; infinite if there is none.
    published
        The same number from the paper's points, or None.
    counts
        Whether it decides the verdict. A cross-check does not: it is the same number put another way, shown so that a
        reader sees whether the verdict hangs on how the number was put.

    Privacy
    -------
    As private as the data.
    """

    conclusion: str
    data: str
    text: str
    values: Values
    low: float = 0.0
    high: float = math.inf
    published: float | None = None
    counts: bool = True


@dataclass(frozen=True)
class Check:
    """A claim and what became of it: "holds", "fails" or "open".

    Privacy
    -------
    As private as the data.
    """

    claim: Claim
    found: Estimate
    outcome: str

    @property
    def published(self) -> str:
        """What the paper's own points say: "holds", "fails", or "" if there are none."""
        value = self.claim.published
        if value is None:
            return ""
        return "holds" if self.claim.low < value < self.claim.high else "fails"


@dataclass(frozen=True)
class Verdict:
    """What our runs say about one conclusion on one data set.

    Attributes
    ----------
    outcome
        "confirmed" if all claims hold, "refuted" if all fail, "in part" if some hold and some fail, else "open".

    Privacy
    -------
    As private as the data.
    """

    conclusion: Conclusion
    data: str
    checks: tuple[Check, ...]
    confidence: float

    @property
    def outcome(self) -> str:
        """The checks in a word."""
        outcomes = {check.outcome for check in self.checks if check.claim.counts}
        if len(outcomes) == 1:
            return {"holds": "confirmed", "fails": "refuted", "open": "open"}[outcomes.pop()]
        return "in part" if "fails" in outcomes and "holds" in outcomes else "open"


def judge_claims(measured: Measurements, settings: Settings, data: Sequence[str]) -> list[Verdict]:
    """Return a verdict for every conclusion and data set that was measured.

    Parameters
    ----------
    measured
        The runs.
    settings
        The sweep they come from.
    data
        Names of the data sets.

    Privacy
    -------
    As private as the data.
    """
    claims = [claim for name in data for claim in _Claims(measured, settings, name).all()]
    confidence = 1.0 - ERROR_RATE / max(1, len(claims))
    checks = [_check(claim, confidence) for claim in claims]
    verdicts = []
    for conclusion in CONCLUSIONS:
        for name in data:
            mine = tuple(one for one in checks if (one.claim.conclusion, one.claim.data) == (conclusion.key, name))
            if mine:
                verdicts.append(Verdict(conclusion, name, mine, confidence))
    return verdicts


def _check(claim: Claim, confidence: float) -> Check:
    found = estimate(claim.values, confidence=confidence)
    if claim.low < found.low and found.high < claim.high:
        return Check(claim, found, "holds")
    outside = found.high < claim.low or found.low > claim.high
    return Check(claim, found, "fails" if outside else "open")


class _Claims:
    """The claims about one data set; those whose runs are missing are left out."""

    def __init__(self, measured: Measurements, settings: Settings, data: str) -> None:
        self._measured, self._settings, self._data = measured, settings, data
        self._published: Published | None = published_for(data)
        ends = [measured.runs(data, Configuration(engine=engine, k=settings.k)) for engine in ("baseline", "random")]
        self._ends = None if ends[0] is None or ends[1] is None else (ends[0], ends[1])

    def all(self) -> Iterator[Claim]:
        """Yield all claims."""
        if self._ends is None:
            return
        baseline, random = self._ends
        yield from self._ranges((baseline + random) / 2)
        yield from self._slices(float((baseline - random).mean()))
        yield from self._groups()
        yield from self._punished(float((baseline - random).mean()))

    @cached_property
    def _main(self) -> list[Configuration]:
        return list(paper_configurations(self._settings))

    def _sliced(self, lower: float) -> dict[int, Values]:
        found = {}
        for one in self._main:
            rule = one.weights
            if isinstance(rule, Slices) and rule.lower == lower:
                runs = self._measured.runs(self._data, one)
                if runs is not None:
                    found[rule.n] = runs
        return found

    def _by_lower(self, lower: float) -> Values | None:
        found = list(self._sliced(lower).values())
        return np.asarray(np.mean(found, axis=0)) if found else None

    def _claim(self, key: str, text: str, values: Values, **bounds: float | None) -> Claim:
        return Claim(key, self._data, text, values, **bounds)  # type: ignore[arg-type]

    def _ranges(self, middle: Values) -> Iterator[Claim]:
        printed = self._published
        found = {lower: self._by_lower(lower) for lower in (0.0, 0.5, 0.9)}
        for few, many in ((0.0, 0.5), (0.5, 0.9)):
            below, above = found[few], found[many]
            if below is not None and above is not None:
                said = None if printed is None else printed.by_lower[many] - printed.by_lower[few]
                yield self._claim("range", f"from {many:g} minus from {few:g}", above - below, published=said)
        printed_middle = None if printed is None else (printed.baseline + printed.random) / 2
        for lower, sign, key in ((0.5, 1, "close"), (0.9, 1, "close"), (0.0, -1, "zero")):
            runs = found[lower]
            if runs is not None:
                said = None
                if printed is not None and printed_middle is not None:
                    said = sign * (printed.by_lower[lower] - printed_middle)
                side = "above" if sign > 0 else "below"
                text = f"from {lower:g}: {side} the middle by"
                yield self._claim(key, text, sign * (runs - middle), published=said)

    def _slices(self, gap: float) -> Iterator[Claim]:
        for lower, key, sign in ((0.5, "slices", 1), (0.9, "slices", 1), (0.0, "fall", -1)):
            found = self._sliced(lower)
            if len(found) < 2:  # noqa: PLR2004  (a change needs two)
                continue
            few, many = min(found), max(found)
            said = None
            if self._published is not None and {(lower, few), (lower, many)} <= self._published.by_slices.keys():
                points = self._published.by_slices
                said = sign * (points[lower, many] - points[lower, few])
            margin = NO_CHANGE * abs(gap)
            bounds = {"low": -margin, "high": margin} if key == "slices" else {}
            text = f"from {lower:g}: {few} to {many} slices"
            yield self._claim(key, text, sign * (found[many] - found[few]), published=said, **bounds)

    def _mixes(self) -> list[Configuration]:
        way = self._settings.per[0]
        return [one for one in self._main if one.private and isinstance(one.weights, Groups) and one.weights.per == way]

    def _groups(self) -> Iterator[Claim]:
        mixes = [one for one in self._mixes() if min(_shares(one)) > 0]
        plain = {group: self._measured.average(self._data, mixes, group=group) for group in GROUPS}
        yield from self._compared(plain, counts=True)
        yield from self._compared({group: self._cost(mixes, group) for group in GROUPS}, counts=False)

    def _compared(self, means: Mapping[str, Values | None], *, counts: bool) -> Iterator[Claim]:
        """Compare groups by their recall, or as a cross-check by their recall over that of true neighbours."""
        for key, better, worse in (
            ("strict", "pragmatists", "fundamentalists"),
            ("strict", "unconcerned", "fundamentalists"),
            ("often", "unconcerned", "pragmatists"),
        ):
            above, below = means[better], means[worse]
            if above is not None and below is not None:
                said = None
                if self._published is not None and counts:
                    points = self._published.by_groups
                    places = [(p, f) for p, group, f in points if group == better]
                    said = float(np.mean([points[p, better, f] - points[p, worse, f] for p, f in places]))
                text = f"{better} minus {worse}" + ("" if counts else _CROSS_CHECK)
                yield self._claim(key, text, above - below, published=said, counts=counts)

    def _cost(self, mixes: Sequence[Configuration], group: str) -> Values | None:
        """Return the recall of a group over that of the same people with true neighbours, averaged over mixes."""
        references = [group_baseline(self._settings, _shares(one)) for one in mixes]
        found = self._measured.average(self._data, mixes, group=group)
        best = self._measured.average(self._data, references, group=group)
        return None if found is None or best is None else found - best

    def _punished(self, gap: float) -> Iterator[Claim]:
        """Compare the mix with the most fundamentalists with the one with the fewest from 20 %, pragmatists alike."""
        few_pragmatists = min(self._settings.pragmatists, default=math.nan)
        found = sorted(
            (_shares(one)[0], place)
            for place, one in enumerate(self._mixes())
            if _shares(one)[1] == few_pragmatists and min(_shares(one)) > 0
        )
        if len(found) < 2:  # noqa: PLR2004
            return
        (few, first), (many, last) = found[0], found[-1]
        for group in ("unconcerned", "pragmatists"):
            ends = [self._mixes()[place] for place in (first, last)]
            before, after = (self._measured.runs(self._data, one, group=group) for one in ends)
            costs = [self._cost([one], group) for one in ends]
            if before is None or after is None:
                continue
            said = None
            if self._published is not None:
                points = self._published.by_groups
                if {(few_pragmatists, group, few), (few_pragmatists, group, many)} <= points.keys():
                    said = points[few_pragmatists, group, few] - points[few_pragmatists, group, many]
            text = f"loss of the {group}, {few:.0%} to {many:.0%} fundamentalists"
            bounds = {"low": -math.inf, "high": HARDLY * abs(gap)}
            yield self._claim("punished", text, before - after, published=said, **bounds)
            if costs[0] is not None and costs[1] is not None:
                yield self._claim("punished", text + _CROSS_CHECK, costs[0] - costs[1], counts=False, **bounds)


def _shares(configuration: Configuration) -> tuple[float, float, float]:
    rule = configuration.weights
    assert isinstance(rule, Groups)  # noqa: S101  (callers choose groups only)
    return rule.fundamentalists, rule.pragmatists, rule.unconcerned
