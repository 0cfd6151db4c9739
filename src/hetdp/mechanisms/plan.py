"""A release, planned down to the last grid step before any private value is touched.

All noise is drawn on integers. The plan fixes the public grid, the exact scale of the noise in grid steps, and for
every item the number of steps its contribution may span: never more than v_i times the steps of the sensitivity. Two
kinds of rounding lead there.

- *Per item*: each contribution is rounded to the grid and kept inside its span by itself; sums, maxima and counts of
  integers are exact. The span is floor(v_i * m * S) in steps.
- *With slack*: the answer is evaluated in floating point and rounded down as a whole. That can move two neighbours
  apart by one step and twice the evaluation error, so shrinking aims at v_i * m * S minus that much.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import fraction
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.mechanism import Plan
from hetdp.mechanisms.queries.base import Floats, ItemwiseQuery
from hetdp.mechanisms.rounding import choose_grid, float_up, floor_product, product_up
from hetdp.noise.gaussian import gaussian_integers
from hetdp.noise.laplace import MAXIMUM_SCALE, laplace_integers

if TYPE_CHECKING:
    from hetdp.mechanisms.stretching import Stretched

__all__ = ["StretchedPlan", "plan_stretched"]

_LARGEST_SCALE = 2**1000
_SMALLEST_SENSITIVITY = 1e-290


@dataclass(frozen=True, repr=False, eq=False)
class StretchedPlan(Plan):
    """What a release of a stretched query will do: public parameters, and the spans of the items, the owner's.

    Attributes
    ----------
    stretched
        What is released.
    noise, level
        "laplace" with its epsilon, or "gaussian" with its rho, exactly.
    grid
        The step of the public grid.
    spread
        Of the noise, in steps: the scale of the Laplace, the variance of the Gaussian noise. Exact.
    shrinkage, spans
        Per item: the factor, and the most steps it can move each cell of the answer. The owner's.
    """

    stretched: "Stretched"
    noise: str
    level: Fraction
    grid: float
    spread: Fraction
    shrinkage: Floats
    spans: NDArray[np.int64]

    @property
    def amount(self) -> float:  # type: ignore[override]
        """Epsilon or rho as a float, rounded up."""
        return float_up(self.level)

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What is spent: "epsilon" or "rho"."""
        return "epsilon" if self.noise == "laplace" else "rho"

    @property
    def is_vector(self) -> bool:  # type: ignore[override]
        """Whether the answer has several cells."""
        return self.stretched.query.is_vector

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, or standard deviation of the Gaussian, in the unit of the answer. Public."""
        steps = float(self.spread) if self.noise == "laplace" else math.sqrt(self.spread)
        return steps * self.grid

    @property
    def losses(self) -> Floats:
        """What each item pays: its span over the scale of the noise, rounded up. The owner's."""
        cells, weights = self.stretched.query.cells, self.stretched.weights.values
        level = self.level
        spans = self.spans.astype(np.float64)
        if self.noise == "laplace":
            paid, promised = product_up(spans, cells / self.spread), product_up(weights, level)
        else:
            paid = product_up(spans**2, cells / (2 * self.spread) * (1 + Fraction(1, 2**50)))
            promised = np.nextafter(product_up(weights, level) * weights, np.inf)
        return np.where(self.spans > 0, np.minimum(paid, promised), 0.0)

    def estimate(self, value: float) -> float | None:
        """Return a released total, mean or count with the expected shrinkage divided out, if there is a prior."""
        return self.stretched.estimate(value)

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        """Return `count` independent noisy answers, one per row.

        Privacy
        -------
        Each row costs as much as a release; they add up.
        """
        exact = self._exact_steps(values, keep)
        draw = laplace_integers if self.noise == "laplace" else gaussian_integers
        noise = draw(self.spread, count * len(exact), stream).reshape(count, len(exact))
        # Python's integers do not overflow, and their product with a power of two stays on the grid.
        steps = noise.astype(object) + np.array(exact, dtype=object)
        answers: Floats = (steps * self.grid).astype(np.float64)
        return answers

    def _exact_steps(self, values: ArrayLike, keep: NDArray[np.bool_]) -> list[int]:
        """Return the stretched answer in grid steps: the only place where private values meet the answer."""
        query = self.stretched.query
        clamped = query.domain.clamp(values)
        with np.errstate(all="ignore"):  # a warning, or an error where warnings are errors, would depend on values
            return self._steps_of(clamped, keep)

    def _steps_of(self, clamped: Floats, keep: NDArray[np.bool_]) -> list[int]:
        query = self.stretched.query
        shrinkage, spans = np.where(keep, self.shrinkage, 0.0), np.where(keep, self.spans, 0)
        if isinstance(query, ItemwiseQuery):
            lowest = _steps(query.lowest_contributions(shrinkage) / self.grid)
            own = _steps(query.contributed(clamped, shrinkage) / self.grid)
            cells = query.combine_integers(np.clip(own, lowest, lowest + spans), clamped)
            offset = math.floor(query.offset / self.grid)
            return [cell + offset for cell in cells]
        return [math.floor(float(query.stretched(clamped, shrinkage)) / self.grid)]


def plan_stretched(stretched: "Stretched", *, noise: str, amount: object, grid: float | None = None) -> StretchedPlan:
    """Plan a release of a stretched query.

    Parameters
    ----------
    stretched
        From `stretch`.
    noise
        "laplace" or "gaussian".
    amount
        Epsilon or rho. A `fractions.Fraction` is taken exactly.
    grid
        A public power of two; default: about 2**-40 of the noise scale.

    Privacy
    -------
    Reads weights, not values. The losses it announces are what the release costs.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> from hetdp.profiles import Box
    >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=2)), [0.5, 0.0])
    >>> plan_stretched(stretched, noise="laplace", amount=1.0).losses
    array([0.5, 0. ])
    """
    query = stretched.query
    if not (math.isfinite(query.sensitivity) and query.sensitivity > _SMALLEST_SENSITIVITY):
        raise InvalidInput(
            f"the sensitivity of the query must be a finite number above 1e-290. Got {query.sensitivity:g} instead."
        )
    name = "epsilon" if noise == "laplace" else "rho"
    level = fraction(name, amount)
    multiplier = Fraction(stretched.multiplier)
    per_cell = query.sensitivity / query.cells
    steepness = level if noise == "laplace" else _root_below(2 * level)
    rough = multiplier * Fraction(query.sensitivity) / steepness
    if rough > _LARGEST_SCALE:
        raise InvalidInput(f"{name} must be large enough for finite noise. Got {amount!r} instead.")
    reach = per_cell
    if isinstance(query, ItemwiseQuery):
        reach += float(np.abs(query.lowest_contributions(np.ones(query.size))).max())
    step = choose_grid(scale=float(rough), reach=reach, error=query.evaluation_error, requested=grid)
    steps = math.ceil(per_cell / step)
    if noise == "laplace":
        spread, largest = multiplier * steps * query.cells / level, MAXIMUM_SCALE
    else:
        spread, largest = (multiplier * steps) ** 2 * query.cells / (2 * level), MAXIMUM_SCALE**2
    if spread >= largest:
        raise InvalidInput(
            f"{name} must be large enough, and the multiplier small enough, for noise below 2**52 steps. "
            f"Got {amount!r} and {stretched.multiplier:g} instead."
        )
    if isinstance(query, ItemwiseQuery):
        shrinkage = stretched.shrinkage
        allowed = floor_product(stretched.weights.values, multiplier * steps, limit=steps)
        used = np.ceil(query.modular_sensitivities(shrinkage) / query.cells / step).astype(np.int64)
        spans = np.minimum(used, allowed)
    else:
        error = query.evaluation_error
        shrinkage = stretched.shrinkage_with(slack=2 * step + 2 * error)
        bounds = np.floor((query.modular_sensitivities(shrinkage) + 2 * error) / step) + 1
        spans = np.where(shrinkage > 0, bounds, 0.0).astype(np.int64)
    return StretchedPlan(stretched, noise, level, step, spread, shrinkage, spans)


def _steps(ratio: Floats) -> NDArray[np.int64]:
    return np.rint(ratio).astype(np.int64)


def _root_below(value: Fraction) -> Fraction:
    """Return a square root to 60 bits, rounded down; it only picks the grid."""
    return Fraction(math.isqrt(value.numerator * value.denominator << 120), value.denominator << 60)
