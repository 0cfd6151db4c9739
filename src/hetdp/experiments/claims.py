"""The paper's conclusions as numbers: what each says about one data set, run by run, and the same number published."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hetdp.core.text import agreeing
from hetdp.experiments.configurations import Configuration
from hetdp.experiments.measurements import Measurements, Values
from hetdp.experiments.paper import HARDLY, NO_CHANGE, PUBLISHED_MIXES, TIMES, Published
from hetdp.experiments.prepared import DataSet
from hetdp.experiments.sweep import SweepSettings, paper_configurations
from hetdp.experiments.weight_rules import GROUPS, GroupRule, SliceRule

_Used = Sequence[Configuration]


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
        return f"ours in {self.ours} of {self.of} {agreeing(self.of, 'mix', 'mixes')}{said}"


@dataclass(frozen=True)
class Claim:
    """A statement that a number lies between two bounds, and that it is about as large as published.

    Attributes
    ----------
    conclusion, data
        What it belongs to.
    text
        The number in words.
    values
        The number in each run: a difference between two configurations with the same test items and the same noise.
    low, high
        Its direction: bounds in each run, or one for all; None if there is none. A bound that is a share of the
        distance between random and true neighbours is as random as that distance, so it is compared within each run.
    published, published_holds
        The same number from published points, and whether it lies within the same bounds; None if there are none.
    size
        Between which numbers it is as large as published; None if nothing is published.
    mixes
        In how many mixes of people it is so, if the conclusion speaks of that.
    """

    conclusion: str
    data: str
    text: str
    values: Values
    low: Values | float | None = 0.0
    high: Values | float | None = None
    published: float | None = None
    published_holds: bool | None = None
    size: tuple[float, float] | None = None
    mixes: Mixes | None = None

    @property
    def intervals(self) -> int:
        """How many intervals it takes: of the number, and of its distance from each bound that differs by run."""
        return 1 + sum(isinstance(bound, np.ndarray) for bound in (self.low, self.high))


def claims_about(measured: Measurements, settings: SweepSettings, data: DataSet) -> Iterator[Claim]:
    """Yield the claims about one data set; those whose runs are missing are left out."""
    yield from _Claims(measured, settings, data).all()


class _Claims:
    """The claims about one data set."""

    def __init__(self, measured: Measurements, settings: SweepSettings, data: DataSet) -> None:
        self._measured, self._settings, self._data = measured, settings, data.name
        self._published = data.published or Published("")
        self._ends = tuple(Configuration(engine=engine, k=settings.k) for engine in ("baseline", "random"))

    def all(self) -> Iterator[Claim]:
        """Yield all claims."""
        baseline, random = (self._measured.runs(self._data, one) for one in self._ends)
        if baseline is None or random is None:
            return
        yield from self._ranges((baseline + random) / 2)
        yield from self._slices(baseline - random)
        yield from self._groups()
        yield from self._punished(baseline - random)

    @cached_property
    def _main(self) -> list[Configuration]:
        return list(paper_configurations(self._settings))

    def _claim(
        self,
        key: str,
        text: str,
        values: Values,
        said: float | None,
        *,
        low: Values | float | None = 0.0,
        high: Values | float | None = None,
        margin: float | None = None,
        mixes: Mixes | None = None,
    ) -> Claim:
        """Return a claim whose published number is held to the same bounds, shares of the published distance."""
        gap, holds = self._published.gap, None
        if said is not None and margin is not None:
            holds = None if gap is None else (low is None or said > -margin * gap) and said < margin * gap
        elif said is not None and low is not None:
            holds = said > 0
        size = None if said is None else as_published(said, gap or 0.0)
        return Claim(key, self._data, text, values, low, high, said, holds, size, mixes)

    def _sliced(self, lower: float) -> list[Configuration]:
        return [one for one in self._main if isinstance(one.weights, SliceRule) and one.weights.lower == lower]

    def _ranges(self, middle: Values) -> Iterator[Claim]:
        found = {lower: self._measured.average(self._data, self._sliced(lower)) for lower in (0.0, 0.5, 0.9)}
        printed = self._published.by_lower
        zero, half, most = (found[lower] for lower in (0.0, 0.5, 0.9))
        if zero is not None and half is not None:
            said = _difference(printed.get(0.5), printed.get(0.0))
            yield self._claim("range", "from 0.5 minus from 0", half - zero, said)
            if most is not None:
                step = _difference(printed.get(0.9), printed.get(0.5))
                larger = (half - zero) - (most - half)
                yield self._claim("range", "the same, minus (from 0.9 minus from 0.5)", larger, _difference(said, step))
                # "Not much difference": the paper asks for no sign, but printed a size.
                yield self._claim("range", "from 0.9 minus from 0.5", most - half, step, low=None)
        for lower, sign, key in ((0.5, 1, "close"), (0.9, 1, "close"), (0.0, -1, "zero")):
            runs = found[lower]
            if runs is not None:
                said = None
                if lower in printed and self._published.gap is not None:
                    said = sign * (printed[lower] - ((self._published.random or 0.0) + self._published.gap / 2))
                side = "above" if sign > 0 else "below"
                text = f"from {lower:g}: {side} the middle between random and true neighbours by"
                yield self._claim(key, text, sign * (runs - middle), said)

    def _slices(self, gap: Values) -> Iterator[Claim]:
        for lower, key, sign in ((0.5, "slices", 1), (0.9, "slices", 1), (0.0, "fall", -1)):
            rules = {one.weights.n: one for one in self._sliced(lower) if isinstance(one.weights, SliceRule)}
            if not rules:
                continue
            few, many = min(rules), max(rules)
            if max(few, 2) == max(many, 2):  # one slice and two are the same rule: nothing to compare
                continue
            before, after = (self._measured.runs(self._data, rules[n]) for n in (few, many))
            if before is None or after is None:
                continue
            printed = self._published.by_slices
            change = _difference(printed.get((lower, many)), printed.get((lower, few)))
            said = None if change is None else sign * change
            text = f"from {lower:g}: {few} to {many} slices{', fall' if sign < 0 else ''}"
            if key == "fall":
                yield self._claim(key, text, before - after, said)
                continue
            margin = NO_CHANGE * gap
            yield self._claim(key, text, after - before, said, low=-margin, high=margin, margin=NO_CHANGE)

    def _mixes(self) -> list[Configuration]:
        """Return the published mixes if the sweep has any of them, else all in which every group has members."""
        way = self._settings.per[0]
        everything = [
            one
            for one in self._main
            if one.private and isinstance(one.weights, GroupRule) and one.weights.per == way and min(_shares(one)) > 0
        ]
        return [one for one in everything if _shares(one)[:2] in PUBLISHED_MIXES] or everything

    def _groups(self) -> Iterator[Claim]:
        mixes = self._mixes()
        for key, better, worse in (
            ("strict", "pragmatists", "fundamentalists"),
            ("strict", "unconcerned", "fundamentalists"),
            ("often", "unconcerned", "pragmatists"),
        ):
            above, below = (self._measured.average(self._data, mixes, group=group) for group in (better, worse))
            if above is None or below is None:
                continue
            said = self._said(mixes, better, worse)
            text = f"{better} minus {worse}"
            counted = self._counted(mixes, key, (better, worse), said)
            mean = float(np.mean(said)) if said else None
            yield self._claim(key, text, above - below, mean, mixes=counted)

    def _said(self, mixes: _Used, better: str, worse: str) -> list[float]:
        """Return the difference between two groups by the published points, in the mixes that both have."""
        points: Mapping[tuple[float, str, float], float] = self._published.by_groups
        places = [(_shares(one)[1], _shares(one)[0]) for one in mixes]
        return [
            points[p, better, f] - points[p, worse, f]
            for p, f in places
            if (p, better, f) in points and (p, worse, f) in points
        ]

    def _counted(self, mixes: _Used, key: str, groups: tuple[str, str], said: Sequence[float]) -> Mixes:
        ours = 0
        for one in mixes:
            above, below = (self._measured.runs(self._data, one, group=group) for group in groups)
            ours += above is not None and below is not None and bool(above.mean() > below.mean())
        needed = len(mixes) if key == "strict" else len(mixes) // 2 + 1
        printed = sum(value > 0 for value in said) if len(said) == len(mixes) else None
        return Mixes(ours, printed, len(mixes), needed)

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
            if before is None or after is None:
                continue
            points = self._published.by_groups
            said = _difference(points.get((few_pragmatists, group, few)), points.get((few_pragmatists, group, many)))
            text = f"loss of the {group}, {few:.0%} to {many:.0%} fundamentalists"
            high = HARDLY * gap
            yield self._claim("punished", text, before - after, said, low=None, high=high, margin=HARDLY)


def as_published(said: float, gap: float) -> tuple[float, float]:
    """Return between which numbers a size is as published: half to twice, or a difference that does not matter.

    Examples
    --------
    >>> as_published(0.08, 0.18)
    (0.04, 0.16)
    >>> [round(end, 3) for end in as_published(-0.001, 0.18)]
    [-0.019, 0.017]
    """
    ends = (said / TIMES, said * TIMES, said - NO_CHANGE * gap, said + NO_CHANGE * gap)
    return min(ends), max(ends)


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _shares(configuration: Configuration) -> tuple[float, float, float]:
    rule = configuration.weights
    assert isinstance(rule, GroupRule)  # noqa: S101  (callers choose groups only)
    return rule.fundamentalists, rule.pragmatists, rule.unconcerned
