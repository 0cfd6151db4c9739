"""Mutants whose noise is wrong: its scale, its shape, its sign, its last bits."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import (
    GRID,
    Floats,
    Function,
    by_floating_point,
    by_sampler,
    by_statistics,
    laplace,
    mutant,
    on_grid,
    released,
)
from hetdp.auditing.subjects import fresh_seed
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.gaussian import gaussian_integers
from hetdp.noise.laplace import laplace_integers

__all__ = ["NOISE_MUTANTS"]

#: Sums over two items in [0, 1]; S = 1 and epsilon = 1 unless a mutant says otherwise.
_PAIR = [([0.0, 1.0], [1.0, 1.0])]
_WEIGHTS = np.array([0.25, 0.5])


@mutant("scale as standard deviation", by_statistics, _PAIR, 1.0)
def _scale_as_deviation(broken: bool) -> Function:
    """S/epsilon is used as the standard deviation of the noise: its scale is too small by sqrt(2)."""
    return released(math.fsum, math.sqrt(0.5) if broken else 1.0)


@mutant("noise scale from the weights", by_statistics, _PAIR, _WEIGHTS)
def _scale_from_weights(broken: bool) -> Function:
    """The noise is scaled to the largest weight, which saves noise and breaks every promise below it."""
    scale = float(_WEIGHTS.max()) if broken else 1.0
    return released(lambda profile: float(_WEIGHTS @ profile), scale)


@mutant("multiplier not in the noise", by_statistics, _PAIR, _WEIGHTS)
def _multiplier_forgotten(broken: bool) -> Function:
    """Items are shrunk for a multiplier of 2, but the noise is that of multiplier 1."""
    multiplier = 2.0
    shrinkage = np.minimum(1.0, multiplier * _WEIGHTS)
    return released(lambda profile: float(shrinkage @ profile), 1.0 if broken else multiplier)


@mutant("sign of the noise dropped", by_statistics, _PAIR, 1.0)
def _sign_dropped(broken: bool) -> Function:
    """The noise is never negative, so an answer below the truth is impossible."""
    return released(math.fsum, reshaped=np.abs if broken else np.positive)


@mutant("truncated noise", by_statistics, _PAIR, 1.0)
def _truncated(broken: bool) -> Function:
    """Noise beyond five scales is cut off: the neighbour's tail is out of reach."""
    reach = 5.0 if broken else math.inf
    return released(math.fsum, reshaped=lambda noise: np.clip(noise, -reach, reach))


@mutant("Gaussian claimed as pure epsilon", by_statistics, _PAIR, 1.0)
def _gaussian_as_pure(broken: bool) -> Function:
    """Gaussian noise of the same variance is said to keep epsilon, but the ratio of two Gaussians has no bound."""
    variance = Fraction(2) / Fraction(GRID) ** 2

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        return math.fsum(profile) + on_grid(gaussian_integers(variance, size, as_stream(random_state)))

    return mechanism if broken else released(math.fsum)


@mutant("local sensitivity", by_statistics, [([0.25, 0.0], [1.0, 0.0])], 1.0)
def _local_sensitivity(broken: bool) -> Function:
    """The noise is scaled to the largest value in the data instead of the largest that is possible."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        scale = max(profile) if broken else 1.0
        return math.fsum(profile) + laplace(scale, size, as_stream(random_state))

    return mechanism


@mutant("off by one in the geometric sampler", by_sampler, 5.0)
def _off_by_one(broken: bool) -> Function:
    """Negative noise is -G instead of -G - 1, so 0 comes twice as often."""

    def sampler(size: int, random_state: Stream) -> NDArray[np.int64]:
        sample = laplace_integers(Fraction(5), size, random_state)
        # "-G" instead of "~G": every negative number moves up by one, and 0 is hit from both sides.
        return np.where(sample < 0, sample + 1, sample) if broken else sample

    return sampler


@mutant("floating-point noise", by_floating_point, [([0.0], [1.0])], 1.0)
def _textbook(broken: bool) -> Function:
    """Numpy's Laplace noise is added in floating point; the last bits tell the answer."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        if broken:
            return profile[0] + np.random.default_rng(fresh_seed(as_stream(random_state))).laplace(0.0, 1.0, size)
        return profile[0] + laplace(1.0, size, as_stream(random_state))

    return mechanism


NOISE_MUTANTS = (
    _scale_as_deviation,
    _scale_from_weights,
    _multiplier_forgotten,
    _sign_dropped,
    _truncated,
    _gaussian_as_pure,
    _local_sensitivity,
    _off_by_one,
    _textbook,
)
