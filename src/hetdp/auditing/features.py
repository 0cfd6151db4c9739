"""What to look at in an output so that two neighbours show their difference: features, learned from a sample of each.

A feature turns outputs into numbers; an event is a threshold on one. Whatever is learned here is only a guess: the
events are tested on runs of their own (`hetdp.auditing.events`), so a bad guess costs power, never a false alarm.

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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.outputs import Outputs

__all__ = ["Feature", "Floats", "learn_features", "precision_feature"]

Floats = NDArray[np.float64]

_CELLS = 4
_BINS = 32
_DISTINCT = 64
#: A cell joins the learned log-ratio where the two sides differ by that many standard deviations.
_SIGNIFICANT = 4.0


@dataclass(frozen=True)
class Feature:
    """A number read off an output.

    Attributes
    ----------
    words
        What it is, for the report.
    of
        Outputs to numbers, one per run.
    landmarks
        Thresholds to try besides quantiles.
    """

    words: str
    of: Callable[[Outputs], Floats]
    landmarks: tuple[float, ...] = ()


def learn_features(one: Outputs, two: Outputs) -> list[Feature]:
    """Return features that may tell the outputs of two neighbours apart; the first has the medians as landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> [feature.words for feature in learn_features(np.zeros((9, 1)), np.ones((9, 1)))]
    ['output', 'learned log-ratio']
    """
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
    """Return how many binary digits an output has after the point: what betrays floating-point noise.

    Examples
    --------
    >>> import numpy as np
    >>> precision_feature().of(np.array([[3.0], [0.25], [0.1]]))
    array([ 0.,  2., 55.])
    """

    def precision(outputs: Outputs) -> Floats:
        mantissa, exponent = np.frexp(outputs[:, 0])
        digits = np.abs(mantissa * 2.0**53).astype(np.int64)
        trailing = np.log2(np.maximum(digits & -digits, 1))
        return np.where(digits == 0, 0.0, np.maximum(53 - exponent - trailing, 0.0))

    return Feature("binary digits after the point", precision)


def _cell(place: int) -> Callable[[Outputs], Floats]:
    return lambda outputs: outputs[:, place]


def _separation(one: Outputs, two: Outputs) -> Floats:
    """Return how far apart the means are, in standard deviations of their difference."""
    low, high = np.quantile(np.concatenate([one, two]), [0.001, 0.999], axis=0)  # heavy tails would drown the means
    first, second = np.clip(one, low, high), np.clip(two, low, high)
    spread = np.sqrt(first.var(axis=0) / len(one) + second.var(axis=0) / len(two))
    apart: Floats = np.abs(first.mean(axis=0) - second.mean(axis=0)) / np.maximum(spread, 1e-300)
    return apart


def _clipped_sum(first: Floats, second: Floats) -> Feature:
    low, high, sign = np.minimum(first, second), np.maximum(first, second), np.sign(second - first)

    def clipped(outputs: Outputs) -> Floats:
        return np.clip(outputs, low, high) @ sign

    return Feature("clipped sum", clipped, (float(first @ sign), float(second @ sign)))


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
    low, high = np.quantile(np.concatenate([one, two]), [0.001, 0.999], axis=0)
    first, second = np.clip(one, low, high), np.clip(two, low, high)
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
        first = np.bincount(_bin(one[:, cell], edges), minlength=edges.size)
        second = np.bincount(_bin(two[:, cell], edges), minlength=edges.size)
        variances = 1 / (first + 0.5) + 1 / (second + 0.5)
        ratios = np.log((second + 0.5) / (len(two) + 1)) - np.log((first + 0.5) / (len(one) + 1))
        if one.shape[1] == 1 or (np.abs(ratios) > _SIGNIFICANT * np.sqrt(variances)).any():
            tables.append((cell, edges, ratios))

    def log_ratio(outputs: Outputs) -> Floats:
        found = np.zeros(len(outputs))
        for cell, edges, ratios in tables:
            found += ratios[_bin(outputs[:, cell], edges)]
        return found

    return Feature("learned log-ratio", log_ratio)


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
    ratios = {
        label: float(np.log((second[label] + 0.5) / (len(two) + 1)) - np.log((first[label] + 0.5) / (len(one) + 1)))
        for label in first | second
    }
    return Feature("learned log-ratio", lambda outputs: np.array([ratios.get(label, 0.0) for label in outputs]))
