"""Mutants whose noise is wrong: its scale, its shape, its sign, its last bits."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import (
    GRID,
    Floats,
    Function,
    Mutant,
    by_floating_point,
    by_sampler,
    by_statistics,
    laplace,
    on_grid,
)
from hetdp.auditing.subjects import fresh_seed
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.gaussian import gaussian_integers
from hetdp.noise.laplace import laplace_integers

__all__ = ["NOISE_MUTANTS"]

#: Sums over two items in [0, 1]; S = 1 and epsilon = 1 unless a mutant says otherwise.
_PAIR = [([0.0, 1.0], [1.0, 1.0])]
_WEIGHTS = np.array([0.25, 0.5])


def _noisy_sum(noise: Callable[[int, Stream], Floats]) -> Function:
    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        return math.fsum(profile) + noise(size, as_stream(random_state))

    return mechanism


def _scale_as_deviation(broken: bool) -> Function:  # noqa: FBT001  (every build has this shape)
    scale = math.sqrt(0.5) if broken else 1.0
    return _noisy_sum(lambda size, stream: laplace(scale, size, stream))


def _scale_from_weights(broken: bool) -> Function:  # noqa: FBT001
    scale = float(_WEIGHTS.max()) if broken else 1.0

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        return float(_WEIGHTS @ profile) + laplace(scale, size, as_stream(random_state))

    return mechanism


def _multiplier_forgotten(broken: bool) -> Function:  # noqa: FBT001
    multiplier = 2.0
    scale = 1.0 if broken else multiplier

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        shrunk = np.minimum(1.0, multiplier * _WEIGHTS) @ profile
        return float(shrunk) + laplace(scale, size, as_stream(random_state))

    return mechanism


def _sign_dropped(broken: bool) -> Function:  # noqa: FBT001
    shape = np.abs if broken else np.positive
    return _noisy_sum(lambda size, stream: shape(laplace(1.0, size, stream)))


def _truncated(broken: bool) -> Function:  # noqa: FBT001
    reach = 5.0 if broken else math.inf
    return _noisy_sum(lambda size, stream: np.clip(laplace(1.0, size, stream), -reach, reach))


def _gaussian_as_pure(broken: bool) -> Function:  # noqa: FBT001
    """As much variance as the Laplace noise has; but the ratio of two Gaussians has no bound."""
    if not broken:
        return _noisy_sum(lambda size, stream: laplace(1.0, size, stream))
    variance = Fraction(2) / Fraction(GRID) ** 2
    return _noisy_sum(lambda size, stream: on_grid(gaussian_integers(variance, size, stream)))


def _local_sensitivity(broken: bool) -> Function:  # noqa: FBT001
    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        scale = max(profile) if broken else 1.0
        return math.fsum(profile) + laplace(scale, size, as_stream(random_state))

    return mechanism


def _off_by_one(broken: bool) -> Function:  # noqa: FBT001
    def sampler(size: int, random_state: Stream) -> NDArray[np.int64]:
        sample = laplace_integers(Fraction(5), size, random_state)
        # "-G" instead of "~G": every negative number moves up by one, and 0 is hit from both sides.
        return np.where(sample < 0, sample + 1, sample) if broken else sample

    return sampler


def _textbook(broken: bool) -> Function:  # noqa: FBT001
    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        if broken:
            return profile[0] + np.random.default_rng(fresh_seed(as_stream(random_state))).laplace(0.0, 1.0, size)
        return profile[0] + laplace(1.0, size, as_stream(random_state))

    return mechanism


NOISE_MUTANTS = (
    Mutant(
        "scale as standard deviation",
        "S/epsilon is used as the standard deviation of the noise: its scale is too small by sqrt(2).",
        by_statistics(_scale_as_deviation, _PAIR, 1.0),
    ),
    Mutant(
        "noise scale from the weights",
        "The noise is scaled to the largest weight, which saves noise and breaks every promise below it.",
        by_statistics(_scale_from_weights, _PAIR, _WEIGHTS),
    ),
    Mutant(
        "multiplier not in the noise",
        "Items are shrunk for a multiplier of 2, but the noise is that of multiplier 1.",
        by_statistics(_multiplier_forgotten, _PAIR, _WEIGHTS),
    ),
    Mutant(
        "sign of the noise dropped",
        "The noise is never negative, so an answer below the truth is impossible.",
        by_statistics(_sign_dropped, _PAIR, 1.0),
    ),
    Mutant(
        "truncated noise",
        "Noise beyond five scales is cut off: the neighbour's tail is out of reach.",
        by_statistics(_truncated, _PAIR, 1.0),
    ),
    Mutant(
        "Gaussian claimed as pure epsilon",
        "Gaussian noise with the variance of the Laplace noise is said to keep epsilon.",
        by_statistics(_gaussian_as_pure, _PAIR, 1.0),
    ),
    Mutant(
        "local sensitivity",
        "The noise is scaled to the largest value in the data instead of the largest that is possible.",
        by_statistics(_local_sensitivity, [([0.25, 0.0], [1.0, 0.0])], 1.0),
    ),
    Mutant(
        "off by one in the geometric sampler",
        "Negative noise is -G instead of -G - 1, so 0 comes twice as often.",
        by_sampler(_off_by_one, 5.0),
    ),
    Mutant(
        "floating-point noise",
        "numpy's Laplace noise is added in floating point; the last bits tell the answer.",
        by_floating_point(_textbook, [([0.0], [1.0])], 1.0),
    ),
)
