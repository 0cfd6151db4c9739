"""What the package ships, in small: one mechanism of each kind, on domains of all kinds, ready to be audited.

A new mechanism is added in one place: write a function that yields `Shipped` and put it into `SOURCES`.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import StretchingWarning
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.mechanisms.queries import Query
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.sketching import sketch
from hetdp.mechanisms.stretching import Stretched, stretch
from hetdp.mechanisms.thresholding import threshold, uniform
from hetdp.profiles import Box, WeightPrior

__all__ = ["SOURCES", "Shipped", "shipped_mechanisms", "shipped_queries"]

#: From "never counts" to ordinary; the audits look at small weights as well as large ones.
WEIGHTS = (0.8, 0.0, 0.25, 1.0, 0.5, 0.3)
#: An ordinary item, one that never counts, and the most relaxed one.
_SOME = (0, 1, 3)


@dataclass(frozen=True)
class Shipped:
    """A mechanism to audit.

    Attributes
    ----------
    name
        For the report.
    mechanism
        With the weights `WEIGHTS`.
    gaussian
        Whether it can be planned with Gaussian noise too.
    same_draws
        Whether the number of random words never depends on a value.
    samples, items
        For slow mechanisms: runs per side, and which items to audit. Else chosen from the claims, and all.
    """

    name: str
    mechanism: Mechanism
    gaussian: bool = False
    same_draws: bool = True
    samples: int | None = None
    items: tuple[int, ...] | None = None


def shipped_queries() -> dict[str, Query]:
    """Return every built-in query on small domains: unit, signed, away from 0, and mixed.

    Examples
    --------
    >>> len(shipped_queries()) >= 30
    True
    """
    unit, signed, ages = Box.uniform(0, 1, size=6), Box.uniform(-1, 1, size=6), Box.uniform(20, 80, size=6)
    mixed = Box(lower=[-2, 0, 20, -5, 0.5, -1], upper=[1, 3, 80, -1, 0.75, 1])
    return {
        "linear": queries.linear([2, 1, 0.5, -3, 0, 1e-3], mixed),
        "total": queries.total(unit),
        "total, mixed": queries.total(mixed),
        "mean": queries.mean(ages),
        "count": queries.count(unit),
        "histogram, replace": queries.histogram(ages, [20, 30, 50, 80]),
        "histogram, add-remove": queries.histogram(ages, [20, 30, 50, 80], adjacency="add-remove"),
        "variance": queries.variance(ages),
        "variance, centre at an end": queries.variance(unit),
        "variance, mixed": queries.variance(mixed),
        "scalar product": queries.scalar_product(unit),
        "scalar product, signed": queries.scalar_product(signed),
        "scalar product, mixed": queries.scalar_product(mixed),
        "squared norm": queries.squared_norm(signed),
        "squared norm, mixed": queries.squared_norm(mixed),
        "norm of order 1": queries.norm(mixed, order=1),
        "norm of order 2": queries.norm(signed),
        "norm of order 2, mixed": queries.norm(mixed),
        "maximum": queries.maximum(ages),
        "maximum, mixed": queries.maximum(mixed),
        "minimum": queries.minimum(ages),
        "minimum, mixed": queries.minimum(mixed),
        "power 3": queries.power(unit, 3),
        "power 1/2": queries.power(ages, 0.5),
        "logistic": queries.logistic([1, -2, 0.01, 0.5, 0, 3], mixed, intercept=0.3),
        "l0": queries.l0(signed),
        "custom, Lipschitz": queries.custom(_sine, unit, lipschitz=1.0),
        "custom, modular": queries.custom(_middle, unit, modular_sensitivity=lambda w: np.tanh(w / 2) * 2),
        "exhaustive": queries.exhaustive(_majority, [[0, 1]] * 5),
        "exhaustive, levels": queries.exhaustive(_mixed_levels, [[-1, 0, 2], [0, 1], [3, 4, 7]]),
    }


def _stretched_queries() -> Iterator[Shipped]:
    for name, query in shipped_queries().items():
        yield Shipped(name, _stretched(query), gaussian=True)
    total = queries.total(Box.uniform(0, 1, size=6))
    yield Shipped("total, multiplier 2.5", _stretched(total, multiplier=2.5), gaussian=True)


def _thresholds() -> Iterator[Shipped]:
    query = queries.total(Box.uniform(0, 1, size=6))
    yield Shipped("threshold, total", threshold(query, WEIGHTS, level=0.5), gaussian=True)
    yield Shipped("uniform, total", uniform(query, WEIGHTS, prior=WeightPrior([0.0, 0.25, 1.0])), gaussian=True)


def _selections() -> Iterator[Shipped]:
    """Choose among few candidates, so that each has a probability worth measuring."""
    box, few = Box.uniform(0, 1, size=6), 11
    for name, mechanism in (
        ("median", selection.median(box, WEIGHTS, candidates=few)),
        ("quantile 0.25", selection.quantile(box, WEIGHTS, share=0.25, candidates=few)),
        ("maximum", selection.maximum(box, WEIGHTS, candidates=few)),
        ("minimum", selection.minimum(box, WEIGHTS, candidates=few)),
        ("mode", selection.mode(Box.uniform(0, 3, size=6), WEIGHTS, categories=[0, 1, 2, 3])),
    ):
        yield Shipped(f"exponential {name}", mechanism, samples=40_000, items=_SOME)


def _samplings() -> Iterator[Shipped]:
    """Slow: every run is a release of its own subset."""
    box = Box.uniform(0, 1, size=6)
    yield Shipped("sampled total", sample(queries.total(box), WEIGHTS), samples=6_000, items=_SOME)
    median = sample(partial(selection.median, box, candidates=11), WEIGHTS)
    yield Shipped("sampled median", median, samples=4_000, items=_SOME)


def _sketches() -> Iterator[Shipped]:
    yield Shipped("sketch", sketch(WEIGHTS))


#: Everything that can be released. One function per family; each yields `Shipped`.
SOURCES: Sequence[Callable[[], Iterator[Shipped]]] = (
    _stretched_queries,
    _thresholds,
    _selections,
    _samplings,
    _sketches,
)


def shipped_mechanisms() -> list[Shipped]:
    """Return everything that can be released.

    Examples
    --------
    >>> shipped_mechanisms()[0].name
    'linear'
    """
    return [shipped for source in SOURCES for shipped in source()]


def _stretched(query: Query, multiplier: float = 1.0) -> Stretched:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StretchingWarning)
        return stretch(query, WEIGHTS[: query.size], multiplier=multiplier)


def _sine(x: NDArray[np.float64]) -> float:
    return float(np.sin(x).sum())


def _middle(x: NDArray[np.float64]) -> float:
    return float(np.tanh(x.sum()))


def _majority(x: NDArray[np.float64]) -> float:
    return float(x.sum() >= 3)  # noqa: PLR2004  (of five)


def _mixed_levels(x: NDArray[np.float64]) -> float:
    return float(x[0] * x[1] - x[2])
