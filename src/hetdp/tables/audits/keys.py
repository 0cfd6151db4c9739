"""Keys chosen from the data, on the examination table: cases for the battery, and mutants that it must catch.

The subject is a list of people, present or absent, each with a weight and keys; what is looked at is which keys are
released. Delta is as large as one in twenty, so that what it allows, and what exceeds it, happens in every audit.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import Mutant, by_replay, by_statistics
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.core.randomness import RandomState, as_stream
from hetdp.noise.laplace import laplace_integers
from hetdp.noise.truncated import truncated_laplace_integers
from hetdp.tables.keys import chosen, key_noise_scale, threshold

__all__ = ["MUTANTS", "audit_cases"]

Table: TypeAlias = Callable[[Sequence[float], int, RandomState], NDArray[np.float64]]

_EPSILON, _DELTA, _STEPS, _GROUPS = Fraction(1), Fraction(1, 20), 2**40, 3
#: Weight and keys: alone in as many keys as there may be; with weight 0; beside others; in more keys than there may be;
#: with all of a third in one key.
_PEOPLE: Sequence[tuple[Fraction, Sequence[int]]] = (
    (Fraction(1), (0, 1, 2)),
    (Fraction(0), (3,)),
    (Fraction(1, 2), (4, 5)),
    (Fraction(1, 2), (6, 7, 8, 9, 10)),
    (Fraction(1, 3), (11,)),
)
#: People who are always there: as many as the bound, and a crowd.
_OTHERS = {5: 7 * _STEPS, 12: 1000 * _STEPS}
_KEYS = 13
_CLAIMS = [float(_EPSILON * weight) for weight, _ in _PEOPLE]
_DELTAS = [float(_DELTA * weight) for weight, _ in _PEOPLE]
_SAMPLES = {"quick": 20_000, "full": 60_000}


@dataclass(frozen=True)
class _Rules:
    """How keys are chosen; the defaults keep the promise."""

    delta: Fraction = _DELTA
    truncated: bool = True
    #: Whether keys that nobody counts in are removed first.
    without_empty: bool = True
    #: Whether who is in more keys counts less in each.
    stretched: bool = True
    #: Whether noisy counts are looked at, too, where a replay compares them to the last bit.
    counts_shown: bool = False


def _choosing(rules: _Rules) -> Table:
    scale = key_noise_scale(_EPSILON, steps=_STEPS, groups=_GROUPS)
    bound = threshold(_EPSILON, rules.delta, steps=_STEPS, groups=_GROUPS)

    def release(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        counts = dict(_OTHERS)
        for there, (weight, keys) in zip(profile, _PEOPLE, strict=True):
            share = min(Fraction(1), _GROUPS * weight / len(keys)) if rules.stretched else weight
            for key in keys if there else ():
                counts[key] = counts.get(key, 0) + int(share * _STEPS)
        listed = sorted(key for key, count in counts.items() if count or not rules.without_empty)
        draws, stream = size * len(listed), as_stream(random_state)
        if rules.truncated:
            noise = truncated_laplace_integers(scale, bound, draws, stream)
        else:
            noise = laplace_integers(scale, draws, stream)
        exact = [counts[key] for key in listed] * size
        released = np.array(chosen(exact, noise.tolist(), bound), dtype=np.float64)
        found = np.zeros((size, _KEYS))
        found[:, listed] = (released * (exact + noise) if rules.counts_shown else released).reshape(size, -1)
        return found

    return release


def _pairs(people: Iterable[int]) -> list[Pair]:
    """Return everybody against everybody but one, for each of some people."""
    return [([1.0] * len(_PEOPLE), [float(place != one) for place in range(len(_PEOPLE))]) for one in people]


def audit_cases(size: str) -> list[Case]:
    """Return the cases of keys chosen from the data, for the battery."""
    name, everybody = "unknown keys", _pairs(range(len(_PEOPLE)))
    return [
        statistical_case(
            name, _choosing(_Rules()), adjacent=everybody, claimed=_CLAIMS, delta=_DELTAS, samples=_SAMPLES[size]
        ),
        # The person of weight 0 must leave every bit as it was.
        replay_case(name, _choosing(_Rules(counts_shown=True)), adjacent=_pairs([1]), limits={1: 0.0}),
    ]


def _broken_by(broken_rules: _Rules) -> Callable[[bool], Table]:
    def build(broken: bool) -> Table:  # noqa: FBT001  (every build has this shape)
        return _choosing(broken_rules if broken else _Rules(counts_shown=broken_rules.counts_shown))

    return build


def _caught_by_chance(name: str, rules: _Rules, person: int) -> Mutant:
    return Mutant(name, by_statistics(_broken_by(rules), _pairs([person]), _CLAIMS, _DELTAS))


#: Keys chosen from the data, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    _caught_by_chance("unknown keys by plain thresholding", _Rules(truncated=False, without_empty=False), 1),
    _caught_by_chance("unknown keys, delta for each group", _Rules(delta=_GROUPS * _DELTA), 0),
    _caught_by_chance("unknown keys, counted in full in each group", _Rules(stretched=False), 3),
    Mutant(
        "unknown keys, noise for keys of nobody",
        by_replay(_broken_by(_Rules(without_empty=False, counts_shown=True)), _pairs([1]), {1: 0.0}, odd_values=False),
    ),
)
