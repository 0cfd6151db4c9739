"""`hetdp.release` and its sisters by the front door: every number that comes out, against the guarantee beside it."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.by_dial import release_by_dial
from hetdp.accounting.releasing import Release, release, release_distortion_bound
from hetdp.auditing.mutants.base import Mutant, behind, narrower
from hetdp.auditing.scales import FrontDoor, Reached
from hetdp.core.randomness import RandomState, as_stream
from hetdp.mechanisms import distortion, estimation, queries, stretching
from hetdp.mechanisms.stretching import stretch
from hetdp.profiles import Box

__all__ = ["FRONT_DOORS", "MUTANTS", "told_by_bins"]

#: As many bins as it takes to see that noise is 2 % too small, and as many releases of one number as take seconds.
_BINS, _RELEASES = 212_000, 2_500
_ITEMS = 50


def _histogram(random_state: RandomState, *, rho: float | None = None) -> list[Reached]:
    """Look at bins that nobody is in; who moves from one to another moves two of them by 1."""
    query = queries.histogram(Box.uniform(0, 1, size=1), edges=_BINS + 1)
    level: dict[str, Any] = {"epsilon": 1.0} if rho is None else {"rho": rho}
    answer = release(stretch(query, [1.0]), [0.0], denominator=0, random_state=random_state, **level)
    bins = np.asarray(answer.value)[1:]
    if rho is None:
        return [Reached("bins", bins * answer.guarantee.amount / 2)]
    return [Reached("bins", bins * np.sqrt(answer.guarantee.amount), "gaussian")]


def _total(random_state: RandomState) -> list[Reached]:
    """Look at totals of nothing, and at the sums of weights beside them, which the weights pay."""
    query, stream = queries.total(Box.uniform(0, 1, size=1)), as_stream(random_state)
    answers = [release(stretch(query, [1.0]), [0.0], epsilon=1.0, random_state=stream) for _ in range(_RELEASES)]
    promise = answers[0].guarantee
    assert promise.weights_amount is not None  # noqa: S101  (a total has a denominator)
    return [
        Reached("answer", np.array([answer.value for answer in answers]) * promise.amount),
        Reached("denominator", _denominators(answers, 1.0) * (promise.weights_amount - promise.amount)),
    ]


def _denominators(answers: Sequence[Release], exact: float) -> Any:  # noqa: ANN401  (an array)
    return np.array([answer.denominator.value for answer in answers if answer.denominator is not None]) - exact


def _by_dial(random_state: RandomState) -> list[Reached]:
    """Look at the answers of two levels; a dial that moves from one to the other is in both."""
    query, stream = queries.total(Box.uniform(0, 1, size=2)), as_stream(random_state)
    answers, promise = [], None
    for _ in range(_RELEASES // 2):
        found = release_by_dial(
            stretch(query, [0.5, 1.0]), [0.0, 0.0], levels=[0, 0.5, 1], epsilon=1.0, random_state=stream
        )
        promise = found.guarantee
        answers.append(found.answers)
    assert promise is not None  # noqa: S101
    assert promise.weights_amount is not None  # noqa: S101
    low, high = zip(*answers, strict=True)
    values = np.array([[answer.value for answer in pair] for pair in answers]).ravel()
    sums = np.concatenate([_denominators(low, 0.5), _denominators(high, 1.0)])
    return [
        Reached("answers", values * promise.amount),
        Reached("denominators", sums * (promise.weights_amount / 2 - promise.amount)),
    ]


def _distortion_bound(random_state: RandomState) -> list[Reached]:
    """Look at bounds on the distortion of items that do not count: one less another, a public margin drops out."""
    stretched, stream = stretch(queries.total(Box.uniform(0, 1, size=_ITEMS)), [0.0] * _ITEMS), as_stream(random_state)
    bounds = [release_distortion_bound(stretched, epsilon=1.0, random_state=stream) for _ in range(2 * _RELEASES)]
    values = np.array([bound.value for bound in bounds]).reshape(2, -1)
    return [Reached("bound", (values[0] - values[1]) * bounds[0].guarantee.amount, "difference")]


#: Every public way to a release, by name.
FRONT_DOORS: dict[str, FrontDoor] = {
    "hetdp.release, histogram": _histogram,
    "hetdp.release, Gaussian histogram": partial(_histogram, rho=0.5),
    "hetdp.release, total": _total,
    "hetdp.release_by_dial": _by_dial,
    "hetdp.release_distortion_bound": _distortion_bound,
}


_HALF, _TWO_PERCENT = Fraction(1, 2), Fraction(98, 100)

#: Releases broken on purpose, behind their front doors.
MUTANTS: Sequence[Mutant] = (
    behind(_histogram, "a release with noise 2 % too small", stretching, laplace_integers=narrower(_TWO_PERCENT)),
    behind(
        FRONT_DOORS["hetdp.release, Gaussian histogram"],
        "a Gaussian release with noise 2 % too small",
        stretching,
        gaussian_integers=narrower(_TWO_PERCENT**2),
    ),
    behind(_total, "a denominator at the level of all", estimation, laplace_integers=narrower(_HALF)),
    behind(_total, "an answer at the level of all", stretching, laplace_integers=narrower(_HALF)),
    behind(_by_dial, "denominators by dial at the level of all", estimation, laplace_integers=narrower(_HALF)),
    behind(_distortion_bound, "a distortion bound at twice its level", distortion, laplace_integers=narrower(_HALF)),
)


def told_by_bins(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return what `hetdp.release` tells of as many items as runs, each in one of two bins of its own."""
    query = queries.histogram(Box.uniform(0, 2 * size, size=size), edges=2 * size)
    places = 2 * np.arange(size) + 0.5 + (profile[0] >= 0.5)  # noqa: PLR2004  (an indicator)
    answer = release(stretch(query, [1.0] * size), places, epsilon=1.0, denominator=0, random_state=random_state)
    return np.asarray(answer.value).reshape(size, 2)
