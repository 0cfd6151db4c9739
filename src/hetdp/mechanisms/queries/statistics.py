"""Statistics that mix the items: variance and the logistic score."""

import math

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import finite
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.examples import AGES, MIXED, UNIT, query_examples
from hetdp.mechanisms.queries.base import ULP, Floats, Query, floats, require_finite
from hetdp.mechanisms.queries.sums import checked_coefficients
from hetdp.profiles import Box

__all__ = ["logistic", "variance"]


class _Variance(Query):
    """(1/n) sum (x_i - mean)^2, n public.

    As a function of x_i alone it is (n-1)/n^2 * (x_i - m)^2 + const, where m is the mean of the others. Hence
    S_i(w) = (n-1)/n^2 * the spread of (x - m)^2 over the shrunk interval, for the worst m, which is an extreme one.
    """

    def __init__(self, domain: Box) -> None:
        super().__init__("variance", domain)
        if self.size == 1:
            raise InvalidInput("domain of a variance must hold at least 2 items. Got 1 instead.")
        self._factor = (self.size - 1) / self.size**2
        others = self.size - 1
        self._lowest_mean = (domain.lower.sum() - domain.lower) / others
        self._highest_mean = (domain.upper.sum() - domain.upper) / others
        with np.errstate(over="ignore"):
            spread = np.ptp(np.concatenate([domain.lower, domain.upper]))
            require_finite(float(self.size * spread**2), self.name)

    def evaluate(self, points: Floats) -> float:
        shift = self.domain.center.min()  # a variance does not mind, and small numbers round less
        near = points - shift
        mean = math.fsum(near.tolist()) / self.size
        return math.fsum(((near - mean) ** 2).tolist()) / self.size

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        factor = floats(shrinkage)
        low = self.domain.center + factor * (self.domain.lower - self.domain.center)
        high = self.domain.center + factor * (self.domain.upper - self.domain.center)
        length = factor * self.domain.ranges
        from_above = _spread(length, self._highest_mean - low, self._highest_mean - high)
        from_below = _spread(length, low - self._lowest_mean, high - self._lowest_mean)
        return self._factor * np.maximum(from_above, from_below)

    def _solve(self, targets: Floats) -> Floats:
        """Solve in closed form where all items have the same interval: S_i(w)/S = 2Mw - (2M-1)w^2.

        M is how far off the middle the centre sits: 1/2 at the midpoint (then w = v), 1 at an end (1 - sqrt(1-v)).
        """
        if np.ptp(self.domain.lower) or np.ptp(self.domain.upper) or np.ptp(self.domain.center):
            return super()._solve(targets)
        share = np.minimum(targets / self.sensitivity, 1.0)
        side = float((self.domain.center[0] - self.domain.lower[0]) / self.domain.ranges[0])
        skew = max(side, 1.0 - side)
        root = np.sqrt(np.maximum(skew**2 - (2 * skew - 1) * share, 0.0))
        solved: Floats = share / (skew + root)
        return solved

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:
        # x_i - mean is affine along the segment, so its absolute value is largest at an end.
        return floats(2 / self.size * np.maximum(np.abs(start - start.mean()), np.abs(end - end.mean())))

    def lipschitz_bounds(self) -> Floats:
        apart = np.maximum(self.domain.upper - self._lowest_mean, self._highest_mean - self.domain.lower)
        return floats(2 * self._factor * apart)

    @property
    def evaluation_error(self) -> float:
        shift = self.domain.center.min()
        spread = max(float(self.domain.upper.max() - shift), float(shift - self.domain.lower.min()))
        rounding = spread + float(self.domain.radii.max())  # the shrunk point is rounded before it is shifted
        return 32 * ULP * spread * rounding


def _spread(length: Floats, one: Floats, other: Floats) -> Floats:
    """Return max - min of t^2 over an interval with these ends, of this length; exact in the common case."""
    same_side = one * other >= 0
    return np.where(same_side, length * np.abs(one + other), np.maximum(one**2, other**2))


def variance(domain: Box) -> Query:
    """Return the variance (1/n) sum (x_i - mean)^2, where the number n of items is public.

    For equal ranges r: S_i(w) = w r^2 (n-1)/n^2 with the centre at the midpoint, so w = v; (2w - w^2) r^2 (n-1)/n^2
    with the centre at an end, so w = 1 - sqrt(1 - v). A midpoint centre keeps more. Rounded with slack.

    Examples
    --------
    >>> variance(Box.uniform(0, 10, size=4, center=5))([1, 3, 5, 7])
    5.0
    """
    return _Variance(domain)


class _Logistic(Query):
    """1 / (1 + exp(-(a . x + b))); moving the exponent by D moves it by at most tanh(D / 4)."""

    def __init__(self, coefficients: ArrayLike, domain: Box, intercept: float) -> None:
        super().__init__("logistic", domain)
        self.coefficients = checked_coefficients(coefficients, self.size)
        self.intercept = finite("intercept", intercept)
        with np.errstate(over="ignore"):
            require_finite(float(np.abs(self.coefficients) @ domain.radii) + abs(self.intercept), self.name)

    def _exponent(self, points: Floats) -> float:
        return math.fsum([*(self.coefficients * points).tolist(), self.intercept])

    def evaluate(self, points: Floats) -> float:
        return 0.5 + 0.5 * math.tanh(self._exponent(points) / 2)

    @property
    def _moves(self) -> Floats:
        return np.abs(self.coefficients) * self.domain.ranges

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return np.tanh(floats(shrinkage) * self._moves / 4)

    def _solve(self, targets: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # atanh(1) = inf stands for "no need to shrink"
            moves = 4 * np.arctanh(np.minimum(targets, 1.0))
        return floats(np.divide(moves, self._moves, out=np.ones(self.size), where=self._moves > 0))

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:
        one, other = self._exponent(start), self._exponent(end)
        nearest = 0.0 if one * other <= 0 else min(abs(one), abs(other))
        slope = (1 - math.tanh(nearest / 2) ** 2) / 4
        return np.abs(self.coefficients) * slope

    def lipschitz_bounds(self) -> Floats:
        return np.abs(self.coefficients) / 4

    @property
    def evaluation_error(self) -> float:
        size = math.fsum((np.abs(self.coefficients) * self.domain.radii).tolist()) + abs(self.intercept)
        return 4 * ULP * (size + 1)


def logistic(coefficients: ArrayLike, domain: Box, intercept: float = 0.0) -> Query:
    """Return the logistic score 1 / (1 + exp(-(a . x + b))) of a public model.

    S_i(w) <= tanh(w abs(a_i) r_i / 4), so w_i = min(1, 4 atanh(v_i S) / (abs(a_i) r_i)). Rounded with slack.

    Examples
    --------
    >>> logistic([1, -1], Box.uniform(-1, 1, size=2))([1, 1])
    0.5
    """
    return _Logistic(coefficients, domain, intercept)


@query_examples
def _examples() -> dict[str, Query]:
    return {
        "variance": variance(AGES),
        "variance, centre at an end": variance(UNIT),
        "variance, mixed": variance(MIXED),
        "logistic": logistic([1, -2, 0.01, 0.5, 0, 3], MIXED, intercept=0.3),
    }
