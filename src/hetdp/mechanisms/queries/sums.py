"""Sums over items: weighted sums, totals, means, counts, histograms and scalar products."""

import math
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import float_vector, one_of, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import constant, each
from hetdp.mechanisms.queries.query import (
    ULP,
    Floats,
    ItemwiseQuery,
    Query,
    Steps,
    Whole,
    checked_domain,
    exact_sums,
    exact_total,
    floats,
)
from hetdp.profiles import Box, Categories


class LinearQuery(ItemwiseQuery):
    """offset + sum of a_i * (x_i - c_i); S_i(w) = w * abs(a_i) * r_i."""

    proportional = True
    vectors: ClassVar[tuple[str, ...]] = ("coefficients",)

    def __init__(self, name: str, coefficients: ArrayLike, domain: Box) -> None:
        super().__init__(name, domain)
        self.coefficients = checked_coefficients(coefficients, self.size)
        reach = (float(np.abs(part.coefficients) @ part.domain.radii) for _, part in self.parts())
        self._require_finite(lambda: sum(reach))
        self.offset = exact_total(each(np.multiply, self.coefficients, domain.center))

    def contributions(self, points: Floats) -> Floats:
        return self.coefficients * (points - self.domain.center)

    def lowest_contributions(self, shrinkage: Floats) -> Floats:
        down = np.where(self.coefficients < 0, self.domain.upper, self.domain.lower) - self.domain.center
        return shrinkage * self.coefficients * down

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * np.abs(self.coefficients) * self.domain.ranges

    def lipschitz_bounds(self) -> Floats:
        return np.abs(self.coefficients)


def checked_coefficients(coefficients: ArrayLike, size: int) -> Floats:
    """Return public coefficients, one per item and not all 0."""
    vector = float_vector("coefficients", coefficients)
    if vector.size != size:
        problem = f"must be as many as items in the domain ({size})"
        raise InvalidInput(problem, parameter="coefficients", got=vector.size)
    if not vector.any():
        raise InvalidInput("must not all be 0 (got zeros only)", parameter="coefficients")
    return vector


def linear(coefficients: ArrayLike, domain: Box) -> Query:
    """Return the query sum a_i x_i, with public coefficients.

    Parameters
    ----------
    coefficients
        a, public, one per item.

    Examples
    --------
    >>> query = linear([2, 1, 0.5], Box([0, 0, 0], [1, 1, 1]))
    >>> query.sensitivity, query([1, 1, 1])
    (2.0, 3.5)
    """
    return LinearQuery("linear", coefficients, domain)


def total(domain: Box) -> Query:
    """Return the query sum x_i.

    Examples
    --------
    >>> total(Box([0, 0], [1, 10]))([1, 7])
    8.0
    """
    return LinearQuery("total", constant(1.0, checked_domain(domain).size), domain)


def mean(domain: Box) -> Query:
    """Return the query (sum x_i) / n, where the number n of items is public.

    Examples
    --------
    >>> mean(Box([20, 20], [80, 80]))([30, 40])
    35.0
    """
    size = checked_domain(domain).size
    return LinearQuery("mean", constant(1.0 / size, size), domain)


def count(domain: Box) -> Query:
    """Return the number of items that are 1, for a domain [0, 1]^n of indicators.

    Stretched, an item counts v_i instead of 1.

    Examples
    --------
    >>> count(Box.uniform(0, 1, size=4))([1, 0, 1, 1])
    3.0
    """
    size = checked_domain(domain).size
    if (domain.lower != 0).any() or (domain.upper != 1).any():
        problem = "domain of a count must be [0, 1] for every item: pass indicators, 1 for what counts"
        raise InvalidInput(problem, got=domain)
    return LinearQuery("count", constant(1.0, size), domain.recentered(constant(0.0, size)))


class _Histogram(ItemwiseQuery):
    """Counts per bin; item i adds w_i to the bin of its value, and shrinking takes mass, not value."""

    is_vector: ClassVar[bool] = True
    proportional = True
    answer_range = (0.0, math.inf)
    uncounted = 0.0  # an item that is in no class is in no bin

    def __init__(self, domain: Box, edges: Floats, cells: int) -> None:
        super().__init__("histogram", domain, cells=cells)
        self.edges = edges
        self.bins = edges.size - 1
        if cells == 1:
            self.adjacent = "adding or removing one row"
            self.steps_to_replace = 2
        else:
            self.answer_range = 0.0, float(self.size)

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

    def combine_integers(self, steps: Steps, clamped: Floats) -> list[int]:
        return list(exact_sums(steps, self.bin_of(clamped) + 1, self.bins + 1)[1:])

    def class_rounding(self, grid: float) -> float:
        return 0.0 if grid <= 1 else self.size * grid  # else a count of 1 is a step of the grid

    def class_cells(self, clamped: Floats, classes: NDArray[np.intp], count: int, spans: Steps, grid: float) -> Whole:  # noqa: ARG002
        bins = self.bin_of(clamped)
        cell = np.where((classes < 0) | (bins < 0), 0, 1 + classes * self.bins + bins)
        return exact_sums(spans, cell, 1 + count * self.bins)[1:].reshape(count, self.bins)

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:  # noqa: ARG002
        return float((1.0 - shrinkage).sum())  # the L1 distance of the two histograms

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
    edges
        Public and increasing, or how many equal bins to cut the domain into. Bin k holds edges[k] <= x < edges[k+1];
        the last one holds its end too. Values outside fall into the nearest bin. Or the categories: values are then
        their codes, `categories.codes(cells)`, the domain is theirs, and an item of none counts nowhere.
    adjacency
        "replace": adjacent tables have another value in row i (S = 2). "add-remove": they have row i or not (S = 1);
        then replacing a row costs twice epsilon * v_i.

    Privacy
    -------
    The sensitivity is in L1. Stretched, an item counts v_i instead of 1.

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
        if domain != edges.domain(size=checked_domain(domain).size):
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
            problem = f"domain of a scalar product must hold two profiles of equal length (got {self.size} items)"
            raise InvalidInput(problem)
        radii, partners = domain.radii, self.lipschitz_bounds()
        self._require_finite(lambda: float(radii @ partners))
        # Each factor is off by at most 2 roundings, each product by one more; fsum adds one for the whole sum.
        self.evaluation_error = 4 * ULP * math.fsum((radii * partners).tolist())

    def _partner(self, vector: Floats) -> Floats:
        return np.roll(vector, self.size // 2)

    def evaluate(self, points: Floats) -> float:
        half = self.size // 2
        return math.fsum((points[:half] * points[half:]).tolist())

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(shrinkage) * self.domain.ranges * self.lipschitz_bounds()

    def gradient_bounds(self, start: Floats, end: Floats) -> Floats:
        return self._partner(np.maximum(np.abs(start), np.abs(end)))

    def lipschitz_bounds(self) -> Floats:
        return self._partner(self.domain.radii)


def scalar_product(domain: Box) -> Query:
    """Return the scalar product x . y of two profiles, laid one after the other in one domain of 2n items.

    Both profiles are protected.

    Examples
    --------
    >>> scalar_product(Box.uniform(0, 1, size=6))([1, 0, 1, 1, 1, 1])
    2.0
    """
    return _ScalarProduct(domain)
