"""Mutants that release too much: uncharged repetitions, shared noise, side answers, and choices that are too eager."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Floats, Function, by_replay, by_statistics, laplace, mutant
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["RELEASE_MUTANTS"]

_PAIR = [([0.0, 1.0], [1.0, 1.0])]


@mutant("fresh noise for a repeated query", by_statistics, _PAIR, 1.0)
def _fresh_noise(broken: bool) -> Function:
    """Trap 4: the same answer ten times with fresh noise and charged once; their mean has little noise left."""
    repetitions = 10 if broken else 1

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        noise = laplace(1.0, (size, repetitions), as_stream(random_state))
        answers: Floats = math.fsum(profile) + noise.mean(axis=1)
        return answers

    return mechanism


@mutant("seed reused", by_statistics, _PAIR, [1.0, 2.0])
def _seed_reused(broken: bool) -> Function:
    """Two releases share a seed; the noise cancels in their difference."""

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        first = laplace(1.0, size, stream)
        second = first if broken else laplace(1.0, size, stream)
        return np.stack([profile[0] + profile[1] + first, profile[1] + second], axis=1)

    return mechanism


@mutant("distortion with the same epsilon", by_statistics, _PAIR, [0.0, 1.0])
def _distortion(broken: bool) -> Function:
    """Trap 7: the distortion of the actual values is released too, which voids v = 0."""
    weights = np.array([0.0, 1.0])

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        answer = float(weights @ profile) + laplace(1.0, size, stream)
        actual, worst = float((1 - weights) @ profile), float((1 - weights).sum())
        return np.stack([answer, (actual if broken else worst) + laplace(1.0, size, stream)], axis=1)

    return mechanism


@mutant("add-remove noise under replacement", by_statistics, [([0.1, 0.6], [0.3, 0.6])], 1.0)
def _histogram(broken: bool) -> Function:
    """Replace a row, and two bins move by 1 each; the noise for removing one is half of what that takes."""
    scale = 1.0 if broken else 2.0

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> Floats:
        counts, _ = np.histogram(profile, bins=[0.0, 0.25, 0.5, 0.75, 1.0])
        answers: Floats = counts + laplace(scale, (size, 4), as_stream(random_state))
        return answers

    return mechanism


@mutant("draws that depend on the value", by_replay, _PAIR, 1.0)
def _draws_by_value(broken: bool) -> Function:
    """How many random words are drawn depends on the data; the time taken and the next noise show it."""

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        stream = as_stream(random_state)
        present = sum(value == 1.0 for value in profile)
        noise = laplace(1.0, (len(profile), size), stream)
        if broken:
            stream.words(present)
        answers: Floats = present + noise[0]
        return answers

    return mechanism


@mutant("eager randomised response", by_statistics, [([0.0, 1.0], [1.0, 1.0])], [0.5, 1.0])
def _eager_response(broken: bool) -> Function:
    """A present item is reported with the larger of the two admissible probabilities."""
    weight = 0.5
    quiet = 1 / (1 + math.e)
    choose = max if broken else min
    loud = choose(quiet * math.exp(weight), 1 - (1 - quiet) * math.exp(-weight))

    def mechanism(profile: list[float], size: int, random_state: RandomState) -> NDArray[np.bool_]:
        uniform = as_stream(random_state).uniforms(2 * size).reshape(size, 2)
        chances = np.where(np.asarray(profile) > 0, [loud, 1 - quiet], quiet)  # the second item has weight 1
        return uniform < chances

    return mechanism


@mutant("eager exponential mechanism", by_statistics, [(["red"] * 4, ["red", "red", "red", "green"])], 1.0)
def _eager_choice(broken: bool) -> Function:
    """Scores are weighted with epsilon instead of epsilon / 2."""
    colours, half = ("red", "green", "blue"), 1.0 if broken else 0.5

    def mechanism(profile: list[str], size: int, random_state: RandomState) -> list[str]:
        scores = np.array([profile.count(colour) for colour in colours])
        shares = np.exp(half * scores) / np.exp(half * scores).sum()
        edges: Floats = np.cumsum(shares)[:-1]
        places = np.searchsorted(edges, as_stream(random_state).uniforms(size))
        return [colours[place] for place in places]

    return mechanism


RELEASE_MUTANTS = (_fresh_noise, _seed_reused, _distortion, _histogram, _draws_by_value, _eager_response, _eager_choice)
