"""Sums over items: weighted sums, totals, means, counts, histograms and scalar products."""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import float_vector, one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import constant, each
from hetdp.mechanisms.examples import AGES, MIXED, SIGNED, UNIT, query_examples
from hetdp.mechanisms.queries.base import (
    ULP,
    UNLIKE,
    Floats,
    ItemwiseQuery,
    Query,
    exact_sum,
    exact_sums,
    exact_total,
    floats,
    require_finite,
)
from hetdp.mechanisms.ratios import Estimate, NoisySum, scaled_count, weighted_mean
from hetdp.profiles import Box, Categories


class LinearQuery(ItemwiseQuery):
    """offset + sum of a_i * (x_i - c_i); S_i(w) = w * abs(a_i) * r_i."""

    proportional = True
    vectors: ClassVar[tuple[str, ...]] = ("coefficients",)

    def __init__(self, name: str, coefficients: ArrayLike, domain: Box, *, homogeneous: bool) -> None:
        super().__init__(name, domain)
        self.coefficients = checked_coefficients(coefficients, self.size)
        with np.errstate(over="ignore"):
            reach = (float(np.abs(part.coefficients) @ part.domain.radii) for _, part in self.parts())
            require_finite(sum(reach), self.name)
        #: Whether the answer scales with the mean shrinkage, so that dividing by its expectation makes sense.
        self.homogeneous = homogeneous
        #: Whether a second sum tells how far values are from the ends of their range; it costs nothing (docs/proofs).
        self.tells_room = homogeneous and domain.alike and name != "count"

    @cached_property
    def offset(self) -> float:
        return exact_total(each(np.multiply, self.coefficients, self.domain.center))

    def contributions(self, points: Floats) -> Floats:
        return self.coefficients * (points - self.domain.center)

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        down = np.where(self.coefficients < 0, self.domain.upper, self.domain.lower) - self.domain.center
        return shrinkage * self.coefficients * down

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * np.abs(self.coefficients) * self.domain.ranges

    def lipschitz_bounds(self) -> Floats:
        return np.abs(self.coefficients)

    @property
    def why_no_estimate(self) -> str | None:
        if not self.homogeneous:
            return super().why_no_estimate
        return None if self.domain.alike else UNLIKE

    def integer_cells(self, clamped: Floats, shrinkage: Floats, spans: NDArray[np.int64], grid: float) -> list[int]:
        lowest, place = self.integer_places(clamped, shrinkage, spans, grid)
        answer = exact_sum(lowest + place)
        if not self.tells_room:
            return [answer]
        # With y = place / span, span * y (1 - y) moves with the answer by no more than the span in all. Less 2**-40 of
        # it, so that rounding in floats cannot add a step.
        left = place * ((spans - place) / np.maximum(spans, 1)) * (1 - 2.0**-40)
        return [answer, exact_sum(np.floor(left).astype(np.int64))]

    def with_offset(self, cells: list[int], grid: float) -> list[int]:
        answer, *room = cells
        return [answer + math.floor(self.offset / grid), *room]

    def estimates(
        self, cells: Sequence[NoisySum], weight: NoisySum, *, confidence: float, distorted: bool, population: int | None
    ) -> list[Estimate]:
        # In places of the range, from 0 to 1: squares of lengths neither overflow nor vanish.
        box, length = self.domain, float(self.domain.ranges[0])
        low, high = float(box.lower[0]), float(box.upper[0])
        total, *room = (cell.times(1 / self.sensitivity) for cell in (cells[0].plus(-self.offset), *cells[1:]))
        found = weighted_mean(
            total, weight, center=(float(box.center[0]) - low) / length, lower=0.0, upper=1.0, confidence=confidence,
            population=population, distorted=distorted, room=room[0] if self.tells_room else None,
        ).placed(low, high)  # fmt: skip
        return [found if population is None else found.times(round(float(self.coefficients[0]) * population, 12))]

    def plausible_cells(self, weight: float, deviation: float) -> list[list[float]]:
        share, length = float(self.coefficients[0]), float(self.domain.ranges[0])
        low, center = float(self.domain.lower[0]), float(self.domain.center[0])
        return [
            [
                self.offset + share * weight * (low + place * length - center),
                share * length * weight * place * (1 - place) * (1 - deviation**2),
            ]
            for place in (0.0, 0.25, 0.5, 0.75, 1.0)
        ]


def checked_coefficients(coefficients: ArrayLike, size: int) -> Floats:
    """Return public coefficients, one per item and not all 0."""
    vector = float_vector("coefficients", coefficients)
    if vector.size != size:
        raise InvalidInput(
            f"must be as many as items in the domain ({size})", parameter="coefficients", got=vector.size
        )
    if not vector.any():
        raise InvalidInput("must not all be 0 (got zeros only)", parameter="coefficients")
    return vector


def linear(coefficients: ArrayLike, domain: Box) -> Query:
    """Return the query sum a_i x_i, with public coefficients.

    S_i(w) = w * abs(a_i) * r_i, so w_i = min(1, v_i S / S_i). Rounded per item.

    Parameters
    ----------
    coefficients
        a, public, one per item.
    domain
        The public range of each value, and where it shrinks to.

    Examples
    --------
    >>> query = linear([2, 1, 0.5], Box([0, 0, 0], [1, 1, 1]))
    >>> query.sensitivity, query([1, 1, 1])
    (2.0, 3.5)
    """
    return LinearQuery("linear", coefficients, domain, homogeneous=False)


def total(domain: Box) -> Query:
    """Return the query sum x_i.

    S_i(w) = w * r_i. Rounded per item.

    Parameters
    ----------
    domain
        The public range of each value, and where it shrinks to.

    Examples
    --------
    >>> total(Box([0, 0], [1, 10]))([1, 7])
    8.0
    """
    return LinearQuery("total", constant(1.0, _size(domain)), domain, homogeneous=True)


def mean(domain: Box) -> Query:
    """Return the query (sum x_i) / n, where the number n of items is public.

    S_i(w) = w * r_i / n. Rounded per item.

    Parameters
    ----------
    domain
        The public range of each value, and where it shrinks to.

    Examples
    --------
    >>> mean(Box([20, 20], [80, 80]))([30, 40])
    35.0
    """
    return LinearQuery("mean", constant(1.0 / _size(domain), _size(domain)), domain, homogeneous=True)


def count(domain: Box) -> Query:
    """Return the number of items that are 1, for a domain [0, 1]^n of indicators.

    S_i(w) = w: an item counts w_i = v_i instead of 1. Rounded per item.

    Parameters
    ----------
    domain
        [0, 1] for each item: `Box.uniform(0, 1, size=n)`.

    Examples
    --------
    >>> count(Box.uniform(0, 1, size=4))([1, 0, 1, 1])
    3.0
    """
    if _size(domain) and not ((domain.lower == 0).all() and (domain.upper == 1).all()):
        raise InvalidInput(
            "domain of a count must be [0, 1] for every item: pass indicators, 1 for what counts", got=domain
        )
    return LinearQuery(
        "count", constant(1.0, domain.size), domain.recentered(constant(0.0, domain.size)), homogeneous=True
    )


class _Histogram(ItemwiseQuery):
    """Counts per bin; item i adds w_i to the bin of its value, and shrinking takes mass, not value."""

    is_vector: ClassVar[bool] = True
    additive: ClassVar[bool] = False
    proportional = True

    def __init__(self, domain: Box, edges: Floats, cells: int) -> None:
        super().__init__("histogram", domain, cells=cells)
        self.edges = edges
        if cells == 1:
            self.adjacent = "adding or removing one row"
            self.steps_to_replace = 2

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return self.edges.size - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """What each bin holds, in words."""
        return tuple(f"{low:g} to {high:g}" for low, high in pairwise(self.edges.tolist()))

    def bin_of(self, clamped: Floats) -> NDArray[np.intp]:
        """Return the bin of each value, or -1 for none; a value outside all bins falls into the nearest."""
        return np.clip(np.searchsorted(self.edges, clamped, side="right") - 1, 0, self.bins - 1)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(floats(shrinkage) * np.full(self.size, float(self.cells)))

    def contributions(self, points: Floats) -> Floats:
        return np.ones_like(points)

    def contributed(self, clamped: Floats, shrinkage: Floats) -> Floats:  # noqa: ARG002  (mass is all that counts)
        return shrinkage

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        return np.zeros_like(shrinkage)

    def evaluate(self, points: Floats) -> Floats:
        return self.stretched(points, np.ones(self.size))

    def stretched(self, clamped: Floats, shrinkage: Floats) -> Floats:
        return floats(np.bincount(self.bin_of(clamped) + 1, weights=shrinkage, minlength=self.bins + 1)[1:])

    def combine_integers(self, steps: NDArray[np.int64], clamped: Floats) -> list[int]:
        return exact_sums(steps, self.bin_of(clamped) + 1, self.bins + 1)[1:]

    @property
    def why_no_estimate(self) -> str | None:
        if self.cells == 1:
            return "Rows may come and go here, so how many there are is not public and counts cannot be scaled up."
        return None

    def estimates(
        self, cells: Sequence[NoisySum], weight: NoisySum, *, confidence: float, distorted: bool, population: int | None
    ) -> list[Estimate]:
        known = {"confidence": confidence, "distorted": distorted, "population": population}
        if population is None:
            return [weighted_mean(cell, weight, center=0, lower=0, upper=1, **known) for cell in cells]  # type: ignore[arg-type]
        return [scaled_count(cell, weight, **known) for cell in cells]  # type: ignore[arg-type]

    def plausible_cells(self, weight: float, deviation: float) -> list[list[float]]:  # noqa: ARG002
        return [[weight * share] for share in (0.0, 0.25, 0.5, 0.75, 1.0)]

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:  # noqa: ARG002
        """Return the mass that shrinking takes away: the L1 distance of the two histograms."""
        return float((1.0 - shrinkage).sum())

    paper_distortion_bound = distortion_bound

    def item_distortions(self, shrinkage: Floats) -> Floats:
        return 1.0 - shrinkage

    def contribution_errors(self) -> Floats:
        return np.zeros(self.size)


class _CategoryHistogram(_Histogram):
    """Counts per category; an item of none adds nothing anywhere."""

    def __init__(self, domain: Box, categories: Categories, cells: int) -> None:
        super().__init__(domain, np.arange(len(categories) + 1.0), cells)
        self.categories = categories

    @property
    def labels(self) -> tuple[str, ...]:
        return self.categories.labels

    def bin_of(self, clamped: Floats) -> NDArray[np.intp]:
        return self.categories.places(clamped)


def histogram(domain: Box, edges: int | ArrayLike | Categories, *, adjacency: str = "replace") -> Query:
    """Return the vector-valued query that counts values per bin, or per category.

    Parameters
    ----------
    domain
        One row of the table per item.
    edges
        Public and increasing, or how many equal bins to cut the domain into. Bin k holds edges[k] <= x < edges[k+1];
        the last one holds its end too. Values outside fall into the nearest bin. Or the categories: values are then
        their codes, `categories.codes(cells)`, the domain is theirs, and an item of none counts nowhere.
    adjacency
        "replace": adjacent tables have another value in row i (S = 2). "add-remove": they have row i or not (S = 1);
        then replacing a row costs twice epsilon * v_i.

    Privacy
    -------
    L1 sensitivity S_i(w) = 2w (replace) or w (add-remove), so w = v: an item counts v_i instead of 1. Rounded per item.

    Examples
    --------
    >>> histogram(Box.uniform(0, 30, size=4), edges=[0, 10, 20, 30])([3, 5, 20, 30])
    array([2., 0., 2.])
    >>> wards = Categories(["er", "icu", "lab"])
    >>> histogram(wards.domain(size=4), wards)(wards.codes(["icu", "er", "icu", "kitchen"]))
    array([1., 2., 0.])
    """
    cells = {"replace": 2, "add-remove": 1}[one_of("adjacency", adjacency, ("replace", "add-remove"))]
    if isinstance(edges, Categories):
        if domain != edges.domain(size=_size(domain)):
            raise InvalidInput("domain of categories must be categories.domain(size=n)", got=domain)
        return _CategoryHistogram(domain, edges, cells)
    if isinstance(edges, int):
        bins = whole("edges", edges, minimum=1)
        edges = np.linspace(domain.lower.min(), domain.upper.max(), bins + 1)
    limits = float_vector("edges", edges)
    if limits.size < 2 or (np.diff(limits) <= 0).any():  # noqa: PLR2004  (a bin has two ends)
        raise InvalidInput("must be at least two increasing numbers (got another vector)", parameter="edges")
    return _Histogram(domain, limits, cells)


class _ScalarProduct(Query):
    """x . y for a profile (x, y); S_i(w) = w * r_i * the largest absolute value of the partner."""

    proportional = True

    def __init__(self, domain: Box) -> None:
        super().__init__("scalar_product", domain)
        if self.size % 2:
            raise InvalidInput(
                f"domain of a scalar product must hold two profiles of equal length (got {self.size} items)"
            )
        with np.errstate(over="ignore"):
            require_finite(float(domain.radii @ self.partner(domain.radii)), self.name)

    def partner(self, vector: Floats) -> Floats:
        """Return the vector with x and y swapped."""
        return np.roll(vector, self.size // 2)

    def evaluate(self, points: Floats) -> float:
        half = self.size // 2
        return math.fsum((points[:half] * points[half:]).tolist())

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * self.domain.ranges * self.partner(self.domain.radii)

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:
        return self.partner(np.maximum(np.abs(start), np.abs(end)))

    def lipschitz_bounds(self) -> Floats:
        return self.partner(self.domain.radii)

    @property
    def evaluation_error(self) -> float:
        # Each factor is off by at most 2 roundings, each product by one more; fsum adds one for the whole sum.
        return 4 * ULP * math.fsum((self.domain.radii * self.partner(self.domain.radii)).tolist())


def scalar_product(domain: Box) -> Query:
    """Return the scalar product x . y of two profiles, laid one after the other in one domain of 2n items.

    On [0, 1] S_i(w) = w, on [-1, 1] S_i(w) = 2w; w = v in both. Both profiles are protected. Rounded with slack.

    Parameters
    ----------
    domain
        Of 2n items: those of x, then those of y.

    Examples
    --------
    >>> scalar_product(Box.uniform(0, 1, size=6))([1, 0, 1, 1, 1, 1])
    2.0
    """
    return _ScalarProduct(domain)


def _size(domain: object) -> int:
    if not isinstance(domain, Box):
        raise InvalidInput("must be a hetdp.Box", parameter="domain", got=type(domain))
    return domain.size


@query_examples
def _examples() -> dict[str, Query]:
    wards = Categories(["er", "icu", "lab"])
    return {
        "linear": linear([2, 1, 0.5, -3, 0, 1e-3], MIXED),
        "total": total(UNIT),
        "total, mixed": total(MIXED),
        "mean": mean(AGES),
        "count": count(UNIT),
        "histogram, replace": histogram(AGES, [20, 30, 50, 80]),
        "histogram, add-remove": histogram(AGES, [20, 30, 50, 80], adjacency="add-remove"),
        "histogram, categories": histogram(wards.domain(size=6), wards),
        "scalar product": scalar_product(UNIT),
        "scalar product, signed": scalar_product(SIGNED),
        "scalar product, mixed": scalar_product(MIXED),
    }
