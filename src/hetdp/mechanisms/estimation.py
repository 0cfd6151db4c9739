"""Undo the average shrinkage of totals, means and counts, and choose the multiplier that makes it pay.

Stretching pulls a total toward its centre by the mean shrinkage. Under a public prior of weights that mean is known in
expectation, so dividing by it removes the bias; what stays is the noise, and the chance variation of the weights. A
multiplier trades one for the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import Real, float_vector, positive
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.queries.base import Floats, ItemwiseQuery, Query, floats
from hetdp.mechanisms.queries.sums import LinearQuery
from hetdp.profiles import WeightPrior

__all__ = ["best_multiplier", "expected_shrinkage", "normalised", "undo_dropping"]

_GRID = 400


def best_multiplier(
    query: Query,
    weight_prior: WeightPrior | ArrayLike | Mapping[float, float],
    epsilon: Real,
    *,
    values: ArrayLike | None = None,
) -> float:
    """Return the public multiplier that minimises the expected error of the normalised estimate.

    The values are taken as independent of the weights. Everything that goes in is public, so the result is.

    Parameters
    ----------
    query
        A total, mean or count.
    weight_prior
        What weights one expects, from public knowledge: a `WeightPrior`, or what makes one.
    epsilon
        Of the release to come.
    values
        A public sample of plausible values. Default: as far from the centre as they can be, which is safe.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> query = queries.mean(Box.uniform(0, 1, size=1000))
    >>> round(best_multiplier(query, WeightPrior.westin(0.34, 0.43, 0.23), epsilon=1.0), 2)
    1.94
    """
    level = positive("epsilon", epsilon)
    prior = WeightPrior.of(weight_prior)
    _require_total(query)
    weights = prior.weights[(prior.weights > 0) & (prior.probabilities > 0)]
    if weights.size == 0:
        raise InvalidInput("weight_prior must give some weight above 0 a chance. Got only zeros instead.")
    relative = np.unique(query.modular_sensitivities(1.0)) / query.sensitivity
    corners = np.outer(relative, 1 / weights).ravel()  # where another weight starts to count fully
    largest = max(1.0, float(corners.max()))
    candidates = np.concatenate([[1.0], corners[corners > 1], np.geomspace(1.0, largest, _GRID)])
    summary = _Summary.of(query, values)
    errors = [summary.error(prior, level, float(factor)) for factor in candidates]
    return float(candidates[int(np.argmin(errors))])


def expected_shrinkage(query: Query, weight_prior: WeightPrior, *, multiplier: float = 1.0) -> float:
    """Return the expectation of the mean shrinkage of a total, mean or count: from the prior, never from weights."""
    return _Summary.of(query, None).shrinkage(weight_prior, multiplier)


def normalised(query: Query, weight_prior: WeightPrior, value: float, *, multiplier: float = 1.0) -> float | None:
    """Return a released value with the expected shrinkage divided out, or None where that makes no sense."""
    if not (isinstance(query, LinearQuery) and query.homogeneous):
        return None
    factor = expected_shrinkage(query, weight_prior, multiplier=multiplier)
    return query.offset + (value - query.offset) / factor if factor else None


def undo_dropping(query: Query, value: float, *, kept_share: float) -> float | None:
    """Return a released sum over a random share of the items, scaled up to all of them; None for other queries."""
    if not (isinstance(query, ItemwiseQuery) and query.additive and kept_share > 0):
        return None
    return query.offset + (value - query.offset) / kept_share


@dataclass(frozen=True)
class _Summary:
    """A total, mean or count by kinds of items: those of equal sensitivity shrink alike."""

    largest: float  # S, the largest sensitivity
    #: Per kind: S_i, how many items, and the sum of their squared distances to the centre, times coefficients.
    sensitivities: Floats
    counts: Floats
    squares: Floats

    @classmethod
    def of(cls, query: Query, values: ArrayLike | None) -> "_Summary":
        total, domain = _require_total(query), query.domain
        if values is None:
            squares = np.maximum(domain.upper - domain.center, domain.center - domain.lower) ** 2
        else:
            # The mean squared distance to each item's centre, from the first two moments of the sample.
            sample = float_vector("values", values)
            squares = (sample**2).mean() - 2 * sample.mean() * domain.center + domain.center**2
        kinds, kind = np.unique(query.modular_sensitivities(1.0), return_inverse=True)
        weights = total.coefficients**2 * squares
        return cls(
            query.sensitivity, kinds, np.bincount(kind).astype(np.float64), floats(np.bincount(kind, weights=weights))
        )

    def moments(self, prior: WeightPrior, multiplier: float) -> tuple[Floats, Floats]:
        """Return per kind the first two moments of the shrinkage under the prior."""
        shrinkage = np.minimum(1.0, multiplier * self.largest * np.outer(1 / self.sensitivities, prior.weights))
        return shrinkage @ prior.probabilities, shrinkage**2 @ prior.probabilities

    def shrinkage(self, prior: WeightPrior, multiplier: float) -> float:
        """Return the expected shrinkage, averaged over the items by sensitivity."""
        shares = self.counts * self.sensitivities
        return float(shares @ self.moments(prior, multiplier)[0] / shares.sum())

    def error(self, prior: WeightPrior, epsilon: float, multiplier: float) -> float:
        """Return the root mean squared error of the normalised estimate."""
        (first, second), average = self.moments(prior, multiplier), self.shrinkage(prior, multiplier)
        noise = 2 * (multiplier * self.largest / epsilon) ** 2
        spread = second - 2 * average * first + average**2  # of w around the expectation it is divided by
        return float(np.sqrt(noise + self.squares @ spread) / average)


def _require_total(query: Query) -> LinearQuery:
    if not (isinstance(query, LinearQuery) and query.homogeneous):
        raise InvalidInput(f"query must be a total, mean or count. Got {query.name!r} instead.")
    return query
