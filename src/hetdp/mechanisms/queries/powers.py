"""Powers and norms: sum of |x|^p, the Euclidean norm, and the number of items that are not 0."""

import math
from functools import cached_property

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
    exact_total,
    floats,
    linear_shrinkage,
    require_finite,
)
from hetdp.profiles import Box


def _interval(domain: Box, shrinkage: ArrayLike) -> tuple[Floats, Floats]:
    """Return the smallest and the largest absolute value in each shrunk interval."""
    factor = floats(shrinkage)
    low = domain.center + factor * (domain.lower - domain.center)
    high = domain.center + factor * (domain.upper - domain.center)
    smallest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    return smallest, np.maximum(np.abs(low), np.abs(high))


class _SumOfPowers(ItemwiseQuery):
    """sum |x_i|^p; S_i(w) = the spread of |x|^p over the shrunk interval, (w R_i)^p around 0."""

    def __init__(self, name: str, domain: Box, exponent: float) -> None:
        super().__init__(name, domain)
        self.exponent = exponent
        self._around_zero = not domain.center.any()
        with np.errstate(over="ignore"):
            require_finite(float(each(self._power, domain.radii).sum()), self.name)

    @cached_property
    def offset(self) -> float:
        return exact_total(each(self._power, self.domain.center))

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
        largest = np.maximum(np.abs(start), np.abs(end))
        smallest = np.where(start * end <= 0, 0.0, np.minimum(np.abs(start), np.abs(end)))
        return self._slope(smallest, largest)

    def lipschitz_bounds(self) -> Floats:
        return self._slope(*_interval(self.domain, 1.0))

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        """Return the slope bound, or below exponent 1, where slopes are infinite, the distance itself."""
        if self.exponent >= 1:
            return super().distortion_bound(clamped, shrinkage)
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

    Around 0, S_i(w) = w^2 R_i^2 with R_i = max abs(x_i), so w_i = min(1, sqrt(v_i S / S_i)).

    Examples
    --------
    >>> squared_norm(Box.uniform(-1, 1, size=2))([0.5, -1])
    1.25
    """
    return _SumOfPowers("squared_norm", domain, 2.0)


def power(domain: Box, exponent: float) -> Query:
    """Return the query sum x_i^p on a domain of non-negative values.

    Around 0, S_i(w) = (w r_i)^p, so w_i = min(1, (v_i S / S_i)^(1/p)).

    Parameters
    ----------
    domain
        The public range of each value, from 0 up.
    exponent
        p, above 0.

    Examples
    --------
    >>> power(Box.uniform(0, 2, size=2), exponent=3)([1, 2])
    9.0
    """
    query = _SumOfPowers("power", domain, positive("exponent", exponent))
    if (domain.lower < 0).any():
        raise InvalidInput("domain of a power must have lower >= 0", got=domain)
    return query


class _EuclideanNorm(Query):
    """sqrt(sum x_i^2); S_i(w) <= the spread of |x_i| over the shrunk interval, w R_i around 0."""

    def __init__(self, domain: Box) -> None:
        super().__init__("norm", domain)
        self.proportional = not domain.center.any()
        with np.errstate(over="ignore"):
            require_finite(float((domain.radii**2).sum()), self.name)

    def evaluate(self, points: Floats) -> float:
        return math.hypot(*points.tolist())

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        smallest, largest = _interval(self.domain, shrinkage)
        return largest - smallest

    def lipschitz_bounds(self) -> Floats:
        return np.ones(self.size)

    def gradient_norm_bound(self, start: Floats, end: Floats) -> float:  # noqa: ARG002
        return 1.0

    @property
    def evaluation_error(self) -> float:
        # Moving each coordinate by two roundings moves the norm by at most their norm; hypot adds a few of its own.
        return 8 * ULP * math.hypot(*self.domain.radii.tolist())


def norm(domain: Box, order: int = 2) -> Query:
    """Return the L1 norm (order=1) or the Euclidean norm (order=2).

    Around 0, S_i(w) = w R_i with R_i = max abs(x_i), so w_i = min(1, v_i S / R_i). Order 1 is rounded per item,
    order 2 with slack.

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
        return floats((points != 0).astype(np.float64))

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        return np.zeros_like(shrinkage)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return np.broadcast_to(floats(shrinkage) > 0, (self.size,)).astype(np.float64)

    def _solve(self, targets: Floats) -> Floats:
        return (targets >= 1).astype(np.float64)

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        """Return the number of non-zero items that were dropped."""
        return float(((clamped != 0) & (shrinkage == 0)).sum())

    paper_distortion_bound = distortion_bound

    def item_distortions(self, shrinkage: Floats) -> Floats:
        return floats((shrinkage == 0).astype(np.float64))

    def contribution_errors(self) -> Floats:
        return np.zeros(self.size)


def l0(domain: Box) -> Query:
    """Return the number of items that are not 0.

    S_i(w) = 1 for every w > 0, so w_i = 1 only where v_i = 1, else 0. `stretch` warns and names weight classes, which
    count every item of their classes in full.

    Examples
    --------
    >>> l0(Box.uniform(0, 5, size=3))([0, 2, 5])
    2.0
    """
    query = _NonZero("l0", domain)
    if not domain.is_semi_balanced:
        raise InvalidInput("domain of l0 must contain 0", got=domain)
    query.domain = domain.recentered(np.zeros(domain.size))
    return query
