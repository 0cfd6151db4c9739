"""What a sweep measured: recall by data set, configuration, group and epsilon, how sure it is, and how far it gets."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.experiments.configurations import Configuration
from hetdp.experiments.evaluation import Outcome
from hetdp.experiments.sweep import SweepSettings, overlap_baseline, sweep_configurations

#: Of every error bar.
CONFIDENCE = 0.95

Values = NDArray[np.float64]


@dataclass(frozen=True)
class MeanOverRuns:
    """A mean over runs and its confidence interval (Student's t)."""

    mean: float
    low: float
    high: float
    runs: int


def mean_over_runs(values: Values, *, confidence: float = CONFIDENCE) -> MeanOverRuns:
    """Return the mean of independent runs, about normal, and its confidence interval; that of one run is unbounded."""
    from scipy.special import stdtrit

    runs, mean = values.size, float(values.mean())
    if runs < 2:  # noqa: PLR2004  (one run has no spread)
        return MeanOverRuns(mean, -math.inf, math.inf, runs)
    width = float(stdtrit(runs - 1, 0.5 + confidence / 2)) * float(values.std(ddof=1)) / math.sqrt(runs)
    return MeanOverRuns(mean, mean - width, mean + width, runs)


#: Recall of each group: runs x epsilons.
_Measured = dict[str, Values]


class Measurements:
    """Recall by data set and configuration.

    Parameters
    ----------
    outcomes
        Finished tasks.
    names
        Name of each data set by fingerprint.
    """

    def __init__(self, outcomes: Iterable[Outcome], names: Mapping[str, str]) -> None:
        collected: dict[tuple[str, Configuration], list[Outcome]] = {}
        for outcome in outcomes:
            key = (names[outcome.task.data], outcome.task.configuration)
            collected.setdefault(key, []).append(outcome)
        self._found = {key: _gather(runs) for key, runs in collected.items()}

    def runs(
        self, data: str, configuration: Configuration, *, group: str = "all", epsilon: float | None = None
    ) -> Values | None:
        """Return the recall of each run, averaged over epsilons unless one is given; None if it was not measured."""
        found = self._found.get((data, configuration))
        if found is None or group not in found:
            return None
        values = found[group]
        if epsilon is None:
            return np.asarray(values.mean(axis=1), dtype=np.float64)
        return np.asarray(values[:, configuration.epsilons.index(epsilon)], dtype=np.float64)

    def average(
        self, data: str, configurations: Iterable[Configuration], *, group: str = "all", epsilon: float | None = None
    ) -> Values | None:
        """Return the recall of each run, averaged over configurations; None if one was not measured."""
        parts = [self.runs(data, one, group=group, epsilon=epsilon) for one in configurations]
        found = [part for part in parts if part is not None]
        if not found or len(found) < len(parts):
            return None
        return np.asarray(np.mean(found, axis=0), dtype=np.float64)


def _gather(runs: list[Outcome]) -> _Measured:
    ordered = sorted(runs, key=lambda outcome: outcome.task.seed)
    groups = ordered[0].points[0].recall
    return {
        group: np.array([[point.recall[group] for point in outcome.points] for outcome in ordered]) for group in groups
    }


@dataclass(frozen=True)
class GapClosed:
    """How far neighbours get.

    Attributes
    ----------
    loss
        The total loss of an item of weight 1.
    share, low
        Share of the way from random (0) to true neighbours by the same score (1), and the lower end of its 95 %
        interval; minus infinity with one run.
    """

    loss: float
    share: float
    low: float


def gap_closed(loss: float, recall: Values, random: Values, true: Values) -> GapClosed | None:
    """Return how far a recall is on the way from random to true neighbours, run by run; None if there is no way.

    The interval is that of the recall minus its share of the way, within each run: the ends of the way are as random
    as what lies between them.
    """
    gap = float((true - random).mean())
    if gap <= 0:
        return None
    share = float((recall - random).mean()) / gap
    missed = mean_over_runs((recall - random) - share * (true - random))
    return GapClosed(loss, share, share + (missed.low - missed.mean) / gap)


def sketch_gaps_closed(measured: Measurements, settings: SweepSettings, data: str) -> tuple[GapClosed, ...]:
    """Return how far the sketch engine gets at each total loss, smallest first; nothing where it was not measured."""
    true = measured.runs(data, overlap_baseline(settings))
    random = measured.runs(data, Configuration(engine="random", k=settings.k))
    if true is None or random is None:
        return ()
    found = []
    for one in sweep_configurations(settings):
        if one.engine != "sketch":
            continue
        for epsilon in sorted(one.epsilons):
            runs = measured.runs(data, one, epsilon=epsilon)
            closed = None if runs is None else gap_closed(epsilon, runs, random, true)
            if closed is not None:
                found.append(closed)
    return tuple(found)
