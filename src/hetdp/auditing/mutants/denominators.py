"""Mutants that estimate too well: denominators without noise, for nothing, or with a look at the values."""

import math

import numpy as np

from hetdp.auditing.mutants.base import Floats, Function, by_replay, by_statistics, laplace, mutant
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["DENOMINATOR_MUTANTS"]

#: Two profiles of weights; what is said about them is what weights are promised.
_WEIGHTS = [([0.0, 1.0], [1.0, 1.0])]


@mutant("denominator without noise", by_statistics, _WEIGHTS, 2.0)
def _bare_denominator(broken: bool) -> Function:
    """The sum of weights is released as it is, because it holds no value; but weights are secret too."""

    def mechanism(weights: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        answer = math.fsum(weights) + laplace(1.0, size, stream)  # all values are 1
        noise = laplace(1.0, size, stream) * (not broken)
        return np.stack([answer, math.fsum(weights) + noise], axis=1)

    return mechanism


@mutant("divided by the exact sum", by_statistics, [([0.0, 0.05], [1.0, 0.05])], 2.0)
def _exact_ratio(broken: bool) -> Function:
    """Only the ratio gets out, but its spread tells what was divided by."""

    def mechanism(weights: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        total = laplace(1.0, size, stream)  # all values are at the centre
        weight = math.fsum(weights) + laplace(1.0, size, stream) * (not broken)
        return np.divide(total, weight, out=np.zeros(size), where=weight != 0)

    return mechanism


@mutant("denominator not charged", by_statistics, _WEIGHTS, 1.0)
def _free_denominator(broken: bool) -> Function:
    """Weights are charged for the answer alone, although the sum of weights gets out as well."""
    scale = 1.0 if broken else 2.0

    def mechanism(weights: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        return math.fsum(weights) + laplace(scale, (size, 2), stream)  # all values are 1

    return mechanism


@mutant("denominator of those who answered", by_replay, [([math.nan, 1.0], [1.0, 1.0])], 0.0)
def _looking_denominator(broken: bool) -> Function:
    """Rows without a value do not count below either: then what the weights pay for tells about a value of weight 0."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        counted = sum(not math.isnan(value) for value in profile) if broken else len(profile)
        answers: Floats = counted + laplace(1.0, size, as_stream(random_state))
        return answers

    return mechanism


@mutant("second sum that is not free", by_statistics, [([0.0, 0.5], [1.0, 0.5])], 1.0)
def _costly_room(broken: bool) -> Function:
    """Beside the sum of y, that of y (1 - y) costs nothing; that of y^2 does."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        places = np.asarray(profile)
        second = places**2 if broken else places * (1 - places)
        sums = np.array([places.sum(), second.sum()])
        answers: Floats = sums + laplace(1.0, (size, 2), as_stream(random_state))
        return answers

    return mechanism


DENOMINATOR_MUTANTS = (_bare_denominator, _exact_ratio, _free_denominator, _looking_denominator, _costly_room)
