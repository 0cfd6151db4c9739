"""Search for a counterexample to declared sensitivities. Finding none proves nothing."""

from dataclasses import dataclass

import numpy as np

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.mechanisms.queries.base import Floats, Query

__all__ = ["Falsification", "falsify"]


@dataclass(frozen=True)
class Falsification:
    """Outcome of `falsify`.

    Attributes
    ----------
    refuted
        Whether a pair of adjacent points breaks the declared bound.
    item, declared, observed
        The item with the largest observed share of its bound, the bound, and what was observed.
    message
        The outcome in words.
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

    No private data is used. A pass proves nothing: sampling cannot establish a sensitivity.

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
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> wrong = queries.custom(lambda x: float(x[0] * 3), Box([0], [1]), lipschitz=[1])
    >>> falsify(wrong, random_state=0).refuted
    True
    >>> print(falsify(queries.total(Box.uniform(0, 1, size=3)), random_state=0).message)
    No counterexample in 2000 tries. This proves nothing: only a proof can establish a sensitivity.
    """
    if not isinstance(query, Query):
        raise InvalidInput("must come from hetdp.queries", parameter="query", got=type(query))
    attempts = whole("tries", tries, minimum=1)
    search = _CounterexampleSearch(query, as_stream(random_state))
    worst = (0.0, 0, 0.0, 0.0)
    for attempt in range(attempts):
        item = attempt % query.size
        declared, observed = search.attempt(item, vertices=attempt % 2 == 0)
        slack = 2 * query.evaluation_error + 1e-9 * (abs(observed) + query.sensitivity)
        excess = (observed - slack) / declared if declared > 0 else (np.inf if observed > slack else 0.0)
        worst = max(worst, (float(excess), item, declared, observed))
    share, item, declared, observed = worst
    refuted = share > 1
    message = (
        f"Refuted: profiles adjacent in item {item} are {observed:.6g} apart; the bound says {declared:.6g}."
        if refuted
        else f"No counterexample in {attempts} tries. This proves nothing: only a proof can establish a sensitivity."
    )
    return Falsification(refuted, item, declared, observed, message)


class _CounterexampleSearch:
    def __init__(self, query: Query, stream: Stream) -> None:
        self.query = query
        self.stream = stream

    def point(self, *, vertices: bool) -> Floats:
        where = self.stream.uniforms(self.query.size)
        if vertices:
            where = np.round(where)
        return self.query.domain.clamp(self.query.domain.lower + where * self.query.domain.ranges)

    def attempt(self, item: int, *, vertices: bool) -> tuple[float, float]:
        """Return S_i(w) and the largest change of the answer found for item i."""
        shrinkage = np.ones(self.query.size)
        if self.stream.uniforms(1)[0] < 0.5:  # noqa: PLR2004  (half of the tries look at the unshrunk function)
            shrinkage[item] = self.stream.uniforms(1)[0]
        point, ends = self.point(vertices=vertices), self.point(vertices=False)
        if vertices:
            point[item], other = self.query.domain.lower[item], self.query.domain.upper[item]
        else:
            other = ends[item]
        best = self.apart(point, item, other, shrinkage)
        for mover in (self.stream.uniforms(8) * self.query.size).astype(int):
            if mover == item:
                continue
            moved = point.copy()
            moved[mover] = ends[mover]
            found = self.apart(moved, item, other, shrinkage)
            if found > best:
                point, best = moved, found
        declared = self.query.steps_to_replace * float(self.query.modular_sensitivities(shrinkage)[item])
        return declared, best

    def apart(self, point: Floats, item: int, value: float, shrinkage: Floats) -> float:
        adjacent = point.copy()
        adjacent[item] = value
        one, two = self.query.stretched(point, shrinkage), self.query.stretched(adjacent, shrinkage)
        return float(np.abs(np.asarray(one) - np.asarray(two)).sum())
