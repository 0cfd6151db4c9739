"""Weight classes: one noisy sum per public class of weights, with noise for epsilon times the class.

An item of weight v is in the highest class a <= v. The sum of class a gets noise for epsilon * a, so the item loses at
most epsilon * v, and nothing is shrunk. The sum over all classes is an estimate that weights do not distort
(docs/proofs/weight_classes.md).
"""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, float_up, fraction
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.mechanism import NoisePlan, OfQuery, as_weights, checked_sensitivity
from hetdp.mechanisms.queries.query import Floats, ItemwiseQuery, Query, Steps, Whole
from hetdp.mechanisms.rounding import choose_grid, product_up
from hetdp.noise.samplers import MAXIMUM_SCALE
from hetdp.profiles import PrivacyWeights

DEFAULT_BOUNDARIES = (1.0, 0.5, 0.25)
_MOST_CLASSES = 32
#: The widest noise has at most 2**50 steps, so that every sum stays below 2**52 of them.
_WIDEST = 50


def checked_boundaries(boundaries: ArrayLike) -> tuple[float, ...]:
    """Return public boundaries of weight classes, from the highest to the lowest, or explain what is wrong.

    Examples
    --------
    >>> checked_boundaries([1, 0.5, 0.05])
    (1.0, 0.5, 0.05)
    """
    listed = boundaries.tolist() if isinstance(boundaries, np.ndarray) else boundaries
    if isinstance(listed, str) or not isinstance(listed, Sequence) or not 1 <= len(listed) <= _MOST_CLASSES:
        raise InvalidInput(f"must be 1 to {_MOST_CLASSES} numbers, such as (1, 0.5, 0.25)", parameter="boundaries")
    ends = tuple(finite("boundaries", end) for end in listed)
    if any(not 0 < end <= 1 for end in ends):
        raise InvalidInput("must lie in (0, 1]", parameter="boundaries", got=ends)
    if any(low >= high for high, low in pairwise(ends)):
        raise InvalidInput("must decrease, such as (1, 0.5, 0.25)", parameter="boundaries", got=ends)
    return ends


def class_of(weights: Floats, boundaries: Sequence[float]) -> NDArray[np.intp]:
    """Return the class of each weight: the place of the highest boundary not above it, -1 below all boundaries.

    Examples
    --------
    >>> class_of(np.array([1.0, 0.7, 0.5, 0.2]), (1.0, 0.5, 0.25))
    array([ 0,  1,  1, -1])
    """
    reached = np.searchsorted(np.array(boundaries)[::-1], weights, side="right")
    return np.where(reached > 0, len(boundaries) - reached, -1)


@dataclass(frozen=True)
class ClassSum:
    """What was released of one weight class.

    Attributes
    ----------
    boundary
        The smallest weight in the class, and the share of epsilon that its items lose.
    value
        Noisy sum over the items of the class of how far each is above the middle of what it can contribute; for a
        histogram, noisy counts.
    scale
        Scale of the Laplace noise, or standard deviation of the Gaussian noise.
    """

    boundary: float
    value: float | Floats
    scale: float


@dataclass(frozen=True, repr=False, eq=False)
class WeightClasses(OfQuery):
    """An additive query, answered by one noisy sum per weight class.

    Attributes
    ----------
    query, boundaries
        What is asked, and the public boundaries of the classes.
    weights
        One secret weight per item.
    """

    query: ItemwiseQuery
    weights: PrivacyWeights
    boundaries: tuple[float, ...] = DEFAULT_BOUNDARIES

    def __repr__(self) -> str:
        return f"WeightClasses({self.query!r}, boundaries={self.boundaries})"

    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> "WeightClassesPlan":
        """Return what a release would do and cost; `noise`, `amount` and `grid` as for `hetdp.plan`.

        Examples
        --------
        >>> from hetdp import Box, queries
        >>> total = queries.total(Box.uniform(0, 1, size=3))
        >>> plan = weight_classes(total, [1, 0.7, 0.1]).plan(noise="laplace", amount=0.5)
        >>> plan.scales, plan.losses, plan.weights_amount
        ((2.0, 4.0, 8.0), array([0.5 , 0.25, 0.  ]), 0.375)
        """
        name = "epsilon" if noise == "laplace" else "rho"
        level = fraction(name, amount)
        steepest = float(level) if noise == "laplace" else math.sqrt(2 * float(level) * self.query.cells)
        sensitivity = checked_sensitivity(self.query)
        rough = sensitivity / steepest  # of the noise of class 1
        half = self.query.steps_to_replace * sensitivity / 2
        widest = rough / self.boundaries[-1] if steepest else math.inf
        lowest = f"with a smallest boundary of {self.boundaries[-1]:g}"
        if not 0 < widest < math.inf:
            raise InvalidInput(f"must be large enough for finite noise, {lowest}", parameter=name, got=amount)
        step = choose_grid(scale=rough / self.boundaries[0], reach=half, error=0.0, requested=grid)
        if grid is None:
            step = max(step, math.ldexp(1.0, math.frexp(widest)[1] - _WIDEST))
        planned = WeightClassesPlan(self, noise, level, step, math.ceil(half / step))
        largest = MAXIMUM_SCALE if noise == "laplace" else MAXIMUM_SCALE**2
        if max(planned.spreads) >= largest:
            raise InvalidInput(
                f"must be large enough for noise below 2**52 steps, {lowest}", parameter=name, got=amount
            )
        return planned.checked()


@dataclass(frozen=True, repr=False, eq=False)
class WeightClassesPlan(NoisePlan):
    """What a release of weight classes will do. Everything except `losses` is public."""

    mechanism: WeightClasses
    noise: str
    level: Fraction
    grid: float
    #: The most that the item with the widest range can move a cell of its class, in steps.
    half: int

    @cached_property
    def spreads(self) -> tuple[Fraction, ...]:
        """Of the noise of each class, in steps: the scale of the Laplace, the variance of the Gaussian noise."""
        replaced = Fraction(2 * self.half, self.mechanism.query.steps_to_replace)  # what one step of adjacency moves
        exact = [Fraction(boundary) for boundary in self.mechanism.boundaries]
        if self.noise == "laplace":
            return tuple(replaced / (self.level * boundary) for boundary in exact)
        cells = self.mechanism.query.cells
        return tuple(replaced**2 / (2 * cells * self.level * boundary**2) for boundary in exact)

    @property
    def scales(self) -> tuple[float, ...]:
        """Scale of the Laplace noise, or standard deviation of the Gaussian, of each class. Public."""
        return tuple(map(self.width, self.spreads))

    @property
    def scale(self) -> float | None:  # type: ignore[override]
        """Scale of the noise, where there is one class."""
        return self.scales[0] if len(self.scales) == 1 else None

    @property
    def losses(self) -> Floats:
        losses = np.empty(self.mechanism.query.size)
        power = 1 if self.noise == "laplace" else 2
        for some, part in self.mechanism.query.parts():
            classes = class_of(self.mechanism.weights.values[some], self.mechanism.boundaries)
            shares = self._spans(part) / self.half
            lost = np.zeros(part.size)
            for place, boundary in enumerate(self.mechanism.boundaries):
                promised = self.level * Fraction(boundary) ** power
                own = product_up(shares**power, promised * (1 + Fraction(1, 2**50)))  # powers are rounded
                lost = np.where(classes == place, np.minimum(own, float_up(promised)), lost)
            losses[some] = lost
        return losses

    @property
    def weights_amount(self) -> float:
        """What each weight loses at most: half of what the two highest classes lose together, for a number. Public.

        An item that changes class leaves one sum and enters another, each time by at most half of its range.
        """
        first, second, *_ = (*map(Fraction, self.mechanism.boundaries), Fraction(0))
        steps, cells = self.mechanism.query.steps_to_replace, self.mechanism.query.cells
        if self.noise == "laplace":
            return float_up(steps * self.level * (first + second) / 2)
        return float_up(steps**2 * cells * self.level * (first**2 + second**2) / 4)

    def _spans(self, part: Query) -> Steps:
        """Return the most that each item can move a cell of its class, in steps. Public."""
        halves = part.steps_to_replace * part.modular_sensitivities(1.0) / 2 / self.grid
        return np.minimum(np.ceil(halves), self.half).astype(np.int64)

    def why_no_estimate(self, *, drops: bool) -> str | None:  # noqa: ARG002  (they count as those below all classes)
        return None

    @property
    def rounding(self) -> float:
        return self.mechanism.query.class_rounding(self.grid)

    def finish(self, cells: Floats) -> float | Floats:
        added = self.by_class(cells).sum(axis=0) + self.mechanism.query.uncounted
        return added if self.is_vector else float(added[0])

    def by_class(self, cells: Floats) -> Floats:
        """Return released cells with one row per class."""
        return cells.reshape(len(self.mechanism.boundaries), -1)

    def class_sums(self, cells: Floats) -> tuple[ClassSum, ...]:
        """Return what was released of each class."""
        rows = self.by_class(cells)
        values = rows if self.is_vector else rows[:, 0].tolist()
        found = zip(self.mechanism.boundaries, values, self.scales, strict=True)
        return tuple(ClassSum(boundary, value, scale) for boundary, value, scale in found)

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        exact = self._exact_steps(values, keep)
        noisy = (
            self.noisy(cells, spread, stream, count=count) for cells, spread in zip(exact, self.spreads, strict=True)
        )
        return np.concatenate(list(noisy), axis=1)

    def _exact_steps(self, values: ArrayLike, keep: NDArray[np.bool_]) -> Whole:
        """Return the sums of all classes in grid steps: the only place where private values meet the answer."""
        query, boundaries = self.mechanism.query, self.mechanism.boundaries
        read = query.domain.read(values)
        cells: list[Whole] = []
        with np.errstate(all="ignore"):  # a warning, or an error where warnings are errors, would depend on values
            for some, part in query.parts():
                classes = np.where(keep[some], class_of(self.mechanism.weights.values[some], boundaries), -1)
                clamped = part.domain.clamp(read[some])
                cells.append(part.class_cells(clamped, classes, len(boundaries), self._spans(part), self.grid))
        found: Whole = np.sum(cells, axis=0)
        return found


def weight_classes(
    query: Query, weights: PrivacyWeights | ArrayLike, boundaries: ArrayLike = DEFAULT_BOUNDARIES
) -> WeightClasses:
    """Answer an additive query by one noisy sum per class of weights.

    The answer is not distorted by weights, even where weights depend on values. Items below the lowest boundary count
    as the middle of what they can contribute, for a histogram as nothing.

    Parameters
    ----------
    query
        A total, mean, count, histogram, linear, l0, squared_norm or power, or a norm of order 1.
    weights
        One secret weight per item; or one number, the public weight of all of them.
    boundaries
        Public, decreasing, in (0, 1], at most 32. An item is in the highest class that its weight reaches. One
        boundary alone treats all items from that weight on alike, and leaves the others out.

    Privacy
    -------
    Unit: one item, replaced by any other value of its interval. An item in class a loses epsilon * a, which is at most
    epsilon * v_i. A weight that changes moves its item from one class to another and loses at most
    epsilon * (a + a') / 2. How many items a class has is secret. Theorem: docs/proofs/weight_classes.md.

    Examples
    --------
    >>> from hetdp import Box, queries
    >>> hours = queries.mean(Box.uniform(0, 80, size=1000))
    >>> weight_classes(hours, [1, 0.3] * 500, boundaries=(1, 0.25)).plan(noise="laplace", amount=1).losses
    array([1.  , 0.25, 1.  , ..., 0.25, 1.  , 0.25])
    """
    if not isinstance(query, Query):
        raise InvalidInput("must come from hetdp.queries", parameter="query", got=type(query))
    if not isinstance(query, ItemwiseQuery) or not query.additive:
        raise InvalidInput(
            "must be a sum over items for weight classes: a total, mean, count, histogram, linear, l0, squared_norm, "
            "power, or norm of order 1",
            parameter="query",
            got=query.name,
            hint="hetdp.stretch answers other queries; hetdp.mechanisms chooses medians, quantiles and extremes.",
        )
    own = np.full(query.size, finite("weights", weights)) if isinstance(weights, numbers.Real) else weights
    return WeightClasses(query, as_weights(own, query.size), checked_boundaries(boundaries))
