"""The engines on the examination table: cases for the battery, and mutants that it must catch.

One user's profile is the subject: which of six items the user has. What is looked at is all that one recipient gets
from the engine. Engines serve many recipients at once, so many equal recipients are as many runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import Mutant, by_replay, by_statistics
from hetdp.auditing.registry import CONFIDENCE, Case
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import Finding
from hetdp.auditing.statistical import audit
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines.exact.engine import exact_neighbors
from hetdp.neighbors.recommending import Votes, vote_selection
from hetdp.profiles import Profiles
from hetdp.profiles.coded import CodedProfiles, code_profiles

__all__ = ["MUTANTS", "audit_cases"]

Engine: TypeAlias = Callable[..., NDArray[np.float64]]

#: From "never counts" to ordinary.
WEIGHTS = (0.8, 0.0, 0.25, 1.0, 0.5, 0.3)
_ITEMS = len(WEIGHTS)
_STRANGERS = 40
_EPSILON = Fraction(1)
_FULL = [1.0] * _ITEMS
_SAMPLES = {"quick": 20_000, "full": 60_000}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of the engines, for the battery.

    Examples
    --------
    >>> sorted({case.audit for case in audit_cases("quick")})
    ['replay', 'statistical']
    """
    cases = []
    for name, engine in ENGINE_SUBJECTS.items():
        cases.append(Case(name, "statistical", partial(_statistical, engine, _SAMPLES[size])))
        cases.append(Case(name, "replay", partial(_replay, engine)))
    return cases


def _pairs(items: Sequence[int]) -> list[Pair]:
    """Return the full profile against the one without an item, for each of some items."""
    return [(_FULL, [float(place != item) for place in range(_ITEMS)]) for item in items]


def _statistical(engine: Engine, samples: int, seed: int) -> Finding:
    return audit(
        engine,
        adjacent=_pairs((0, 1, 2, 3)),
        claimed=dict(enumerate(WEIGHTS)),
        samples=samples,
        confidence=CONFIDENCE,
        random_state=seed,
    ).finding


def _replay(engine: Engine, seed: int) -> Finding:
    # The item of weight 0 must leave every bit as it was.
    return replay_audit(engine, adjacent=_pairs([1]), limits={1: 0.0}, odd_values=False, random_state=seed)


def population(profile: Sequence[float], weights: Sequence[float] = WEIGHTS, copies: int = 1) -> CodedProfiles:
    """Return strangers with nothing in common with anybody, after so many users with the given profile."""
    items = [place for place, present in enumerate(profile) if present >= 0.5]  # noqa: PLR2004  (indicators)
    users = np.repeat(np.arange(copies), len(items))
    lonely = np.arange(copies, copies + _STRANGERS)
    pairs = Profiles.from_pairs(
        np.concatenate([users, lonely]),
        np.concatenate([np.tile(items, copies), lonely - copies + _ITEMS]).astype(np.int64),
        np.concatenate([np.tile([weights[item] for item in items], copies), np.ones(_STRANGERS)]),
        user_ids=np.arange(copies + _STRANGERS),
        item_ids=np.arange(_ITEMS + _STRANGERS),
    )
    return code_profiles(pairs)


def recipients(count: int) -> CodedProfiles:
    """Return so many recipients who have all six items."""
    items = np.tile(np.arange(_ITEMS, dtype=np.int32), count)
    starts = np.arange(0, (count + 1) * _ITEMS, _ITEMS, dtype=np.int64)
    return CodedProfiles(starts, items, np.full(items.size, 255, dtype=np.uint8), _ITEMS + _STRANGERS)


def exact_lists(
    profile: Sequence[float],
    size: int,
    random_state: RandomState,
    *,
    weights: Sequence[float] = WEIGHTS,
    epsilon: Fraction = _EPSILON,
    every_pair: bool = False,
) -> NDArray[np.float64]:
    """Return the lists of the exact engine: three neighbours and their scores."""
    coded = population(profile, weights)
    lists = exact_neighbors(
        coded,
        k=3,
        epsilon=epsilon,
        stream=as_stream(random_state),
        factors=np.ones(coded.n_users),
        recipients=recipients(size),
        every_pair=every_pair,
    )
    return np.concatenate([lists.indices, lists.scores], axis=1)


def gossip_scores(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return what one peer learns from gossip: the noisy score of the pair."""
    from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores

    first = population(profile, copies=size)
    own = recipients(size)
    both = CodedProfiles(
        np.concatenate([first.indptr, first.indptr[-1] + own.indptr[1:]]),
        np.concatenate([first.items, own.items]),
        np.concatenate([first.codes, own.codes]),
        first.n_items,
    )
    scores = noisy_scores(both, key=as_stream(random_state).key(), epsilon=_EPSILON, factors=np.ones(both.n_users))
    peers = (first.n_users + np.arange(size)).astype(np.int32)
    subjects = np.arange(size, dtype=np.int32)
    return scores.score(subjects, np.arange(size + 1), peers, scores.worker())[:, None]


def published_sketches(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return what a user publishes with the sketch engine: one bit per item."""
    from hetdp.sketching.bits import GROUP_USERS, Sketches

    sketches = Sketches(population(profile, copies=size), epsilon=_EPSILON, stream=as_stream(random_state))
    bits = np.empty((_ITEMS, sketches.n_groups * GROUP_USERS // 64), dtype=np.uint64)
    sketches.rows(np.arange(_ITEMS), bits)
    ones = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :size]
    return ones.T.astype(np.float64)


def recommended_items(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the items recommended to one recipient on the vote of the user, with their scores."""
    coded = population(profile)
    votes = Votes(np.zeros((size, 1), dtype=np.int32), np.ones((size, 1)))
    nobody = replace(coded, indptr=np.zeros(size + 1, dtype=np.int64))
    selection = vote_selection(coded, nobody, votes, slice(0, size), n=3, epsilon=_EPSILON, base=None)
    scores, items = selection.lists(np.arange(size, dtype=np.int32), as_stream(random_state))
    return np.concatenate([items, scores], axis=1)


#: What one recipient, or everybody, gets to see of a user.
ENGINE_SUBJECTS: dict[str, Engine] = {
    "exact engine, one list": exact_lists,
    "exact engine, noise for every pair": partial(exact_lists, every_pair=True),
    "gossip engine, one score": gossip_scores,
    "sketch engine, one sketch": published_sketches,
    "recommendations, votes": recommended_items,
}


def _twice_the_level(broken: bool) -> Engine:  # noqa: FBT001  (every build has this shape)
    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        return exact_lists(profile, size, random_state, epsilon=_EPSILON * (2 if broken else 1))

    return lists


def _weights_ignored(broken: bool) -> Engine:  # noqa: FBT001
    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        return exact_lists(profile, size, random_state, weights=[1.0] * _ITEMS if broken else WEIGHTS)

    return lists


def _raw_sizes(broken: bool) -> Engine:  # noqa: FBT001
    """Trap 3: dividing by the size of the profile, in which items of weight 0 count."""

    def lists(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        found = exact_lists(profile, size, random_state)
        found[:, 3:] /= np.sqrt(sum(profile)) if broken else 1.0
        return found

    return lists


def _silent_strangers(broken: bool) -> Engine:  # noqa: FBT001
    """Noise only for candidates with something in common: whoever has nothing in common scores exactly 0."""

    def scores(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        found = gossip_scores(profile, size, random_state)
        return found * 0.0 if broken and not sum(profile) else found

    return scores


_TOO_LITTLE_NOISE = by_statistics(_twice_the_level, _pairs([3]), {3: 1.0})
_NO_NOISE = by_statistics(_silent_strangers, [([0.0] * _ITEMS, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])], {3: 1.0})
_FULL_WEIGHT = by_replay(_weights_ignored, _pairs([1]), {1: 0.0}, odd_values=False)
_RAW_SIZE = by_replay(_raw_sizes, _pairs([1]), {1: 0.0}, odd_values=False)

#: The engines, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    Mutant(
        "neighbours at twice the level", "the noise is half as wide as it should be", "statistical", _TOO_LITTLE_NOISE
    ),
    Mutant("noise for common items only", "a pair without a common item gets no noise", "statistical", _NO_NOISE),
    Mutant("neighbours without weights", "every item counts in full", "replay", _FULL_WEIGHT),
    Mutant("neighbours by raw sizes", "the size of a profile counts items of weight 0", "replay", _RAW_SIZE),
)
