"""Events that an audit counts: thresholds on features of the outputs, chosen on a learning sample.

A feature turns outputs into numbers. Events are counted on runs that were not used to choose them, so a bad choice
reduces power and never causes a false alarm.

The features:

- *the output itself*, or the cells that move most;
- *clipped sum*: each cell clipped between the two medians, added up with signs. For Laplace noise this is the
  log-likelihood ratio;
- *orthant*: the smallest signed distance from the medians of one side, so that {>= 0} is the orthant in which every
  cell attains its worst ratio;
- *learned direction*: the linear discriminant, which sees noise that several cells share;
- *learned log-ratio*: binned (or per outcome) log-ratios, added up over the cells where they are significant. For a
  few distinct outcomes its thresholds are exactly the sets {outcome} and {log-ratio > c}.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
#: Numbers, one row per run and one column per cell; or an object array with one label per run.
Outputs: TypeAlias = NDArray[Any]

_CELLS = 4
_BINS = 32
_DISTINCT = 64
#: A cell joins the learned log-ratio where the two sides differ by that many standard deviations.
_SIGNIFICANT = 4.0
#: Learned events per direction; with the halfspace at the median that makes three, in two directions.
_LEARNED = 2
EVENTS_PER_PAIR = 2 * (_LEARNED + 1)


def certified_log_ratio(
    hits: ArrayLike, runs: int, other_hits: ArrayLike, other_runs: int, *, false_alarm: float, delta: float = 0.0
) -> NDArray[np.float64]:
    """Return lower bounds on log((p - delta) / p'), each wrong with probability at most `false_alarm`; never below 0.

    p is the probability of an event under one profile and p' under the adjacent one. Half of the false-alarm rate goes
    to the lower Clopper-Pearson bound of p, half to the upper bound of p'.
    """
    from scipy import stats

    first, second = np.asarray(hits, dtype=np.float64), np.asarray(other_hits, dtype=np.float64)
    low = np.zeros(np.broadcast(first, second).shape)
    high = np.ones_like(low)
    some, open_end = first > 0, second < other_runs
    low[some] = stats.beta.ppf(false_alarm / 2, first[some], runs - first[some] + 1)
    high[open_end] = stats.beta.isf(false_alarm / 2, second[open_end] + 1, other_runs - second[open_end])
    return np.log(np.maximum((low - delta) / high, 1.0))


@dataclass(frozen=True)
class Feature:
    """A function `of` outputs that returns one number per run, and its name in words."""

    words: str
    of: Callable[[Outputs], Floats]
    #: Thresholds to try besides quantiles.
    landmarks: tuple[float, ...] = ()


def learn_features(one: Outputs, two: Outputs) -> list[Feature]:
    """Return features in which two sides may differ; the first has the medians as landmarks."""
    if one.dtype == object:
        return [_label_feature(one, two)]
    learned = _log_ratio_feature(one, two)
    medians = np.median(one, axis=0), np.median(two, axis=0)
    if one.shape[1] == 1:
        return [Feature("output", _cell(0), (float(medians[0][0]), float(medians[1][0]))), learned]
    moved = np.argsort(-_separation(one, two), kind="stable")[:_CELLS]
    cells = [Feature(f"cell {cell}", _cell(int(cell)), (medians[0][cell], medians[1][cell])) for cell in moved]
    return [_clipped_sum(*medians), *_orthants(*medians), _direction(one, two), learned, *cells]


def precision_feature() -> Feature:
    """Return how many binary digits an output has after the point: floating-point noise differs in that."""

    def precision(outputs: Outputs) -> Floats:
        mantissa, exponent = np.frexp(outputs[:, 0])
        digits = np.abs(mantissa * 2.0**53).astype(np.int64)
        trailing = np.log2(np.maximum(digits & -digits, 1))
        return np.where(digits == 0, 0.0, np.maximum(53 - exponent - trailing, 0.0))

    return Feature("binary digits after the point", precision)


def _cell(place: int) -> Callable[[Outputs], Floats]:
    return lambda outputs: outputs[:, place]


def _clipped(one: Outputs, two: Outputs) -> tuple[Floats, Floats]:
    """Return both sides without their far tails, which would dominate the means."""
    low, high = np.quantile(np.concatenate([one, two]), [0.001, 0.999], axis=0)
    return np.clip(one, low, high), np.clip(two, low, high)


def _separation(one: Outputs, two: Outputs) -> Floats:
    """Return how far apart the means are, in standard deviations of their difference."""
    first, second = _clipped(one, two)
    spread = np.sqrt(first.var(axis=0) / len(one) + second.var(axis=0) / len(two))
    apart: Floats = np.abs(first.mean(axis=0) - second.mean(axis=0)) / np.maximum(spread, 1e-300)
    return apart


def _clipped_sum(first: Floats, second: Floats) -> Feature:
    low, high, sign = np.minimum(first, second), np.maximum(first, second), np.sign(second - first)
    landmarks = float(first @ sign), float(second @ sign)
    return Feature("clipped sum", lambda outputs: np.clip(outputs, low, high) @ sign, landmarks)


def _orthants(first: Floats, second: Floats) -> list[Feature]:
    """Return the orthants beyond the medians of either side, over the cells whose medians clearly differ."""
    gap = np.abs(second - first)
    moved = gap > gap.max() / 2
    if not moved.any():
        return []

    def beyond(corner: Floats, sign: Floats) -> Callable[[Outputs], Floats]:
        return lambda outputs: ((outputs[:, moved] - corner[moved]) * sign[moved]).min(axis=1)

    toward = np.sign(second - first)
    return [
        Feature("orthant beyond the second", beyond(second, toward), (0.0,)),
        Feature("orthant beyond the first", beyond(first, -toward), (0.0,)),
    ]


def _direction(one: Outputs, two: Outputs) -> Feature:
    """Return the linear discriminant; the small ridge lets it find directions without any noise."""
    first, second = _clipped(one, two)
    covariance = np.cov(first, rowvar=False) + np.cov(second, rowvar=False)
    ridge = 1e-6 * max(float(np.trace(covariance)), 1e-300) * np.eye(covariance.shape[0])
    direction = np.linalg.solve(covariance + ridge, second.mean(axis=0) - first.mean(axis=0))
    direction /= max(float(np.abs(direction).max()), 1e-300)
    landmarks = float(np.median(one @ direction)), float(np.median(two @ direction))
    return Feature("learned direction", lambda outputs: outputs @ direction, landmarks)


def _log_ratio_feature(one: Outputs, two: Outputs) -> Feature:
    tables: list[tuple[int, Floats, Floats]] = []
    for cell in range(one.shape[1]):
        edges = _edges(np.concatenate([one[:, cell], two[:, cell]]))
        first, second = (np.bincount(_bin(side[:, cell], edges), minlength=edges.size) for side in (one, two))
        variances = 1 / (first + 0.5) + 1 / (second + 0.5)
        ratios = _log_ratio(first, second, len(one), len(two))
        if one.shape[1] == 1 or (np.abs(ratios) > _SIGNIFICANT * np.sqrt(variances)).any():
            tables.append((cell, edges, ratios))

    def log_ratio(outputs: Outputs) -> Floats:
        found = np.zeros(len(outputs))
        for cell, edges, ratios in tables:
            found += ratios[_bin(outputs[:, cell], edges)]
        return found

    return Feature("learned log-ratio", log_ratio)


def _log_ratio(first: Any, second: Any, runs: int, other_runs: int) -> Any:  # noqa: ANN401  (numbers or arrays)
    return np.log((second + 0.5) / (other_runs + 1)) - np.log((first + 0.5) / (runs + 1))


def _edges(values: Floats) -> Floats:
    """Return the distinct values where there are few, else quantiles."""
    distinct = np.unique(values)
    if distinct.size <= _DISTINCT:
        return distinct
    return np.unique(np.quantile(values, np.arange(_BINS) / _BINS))


def _bin(values: Floats, edges: Floats) -> NDArray[np.intp]:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 1)


def _label_feature(one: Outputs, two: Outputs) -> Feature:
    first, second = Counter(one.tolist()), Counter(two.tolist())
    ratios = {label: _log_ratio(first[label], second[label], len(one), len(two)) for label in first | second}
    return Feature("learned log-ratio", lambda outputs: np.array([ratios.get(label, 0.0) for label in outputs]))


@dataclass(frozen=True)
class Event:
    """A set of outputs: {feature >= threshold} if `above`, else {feature <= threshold}."""

    feature: Feature
    threshold: float
    above: bool
    #: Whether it should be likelier under the second profile.
    swapped: bool

    @property
    def words(self) -> str:
        """The event in words."""
        return f"{self.feature.words} {'>=' if self.above else '<='} {self.threshold:.6g}"

    def count(self, outputs: Outputs) -> int:
        """Return how many outputs lie in the event."""
        values = self.feature.of(outputs)
        return int(((values >= self.threshold) if self.above else (values <= self.threshold)).sum())


def learn_events(
    one: Outputs,
    two: Outputs,
    *,
    runs: int,
    false_alarm: float,
    delta: float = 0.0,
    features: Sequence[Feature] | None = None,
) -> list[Event]:
    """Choose the events for which the largest certified loss is expected when counted on `runs` new runs per side.

    Features are learned on the first half of the sample, thresholds on the second: an event that only fits the noise of
    the first half is not chosen on the second.
    """
    half, other_half = len(one) // 2, len(two) // 2
    found = list(features) if features is not None else learn_features(one[:half], two[:other_half])
    fresh = one[half:], two[other_half:]
    values = [(feature, feature.of(fresh[0]), feature.of(fresh[1])) for feature in found]
    return [
        event
        for swapped in (False, True)
        for event in (
            _median_event(*values[0], swapped=swapped),
            *_best(values, swapped=swapped, runs=runs, false_alarm=false_alarm, delta=delta),
        )
    ]


def apparent_loss(one: Outputs, two: Outputs) -> float:
    """Return an estimate of the loss from a small sample: for comparing pairs of profiles; it certifies nothing."""
    losses = []
    for event in learn_events(one, two, runs=len(one), false_alarm=0.1):
        hits, other_hits = event.count(one), event.count(two)
        if event.swapped:
            hits, other_hits = other_hits, hits
        losses.append(float(certified_log_ratio(hits, len(one), other_hits, len(two), false_alarm=0.1)))
    return max(losses)


def _median_event(feature: Feature, one: Floats, two: Floats, *, swapped: bool) -> Event:
    """Return the halfspace at the median of the likelier side, pointing away from the other.

    For Laplace noise the medians are the exact answers, and this is the event with the worst ratio.
    """
    first, second = float(np.median(one)), float(np.median(two))
    if feature.landmarks:
        first, second = feature.landmarks[0], feature.landmarks[-1]
    own, other = (second, first) if swapped else (first, second)
    return Event(feature, own, above=own >= other, swapped=swapped)


def _best(
    values: Sequence[tuple[Feature, Floats, Floats]], *, swapped: bool, runs: int, false_alarm: float, delta: float
) -> list[Event]:
    scored: list[tuple[float, int, Event]] = []
    for place, (feature, one, two) in enumerate(values):
        likely, unlikely = (two, one) if swapped else (one, two)
        thresholds = _thresholds(feature, one, two)
        for above in (True, False):
            hits, other_hits = _counts(likely, thresholds, above=above), _counts(unlikely, thresholds, above=above)
            # What would be certified if the fresh runs came out in the same proportions.
            expected = np.floor(hits / likely.size * runs), runs, np.ceil(other_hits / unlikely.size * runs), runs
            bounds = certified_log_ratio(*expected, false_alarm=false_alarm, delta=delta)
            best = int(np.argmax(bounds))
            event = Event(feature, float(thresholds[best]), above=above, swapped=swapped)
            scored.append((-float(bounds[best]), 2 * place + above, event))
    scored.sort(key=lambda entry: entry[:2])
    return [event for _, _, event in scored[:_LEARNED]]


def _thresholds(feature: Feature, one: Floats, two: Floats) -> Floats:
    """Return landmarks and quantiles, ever finer toward both tails: truncated noise shows only there."""
    size = min(one.size, two.size)
    deep = np.geomspace(min(10 / size, 0.05), 0.1, 12)
    levels = np.concatenate([deep, np.linspace(0.15, 0.85, 15), 1 - deep])
    quantiles = [np.quantile(side, levels, method="nearest") for side in (one, two)]
    # The ends of one side are where the other may still have outputs.
    ends = [end for side in (one, two) for end in (np.nextafter(side.max(), np.inf), np.nextafter(side.min(), -np.inf))]
    return np.unique(np.concatenate([*quantiles, ends, feature.landmarks]))


def _counts(values: Floats, thresholds: Floats, *, above: bool) -> Floats:
    ordered = np.sort(values)
    if above:
        return (values.size - np.searchsorted(ordered, thresholds, side="left")).astype(np.float64)
    return np.searchsorted(ordered, thresholds, side="right").astype(np.float64)
