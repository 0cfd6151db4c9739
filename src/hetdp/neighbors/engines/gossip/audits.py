"""What one peer learns of a user from gossip, and a broken version of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import by_statistics, mutant
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines.audit_crowd import EPSILON, ITEMS, Subject, population, recipients
from hetdp.neighbors.engines.gossip.noisy_scores import noisy_scores
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles

__all__ = ["MUTANTS", "SUBJECTS"]


def _scores(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the noisy score of the pair."""
    first = population(profile, copies=size)
    own = recipients(size)
    both = CodedProfiles(
        np.concatenate([first.indptr, first.indptr[-1] + own.indptr[1:]]),
        np.concatenate([first.items, own.items]),
        np.concatenate([first.codes, np.full(own.items.size, WEIGHT_STEPS, dtype=np.uint8)]),
        first.n_items,
    )
    scores = noisy_scores(both, key=as_stream(random_state).key(), epsilon=EPSILON, factors=np.ones(both.n_users))
    peers = (first.n_users + np.arange(size)).astype(np.int32)
    subjects = np.arange(size, dtype=np.int32)
    return scores.score(subjects, np.arange(size + 1), peers, scores.worker())[:, None]


SUBJECTS: dict[str, Subject] = {"gossip engine, one score": _scores}


_NOTHING, _ONE_ITEM = [0.0] * ITEMS, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


@mutant("noise for common items only", by_statistics, [(_NOTHING, _ONE_ITEM)], {3: 1.0})
def _silent_strangers(broken: bool) -> Subject:  # noqa: FBT001
    """Noise only for candidates with something in common: whoever has nothing in common scores exactly 0."""

    def scores(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        found = _scores(profile, size, random_state)
        return found * 0.0 if broken and not sum(profile) else found

    return scores


MUTANTS = (_silent_strangers,)
