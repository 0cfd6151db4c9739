"""The Stretching Mechanism: shrink each item until its sensitivity fits its weight, then add exact noise.

All noise is drawn on integers. The plan of a release fixes the public grid, the exact scale of the noise in grid steps,
and for every item the number of steps its contribution may span: never more than v_i times the steps of the
sensitivity. Two kinds of rounding lead there.

- *Per item*: each contribution is rounded to the grid and kept inside its span by itself; sums, maxima and counts of
  integers are exact. The span is floor(v_i * m * S) in steps.
- *With slack*: the answer is evaluated in floating point and rounded down as a whole. That can move two adjacent
  profiles apart by one step and twice the evaluation error, so shrinking aims at v_i * m * S minus that much.
"""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, fraction
from hetdp.core.errors import InvalidInput, StretchingWarning
from hetdp.core.randomness import Stream
from hetdp.core.vectors import parts
from hetdp.mechanisms.mechanism import NoisePlan, OfQuery, as_weights, checked_sensitivity
from hetdp.mechanisms.queries.query import Floats, ItemwiseQuery, Query, Steps
from hetdp.mechanisms.rounding import choose_grid, floor_product, product_up
from hetdp.noise.samplers import MAXIMUM_SCALE
from hetdp.profiles import PrivacyWeights

_LARGEST_SCALE = 2**1000


@dataclass(frozen=True, repr=False, eq=False)
class Stretched(OfQuery):
    """A query stretched to fit the weights: R(d) = f(c + W(d - c)) with S_i(w_i) <= m v_i S.

    Query and multiplier are public. Weights, shrinkage, calls and distortion bounds are for the owner's eyes.

    Attributes
    ----------
    query, weights
        What is asked, and the weight of each item.
    multiplier
        m: how many times as much noise there is, and how much less items shrink for it.
    public_weight
        The weight of every item, where it is public because all have the same.
    """

    query: Query
    weights: PrivacyWeights
    multiplier: float = 1.0
    public_weight: float | None = None

    def __repr__(self) -> str:
        return f"Stretched({self.query!r}, multiplier={self.multiplier:g})"

    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> "StretchedPlan":
        """Return what a release would do and cost; `noise`, `amount` and `grid` as for `hetdp.plan`.

        Examples
        --------
        >>> from hetdp import Box, queries
        >>> stretched = stretch(queries.total(Box.uniform(0, 1, size=2)), [0.5, 0.001])
        >>> stretched.plan(noise="laplace", amount=0.5).scale
        2.0
        """
        return _plan(self, noise=noise, amount=amount, grid=grid)

    @cached_property
    def shrinkage(self) -> Floats:
        """The factor w_i of every item. For the owner's eyes only."""
        return self.shrinkage_with(slack=0.0)

    def shrinkage_with(self, *, slack: float) -> Floats:
        """Return the shrinkage when `slack` of every target is set aside for rounding. For the owner's eyes only.

        An item whose target does not exceed the slack, or whose weight is 0, is dropped.
        """
        shrinkage = np.empty(self.query.size)
        for some, part in self.query.parts():
            weights = self.weights.values[some]
            targets = weights * self.multiplier * self.query.sensitivity - slack
            largest = part.largest_shrinkage(np.maximum(targets, 0.0))
            shrinkage[some] = np.where((weights == 0) | (targets <= 0), 0.0, largest)
        shrinkage.flags.writeable = False
        return shrinkage

    def __call__(self, values: ArrayLike) -> float | Floats:
        """Return the stretched answer to `values`, without noise. For the owner's eyes only."""
        cells = self.query.stretched(self.query.domain.clamp(values), self.shrinkage)
        return self.query.finish(np.atleast_1d(cells))

    def distortion_bound(self, values: ArrayLike) -> float:
        """Bound `|f(d) - R(d)|` item by item; never larger than `paper_distortion_bound`.

        Depends on `values` and weights: for the owner's eyes only. `hetdp.release_distortion_bound` publishes one.

        Examples
        --------
        >>> from hetdp import Box, queries
        >>> stretched = stretch(queries.linear([2, 1, 0.5], Box.uniform(0, 1, size=3)), [0.5, 0.25, 0.1])
        >>> round(stretched.distortion_bound([1, 1, 1]), 4), round(stretched.paper_distortion_bound([1, 1, 1]), 4)
        (1.8, 2.3812)
        """
        return self.query.distortion_bound(self.query.domain.clamp(values), self.shrinkage)

    def paper_distortion_bound(self, values: ArrayLike) -> float:
        """Bound `|f(d) - R(d)|` as the paper does: (1 - min w) ||d - c|| max ||gradient||.

        Depends on `values` and weights: for the owner's eyes only.
        """
        return self.query.paper_distortion_bound(self.query.domain.clamp(values), self.shrinkage)


def stretch(query: Query, weights: PrivacyWeights | ArrayLike, *, multiplier: float = 1.0) -> Stretched:
    """Shrink a query until every item's sensitivity fits its weight.

    Items of small weight are moved toward the centre of their range, and so is the answer. For sums, means and counts
    that nothing distorts use `hetdp.weight_classes`.

    Parameters
    ----------
    query
        From `hetdp.queries`.
    weights
        One secret weight per item; or one number, the public weight of all of them.
    multiplier
        Public, >= 1: every target is that many times larger, and so is the noise. Less shrinking for more noise.

    Privacy
    -------
    Unit: one item, replaced by any other value of its interval. With Laplace noise of scale multiplier * S / epsilon,
    the answer is (epsilon, v)-differentially private (docs/proofs/stretching.md).

    Examples
    --------
    >>> from hetdp import Box, queries
    >>> stretched = stretch(queries.linear([2, 1, 0.5], Box([0, 0, 0], [1, 1, 1])), [0.5, 0.25, 0.1])
    >>> stretched.shrinkage, stretched([1, 1, 1])
    (array([0.5, 0.5, 0.4]), 1.7)
    """
    if not isinstance(query, Query):
        raise InvalidInput("must come from hetdp.queries", parameter="query", got=type(query))
    public = finite("weights", weights) if isinstance(weights, int | float) else None
    secret = as_weights(weights if public is None else np.full(query.size, public), query.size)
    factor = finite("multiplier", multiplier)
    if factor < 1:
        raise InvalidInput("must be >= 1", parameter="multiplier", got=multiplier)
    if query.better_than_stretching is not None:
        # Whatever the weights are: a warning that depended on them would reveal something about them.
        warnings.warn(query.better_than_stretching, StretchingWarning, stacklevel=2)
    return Stretched(query, secret, factor, public)


@dataclass(frozen=True, repr=False, eq=False)
class StretchedPlan(NoisePlan):
    """What a release of a stretched query will do: public parameters, and the spans of the items, the owner's."""

    mechanism: Stretched
    noise: str
    level: Fraction
    grid: float
    #: Of the noise, in steps: the scale of the Laplace, the variance of the Gaussian noise. Exact.
    spread: Fraction
    #: Per item: the factor, and the most steps it can move each cell of the answer. The owner's.
    shrinkage: Floats
    spans: Steps

    @property
    def scale(self) -> float:  # type: ignore[override]
        return self.width(self.spread)

    @property
    def scales(self) -> tuple[float, ...]:
        return (self.scale,)

    def why_no_estimate(self, *, drops: bool) -> str | None:
        public = self.mechanism.public_weight
        if public is None or public * self.mechanism.multiplier < 1:
            return "Stretching moves items of small weight, and the answer with them, toward the public centre."
        return "Items without remaining budget count as the public centre." if drops else None

    @property
    def losses(self) -> Floats:
        losses = np.empty(self.spans.size)
        for some in parts(losses.size):
            losses[some] = self._losses(self.spans[some], self.mechanism.weights.values[some])
        return losses

    def _losses(self, spans: Steps, weights: Floats) -> Floats:
        cells, steps = self.mechanism.query.cells, spans.astype(np.float64)
        if self.noise == "laplace":
            lost, promised = product_up(steps, cells / self.spread), product_up(weights, self.level)
        else:
            lost = product_up(steps**2, cells / (2 * self.spread) * (1 + Fraction(1, 2**50)))
            promised = np.nextafter(product_up(weights, self.level) * weights, np.inf)
        return np.where(spans > 0, np.minimum(lost, promised), 0.0)

    def interval(self, cells: Floats, confidence: float) -> tuple[float | Floats, float | Floats]:
        return self.mechanism.query.interval(cells, self.reach_of_cells, confidence)

    def finish(self, cells: Floats) -> float | Floats:
        return self.mechanism.query.finish(cells)

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        return self.noisy(self._exact_steps(values, keep), self.spread, stream, count=count)

    def _exact_steps(self, values: ArrayLike, keep: NDArray[np.bool_]) -> list[int]:
        """Return the stretched answer in grid steps: the only place where private values meet the answer."""
        query = self.mechanism.query
        read = query.domain.read(values)
        with np.errstate(all="ignore"):  # a warning, or an error where warnings are errors, would depend on values
            if not isinstance(query, ItemwiseQuery):
                shrinkage = np.where(keep, self.shrinkage, 0.0)
                return [math.floor(float(query.stretched(query.domain.clamp(read), shrinkage)) / self.grid)]
            cells = []
            for some, part in query.parts():
                kept = keep[some]
                shrinkage, spans = np.where(kept, self.shrinkage[some], 0.0), np.where(kept, self.spans[some], 0)
                cells.append(part.integer_cells(part.domain.clamp(read[some]), shrinkage, spans, self.grid))
            return query.with_offset(query.merged(cells), self.grid)


def _plan(stretched: Stretched, *, noise: str, amount: object, grid: float | None) -> StretchedPlan:
    query = stretched.query
    per_cell = checked_sensitivity(query) / query.cells
    name = "epsilon" if noise == "laplace" else "rho"
    level = fraction(name, amount)
    multiplier = Fraction(stretched.multiplier)
    steepness = level if noise == "laplace" else _root_below(2 * level)
    rough = multiplier * Fraction(query.sensitivity) / steepness
    if rough > _LARGEST_SCALE:
        raise InvalidInput("must be large enough for finite noise", parameter=name, got=amount)
    reach = per_cell
    if isinstance(query, ItemwiseQuery):
        reach += max(float(np.abs(part.lowest_contributions(np.ones(part.size))).max()) for _, part in query.parts())
    step = choose_grid(scale=float(rough), reach=reach, error=query.evaluation_error, requested=grid)
    steps = math.ceil(per_cell / step)
    if noise == "laplace":
        spread, largest = multiplier * steps * query.cells / level, MAXIMUM_SCALE
    else:
        spread, largest = (multiplier * steps) ** 2 * query.cells / (2 * level), MAXIMUM_SCALE**2
    if spread >= largest:
        raise InvalidInput(
            "must be large enough, and the multiplier small enough, for noise below 2**52 steps (got "
            f"{amount!r} and {stretched.multiplier:g})",
            parameter=name,
        )
    if isinstance(query, ItemwiseQuery):
        shrinkage = stretched.shrinkage
        spans = np.empty(query.size, dtype=np.int64)
        for some, part in query.parts():
            allowed = floor_product(stretched.weights.values[some], multiplier * steps, limit=steps)
            used = np.ceil(part.modular_sensitivities(shrinkage[some]) / query.cells / step).astype(np.int64)
            spans[some] = np.minimum(used, allowed)
    else:
        error = query.evaluation_error
        shrinkage = stretched.shrinkage_with(slack=2 * step + 2 * error)
        bounds = np.floor((query.modular_sensitivities(shrinkage) + 2 * error) / step) + 1
        spans = np.where(shrinkage > 0, bounds, 0.0).astype(np.int64)
    return StretchedPlan(stretched, noise, level, step, spread, shrinkage, spans).checked()


def _root_below(value: Fraction) -> Fraction:
    """Return a square root to 60 bits, rounded down; it only picks the grid."""
    return Fraction(math.isqrt(value.numerator * value.denominator << 120), value.denominator << 60)
