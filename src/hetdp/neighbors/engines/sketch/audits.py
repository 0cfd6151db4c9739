"""What a user publishes with the sketch engine."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, by_statistics
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines.audit_crowd import EPSILON, ITEMS, WEIGHTS, Subject, population, without
from hetdp.profiles.steps import WEIGHT_STEPS
from hetdp.sketching.bits import GROUP_USERS, Sketches
from hetdp.sketching.law import USUAL_TUNING, chance_of_one

__all__ = ["MUTANTS", "SUBJECTS"]

_TUNED_FOR = Fraction(1, 2)


def _subject(tuned_for: Fraction) -> Subject:
    def bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        """Return one bit per item."""
        stream = as_stream(random_state)
        sketches = Sketches(population(profile, copies=size), epsilon=EPSILON, tuned_for=tuned_for, stream=stream)
        rows = np.empty((ITEMS, sketches.n_groups * GROUP_USERS // 64), dtype=np.uint64)
        sketches.rows(np.arange(ITEMS), rows)
        ones = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :size]
        return ones.T.astype(np.float64)

    return bits


SUBJECTS: dict[str, Subject] = {
    "sketch engine, one sketch": _subject(USUAL_TUNING),
    "sketch engine, one sketch tuned for a half": _subject(_TUNED_FOR),
}


def _larger_term(broken: bool) -> Subject:  # noqa: FBT001  (every build has this shape)
    """Take the larger of the two terms of p(v), where the law takes the smaller one."""
    if not broken:
        return SUBJECTS["sketch engine, one sketch tuned for a half"]
    q, level = chance_of_one(EPSILON, tuned_for=_TUNED_FOR), float(EPSILON)
    weights = np.floor(np.array(WEIGHTS) * WEIGHT_STEPS) / WEIGHT_STEPS
    larger = np.maximum(q * np.exp(level * weights), 1.0 - (1.0 - q) * np.exp(-level * weights))

    def bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        chances = np.where(np.array(profile) >= 0.5, larger, q)  # noqa: PLR2004  (indicators)
        drawn = as_stream(random_state).uniforms(size * ITEMS).reshape(size, ITEMS)
        return np.asarray(drawn < chances, dtype=np.float64)

    return bits


#: The sketch, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    Mutant("sketch that takes the larger term", by_statistics(_larger_term, without([0]), WEIGHTS)),
)
