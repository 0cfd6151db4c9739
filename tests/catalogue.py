"""Every query the package ships, on small domains of all kinds, for tests that must hold for all of them."""

import numpy as np

from hetdp import Box, queries

UNIT = Box.uniform(0, 1, size=6)
SIGNED = Box.uniform(-1, 1, size=6)
MIXED = Box(lower=[-2, 0, 20, -5, 0.5, -1], upper=[1, 3, 80, -1, 0.75, 1])
AGES = Box.uniform(20, 80, size=6)


def sine(x):
    return float(np.sin(x).sum())


def middle(x):
    return float(np.tanh(x.sum()))


def majority(x):
    return float(x.sum() >= 3)


CATALOGUE = {
    "linear": queries.linear([2, 1, 0.5, -3, 0, 1e-3], MIXED),
    "total unit": queries.total(UNIT),
    "total mixed": queries.total(MIXED),
    "mean": queries.mean(AGES),
    "count": queries.count(UNIT),
    "histogram replace": queries.histogram(AGES, [20, 30, 50, 80]),
    "histogram add-remove": queries.histogram(AGES, [20, 30, 50, 80], adjacency="add-remove"),
    "variance midpoint": queries.variance(AGES),
    "variance at an end": queries.variance(UNIT),
    "variance mixed": queries.variance(MIXED),
    "scalar product unit": queries.scalar_product(UNIT),
    "scalar product signed": queries.scalar_product(SIGNED),
    "scalar product mixed": queries.scalar_product(MIXED),
    "squared norm": queries.squared_norm(SIGNED),
    "squared norm mixed": queries.squared_norm(MIXED),
    "norm 1": queries.norm(MIXED, order=1),
    "norm 2": queries.norm(SIGNED),
    "norm 2 mixed": queries.norm(MIXED),
    "maximum": queries.maximum(AGES),
    "maximum mixed": queries.maximum(MIXED),
    "minimum": queries.minimum(AGES),
    "minimum mixed": queries.minimum(MIXED),
    "power 3": queries.power(UNIT, 3),
    "power 1/2": queries.power(AGES, 0.5),
    "logistic": queries.logistic([1, -2, 0.01, 0.5, 0, 3], MIXED, intercept=0.3),
    "l0": queries.l0(SIGNED),
    "custom lipschitz": queries.custom(sine, UNIT, lipschitz=1.0),
    "custom modular": queries.custom(middle, UNIT, modular_sensitivity=lambda w: np.tanh(w / 2) * 2),
    "exhaustive": queries.exhaustive(majority, [[0, 1]] * 5),
    "exhaustive levels": queries.exhaustive(lambda x: float(x[0] * x[1] - x[2]), [[-1, 0, 2], [0, 1], [3, 4, 7]]),
}


def extreme_points(query, rng, count):
    """Vertices and inner points of a domain."""
    domain = query.domain
    for turn in range(count):
        where = rng.random(domain.size)
        yield domain.lower + (where.round() if turn % 2 else where) * domain.ranges
