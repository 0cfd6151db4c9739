"""`hetdp.release` and its relatives broken on purpose: noise, budget splits and weight classes."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import hetdp
from hetdp import Box, queries
from hetdp.auditing.audit_cases import PUBLIC_CALLS
from hetdp.core.randomness import RandomState, as_stream
from hetdp.mechanisms import distortion, mechanism as noise_plans, weight_class
from hetdp.mechanisms.queries.query import ItemwiseQuery
from hetdp.mechanisms.weight_class import WeightClassesPlan
from tests.privacy.broken.base import Floats, Variant, behind, by_statistics, narrower, patched

_HALF, _TWO_PERCENT = Fraction(1, 2), Fraction(98, 100)
_histogram, _total = PUBLIC_CALLS["hetdp.release, histogram"], PUBLIC_CALLS["hetdp.release, total"]
_classes = PUBLIC_CALLS["hetdp.release, weight classes"]
_PAIR = [([0.0, 1.0], [1.0, 1.0])]


def _released(values: Floats, size: int, random_state: RandomState) -> Floats:
    """Return the sums of both classes of two items of weights 0.7 and 1, `size` times."""
    mechanism = hetdp.weight_classes(queries.total(Box.uniform(0, 1, size=2)), [0.7, 1.0], (1, 0.5))
    plan = hetdp.plan(mechanism, epsilon=1.0)
    return plan.answers(values, np.ones(2, dtype=bool), as_stream(random_state), count=size)


def _broken_classes(name, where, claimed, **broken):
    """Return the variant of weight classes in which attributes of a module or class are made of the real ones."""

    def build(is_broken):
        return patched(_released, where, **broken) if is_broken else _released

    return Variant(name, by_statistics(build, _PAIR, claimed))


def _rounded_up(real):
    def class_of(weights: Floats, boundaries: tuple[float, ...]) -> NDArray[np.intp]:
        return np.maximum(real(weights, boundaries) - 1, 0)

    return class_of


def _in_two(real):
    def class_cells(query, clamped, classes, count, *rest):
        below = np.where(classes < 0, -1, np.minimum(classes + 1, count - 1))
        return real(query, clamped, classes, count, *rest) + real(query, clamped, below, count, *rest)

    return class_cells


VARIANTS = (
    behind(_histogram, "a release with noise 2 % too small", noise_plans, laplace_integers=narrower(_TWO_PERCENT)),
    behind(
        PUBLIC_CALLS["hetdp.release, Gaussian histogram"],
        "a Gaussian release with noise 2 % too small",
        noise_plans,
        gaussian_integers=narrower(_TWO_PERCENT**2),
    ),
    behind(_total, "an answer at the level of all", noise_plans, laplace_integers=narrower(_HALF)),
    behind(
        _classes,
        "a release of weight classes with noise 2 % too small",
        noise_plans,
        laplace_integers=narrower(_TWO_PERCENT),
    ),
    behind(
        PUBLIC_CALLS["hetdp.release, Gaussian weight classes"],
        "a Gaussian release of weight classes with noise 2 % too small",
        noise_plans,
        gaussian_integers=narrower(_TWO_PERCENT**2),
    ),
    behind(
        _classes,
        "a release of weight classes with the noise of the highest class in all",
        WeightClassesPlan,
        spreads=lambda real: property(lambda plan: (real.func(plan)[0],) * len(plan.mechanism.boundaries)),
    ),
    _broken_classes("a release with weight classes rounded up", weight_class, [0.5, 1.0], class_of=_rounded_up),
    _broken_classes("a release with an item in two weight classes", ItemwiseQuery, [0.5, 1.0], class_cells=_in_two),
    _broken_classes(
        "a release of weight classes with noise for half of the range",
        WeightClassesPlan,
        [0.5, 1.0],
        spreads=lambda real: property(lambda plan: tuple(spread / 2 for spread in real.func(plan))),
    ),
    behind(
        PUBLIC_CALLS["hetdp.release_distortion_bound"],
        "a distortion bound at twice its level",
        distortion,
        laplace_integers=narrower(_HALF),
    ),
)
