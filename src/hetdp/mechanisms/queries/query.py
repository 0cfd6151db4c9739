"""What a query is: a public function on a box, with a bound on how far one item can move it at any shrinkage.

`S_i(w)`, the modular sensitivity, bounds how much item i can change the answer when its interval is shrunk by w and all
others are whole. An upper bound is enough. The stretched function shrinks every item; a smaller box is a subset, so
S_i only gets smaller by that (docs/proofs/stretching.md).
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import is_constant, parts
from hetdp.profiles import Box

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]
#: Exact sums of steps: Python integers, which never overflow.
Whole = NDArray[np.object_]

#: What rounding may cost, relative to a number.
ULP = 2.0**-52
_BISECTIONS = 60
#: How many steps of the grid an item's contribution may be off: half a step by rounding it, half a step and one by
#: keeping it inside its span, one because the span itself was computed in floats; and a step to spare.
_ROUNDED_STEPS = 4
#: And how many roundings in floats lead to it.
_ROUNDINGS = 8


def floats(values: ArrayLike) -> Floats:
    """Return public numbers as an array of floats."""
    return np.asarray(values, dtype=np.float64)


def checked_domain(domain: object) -> Box:
    """Return a domain that is a box."""
    if not isinstance(domain, Box):
        raise InvalidInput("must be a hetdp.Box", parameter="domain", got=type(domain))
    return domain


class Query(ABC):
    """A public function of a profile.

    Attributes
    ----------
    name
        What the query is called in releases and reports.
    domain
        The box, possibly with a centre that suits the query better than the one that was given.
    cells
        How many cells of the answer one item can touch (1 for a number).
    """

    #: Whether S_i(w) = w S_i(1), so that shrinking is a division.
    proportional: bool = False
    #: Whether each cell is a public number plus a sum with one term per item, so that weight classes can be added up.
    additive: ClassVar[bool] = False
    #: Whether noise is added to the answer itself, rather than to sums that the answer is computed from.
    has_plain_noise: ClassVar[bool] = True
    #: Why another mechanism serves better than stretching, and which one; `stretch` warns with it.
    better_than_stretching: str | None = None
    #: What may differ between two adjacent profiles, in words, and how many such steps replacing a value takes.
    adjacent: str = "replacing one item by any other value of its range"
    steps_to_replace: int = 1
    #: Whether the answer is a vector of cells rather than a number.
    is_vector: ClassVar[bool] = False
    #: The smallest and the largest number in any answer; infinite where nobody has worked it out.
    answer_range: tuple[float, float] = (-math.inf, math.inf)
    #: Whether the distortions of the items add up (else the largest counts).
    distortions_add_up: ClassVar[bool] = True
    #: Bound on the Euclidean norm of the gradient on the whole box, if it is tighter than slopes item by item are.
    steepest: ClassVar[float] = math.inf
    #: Bound on the floating-point error of `stretched`, in the unit of the answer (queries rounded with slack).
    evaluation_error: float = 0.0

    def __init__(self, name: str, domain: Box, *, cells: int = 1) -> None:
        self.name = name
        self.domain = checked_domain(domain)
        self.cells = cells

    def __repr__(self) -> str:
        return f"{self.name}({self.domain!r})"

    def _require_finite(self, largest: Callable[[], float]) -> None:
        """Refuse a domain on which the arithmetic could overflow: that would depend on the values."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not math.isfinite(largest()):
                problem = f"domain of {self.name} must be small enough for finite arithmetic (got larger numbers)"
                raise InvalidInput(problem)

    @property
    def size(self) -> int:
        """How many items the query reads."""
        return self.domain.size

    def parts(self) -> Iterator[tuple[slice, Self]]:
        """Yield some of the items and the query on them alone, for what is said item by item. Here, all of it."""
        yield slice(None), self

    @abstractmethod
    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        """Return an upper bound on S_i(w_i) for every item; `shrinkage` is w, one per item or one for all."""

    @abstractmethod
    def evaluate(self, points: Floats) -> float | Floats:
        """Return f at `points` of the box, one per item: the number or the cells that noise is added to."""

    def finish(self, cells: Floats) -> float | Floats:
        """Return the answer from the cells, with noise or without: public arithmetic."""
        return cells if self.is_vector else float(cells[0])

    def interval(
        self, cells: Floats, reach: Callable[[float], float], confidence: float
    ) -> tuple[float | Floats, float | Floats]:
        """Return the ends between which the answer from the cells without noise lies, with a given confidence.

        `reach` is what the noise of one cell stays below, by confidence.
        """
        answer, far = self.finish(cells), reach(confidence)
        return answer - far, answer + far

    @cached_property
    def sensitivity(self) -> float:
        """S = max S_i(1), the most any item can change the answer. The noise is scaled to it."""
        return max(float(part.modular_sensitivities(1.0).max()) for _, part in self.parts())

    def __call__(self, values: ArrayLike) -> float | Floats:
        """Return the exact answer, for the owner's eyes."""
        return self.finish(np.atleast_1d(self.evaluate(self.domain.clamp(values))))

    def stretched(self, clamped: Floats, shrinkage: Floats) -> float | Floats:
        """Return f(c + W(d - c)), the answer on the shrunk profile: d is `clamped`, and W has the `shrinkage`."""
        return self.evaluate(self.domain.shrink(clamped, shrinkage))

    def largest_shrinkage(self, targets: ArrayLike) -> Floats:
        """Return the largest w_i <= 1 with S_i(w_i) <= t_i, where t are the `targets`: equation (opt) of the paper.

        The supremum is approached from below, so the bound holds as computed, never only up to rounding. Item i's
        shrinkage depends on item i's target alone; that is what hides the weights.
        """
        wanted = np.broadcast_to(floats(targets), (self.size,))
        shrinkage = np.clip(self._solve(wanted), 0.0, 1.0)
        for factor in (1 - 2.0**-52, 1 - 2.0**-40):  # a closed form may be off by its rounding: step down a little
            shrinkage = np.where(self.modular_sensitivities(shrinkage) > wanted, factor * shrinkage, shrinkage)
        infeasible = self.modular_sensitivities(shrinkage) > wanted
        return np.where(infeasible, self._bisect(wanted), shrinkage) if infeasible.any() else shrinkage

    def _solve(self, targets: Floats) -> Floats:
        """Solve S_i(w) = targets_i. Other closed forms override this."""
        if self.proportional:
            return linear_shrinkage(self.modular_sensitivities(1.0), targets)
        return self._bisect(targets)

    def _bisect(self, targets: Floats) -> Floats:
        """Close in on the largest feasible shrinkage from below; what is returned has itself been found feasible."""
        low, high = np.zeros(self.size), np.ones(self.size)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            fits = self.modular_sensitivities(middle) <= targets
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(self.modular_sensitivities(np.ones(self.size)) <= targets, 1.0, low)

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:  # noqa: ARG002  (unless overridden)
        """Return, per item, a bound on `|df/dx_i|` on the segment from `start` to `end`: that of the whole box."""
        return self.lipschitz_bounds()

    def lipschitz_bounds(self) -> Floats:
        """Return, per item, the largest `|df/dx_i|` on the whole box; inf where the answer jumps. Public."""
        return np.full(self.size, np.inf)

    def gradient_norm_bound(self, start: Floats, end: Floats) -> float:
        """Return a bound on the Euclidean norm of the gradient on the segment from `start` to `end`."""
        return min(self.steepest, float(np.linalg.norm(self.gradient_bounds(start, end))))

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        """Return a bound on `|f(d) - f(c + W(d - c))|`, d being `clamped` and W of `shrinkage`; at most the paper's."""
        start = self.domain.shrink(clamped, shrinkage)
        moved = np.abs(clamped - start)
        slopes = self.gradient_bounds(start, clamped)
        item_by_item = float(np.multiply(moved, slopes, where=moved > 0, out=np.zeros(self.size)).sum())
        return min(item_by_item, self.paper_distortion_bound(clamped, shrinkage))

    def paper_distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        """Return the paper's bound from `clamped` and `shrinkage`: (1 - min w) ||d - c|| max ||gradient||."""
        start = self.domain.shrink(clamped, shrinkage)
        reach = (1.0 - float(shrinkage.min())) * float(np.linalg.norm(clamped - self.domain.center))
        return reach * self.gradient_norm_bound(start, clamped) if reach else 0.0

    def item_distortions(self, shrinkage: Floats) -> Floats:
        """Return, per item, the most its own shrinkage can change the answer, whatever the values are."""
        reach = np.maximum(self.domain.upper - self.domain.center, self.domain.center - self.domain.lower)
        moved = (1.0 - shrinkage) * reach
        by_slope = np.multiply(moved, self.lipschitz_bounds(), where=moved > 0, out=np.zeros(self.size))
        return np.minimum(by_slope, self.modular_sensitivities(1.0))

    def rounding_distortion(self, grid: float) -> float:
        """Bound how far rounding moves an answer, to the grid and in floats, whatever the values are. Public."""
        return grid + 2 * self.evaluation_error


class ItemwiseQuery(Query):
    """A query to which every item contributes a number of its own, combined by integer arithmetic.

    The contribution of each item is rounded to the grid by itself, before anything is added up. So no other item's
    rounding can interfere with the promise to an item of tiny weight.
    """

    additive: ClassVar[bool] = True
    #: Attributes that hold a number per item, besides the domain.
    vectors: ClassVar[tuple[str, ...]] = ()
    #: The public part of the answer, which contributions come on top of.
    offset: float = 0.0

    def parts(self) -> Iterator[tuple[slice, Self]]:
        for some in parts(self.size):  # so that temporary vectors stay small
            part = copy.copy(self)
            part.domain = self.domain.part(some)
            for name in self.vectors:
                setattr(part, name, getattr(self, name)[some])
            yield some, part

    @abstractmethod
    def contributions(self, points: Floats) -> Floats:
        """Return each item's contribution at a point of the box."""

    @abstractmethod
    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        """Return the smallest contribution each item can make when shrunk."""

    def contributed(self, clamped: Floats, shrinkage: Floats) -> Floats:
        """Return each item's contribution on the shrunk profile."""
        return self.contributions(self.domain.shrink(clamped, shrinkage))

    def combine(self, contributions: Floats) -> float | Floats:
        """Return the answer (without offset) from the contributions: their sum, unless overridden."""
        return math.fsum(contributions.tolist())

    def evaluate(self, points: Floats) -> float | Floats:
        return self.offset + self.combine(self.contributions(points))

    @cached_property
    def answer_range(self) -> tuple[float, float]:  # type: ignore[override]
        if not self.additive:
            return super().answer_range
        low = length = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for _, part in self.parts():
                low += float(part.lowest_contributions(np.ones(part.size)).sum())
                length += float(part.modular_sensitivities(1.0).sum())
            low += self.offset
        self._require_finite(lambda: abs(low) + length)
        return low, low + length

    def integer_cells(self, clamped: Floats, shrinkage: Floats, spans: Steps, grid: float) -> list[int]:
        """Return what items add to each cell of the stretched answer, exactly, in whole grid steps.

        Item i moves no cell it touches by more than its span. An item of span 0 leaves no trace.
        """
        lowest = _steps(self.lowest_contributions(shrinkage) / grid)
        place = np.clip(_steps(self.contributed(clamped, shrinkage) / grid) - lowest, 0, spans)
        return self.combine_integers(lowest + place, clamped)

    def combine_integers(self, steps: Steps, clamped: Floats) -> list[int]:  # noqa: ARG002
        """Return the exact answer in whole grid steps, cell by cell; `clamped` tells a vector query which cell."""
        return [exact_sum(steps)]

    def merged(self, cells: Sequence[list[int]]) -> list[int]:
        """Return the cells of all parts together: their sums, unless overridden."""
        return [sum(column) for column in zip(*cells, strict=True)]

    def with_offset(self, cells: list[int], grid: float) -> list[int]:
        """Return the exact stretched answer in whole grid steps: what items add, and what is public."""
        offset = math.floor(self.offset / grid)
        return [cell + offset for cell in cells]

    @property
    def uncounted(self) -> float:
        """The answer if no item is in a class: every item contributes its middle."""
        low, high = self.answer_range
        return low / 2 + high / 2

    def class_cells(self, clamped: Floats, classes: NDArray[np.intp], count: int, spans: Steps, grid: float) -> Whole:
        """Return what items add to each cell of each of `count` classes, in whole grid steps; class -1 adds nothing.

        What counts is how far a contribution is above the middle of what its item can contribute. An item moves the
        cells of its class by at most its span, in absolute value.
        """
        middles = self.lowest_contributions(np.ones(self.size)) + self.modular_sensitivities(1.0) / 2
        steps = np.clip(_steps((self.contributions(clamped) - middles) / grid), -spans, spans)
        return exact_sums(steps, classes + 1, count + 1)[1:, None]

    def class_rounding(self, grid: float) -> float:
        """Bound how far rounding moves the sum of all classes, to the grid and in floats. Public."""
        return self.size * grid / 2 + float(self.contribution_errors().sum()) * (1 + 2.0**-30)

    def left(self, shrinkage: Floats, spans: Steps, grid: float) -> Floats:  # noqa: ARG002
        """Return the shrinkage of each item, without what `rounding_distortion` covers."""
        return shrinkage

    def rounding_distortion(self, grid: float) -> float:
        errors = self.contribution_errors()
        if self.distortions_add_up:
            return grid * (_ROUNDED_STEPS * self.size + 1) + float(errors.sum()) * (1 + 2.0**-30)
        return grid * (_ROUNDED_STEPS + 1) + float(errors.max())

    def contribution_errors(self) -> Floats:
        """Return, per item, a bound on the floating-point error of its contribution."""
        return _ROUNDINGS * ULP * self.domain.radii * self.lipschitz_bounds()


def _steps(ratio: Floats) -> Steps:
    return np.rint(ratio).astype(np.int64)


def exact_total(vector: Floats) -> float:
    """Return the sum of floats, rounded once."""
    if is_constant(vector):
        return float(Fraction(float(vector[0])) * vector.size)
    return math.fsum(chain.from_iterable(vector[some].tolist() for some in parts(vector.size)))


def exact_sum(steps: Steps) -> int:
    """Add 64-bit integers without overflow."""
    return (int((steps >> 32).sum()) << 32) + int((steps & 0xFFFFFFFF).sum())


def exact_sums(steps: Steps, cells: NDArray[np.intp], count: int) -> Whole:
    """Add 64-bit integers without overflow, each to its cell, and return the sum of every cell as a Python integer."""
    high, low = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.add.at(high, cells, steps >> 32)
    np.add.at(low, cells, steps & 0xFFFFFFFF)
    total: Whole = (high.astype(object) << 32) + low.astype(object)
    return total


def linear_shrinkage(whole: Floats, targets: Floats) -> Floats:
    """Solve w * whole = targets; an item without influence needs no shrinking."""
    return np.divide(targets, whole, out=np.ones_like(whole), where=whole > 0)
