"""Statistics that mix the items: variance, the logistic score, the largest and the smallest value."""

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import finite
from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import each
from hetdp.mechanisms.queries.query import (
    ULP,
    Floats,
    ItemwiseQuery,
    Query,
    Steps,
    checked_domain,
    exact_sum,
    exact_total,
    floats,
    linear_shrinkage,
)
from hetdp.mechanisms.queries.sums import checked_coefficients
from hetdp.profiles import Box

#: How much smaller the first cell of a variance is than the second, for the same noise in both. 1.5 is near the best
#: for means between the centre and half way to an end.
_TILT = 1.5


class _Variance(ItemwiseQuery):
    """(1/n) sum (x_i - mean)^2, n public, from two noisy sums: of w_i u_i and of w_i u_i^2, u being x minus the centre.

    Shrinking takes mass, not value, as in a histogram: the rest of an item, 1 - w_i of it, sits at its centre. With
    u = h y, h the largest abs(u), the cells are h^2/(L n) sum w_i y_i and h^2/n sum w_i y_i^2. The public tilt L makes
    noise in the second small without making that in the first large. One item moves both together by at most
    S_i(w) = w h^2/n max(abs(y - y')/L + abs(y^2 - y'^2)).
    """

    additive: ClassVar[bool] = False
    has_plain_noise: ClassVar[bool] = False
    proportional = True
    answer_range = (0.0, math.inf)
    vectors: ClassVar[tuple[str, ...]] = ("_home", "_spans")

    def __init__(self, domain: Box) -> None:
        super().__init__("variance", domain)
        if self.size == 1:
            raise InvalidInput("domain of a variance must hold at least 2 items (got 1)")
        self._pivot = float(domain.center[0] if domain.alike else domain.center.mean())
        # h: no box is so narrow that it is 0.
        self._reach = float(max(domain.upper.max() - self._pivot, self._pivot - domain.lower.min()))
        self._require_finite(lambda: self.size * (2 * self._reach) * (2 * self._reach))
        self._unit = self._reach * self._reach / self.size
        self._home: Floats = each(self._placed, domain.center)  # where what is taken from an item goes
        self._spans: Floats = each(_longest, each(self._placed, domain.lower), each(self._placed, domain.upper))

    def _placed(self, points: Floats) -> Floats:
        """Return y, where points are in [-1, 1]."""
        return floats((points - self._pivot) / self._reach)

    def _moments(self, points: Floats) -> Floats:
        """Return what each item adds to the two cells on top of its centre, as an array of two rows, in units."""
        placed = self._placed(points)
        return np.stack([(placed - self._home) / _TILT, placed**2 - self._home**2])

    @property
    def _offsets(self) -> Floats:
        first, second = each(lambda place: place / _TILT, self._home), each(np.square, self._home)
        return self._unit * floats([exact_total(first), exact_total(second)])

    @property
    def _slope(self) -> float:
        """How much of the second cell the square of the first takes away."""
        return (_TILT / self._reach) ** 2

    def evaluate(self, points: Floats) -> Floats:
        return self.stretched(points, np.ones(self.size))

    def stretched(self, clamped: Floats, shrinkage: Floats) -> Floats:
        sums = [math.fsum((shrinkage * cell).tolist()) for cell in self._moments(clamped)]
        return self._offsets + self._unit * floats(sums)

    def finish(self, cells: Floats) -> float:
        first, second = cells
        return float(second - (first * _TILT / self._reach) ** 2)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * self._spans * self._unit

    def contributions(self, points: Floats) -> Floats:
        return floats(self._unit * self._moments(points).sum(axis=0))

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        return -shrinkage * self._spans * self._unit

    def integer_cells(self, clamped: Floats, shrinkage: Floats, spans: Steps, grid: float) -> list[int]:  # noqa: ARG002
        steps = linear_shrinkage(self._spans, self._left(spans))
        return [exact_sum(cell) for cell in np.rint(steps * self._moments(clamped)).astype(np.int64)]

    def with_offset(self, cells: list[int], grid: float) -> list[int]:
        return [cell + math.floor(offset / grid) for cell, offset in zip(cells, self._offsets, strict=True)]

    def left(self, shrinkage: Floats, spans: Steps, grid: float) -> Floats:
        whole = self._spans * self._unit / grid
        return np.divide(self._left(spans), whole, out=floats(shrinkage.copy()), where=whole > 0)

    def rounding_distortion(self, grid: float) -> float:
        moved = grid * (4 * self.size + 1)  # each cell
        return moved * (1 + 2 * _TILT + self._slope * moved)

    def _left(self, spans: Steps) -> Floats:
        """Return what is left of spans when rounding four numbers, and computing them in floats, has taken its part."""
        slack = 4 + np.ceil(linear_shrinkage(self._spans, floats(spans) * 2.0**-48))
        return floats(np.maximum(spans - slack, 0.0))

    def interval(self, cells: Floats, reach: Callable[[float], float], confidence: float) -> tuple[float, float]:
        # Each of the two sums misses half as often as the variance may.
        far = reach((1 + confidence) / 2)
        first, second = (float(cell) for cell in cells)
        nearest, farthest = max(abs(first) - far, 0.0), abs(first) + far
        return second - far - self._slope * farthest**2, second + far - self._slope * nearest**2

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        # The lost mass moves the variance by its squares, and by the square of its mean.
        first, second = (1.0 - shrinkage) * np.abs(self._moments(clamped)) * self._unit
        means = [self.stretched(clamped, factor)[0] for factor in (np.ones(self.size), shrinkage)]
        return float(second.sum() + self._slope * abs(sum(means)) * first.sum())

    paper_distortion_bound = distortion_bound

    def item_distortions(self, shrinkage: Floats) -> Floats:
        ends = np.abs(np.stack([self._moments(self.domain.lower), self._moments(self.domain.upper)])).max(axis=0)
        first, second = ends[0] * _TILT, np.maximum(ends[1], self._home**2)
        # Two means are at most 2 in absolute value.
        return floats((1.0 - shrinkage) * self._unit * (second + 2 * first))


def _longest(low: Floats, high: Floats) -> Floats:
    """Return the most that items move the two cells together, from anywhere to anywhere in their range, in units."""
    # One end is right, and the other value is the other end or where the two terms balance (docs/proofs).
    one = _moved(high, np.clip(-0.5 / _TILT, low, high))
    two = _moved(low, np.clip(0.5 / _TILT, low, high))
    return np.maximum(one, two)


def _moved(end: Floats, other: Floats) -> Floats:
    """Return how far an item moves the two cells together on its way from one place to another, in units."""
    return np.abs(end - other) / _TILT + np.abs(end**2 - other**2)


def variance(domain: Box) -> Query:
    """Return the variance (1/n) sum (x_i - mean)^2, where the number n of items is public.

    The first two moments are released as noisy sums. For equal ranges r with the centre at the midpoint, the noise of
    the mean square has scale (4/9) r^2 / n, divided by epsilon; with a centre at an end it is larger.

    Examples
    --------
    >>> round(variance(Box.uniform(0, 10, size=4, center=5))([1, 3, 5, 7]), 9)
    5.0
    """
    return _Variance(domain)


class _Logistic(Query):
    """1 / (1 + exp(-(a . x + b))); moving the exponent by D moves it by at most tanh(D / 4)."""

    def __init__(self, coefficients: ArrayLike, domain: Box, intercept: float) -> None:
        super().__init__("logistic", domain)
        self.coefficients = checked_coefficients(coefficients, self.size)
        self.intercept = finite("intercept", intercept)
        steepness, offset = np.abs(self.coefficients), abs(self.intercept)
        self._require_finite(lambda: float(steepness @ domain.radii) + offset)
        self._moves = steepness * domain.ranges
        self.evaluation_error = 4 * ULP * (math.fsum((steepness * domain.radii).tolist()) + offset + 1)

    def _exponent(self, points: Floats) -> float:
        return math.fsum([*(self.coefficients * points).tolist(), self.intercept])

    def evaluate(self, points: Floats) -> float:
        return 0.5 + 0.5 * math.tanh(self._exponent(points) / 2)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return np.tanh(floats(shrinkage) * self._moves / 4)

    def _solve(self, targets: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # atanh(1) = inf stands for "no need to shrink"
            moves = 4 * np.arctanh(np.minimum(targets, 1.0))
        return linear_shrinkage(self._moves, moves)

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:
        one, other = self._exponent(start), self._exponent(end)
        nearest = 0.0 if one * other <= 0 else min(abs(one), abs(other))
        slope = (1 - math.tanh(nearest / 2) ** 2) / 4
        return np.abs(self.coefficients) * slope

    def lipschitz_bounds(self) -> Floats:
        return np.abs(self.coefficients) / 4


def logistic(coefficients: ArrayLike, domain: Box, intercept: float = 0.0) -> Query:
    """Return the logistic score 1 / (1 + exp(-(a . x + b))) of a public model.

    Parameters
    ----------
    coefficients, intercept
        a and b, public.

    Examples
    --------
    >>> logistic([1, -1], Box.uniform(-1, 1, size=2))([1, 1])
    0.5
    """
    return _Logistic(coefficients, domain, intercept)


class _Extreme(ItemwiseQuery):
    """max x_i (items shrink to their lower end) or min x_i (to their upper end); S_i(w) <= w r_i.

    Shrinking toward the harmless end lets an item with weight 0 drop out; shrinking a minimum toward 0 would instead
    make it the answer.
    """

    additive: ClassVar[bool] = False
    distortions_add_up: ClassVar[bool] = False
    proportional = True
    steepest: ClassVar[float] = 1.0  # the gradient is one-hot

    def __init__(self, name: str, domain: Box) -> None:
        largest = name == "maximum"
        self._extreme = np.max if largest else np.min
        self.better_than_stretching = (
            f"the {name} is released with noise as large as the range of the values divided by epsilon, however many "
            f"items there are. Use hetdp.mechanisms.{name}, which chooses a value that about 20 / epsilon items "
            "reach, however wide the range is."
        )
        center = checked_domain(domain).lower if largest else domain.upper
        super().__init__(name, domain.recentered(center))
        # A public reference near the values, so that contributions stay small numbers of grid steps.
        self.offset = float(self._extreme(center))

    def contributions(self, points: Floats) -> Floats:
        return points - self.offset

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        return self.contributions(self.domain.center + shrinkage * (self.domain.lower - self.domain.center))

    def combine(self, contributions: Floats) -> float:
        return float(self._extreme(contributions))

    def combine_integers(self, steps: Steps, clamped: Floats) -> list[int]:  # noqa: ARG002
        return [int(self._extreme(steps))]

    def merged(self, cells: Sequence[list[int]]) -> list[int]:
        return [int(self._extreme(cells))]  # there is one column

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * self.domain.ranges

    def lipschitz_bounds(self) -> Floats:
        return np.ones(self.size)

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        return float(np.abs(clamped - self.domain.shrink(clamped, shrinkage)).max())


def maximum(domain: Box) -> Query:
    """Return the largest value. Its noise is as large as the range: use `hetdp.mechanisms.maximum` instead.

    Items shrink toward their lower end, whatever the centre of the domain is. `stretch` warns, because the scale of the
    noise is the widest range divided by epsilon, however many items there are.

    Examples
    --------
    >>> maximum(Box.uniform(20, 80, size=3))([30, 50, 40])
    50.0
    """
    return _Extreme("maximum", domain)


def minimum(domain: Box) -> Query:
    """Return the smallest value. Its noise is as large as the range: use `hetdp.mechanisms.minimum` instead.

    Items shrink toward their upper end, whatever the centre of the domain is. Else as `maximum`.

    Examples
    --------
    >>> minimum(Box.uniform(20, 80, size=3))([30, 50, 40])
    30.0
    """
    return _Extreme("minimum", domain)
