"""Mutants that shrink wrongly: too little, in the wrong order, or with rounding that forgets the small weights."""

import math
from typing import Any

import numpy as np

from hetdp.auditing.mutants.base import Floats, Function, by_replay, by_statistics, laplace, mutant, released
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["SHRINKING_MUTANTS"]

#: The replay audit compares real profiles with odd ones too; those of a mutant are lists of two values in [0, 1].
_PAIR = [([0.0, 1.0], [1.0, 1.0])]


def _clamp(profile: list[Any]) -> Floats:
    """Values into [0, 1]; what is not a number becomes 0."""
    numbers = [float(value) if isinstance(value, int | float) else math.nan for value in profile]
    return np.clip(np.nan_to_num(numbers, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


@mutant("square root of the weight", by_statistics, _PAIR, [0.25, 1.0])
def _root_weights(broken: bool) -> Function:
    """A scalar product shrinks each factor by sqrt(v): the partner may not shrink at all."""
    weight = 0.25
    shrinkage = np.array([math.sqrt(weight) if broken else weight, 1.0])  # the partner has v = 1
    return released(lambda profile: float(np.prod(shrinkage * _clamp(profile))))


@mutant("weights ignored", by_statistics, _PAIR, [0.25, 0.5])
def _weights_ignored(broken: bool) -> Function:
    """Nothing is shrunk: every item loses the full epsilon."""
    shrinkage = np.ones(2) if broken else np.array([0.25, 0.5])
    return released(lambda profile: float(shrinkage @ _clamp(profile)))


@mutant("rounding slack ignored", by_replay, [([value, 0.06], [1.0, 0.06]) for value in (0.0, 0.1)], [0.01, 1.0])
def _rounded_as_a_whole(broken: bool) -> Function:
    """Trap 8: the whole answer is rounded to a grid of 1/16, which an item with v = 0.01 can tip over."""
    weights, grid = np.array([0.01, 1.0]), 1 / 16

    def exact(profile: list[Any]) -> float:
        parts = weights * _clamp(profile)
        return grid * (math.floor(parts.sum() / grid) if broken else float(np.floor(parts / grid).sum()))

    return released(exact, reshaped=lambda noise: np.rint(noise / grid) * grid)


@mutant("raw sizes in the cosine", by_replay, [([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])], [0.0, 1.0, 1.0])
def _raw_sizes(broken: bool) -> Function:
    """Trap 3: the noisy product is divided by the true sizes: an item with v = 0 changes the answer."""
    weights = np.array([0.0, 1.0, 1.0])
    other = np.ones(3)

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        values = _clamp(profile)
        noisy = float((weights * values) @ other) + laplace(1.0, size, as_stream(random_state))
        return noisy / math.sqrt(max(values.sum(), 1.0) * other.sum()) if broken else noisy

    return mechanism


@mutant("nan path", by_replay, _PAIR, [0.0, 1.0])
def _nan_path(broken: bool) -> Function:
    """Trap 9: values are multiplied by their weight before they are clamped, and 0 * nan is nan."""
    weights = np.array([0.0, 1.0])

    def exact(profile: list[Any]) -> float:
        values = _clamp(profile)
        if broken:
            values = np.array([float(value) if isinstance(value, int | float) else 0.0 for value in profile])
        with np.errstate(invalid="ignore"):
            return float((weights * values).sum())

    return released(exact)


@mutant("clamping after shrinking", by_replay, _PAIR, 0.5)
def _clamped_too_late(broken: bool) -> Function:
    """A value far outside its range is shrunk first and clamped then: it keeps its full influence."""
    weights = np.array([0.5, 0.5])

    def exact(profile: list[Any]) -> float:
        if not broken:
            return float(weights @ _clamp(profile))
        numbers = [value if isinstance(value, int | float) else 0.0 for value in profile]
        shrunk = [weight * value for weight, value in zip(weights, numbers, strict=True)]
        return float(_clamp(shrunk).sum())

    return released(exact)


@mutant("infeasible end of a bisection", by_replay, _PAIR, [0.3, 0.0])
def _infeasible_end(broken: bool) -> Function:
    """Trap 5: a bisection of S(w) = w**2 for v = 0.3 that returns the end which was found too large."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 <= 0.3 else (low, middle)  # noqa: PLR2004  (the weight)
    shrinkage = high if broken else low
    return released(lambda profile: float((shrinkage * _clamp(profile)[0]) ** 2))


@mutant("exception on a private value", by_replay, _PAIR, 1.0)
def _raises(broken: bool) -> Function:
    """A value outside its range raises an error that everybody can see."""

    def exact(profile: list[Any]) -> float:
        if broken and not all(isinstance(value, float) and 0 <= value <= 1 for value in profile):
            raise ValueError
        return float(_clamp(profile).sum())

    return released(exact)


SHRINKING_MUTANTS = (
    _root_weights,
    _weights_ignored,
    _rounded_as_a_whole,
    _raw_sizes,
    _nan_path,
    _clamped_too_late,
    _infeasible_end,
    _raises,
)
