"""The crowd in which engines are audited: a user with six items, strangers, and as many equal recipients as runs.

One user's profile is the subject: which of six items the user has. What is looked at is all that one recipient gets
from the engine. Engines serve many recipients at once, so many equal recipients are as many runs.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.mechanisms.examples import WEIGHTS
from hetdp.profiles import Profiles
from hetdp.profiles.steps import CodedProfiles, Holdings, code_profiles

__all__ = ["EPSILON", "ITEMS", "WEIGHTS", "Subject", "population", "recipients", "without"]

#: What is audited: from a profile, how many runs and a random state to what is seen, one row per run.
Subject: TypeAlias = Callable[..., NDArray[np.float64]]

ITEMS = len(WEIGHTS)
EPSILON = Fraction(1)
_STRANGERS = 40


def without(items: Sequence[int]) -> list[Pair]:
    """Return the full profile against the one without an item, for each of some items."""
    return [([1.0] * ITEMS, [float(place != item) for place in range(ITEMS)]) for item in items]


def population(profile: Sequence[float], weights: Sequence[float] = WEIGHTS, copies: int = 1) -> CodedProfiles:
    """Return strangers with nothing in common with anybody, after so many users with the given profile."""
    items = [place for place, present in enumerate(profile) if present >= 0.5]  # noqa: PLR2004  (indicators)
    users = np.repeat(np.arange(copies), len(items))
    lonely = np.arange(copies, copies + _STRANGERS)
    pairs = Profiles.from_pairs(
        np.concatenate([users, lonely]),
        np.concatenate([np.tile(items, copies), lonely - copies + ITEMS]).astype(np.int64),
        np.concatenate([np.tile([weights[item] for item in items], copies), np.ones(_STRANGERS)]),
        user_ids=np.arange(copies + _STRANGERS),
        item_ids=np.arange(ITEMS + _STRANGERS),
    )
    return code_profiles(pairs)


def recipients(count: int, after: Sequence[float] | None = None) -> Holdings:
    """Return so many recipients who have all six items; after one with the given profile, if there is one."""
    first = np.flatnonzero(np.array(after) >= 0.5) if after is not None else np.empty(0, dtype=np.intp)  # noqa: PLR2004
    sizes = [*([] if after is None else [first.size]), *[ITEMS] * count]
    items = np.concatenate([first, np.tile(np.arange(ITEMS), count)]).astype(np.int32)
    return Holdings(np.cumsum([0, *sizes], dtype=np.int64), items)
