"""Mutants that shrink wrongly: too little, in the wrong order, or with rounding that forgets the small weights."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hetdp.auditing.mutants.base import Floats, Function, Mutant, by_replay, by_statistics, laplace
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["SHRINKING_MUTANTS"]

#: The replay audit compares real profiles with odd ones too; those of a mutant are lists of two values in [0, 1].
_PAIR = [([0.0, 1.0], [1.0, 1.0])]


def _clamp(profile: list[Any]) -> Floats:
    """Values into [0, 1]; what is not a number becomes 0."""
    numbers = [float(value) if isinstance(value, int | float) else math.nan for value in profile]
    return np.clip(np.nan_to_num(numbers, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def _released(exact: Callable[[list[Any]], float], scale: float = 1.0) -> Function:
    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        return exact(profile) + laplace(scale, size, as_stream(random_state))

    return mechanism


def _root_weights(broken: bool) -> Function:  # noqa: FBT001  (every build has this shape)
    """Shrink both factors of a scalar product by sqrt(v), as if the partner's shrinkage could be relied on."""
    weight = 0.25
    shrinkage = np.array([math.sqrt(weight) if broken else weight, 1.0])  # the partner has v = 1
    return _released(lambda profile: float(np.prod(shrinkage * _clamp(profile))))


def _weights_ignored(broken: bool) -> Function:  # noqa: FBT001
    shrinkage = np.ones(2) if broken else np.array([0.25, 0.5])
    return _released(lambda profile: float(shrinkage @ _clamp(profile)))


def _rounded_as_a_whole(broken: bool) -> Function:  # noqa: FBT001
    """Trap 8: with a grid of 1/16 and v = 0.01, rounding the whole answer moves it by a whole step."""
    weights, grid = np.array([0.01, 1.0]), 1 / 16

    def exact(profile: list[Any]) -> float:
        parts = weights * _clamp(profile)
        return grid * (math.floor(parts.sum() / grid) if broken else float(np.floor(parts / grid).sum()))

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        noise = laplace(1.0, size, as_stream(random_state))
        return exact(profile) + np.rint(noise / grid) * grid

    return mechanism


def _raw_sizes(broken: bool) -> Function:  # noqa: FBT001
    """Trap 3: a noisy scalar product over the square root of the sizes, as if those were public."""
    weights = np.array([0.0, 1.0, 1.0])
    other = np.ones(3)

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        values = _clamp(profile)
        noisy = float((weights * values) @ other) + laplace(1.0, size, as_stream(random_state))
        return noisy / math.sqrt(max(values.sum(), 1.0) * other.sum()) if broken else noisy

    return mechanism


def _nan_path(broken: bool) -> Function:  # noqa: FBT001
    """Trap 9: 0 * nan is nan."""
    weights = np.array([0.0, 1.0])

    def exact(profile: list[Any]) -> float:
        values = _clamp(profile)
        if broken:
            values = np.array([float(value) if isinstance(value, int | float) else 0.0 for value in profile])
            with np.errstate(invalid="ignore"):
                return float((weights * values).sum())
        return float((weights * values).sum())

    return _released(exact)


def _clamped_too_late(broken: bool) -> Function:  # noqa: FBT001
    weights = np.array([0.5, 0.5])

    def exact(profile: list[Any]) -> float:
        if not broken:
            return float(weights @ _clamp(profile))
        numbers = [value if isinstance(value, int | float) else 0.0 for value in profile]
        shrunk = [weight * value for weight, value in zip(weights, numbers, strict=True)]
        return float(_clamp(shrunk).sum())

    return _released(exact)


def _infeasible_end(broken: bool) -> Function:  # noqa: FBT001
    """Trap 5: a bisection of S(w) = w**2 for v = 0.3 that returns the end which was found too large."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 <= 0.3 else (low, middle)  # noqa: PLR2004  (the weight)
    shrinkage = high if broken else low
    return _released(lambda profile: float((shrinkage * _clamp(profile)[0]) ** 2))


def _raises(broken: bool) -> Function:  # noqa: FBT001
    def exact(profile: list[Any]) -> float:
        if broken and not all(isinstance(value, float) and 0 <= value <= 1 for value in profile):
            raise ValueError
        return float(_clamp(profile).sum())

    return _released(exact)


SHRINKING_MUTANTS = (
    Mutant(
        "square root of the weight",
        "A scalar product shrinks each factor by sqrt(v): the partner may not shrink at all.",
        by_statistics(_root_weights, _PAIR, [0.25, 1.0]),
    ),
    Mutant(
        "weights ignored",
        "Nothing is shrunk: every item loses the full epsilon.",
        by_statistics(_weights_ignored, _PAIR, [0.25, 0.5]),
    ),
    Mutant(
        "rounding slack ignored",
        "The whole answer is rounded to a grid of 1/16, which an item with v = 0.01 can tip over.",
        by_replay(_rounded_as_a_whole, [([value, 0.06], [1.0, 0.06]) for value in (0.0, 0.1)], [0.01, 1.0]),
    ),
    Mutant(
        "raw sizes in the cosine",
        "The noisy product is divided by the true sizes: an item with v = 0 changes the answer.",
        by_replay(_raw_sizes, [([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])], [0.0, 1.0, 1.0]),
    ),
    Mutant(
        "nan path",
        "Values are multiplied by their weight before they are clamped, and 0 * nan is nan.",
        by_replay(_nan_path, _PAIR, [0.0, 1.0]),
    ),
    Mutant(
        "clamping after shrinking",
        "A value far outside its range is shrunk first and clamped then: it keeps its full influence.",
        by_replay(_clamped_too_late, _PAIR, 0.5),
    ),
    Mutant(
        "infeasible end of a bisection",
        "The shrinkage is the end of the interval that was found too large.",
        by_replay(_infeasible_end, _PAIR, [0.3, 0.0]),
    ),
    Mutant(
        "exception on a private value",
        "A value outside its range raises an error that everybody can see.",
        by_replay(_raises, _PAIR, 1.0),
    ),
)
