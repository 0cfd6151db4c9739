"""Names of items chosen for recommendations, as everybody meets them: through `PrivateNeighbors`.

What is looked at is which items are named. The crowd has as many copies of the six items of the subject as there are
runs, each counted by a few others besides, so that one more or less decides; noise is drawn for each copy by itself.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, by_statistics
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.core.errors import HetdpWarning
from hetdp.core.randomness import RandomState, as_stream
from hetdp.neighbors import catalogue
from hetdp.neighbors.engines.audit_crowd import ITEMS, WEIGHTS, Subject, without
from hetdp.neighbors.engines.base import VOTES_NAMES_SHARE
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.profiles import Profiles
from hetdp.tables.names import chosen_names

__all__ = ["MUTANTS", "audit_cases"]

_SAMPLES = {"quick": 20_000, "full": 60_000}
#: Level of the recommendations, at which names have a level of 1.
_LEVEL, _DELTA = 1 / VOTES_NAMES_SHARE, Fraction(1, 20)
_CLAIMS, _DELTAS = WEIGHTS, [float(_DELTA) * weight for weight in WEIGHTS]
#: Weights of others who count every copy of every item: together they are below the bound, whoever is missing.
_OTHERS = (1.0, 0.25)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of private names, for the battery."""
    name = "recommendations, private names"
    return [
        statistical_case(
            name, _named, adjacent=without((0, 1, 2, 3)), claimed=_CLAIMS, delta=_DELTAS, samples=_SAMPLES[size]
        ),
        replay_case(name, _named, adjacent=without([1]), limits={1: 0.0}),
    ]


def _named(
    profile: Sequence[float], size: int, random_state: RandomState, *, epsilon: Fraction | None = None
) -> NDArray[np.float64]:
    """Return which of the six items are named, for each copy of them; at another level, if there is one."""
    items = [place for place, present in enumerate(profile) if present >= 0.5]  # noqa: PLR2004  (indicators)
    own = (np.arange(size)[:, None] * ITEMS + np.array(items, dtype=np.int64)).ravel()
    everything = np.arange(ITEMS * size)
    profiles = Profiles.from_pairs(
        np.concatenate([np.zeros(own.size, dtype=np.int64), np.repeat([1, 2], everything.size)]),
        np.concatenate([own, np.tile(everything, 2)]),
        np.concatenate([np.tile([WEIGHTS[item] for item in items], size), np.repeat(_OTHERS, everything.size)]),
        user_ids=range(3),
    )
    model = PrivateNeighbors(1, n_voters=1, delta=_DELTA, random_state=as_stream(random_state)).fit(profiles)
    choosing = chosen_names if epsilon is None else _at_level(epsilon)
    with patch.object(catalogue, "chosen_names", choosing), catch_warnings():
        simplefilter("ignore", HetdpWarning)  # in a small crowd, there may be no name
        model.recommend(1, epsilon=_LEVEL)
    found = np.zeros(everything.size)
    found[model.item_ids_.astype(np.int64)] = 1.0
    return found.reshape(size, ITEMS)


def _at_level(epsilon: Fraction) -> Callable[..., NDArray[np.bool_]]:
    def choosing(counts: NDArray[np.int64], **levels: Any) -> NDArray[np.bool_]:  # noqa: ANN401  (of all kinds)
        return chosen_names(counts, **{**levels, "epsilon": epsilon})

    return choosing


def _with_all_of_it(broken: bool) -> Subject:  # noqa: FBT001  (every build has this shape)
    """Names take the whole level of the recommendations, and not their share of it."""
    return partial(_named, epsilon=_LEVEL) if broken else _named


#: Private names, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    Mutant("names at the full level", by_statistics(_with_all_of_it, without([3]), {3: 1.0}, {3: float(_DELTA)})),
)
