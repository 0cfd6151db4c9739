"""Undo the average shrinkage of answers, and choose the multiplier that makes it pay.

Stretching pulls an answer toward its centre by the mean shrinkage. A noisy sum of the effective weights, paid by the
weights alone, tells what that was; dividing by it (`hetdp.mechanisms.ratios`) removes the bias, and what stays is the
noise and the chance of who has which dial. Without it a public prior knows the mean shrinkage in expectation. A
multiplier trades noise for chance.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import Real, float_vector, one_of, positive
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.core.vectors import parts
from hetdp.mechanisms.plan import choose_grid
from hetdp.mechanisms.queries.base import Floats, ItemwiseQuery, Query, exact_sum, floats
from hetdp.mechanisms.queries.sums import LinearQuery
from hetdp.mechanisms.ratios import NoisySum
from hetdp.noise.samplers import MAXIMUM_SCALE, gaussian_integers, laplace_integers
from hetdp.profiles import WeightPrior

_GRID = 400


@dataclass(frozen=True)
class Denominator:
    """A noisy sum of effective weights, planned: what an estimate is divided by.

    Attributes
    ----------
    noise, level
        "laplace" and its epsilon, or "gaussian" and its rho; what each weight pays, exactly.
    grid
        Public step that effective weights are counted in.
    spread
        Of the noise, in steps: the scale of the Laplace, the variance of the Gaussian noise. Exact.

    Privacy
    -------
    A function of the weights (and of who can still pay, which is a function of weights and earlier losses) and nothing
    else: values pay nothing. One effective weight lies in [0, 1] and is counted in whole steps, rounded down by itself,
    so each weight pays `level` (docs/proofs/estimation.md).
    """

    noise: str
    level: Fraction
    grid: float
    spread: Fraction

    @classmethod
    def planned(cls, noise: str, level: Fraction) -> "Denominator":
        """Plan a sum of weights at a level.

        Examples
        --------
        >>> Denominator.planned("laplace", Fraction(1, 2)).scale
        2.0
        """
        rough = 1 / float(level) if noise == "laplace" else 1 / math.sqrt(2 * float(level))
        step = choose_grid(scale=rough, reach=1.0, error=0.0, requested=None)
        unit = math.ceil(1 / step)
        spread = unit / level if noise == "laplace" else Fraction(unit) ** 2 / (2 * level)
        if spread >= (MAXIMUM_SCALE if noise == "laplace" else MAXIMUM_SCALE**2):
            raise InvalidInput(
                "must be large enough for noise below 2**52 steps", parameter="denominator", got=float(level)
            )
        return cls(noise, level, step, spread)

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, or standard deviation of the Gaussian, in weights. Public."""
        return self.grid * (float(self.spread) if self.noise == "laplace" else math.sqrt(self.spread))

    def release(self, weights: Floats, keep: NDArray[np.bool_], stream: Stream) -> NoisySum:
        """Return the noisy sum of the effective weights of the items that are kept, at `level` for each weight.

        Examples
        --------
        >>> from hetdp.core.randomness import seeded_stream
        >>> planned = Denominator.planned("laplace", Fraction(10**6))
        >>> round(planned.release(np.array([0.5, 1.0, 1.0]), np.array([True, True, False]), seeded_stream(1)).value, 3)
        1.5
        """
        steps = 0
        for some in parts(weights.size):
            own = np.where(keep[some], np.clip(weights[some], 0.0, 1.0), 0.0)
            steps += exact_sum(np.floor(own / self.grid).astype(np.int64))
        draw = laplace_integers if self.noise == "laplace" else gaussian_integers
        return NoisySum((steps + int(draw(self.spread, 1, stream)[0])) * self.grid, self.scale, self.noise)


def best_multiplier(
    query: Query,
    weight_prior: WeightPrior | ArrayLike | Mapping[float, float],
    epsilon: Real,
    *,
    values: ArrayLike | None = None,
    divided_by: str = "weights",
) -> float:
    """Return the public multiplier that minimises the expected error of the estimate.

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
        A public sample of plausible values. Default: as far apart and from the centre as they can be, which is safe.
    divided_by
        "weights": the estimate is divided by a noisy sum of weights of the same epsilon. "prior": by what the prior
        expects; so it is, too, where items differ in range or centre.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> query = queries.mean(Box.uniform(0, 1, size=1000))
    >>> round(best_multiplier(query, WeightPrior.westin(0.34, 0.43, 0.23), epsilon=1.0), 2)
    1.8
    """
    level = positive("epsilon", epsilon)
    one_of("divided_by", divided_by, ("weights", "prior"))
    prior = WeightPrior.of(weight_prior)
    _require_total(query)
    weights = prior.weights[(prior.weights > 0) & (prior.probabilities > 0)]
    if weights.size == 0:
        raise InvalidInput("must give some weight above 0 a chance (got only zeros)", parameter="weight_prior")
    relative = np.unique(query.modular_sensitivities(1.0)) / query.sensitivity
    corners = np.outer(relative, 1 / weights).ravel()  # where another weight starts to count fully
    largest = max(1.0, float(corners.max()))
    candidates = np.concatenate([[1.0], corners[corners > 1], np.geomspace(1.0, largest, _GRID)])
    ratio = divided_by == "weights" and query.why_no_estimate is None
    summary = _Summary.of(query, values, ratio=ratio)
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
    #: Of a ratio: the squared distance of the mean to the centre, times coefficients; it multiplies the denominator's
    #: noise. And then the squares above are around that mean.
    pull: float = 0.0

    @classmethod
    def of(cls, query: Query, values: ArrayLike | None, *, ratio: bool = False) -> "_Summary":
        total, domain = _require_total(query), query.domain
        if ratio:
            low, high, center = (float(end[0]) for end in (domain.lower, domain.upper, domain.center))
            sample = floats([low, high] if values is None else np.clip(float_vector("values", values), low, high))
            far = max(high - center, center - low) if values is None else float(sample.mean()) - center
            share = float(total.coefficients[0]) ** 2
            spread = np.array([share * query.size * sample.var()])
            return cls(query.sensitivity, floats([query.sensitivity]), floats([query.size]), spread, share * far**2)
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
        """Return the root mean squared error of the estimate."""
        (first, second), average = self.moments(prior, multiplier), self.shrinkage(prior, multiplier)
        noise = 2 * ((multiplier * self.largest) ** 2 + self.pull) / epsilon**2
        spread = second - 2 * average * first + average**2  # of w around the expectation it is divided by
        return float(np.sqrt(noise + self.squares @ spread) / average)


def _require_total(query: Query) -> LinearQuery:
    if not (isinstance(query, LinearQuery) and query.homogeneous):
        raise InvalidInput("must be a total, mean or count", parameter="query", got=query.name)
    return query
