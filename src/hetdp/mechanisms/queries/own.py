"""Queries of one's own: with declared bounds, which `falsify` tries to refute, or with bounds that are computed."""

import contextlib
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import finite, float_vector, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.mechanisms.queries.query import ULP, Floats, Query, floats
from hetdp.profiles import Box

_DEFAULT_ERROR = 2.0**-30
_LARGEST_TABLE = 2**20
_Function = Callable[[Floats], float]
#: From shrinkages to S_i(w_i).
_Bounds = Callable[[Floats], Floats]


class _Custom(Query):
    """A function with declared bounds. It must be total; where it fails, the answer at the centre stands in."""

    def __init__(self, name: str, function: _Function, domain: Box, bounds: Floats | _Bounds) -> None:
        super().__init__(name, domain)
        self._function, self._bounds = function, bounds
        self.proportional = not callable(bounds)
        if self.sensitivity <= 0:
            raise InvalidInput("the declared bounds must be > 0 for some item (got zeros only)")
        self._at_center = finite("function at the centre of the domain", function(domain.center.copy()))
        self._reach = math.fsum(self.modular_sensitivities(1.0).tolist())
        self.evaluation_error = _DEFAULT_ERROR * self.sensitivity

    def stretched(self, clamped: Floats, shrinkage: Floats) -> float:
        # Strictly inside the shrunk box: declared bounds say nothing about points a rounding error outside of it.
        low, high = (self._inward(end, shrinkage) for end in (self.domain.lower, self.domain.upper))
        shrunk = np.clip(self.domain.shrink(clamped, shrinkage), low, np.maximum(low, high))
        return self.evaluate(np.where((shrinkage == 0) | (low > high), self.domain.center, shrunk))

    def _inward(self, end: Floats, shrinkage: Floats) -> Floats:
        """Return an end of the shrunk interval, moved toward the centre by more than its three roundings."""
        way = shrinkage * (end - self.domain.center)
        margin = np.where(shrinkage < 1, 2.0**-51 * (np.abs(self.domain.center) + np.abs(way)), 0.0)
        inward: Floats = np.where(shrinkage < 1, self.domain.center + way, end) - np.sign(way) * margin
        return inward

    def evaluate(self, points: Floats) -> float:
        answer = math.nan
        # An exception or a warning about a private value would be a leak.
        with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = float(self._function(points.copy()))
        if math.isnan(answer):
            answer = self._at_center
        # By the declared bounds no answer is further from the centre's than this.
        return min(max(answer, self._at_center - self._reach), self._at_center + self._reach)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        factor = np.broadcast_to(floats(shrinkage), (self.size,)).copy()
        declared = self._bounds
        bounds = floats(declared(factor)) if callable(declared) else factor * declared * self.domain.ranges
        if bounds.shape != (self.size,) or not np.isfinite(bounds).all() or (bounds < 0).any():
            problem = f"must return {self.size} finite numbers >= 0, one per item (got shape {bounds.shape} or others)"
            raise InvalidInput(problem, parameter="modular_sensitivity")
        return np.where(factor > 0, bounds, 0.0)  # an item shrunk to nothing has no influence, whatever was declared

    def lipschitz_bounds(self) -> Floats:
        return super().lipschitz_bounds() if callable(self._bounds) else self._bounds

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        moved = clamped != self.domain.shrink(clamped, shrinkage)
        one_at_a_time = math.fsum(self.modular_sensitivities(1.0)[moved].tolist())
        return min(super().distortion_bound(clamped, shrinkage), one_at_a_time)


def custom(
    function: _Function,
    domain: Box,
    *,
    lipschitz: ArrayLike | None = None,
    modular_sensitivity: _Bounds | None = None,
    evaluation_error: float | None = None,
    name: str = "custom",
) -> Query:
    """Return a query for any function whose sensitivity you can bound.

    Parameters
    ----------
    function, domain
        From the vector of values to a number, and the box of the values. Deterministic and defined on the whole box;
        where it raises or returns nan, its value at the centre is used instead, silently, and the declared bounds must
        hold for that.
    lipschitz
        Per item, a bound on the slope: S_i(w) = w * L_i * r_i.
    modular_sensitivity
        Instead of `lipschitz`: a function from the vector of shrinkages to the vector of S_i(w_i). It is inverted by
        bisection, which returns the feasible end.
    evaluation_error
        Bound on the rounding error of `function`, in its own unit. Default: 2**-30 of the sensitivity.
    name
        Shown in releases.

    Privacy
    -------
    The promise is only as good as the declared bounds. `hetdp.falsify` tries to refute them; it cannot prove them.

    Examples
    --------
    >>> custom(lambda x: float(np.sin(x).sum()), Box.uniform(0, 1, size=3), lipschitz=[1, 1, 1]).sensitivity
    1.0
    """
    if (lipschitz is None) == (modular_sensitivity is None):
        raise InvalidInput("exactly one of lipschitz and modular_sensitivity must be given (got both or none)")
    if lipschitz is not None:
        slopes = float_vector("lipschitz", np.broadcast_to(np.asarray(lipschitz), (domain.size,)))
        if (slopes < 0).any():
            raise InvalidInput("must be >= 0 for every item (got a negative bound)", parameter="lipschitz")
    query = _Custom(name, function, domain, modular_sensitivity or slopes)
    if evaluation_error is not None:
        if finite("evaluation_error", evaluation_error) < 0:
            raise InvalidInput("must be >= 0", parameter="evaluation_error", got=evaluation_error)
        query.evaluation_error = evaluation_error
    return query


class _Exhaustive(Query):
    """Any function on a finite grid, tabulated. Shrinking mixes an item's level with the central one.

    The stretched answer is the expectation of f when item i keeps its level with probability w_i and takes the central
    one otherwise: the paper's stretching if f is affine in each item, and else what makes S_i(w) = w S_i(1) true.
    """

    proportional = True

    def __init__(self, name: str, table: Floats, levels: Sequence[Floats], domain: Box) -> None:
        super().__init__(name, domain)
        self._table, self._levels = table, levels
        self._center = self._places(domain.center)
        self._whole = np.array([float(np.ptp(table, axis=axis).max()) for axis in range(table.ndim)])
        self.evaluation_error = 4 * self.size * ULP * float(np.abs(table).max())
        if self.sensitivity <= 0:
            problem = "must not be constant on its domain (got the same value everywhere)"
            raise InvalidInput(problem, parameter="function")

    def _places(self, points: Floats) -> list[int]:
        return [int(np.abs(levels - point).argmin()) for levels, point in zip(self._levels, points, strict=True)]

    def evaluate(self, points: Floats) -> float:
        return self.stretched(points, np.ones(self.size))

    def stretched(self, clamped: Floats, shrinkage: Floats) -> float:
        mixture = self._table
        for place, center, factor in zip(self._places(clamped), self._center, shrinkage, strict=True):
            # An item of shrinkage 0 must not enter even as a product: 0 * x has a sign, and may one day be nan.
            mixture = mixture[center] if factor == 0 else factor * mixture[place] + (1 - factor) * mixture[center]
        return float(mixture)

    def modular_sensitivities(self, shrinkage: ArrayLike = 1.0) -> Floats:
        return floats(floats(shrinkage) * self._whole)

    def distortion_bound(self, clamped: Floats, shrinkage: Floats) -> float:
        away = np.array(self._places(clamped)) != np.array(self._center)
        return math.fsum(((1 - shrinkage) * self._whole)[away].tolist())

    paper_distortion_bound = distortion_bound

    def item_distortions(self, shrinkage: Floats) -> Floats:
        return floats((1 - shrinkage) * self._whole)


def exhaustive(
    function: _Function,
    levels: Sequence[ArrayLike],
    *,
    center: Sequence[float] | None = None,
    name: str = "exhaustive",
) -> Query:
    """Return a query for any function on a small finite domain, its sensitivities computed by trying everything.

    Parameters
    ----------
    function
        Called once for every combination of levels (at most 2**20), never on private data.
    levels
        For each item, the values it can take. A private value counts as the nearest level.
    center
        For each item, the level that stands for "nothing known". Default: 0 where it is a level, else the middle one.
    name
        Shown in releases.

    Privacy
    -------
    S_i(w) = w S_i(1) exactly, and S_i(1) is computed.

    Examples
    --------
    >>> majority = exhaustive(lambda x: float(x.sum() >= 2), levels=[[0, 1]] * 3)
    >>> majority.sensitivity, majority([1, 1, 0])
    (1.0, 1.0)
    """
    if len(levels) == 0:
        raise InvalidInput("must name at least one item", parameter="levels")
    grid = [np.unique(float_vector(f"levels[{item}]", values)) for item, values in enumerate(levels)]
    if any(values.size < 2 for values in grid):  # noqa: PLR2004  (one value is a constant)
        raise InvalidInput("must hold at least two values for every item (got fewer)", parameter="levels")
    size = math.prod(values.size for values in grid)
    if size > _LARGEST_TABLE:
        raise InvalidInput("must have at most 2**20 combinations", parameter="levels", got=size)
    if center is None:
        center = [0.0 if 0.0 in values else float(values[values.size // 2]) for values in grid]
    if len(center) != len(grid) or any(value not in values for value, values in zip(center, grid, strict=True)):
        raise InvalidInput("must be one of the levels of each item", parameter="center")
    answers = [finite("function on its domain", function(np.array(point))) for point in itertools.product(*grid)]
    table = np.reshape(answers, [values.size for values in grid])
    domain = Box([values[0] for values in grid], [values[-1] for values in grid], center)
    return _Exhaustive(name, table, grid, domain)


@dataclass(frozen=True)
class Falsification:
    """Outcome of `falsify`.

    Attributes
    ----------
    refuted, message
        Whether a pair of adjacent points breaks the declared bound, and the outcome in words.
    item, declared, observed
        The item with the largest observed share of its bound, the bound, and what was observed.
    """

    refuted: bool
    item: int
    declared: float
    observed: float
    message: str


def falsify(query: Query, *, tries: int = 2000, random_state: RandomState = None) -> Falsification:
    """Try to refute the sensitivities a query declares, by search over adjacent points.

    Vertices, random points and random shrinkages are tried, each improved by a climb over the other items. A bound is
    refuted when two points that differ in item i only give answers further apart than S_i(w), by more than rounding.
    No private data is used. A pass proves nothing.

    Parameters
    ----------
    query
        Any query; one of your own needs it most.
    tries
        How many pairs of points are tried.
    random_state
        A seed for the search; None for the operating system's randomness.

    Examples
    --------
    >>> wrong = custom(lambda x: float(x[0] * 3), Box([0], [1]), lipschitz=[1])
    >>> print(falsify(wrong, random_state=0).message)
    Refuted: profiles adjacent in item 0 are 0.986265 apart; the bound says 0.328755.
    """
    if not isinstance(query, Query):
        raise InvalidInput("must come from hetdp.queries", parameter="query", got=type(query))
    attempts = whole("tries", tries, minimum=1)
    stream = as_stream(random_state)
    worst = (0.0, 0, 0.0, 0.0)
    for attempt in range(attempts):
        item = attempt % query.size
        declared, observed = _attempt(query, item, stream, vertices=attempt % 2 == 0)
        slack = 2 * query.evaluation_error + 1e-9 * (abs(observed) + query.sensitivity)
        excess = (observed - slack) / declared if declared > 0 else (np.inf if observed > slack else 0.0)
        worst = max(worst, (float(excess), item, declared, observed))
    share, item, declared, observed = worst
    message = f"No counterexample in {attempts} tries. This proves nothing: only a proof can establish a sensitivity."
    if share > 1:
        message = f"Refuted: profiles adjacent in item {item} are {observed:.6g} apart; the bound says {declared:.6g}."
    return Falsification(share > 1, item, declared, observed, message)


def _attempt(query: Query, item: int, stream: Stream, *, vertices: bool) -> tuple[float, float]:
    """Return S_i(w) and the largest change of the answer found for item i."""
    domain, shrinkage = query.domain, np.ones(query.size)
    if stream.uniforms(1)[0] < 0.5:  # noqa: PLR2004  (half of the tries look at the unshrunk function)
        shrinkage[item] = stream.uniforms(1)[0]
    where, far = stream.uniforms(query.size), stream.uniforms(query.size)
    point = domain.clamp(domain.lower + (np.round(where) if vertices else where) * domain.ranges)
    ends = domain.clamp(domain.lower + far * domain.ranges)
    if vertices:
        point[item], ends[item] = domain.lower[item], domain.upper[item]
    best = _apart(query, point, item, ends[item], shrinkage)
    for mover in (stream.uniforms(8) * query.size).astype(int):
        moved = point.copy()
        moved[mover] = ends[mover]
        found = _apart(query, moved, item, ends[item], shrinkage)
        if found > best:
            point, best = moved, found
    return query.steps_to_replace * float(query.modular_sensitivities(shrinkage)[item]), best


def _apart(query: Query, point: Floats, item: int, value: float, shrinkage: Floats) -> float:
    adjacent = point.copy()
    adjacent[item] = value
    return float(np.abs(np.subtract(query.stretched(point, shrinkage), query.stretched(adjacent, shrinkage))).sum())
