"""What one recipient gets to see of a user from the exact engine, and broken versions of it."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import by_replay, by_statistics, mutant
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines.audit_crowd import EPSILON, ITEMS, WEIGHTS, Subject, population, recipients, without
from hetdp.neighbors.engines.exact.engine import exact_neighbors

__all__ = ["MUTANTS", "SUBJECTS"]


def _lists(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    weights: Sequence[float] = WEIGHTS,
    epsilon: Fraction = EPSILON,
    every_pair: bool = False,
) -> NDArray[np.float64]:
    """Return three neighbours and their scores for each recipient, after the user has got a list too."""
    coded = population(profile, weights)
    lists = exact_neighbors(
        coded,
        k=3,
        epsilon=epsilon,
        stream=as_stream(random_state),
        factors=np.ones(coded.n_users),
        own=recipients(size, after=profile),
        members=False,
        every_pair=every_pair,
    )
    return np.concatenate([lists.indices, lists.scores], axis=1)[1:]


SUBJECTS: dict[str, Subject] = {
    "exact engine, one list": _lists,
    "exact engine, noise for every pair": partial(_lists, every_pair=True),
}


@mutant("neighbours at twice the level", by_statistics, without([3]), {3: 1.0})
def _twice_the_level(broken: bool) -> Subject:  # noqa: FBT001  (every build has this shape)
    """Noise half as wide as it should be."""

    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        return _lists(profile, size, random_state, epsilon=EPSILON * (2 if broken else 1))

    return lists


@mutant("neighbours without weights", by_replay, without([1]), {1: 0.0}, odd_values=False)
def _weights_ignored(broken: bool) -> Subject:  # noqa: FBT001
    """Every item counts in full."""

    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        return _lists(profile, size, random_state, weights=[1.0] * ITEMS if broken else WEIGHTS)

    return lists


@mutant("neighbours by raw sizes", by_replay, without([1]), {1: 0.0}, odd_values=False)
def _raw_sizes(broken: bool) -> Subject:  # noqa: FBT001
    """Trap 3: dividing by the size of the profile, in which items of weight 0 count."""

    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        found = _lists(profile, size, random_state)
        found[:, 3:] /= np.sqrt(sum(profile)) if broken else 1.0
        return found

    return lists


@mutant("noise that begins where another list ends", by_replay, without([1]), {1: 0.0}, odd_values=False)
def _one_stream(broken: bool) -> Subject:  # noqa: FBT001
    """Noise in one stream: an item of weight 0 makes the own list longer work, and moves the noise of others."""

    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        stream = as_stream(random_state)
        stream.words(sum(value > 0 for value in profile) if broken else 0)
        return _lists(profile, size, stream)

    return lists


MUTANTS = (_twice_the_level, _weights_ignored, _raw_sizes, _one_stream)
