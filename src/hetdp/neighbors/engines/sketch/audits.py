"""What a user publishes with the sketch engine."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors.engines.audit_crowd import EPSILON, ITEMS, Subject, population
from hetdp.sketching.bits import GROUP_USERS, Sketches

__all__ = ["MUTANTS", "SUBJECTS"]


def _bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return one bit per item."""
    sketches = Sketches(population(profile, copies=size), epsilon=EPSILON, stream=as_stream(random_state))
    bits = np.empty((ITEMS, sketches.n_groups * GROUP_USERS // 64), dtype=np.uint64)
    sketches.rows(np.arange(ITEMS), bits)
    ones = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :size]
    return ones.T.astype(np.float64)


SUBJECTS: dict[str, Subject] = {"sketch engine, one sketch": _bits}

MUTANTS: Sequence[Mutant] = ()
