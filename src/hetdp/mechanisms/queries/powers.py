"""Powers and norms: sum of |x|^p, the Euclidean norm, and the number of items that are not 0."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import positive
from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import each
from hetdp.mechanisms.queries.query import (
    ULP,
    Floats,
    ItemwiseQuery,
    Query,
    checked_domain,
    exact_total,
    floats,
    linear_shrinkage,
)
from hetdp.profiles import Box


def _between(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest absolute value between two points, item by item."""
    near, far = np.abs(one), np.abs(other)
    smallest = np.where(np.sign(one) * np.sign(other) <= 0, 0.0, np.minimum(near, far))
    return smallest, np.maximum(near, far)


def _interval(domain: Box, shrinkage: ArrayLike) -> tuple[Floats, Floats]:
    """Return the smallest and the largest absolute value in each shrunk interval."""
    low, high = (domain.center + floats(shrinkage) * (end - domain.center) for end in (domain.lower, domain.upper))
    return _between(low, high)


class _SumOfPowers(ItemwiseQuery):
    """sum |x_i|^p; S_i(w) = the spread of |x|^p over the shrunk interval, (w R_i)^p around 0."""

    def __init__(self, name: str, domain: Box, exponent: float) -> None:
        super().__init__(name, domain)
        self.exponent = exponent
        self._around_zero = not domain.center.any()
        self._require_finite(lambda: float(each(self._power, domain.radii).sum()))
        self.offset = exact_total(each(self._power, domain.center))

    def _power(self, points: Floats) -> Floats:
        return np.abs(points) ** self.exponent

    def contributions(self, points: Floats) -> Floats:
        return self._power(points) - self._power(self.domain.center)

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        return self._power(_interval(self.domain, shrinkage)[0]) - self._power(self.domain.center)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        smallest, largest = _interval(self.domain, shrinkage)
        return self._power(largest) - self._power(smallest)

    def _solve(self, targets: Floats) -> Floats:
        if not self._around_zero:
            return super()._solve(targets)
        return linear_shrinkage(self.modular_sensitivities(1.0), targets) ** (1 / self.exponent)

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:
        return self._slope(*_between(start, end))

    def lipschitz_bounds(self) -> Floats:
        return self._slope(*_interval(self.domain, 1.0))

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        if self.exponent >= 1:
            return super().distortion_bound(clamped, shrinkage)
        # Below exponent 1, where slopes are infinite, the distance itself.
        shrunk = self.domain.shrink(clamped, shrinkage)
        return math.fsum(np.abs(self._power(clamped) - self._power(shrunk)).tolist())

    def contribution_errors(self) -> Floats:
        if self.exponent >= 1:
            return self.exponent * super().contribution_errors()
        # Below exponent 1, where slopes are infinite, |a^p - b^p| <= |a - b|^p.
        return 2 * self._power(8 * ULP * self.domain.radii)

    def _slope(self, smallest: Floats, largest: Floats) -> Floats:
        steepest = largest if self.exponent >= 1 else smallest
        with np.errstate(divide="ignore"):  # below exponent 1 the slope at 0 is infinite, and that is the answer
            slope: Floats = self.exponent * steepest ** (self.exponent - 1)
        return slope


def squared_norm(domain: Box) -> Query:
    """Return the query sum x_i^2.

    Examples
    --------
    >>> squared_norm(Box.uniform(-1, 1, size=2))([0.5, -1])
    1.25
    """
    return _SumOfPowers("squared_norm", domain, 2.0)


def power(domain: Box, exponent: float) -> Query:
    """Return the query sum x_i^p on a domain of non-negative values.

    Parameters
    ----------
    exponent
        p, above 0.

    Examples
    --------
    >>> power(Box.uniform(0, 2, size=2), exponent=3)([1, 2])
    9.0
    """
    if (checked_domain(domain).lower < 0).any():
        raise InvalidInput("domain of a power must have lower >= 0", got=domain)
    return _SumOfPowers("power", domain, positive("exponent", exponent))


class _EuclideanNorm(Query):
    """sqrt(sum x_i^2); S_i(w) <= the spread of |x_i| over the shrunk interval, w R_i around 0."""

    steepest: ClassVar[float] = 1.0

    def __init__(self, domain: Box) -> None:
        super().__init__("norm", domain)
        self.proportional = not domain.center.any()
        self._require_finite(lambda: float((domain.radii**2).sum()))
        # Moving each coordinate by two roundings moves the norm by at most their norm; hypot adds a few of its own.
        self.evaluation_error = 8 * ULP * math.hypot(*domain.radii.tolist())

    def evaluate(self, points: Floats) -> float:
        return math.hypot(*points.tolist())

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        smallest, largest = _interval(self.domain, shrinkage)
        return largest - smallest

    def lipschitz_bounds(self) -> Floats:
        return np.ones(self.size)


def norm(domain: Box, order: int = 2) -> Query:
    """Return the L1 norm (order=1) or the Euclidean norm (order=2).

    Parameters
    ----------
    order
        1 or 2.

    Examples
    --------
    >>> norm(Box.uniform(-4, 4, size=2))([3, -4]), norm(Box.uniform(-4, 4, size=2), order=1)([3, -4])
    (5.0, 7.0)
    """
    if order not in (1, 2):
        raise InvalidInput("must be 1 or 2", parameter="order", got=order)
    return _SumOfPowers("norm", domain, 1.0) if order == 1 else _EuclideanNorm(domain)


class _NonZero(ItemwiseQuery):
    """The number of items that are not 0; S_i(w) = 1 for every w > 0, so shrinking is all or nothing."""

    better_than_stretching = (
        "l0 counts an item fully however little is left of it, so stretching drops every item whose weight is below 1. "
        "Use hetdp.weight_classes, which count every item of their classes in full."
    )

    def contributions(self, points: Floats) -> Floats:
        return floats(points != 0)

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        return np.zeros_like(shrinkage)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(np.broadcast_to(floats(shrinkage) > 0, (self.size,)))

    def _solve(self, targets: Floats) -> Floats:
        return floats(targets >= 1)

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        return float(((clamped != 0) & (shrinkage == 0)).sum())

    paper_distortion_bound = distortion_bound

    def item_distortions(self, shrinkage: Floats) -> Floats:
        return floats(shrinkage == 0)

    def contribution_errors(self) -> Floats:
        return np.zeros(self.size)


def l0(domain: Box) -> Query:
    """Return the number of items that are not 0.

    Stretching drops every item whose weight is below 1, and `stretch` warns: use `hetdp.weight_classes`.

    Examples
    --------
    >>> l0(Box.uniform(0, 5, size=3))([0, 2, 5])
    2.0
    """
    if not checked_domain(domain).is_semi_balanced:
        raise InvalidInput("domain of l0 must contain 0", got=domain)
    return _NonZero("l0", domain.recentered(np.zeros(domain.size)))
