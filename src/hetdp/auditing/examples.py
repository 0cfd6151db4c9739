"""Everything the package can release, in small: what audits, tests and documentation run on.

A test fails if a public query or mechanism has no example here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.mechanism import Floats, Mechanism
from hetdp.mechanisms.queries import Query
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.sketching import sketch
from hetdp.mechanisms.stretching import Stretched
from hetdp.mechanisms.weight_class import weight_classes
from hetdp.profiles import Box, Categories, PrivacyWeights

#: From "never counts" to ordinary; the audits look at small weights as well as large ones.
WEIGHTS = (0.8, 0.0, 0.25, 1.0, 0.5, 0.3)
UNIT, SIGNED, AGES = Box.uniform(0, 1, size=6), Box.uniform(-1, 1, size=6), Box.uniform(20, 80, size=6)
MIXED = Box(lower=[-2, 0, 20, -5, 0.5, -1], upper=[1, 3, 80, -1, 0.75, 1])
WARDS = Categories(["er", "icu", "lab"])
#: Candidates of a selection: so few that each has a probability worth measuring.
_FEW = 11


def example_queries() -> dict[str, Query]:
    """Return every built-in query on small domains (unit, signed, away from 0, mixed), by name.

    Examples
    --------
    >>> example_queries()["mean"].sensitivity
    10.0
    """

    def saturating(x: Floats) -> float:
        return float(np.tanh(x.sum()))

    return {
        "linear": queries.linear([2, 1, 0.5, -3, 0, 1e-3], MIXED),
        "total": queries.total(UNIT),
        "total, mixed": queries.total(MIXED),
        "mean": queries.mean(AGES),
        "count": queries.count(UNIT),
        "histogram, replace": queries.histogram(AGES, [20, 30, 50, 80]),
        "histogram, add-remove": queries.histogram(AGES, [20, 30, 50, 80], adjacency="add-remove"),
        "histogram, categories": queries.histogram(WARDS.domain(size=6), WARDS),
        "scalar product": queries.scalar_product(UNIT),
        "scalar product, signed": queries.scalar_product(SIGNED),
        "scalar product, mixed": queries.scalar_product(MIXED),
        "squared norm": queries.squared_norm(SIGNED),
        "squared norm, mixed": queries.squared_norm(MIXED),
        "norm of order 1": queries.norm(MIXED, order=1),
        "norm of order 2": queries.norm(SIGNED),
        "norm of order 2, mixed": queries.norm(MIXED),
        "power 3": queries.power(UNIT, 3),
        "power 1/2": queries.power(AGES, 0.5),
        "l0": queries.l0(SIGNED),
        "variance": queries.variance(AGES),
        "variance, centre at an end": queries.variance(UNIT),
        "variance, mixed": queries.variance(MIXED),
        "logistic": queries.logistic([1, -2, 0.01, 0.5, 0, 3], MIXED, intercept=0.3),
        "maximum": queries.maximum(AGES),
        "maximum, mixed": queries.maximum(MIXED),
        "minimum": queries.minimum(AGES),
        "minimum, mixed": queries.minimum(MIXED),
        "custom, Lipschitz": queries.custom(lambda x: float(np.sin(x).sum()), UNIT, lipschitz=1.0),
        "custom, modular": queries.custom(saturating, UNIT, modular_sensitivity=lambda w: np.tanh(w / 2) * 2),
        "exhaustive": queries.exhaustive(lambda x: float(x.sum() >= 3), [[0, 1]] * 5),  # noqa: PLR2004  (most of five)
        "exhaustive, levels": queries.exhaustive(lambda x: float(x[0] * x[1] - x[2]), [[-1, 0, 2], [0, 1], [3, 4, 7]]),
    }


@dataclass(frozen=True)
class Example:
    """A mechanism with the weights `WEIGHTS`; its name holds that of the function that makes it or its query."""

    name: str
    mechanism: Mechanism
    #: Whether it can be planned with Gaussian noise too.
    gaussian: bool = False
    #: For slow mechanisms: runs per side, and which items to audit. Else chosen from the claims, and all.
    samples: int | None = None
    items: tuple[int, ...] | None = None


def examples() -> Iterator[Example]:
    """Yield an example of every mechanism, and every query stretched."""
    asked = example_queries()
    for name, query in asked.items():
        yield Example(name, Stretched(query, PrivacyWeights(WEIGHTS[: query.size])), gaussian=True)
    total = Stretched(asked["total"], PrivacyWeights(WEIGHTS), multiplier=2.5)
    yield Example("total, multiplier 2.5", total, gaussian=True)
    for name in ("linear", "total", "histogram, replace", "histogram, add-remove", "squared norm, mixed", "l0"):
        classes = weight_classes(asked[name], WEIGHTS, boundaries=(1, 0.5, 0.25))
        yield Example(f"weight classes, {name}", classes, gaussian=True)
    for name, mechanism in (
        ("median", selection.median(UNIT, WEIGHTS, candidates=_FEW)),
        ("quantile 0.25", selection.quantile(UNIT, WEIGHTS, share=0.25, candidates=_FEW)),
        ("maximum", selection.maximum(UNIT, WEIGHTS, candidates=_FEW)),
        ("minimum", selection.minimum(UNIT, WEIGHTS, candidates=_FEW)),
        ("mode", selection.mode(Box.uniform(0, 3, size=6), WEIGHTS, categories=[0, 1, 2, 3])),
        ("mode of categories", selection.mode(WARDS.domain(size=6), WEIGHTS, categories=WARDS)),
    ):
        yield Example(f"exponential {name}", mechanism, samples=40_000, items=(0, 1, 3))
    # Slow: every run is a release of its own subset.
    yield Example("sampled total", sample(asked["total"], WEIGHTS), samples=6_000, items=(0, 1, 3))
    few = sample(partial(selection.median, UNIT, candidates=_FEW), WEIGHTS)
    yield Example("sampled median", few, samples=4_000, items=(0, 1, 3))
    yield Example("sketch", sketch(WEIGHTS))
