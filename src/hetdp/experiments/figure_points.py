"""Every number that a figure shows, as one list of points: what is drawn, what is written to CSV, what is published."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.configurations import Configuration
from hetdp.experiments.measurements import Measurements, mean_over_runs
from hetdp.experiments.prepared import DataSet
from hetdp.experiments.sweep import SweepSettings, overlap_baseline, paper_configurations, sweep_configurations
from hetdp.experiments.weight_rules import GROUPS, GroupRule, PracticeRule, SameRule, SharedSliceRule, SliceRule

TRUE, RANDOM = "true neighbours", "random neighbours"
#: Recall rewards coverage: what the same few people for everybody reach without any likeness, in every figure.
SAME = "same people for everybody"
#: The end of the scale for engines that rank by overlap.
BY_OVERLAP = "true neighbours by overlap"
#: Everybody but those whom homogeneous practice leaves out.
TAKING_PART = "those taking part"
_FEW_LOWER = (0.0, 0.5, 0.9)
_SHOWN_GROUPS = ("all", *GROUPS)


@dataclass(frozen=True)
class FigurePoint:
    """One point of one figure.

    Attributes
    ----------
    figure, data, panel, series, x
        Where it stands. `x` is a text in figures that compare groups.
    recall, low, high, runs
        Mean over runs and its 95 % confidence interval, which ends at 0 and 1; nan where one run has none.
    published
        The paper's recall at this point, or None.
    """

    figure: str
    data: str
    panel: str
    series: str
    x: float | str
    recall: float
    low: float
    high: float
    runs: int
    published: float | None = None


def figure_points(measured: Measurements, settings: SweepSettings, data: Sequence[DataSet]) -> list[FigurePoint]:
    """Return the points of all figures."""
    found: list[FigurePoint] = []
    for one in data:
        found += _Figures(measured, settings, one).all()
    return found


class _Figures:
    """The figures of one data set."""

    def __init__(self, measured: Measurements, settings: SweepSettings, data: DataSet) -> None:
        self._measured, self._settings, self._data, self._users = measured, settings, data.name, data.profiles.n_users
        self._published = data.published
        self._paper = paper_configurations(settings)
        self._everything = sweep_configurations(settings)

    def all(self) -> Iterator[FigurePoint]:
        """Yield the points of every figure."""
        yield from self._ends()
        yield from self._figure_1()
        yield from self._figure_2()
        yield from self._figure_3()
        yield from self._by_epsilon()
        if self._settings.extras:
            yield from self._engines()
            yield from self._shared()
            yield from self._scores()
            yield from self._practice()
        yield from self._ways()

    def _point(
        self,
        figure: str,
        series: str,
        x: float | str,
        values: NDArray[np.float64] | None,
        *,
        panel: str = "",
        published: float | None = None,
    ) -> Iterator[FigurePoint]:
        if values is None:
            return
        found = mean_over_runs(values)
        low, high = (max(0.0, found.low), min(1.0, found.high)) if found.runs > 1 else (math.nan, math.nan)
        yield FigurePoint(figure, self._data, panel, series, x, found.mean, low, high, found.runs, published)

    def _ends(self) -> Iterator[FigurePoint]:
        for engine, series in (("baseline", TRUE), ("random", RANDOM), ("same", SAME)):
            runs = self._measured.runs(self._data, Configuration(engine=engine, k=self._settings.k))
            printed = getattr(self._published, engine, None)
            yield from self._point("ends", series, math.nan, runs, published=printed)
        runs = self._measured.runs(self._data, overlap_baseline(self._settings))
        yield from self._point("ends", BY_OVERLAP, math.nan, runs)

    def _sliced(self, lower: float) -> list[Configuration]:
        return [one for one in self._paper if isinstance(one.weights, SliceRule) and one.weights.lower == lower]

    def _figure_1(self) -> Iterator[FigurePoint]:
        printed = {} if self._published is None else self._published.by_lower
        for lower in self._settings.lower:
            runs = self._measured.average(self._data, self._sliced(lower))
            yield from self._point("figure1", "gossip", lower, runs, published=printed.get(lower))
        for one in self._paper:
            if one.weights == SameRule(1.0) and one.private:
                yield from self._point("figure1", "gossip", 1.0, self._measured.runs(self._data, one))

    def _figure_2(self) -> Iterator[FigurePoint]:
        printed = {} if self._published is None else self._published.by_slices
        for lower in self._few_lower:
            for one in self._sliced(lower):
                n = one.weights.n if isinstance(one.weights, SliceRule) else 0
                runs = self._measured.runs(self._data, one)
                yield from self._point("figure2", f"from {lower:g}", n, runs, published=printed.get((lower, n)))

    @property
    def _few_lower(self) -> list[float]:
        """The lower ends of the paper if they were measured, else the first three there are."""
        few = [lower for lower in _FEW_LOWER if lower in self._settings.lower]
        return few or list(self._settings.lower[:3])

    def _figure_3(self) -> Iterator[FigurePoint]:
        printed = {} if self._published is None else self._published.by_groups
        combinations = set(self._settings.group_mixes) - set(self._settings.mixes)
        for one in self._paper:
            rule = one.weights
            if not one.private or not isinstance(rule, GroupRule) or rule.per != self._settings.per[0]:
                continue
            for group in GROUPS:
                runs = self._measured.runs(self._data, one, group=group)
                if (rule.fundamentalists, rule.pragmatists, rule.unconcerned) in combinations:
                    panel = f"{100 * rule.pragmatists:.3g} % pragmatists"
                    said = printed.get((rule.pragmatists, group, rule.fundamentalists))
                    yield from self._point("figure3", group, rule.fundamentalists, runs, panel=panel, published=said)
                else:
                    yield from self._point("poll", _mix_text(rule), group, runs)

    def _by_epsilon(self) -> Iterator[FigurePoint]:
        for lower in self._few_lower:
            for epsilon in self._settings.epsilons:
                runs = self._measured.average(self._data, self._sliced(lower), epsilon=epsilon)
                yield from self._point("epsilon", f"from {lower:g}", epsilon, runs)
        for one in self._paper:
            if one.weights == SameRule(1.0) and one.private:
                for epsilon in one.epsilons:
                    runs = self._measured.runs(self._data, one, epsilon=epsilon)
                    yield from self._point("epsilon", "all weights 1", epsilon, runs)

    def _engines(self) -> Iterator[FigurePoint]:
        """Yield recall against what an item of weight 1 loses: to one observer, and to all of them together."""
        for one in self._everything:
            if not one.private or one.epsilons != self._settings.engine_epsilons:
                continue
            for epsilon in one.epsilons:
                runs = self._measured.runs(self._data, one, epsilon=epsilon)
                if runs is None:
                    continue
                yield from self._point("engines_one", one.engine, epsilon, runs)
                # Before a run, nobody knows with whom gossip will compare a node: the promise counts everybody.
                times = 1 if one.engine == "sketch" else self._users - 1
                yield from self._point("engines_all", one.engine, times * epsilon, runs)

    def _shared(self) -> Iterator[FigurePoint]:
        lower = min(self._settings.lower)
        printed = {} if self._published is None else self._published.by_slices
        for one in self._everything:
            rule = one.weights
            if isinstance(rule, SliceRule | SharedSliceRule) and rule.lower == lower:
                series = "weights of each owner's own" if isinstance(rule, SliceRule) else "one weight for all owners"
                said = printed.get((lower, rule.n)) if isinstance(rule, SliceRule) else None
                yield from self._point("shared", series, rule.n, self._measured.runs(self._data, one), published=said)

    def _scores(self) -> Iterator[FigurePoint]:
        people = GroupRule(*self._settings.mixes[0], per=self._settings.per[0])  # type: ignore[arg-type]
        for one in self._everything:
            if one.engine == "gossip" and one.weights == people and one.epsilons == self._settings.epsilons:
                series = one.score if one.combine == "product" else f"{one.score}, smaller weight"
                for epsilon in one.epsilons:
                    runs = self._measured.runs(self._data, one, epsilon=epsilon)
                    yield from self._point("scores", series, epsilon, runs)

    def _practice(self) -> Iterator[FigurePoint]:
        people = GroupRule(*self._settings.mixes[0], per=self._settings.per[0])  # type: ignore[arg-type]
        main = {one.weights: one for one in self._paper if one.private}
        practice = [one for one in self._everything if isinstance(one.weights, PracticeRule)]
        for series, one in [
            ("a dial for every item", main[people]),
            *(("homogeneous practice", it) for it in practice),
        ]:
            for group in _SHOWN_GROUPS:
                yield from self._point("practice", series, group, self._measured.runs(self._data, one, group=group))
                if group == "all":
                    yield from self._point("practice", series, TAKING_PART, self._taking_part(one, people))

    def _taking_part(self, one: Configuration, people: GroupRule) -> NDArray[np.float64] | None:
        """Return the recall of everybody but the fundamentalists."""
        sizes = dict(zip(GROUPS[1:], people.policy.group_sizes(self._users)[1:], strict=True))
        found = [(self._measured.runs(self._data, one, group=group), size) for group, size in sizes.items() if size]
        parts = [runs * size for runs, size in found if runs is not None]
        return np.asarray(np.sum(parts, axis=0) / sum(sizes.values())) if parts and len(parts) == len(found) else None

    def _ways(self) -> Iterator[FigurePoint]:
        if len(self._settings.per) < 2:  # noqa: PLR2004  (nothing to compare)
            return
        for one in self._paper:
            rule = one.weights
            if not one.private or not isinstance(rule, GroupRule):
                continue
            if (rule.fundamentalists, rule.pragmatists, rule.unconcerned) == self._settings.mixes[0]:
                for group in _SHOWN_GROUPS:
                    runs = self._measured.runs(self._data, one, group=group)
                    yield from self._point("ways", f"weights per {rule.per}", group, runs)


def _mix_text(rule: GroupRule) -> str:
    shares = (rule.fundamentalists, rule.pragmatists, rule.unconcerned)
    return " / ".join(f"{100 * share:.3g}" for share in shares)
