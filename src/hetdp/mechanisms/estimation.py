"""Undo the average shrinkage of totals, means and counts, and choose the multiplier that makes it pay.

Stretching pulls a total toward its centre by the mean shrinkage. Under a public prior of weights that mean is known in
expectation, so dividing by it removes the bias; what stays is the noise, and the chance variation of the weights. A
multiplier trades one for the other.
"""

import numpy as np
from numpy.typing import ArrayLike

from hetdp.checks import Real, float_vector, positive
from hetdp.errors import InvalidInput
from hetdp.mechanisms.queries.base import Floats, ItemwiseQuery, Query
from hetdp.mechanisms.queries.sums import LinearQuery
from hetdp.profiles import WeightPrior

__all__ = ["best_multiplier", "expected_error", "expected_shrinkage", "normalised", "undo_dropping"]

_GRID = 400


def best_multiplier(
    query: Query, weight_prior: WeightPrior, epsilon: Real, *, values: ArrayLike | None = None
) -> float:
    """Return the public multiplier that minimises the expected error of the normalised estimate.

    The values are taken as independent of the weights.

    Parameters
    ----------
    query
        A total, mean or count.
    weight_prior
        What weights one expects, from public knowledge.
    epsilon
        Of the release to come.
    values
        A public sample of plausible values. Default: as far from the centre as they can be, which is safe.

    Privacy
    -------
    Everything that goes in is public, so the result is.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> query = queries.mean(Box.uniform(0, 1, size=1000))
    >>> round(best_multiplier(query, WeightPrior.westin(0.34, 0.43, 0.23), epsilon=1.0), 2)
    1.94
    """
    level = positive("epsilon", epsilon)
    _require_total(query)
    weights = weight_prior.weights[(weight_prior.weights > 0) & (weight_prior.probabilities > 0)]
    if weights.size == 0:
        raise InvalidInput("weight_prior must give some weight above 0 a chance. Got only zeros instead.")
    relative = np.unique(query.modular_sensitivities(1.0)) / query.sensitivity
    corners = np.outer(relative, 1 / weights).ravel()  # where another weight starts to count fully
    largest = max(1.0, float(corners.max()))
    candidates = np.concatenate([[1.0], corners[corners > 1], np.geomspace(1.0, largest, _GRID)])
    errors = [
        expected_error(query, weight_prior, level, multiplier=float(factor), values=values) for factor in candidates
    ]
    return float(candidates[int(np.argmin(errors))])


def expected_error(
    query: Query, weight_prior: WeightPrior, epsilon: float, *, multiplier: float, values: ArrayLike | None = None
) -> float:
    """Return the root mean squared error of the normalised estimate, for plausible or the largest possible values.

    Privacy
    -------
    Public in, public out.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> query = queries.mean(Box.uniform(0, 1, size=1000))
    >>> prior = WeightPrior.westin(0.34, 0.43, 0.23)
    >>> round(expected_error(query, prior, 1.0, multiplier=2.0), 4)
    0.0117
    """
    shares, first, second = _moments(query, weight_prior, multiplier)
    average = float(shares @ first)
    noise = 2 * (multiplier * query.sensitivity / epsilon) ** 2
    domain = query.domain
    if values is None:
        squares = np.maximum(domain.upper - domain.center, domain.center - domain.lower) ** 2
    else:
        # The mean squared distance to each item's centre, from the first two moments of the sample.
        sample = float_vector("values", values)
        squares = (sample**2).mean() - 2 * sample.mean() * domain.center + domain.center**2
    spread = second - 2 * average * first + average**2  # of w around the expectation it is divided by
    return float(np.sqrt(noise + np.sum(_require_total(query).coefficients ** 2 * squares * spread)) / average)


def expected_shrinkage(query: Query, weight_prior: WeightPrior, *, multiplier: float = 1.0) -> float:
    """Return the public expectation of the mean shrinkage of a total, mean or count.

    Privacy
    -------
    From the prior, never from the weights.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> expected_shrinkage(queries.mean(Box.uniform(0, 1, size=2)), WeightPrior([0.5, 1.0]))
    0.75
    """
    shares, first, _ = _moments(query, weight_prior, multiplier)
    return float(shares @ first)


def normalised(query: Query, weight_prior: WeightPrior, value: float, *, multiplier: float = 1.0) -> float | None:
    """Return a released value with the expected shrinkage divided out, or None where that makes no sense.

    Privacy
    -------
    Post-processing with public numbers; free.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> query = queries.mean(Box.uniform(20, 80, size=2))  # centre 50
    >>> normalised(query, WeightPrior([0.5]), 55.0)
    60.0
    """
    if not (isinstance(query, LinearQuery) and query.homogeneous):
        return None
    factor = expected_shrinkage(query, weight_prior, multiplier=multiplier)
    return query.offset + (value - query.offset) / factor if factor else None


def undo_dropping(query: Query, value: float, *, kept_share: float) -> float | None:
    """Return a released sum over a random share of the items, scaled up to all of them; None for other queries.

    Privacy
    -------
    Post-processing with public numbers; free.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> undo_dropping(queries.l0(Box.uniform(0, 1, size=9)), 3.0, kept_share=0.5)
    6.0
    """
    if not (isinstance(query, ItemwiseQuery) and query.additive and kept_share > 0):
        return None
    return query.offset + (value - query.offset) / kept_share


def _moments(query: Query, prior: WeightPrior, multiplier: float) -> tuple[Floats, Floats, Floats]:
    """Return per item: its share of the answer, and the first two moments of its shrinkage under the prior."""
    sensitivities = query.modular_sensitivities(1.0)
    kinds, kind = np.unique(sensitivities, return_inverse=True)
    shrinkage = np.minimum(1.0, multiplier * query.sensitivity * np.outer(1 / kinds, prior.weights))
    first, second = shrinkage @ prior.probabilities, shrinkage**2 @ prior.probabilities
    return sensitivities / sensitivities.sum(), first[kind], second[kind]


def _require_total(query: Query) -> LinearQuery:
    if not (isinstance(query, LinearQuery) and query.homogeneous):
        raise InvalidInput(f"query must be a total, mean or count. Got {query.name!r} instead.")
    return query
