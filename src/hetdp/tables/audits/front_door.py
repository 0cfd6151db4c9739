"""`hetdp.release_table` by the front door: every aggregate and the choice of keys, against the guarantee beside them.

The guarantee says how many parts share epsilon equally; how wide the noise of each must be follows from how far one
person can move it, which the ranges in the call say.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, behind, narrower, told_otherwise
from hetdp.auditing.registry import Case, scale_case, statistical_case
from hetdp.auditing.scales import FrontDoor, Reached
from hetdp.core.randomness import RandomState
from hetdp.tables import release
from hetdp.tables.aggregates import count, mean, total, variance
from hetdp.tables.answer import TableAnswer
from hetdp.tables.keys import unknown_keys
from hetdp.tables.plan import TablePlan
from hetdp.tables.release import release_table
from hetdp.tables.sums import PEOPLE, Sum

__all__ = ["FRONT_DOORS", "MUTANTS", "audit_cases"]

#: Groups that nobody is in, for all aggregates together, and for counts alone, where 2 % are seen.
_GROUPS, _MANY_GROUPS = 12_000, 212_000
_UPPER = 8.0
#: Keys that some people are in, and how many.
_KEYS, _MEMBERS = 8_000, (3, 4)
_DELTA = 0.01
#: Dials of people who are in a group, or not.
_DIALS = [1.0, 0.0, 0.4]
_EVERYBODY = [1.0] * len(_DIALS)
_MOST_GROUPS = 3


def _nobody(**columns: Any) -> pa.Table:  # noqa: ANN401  (cells of any kind)
    return pa.table({"ward": pa.array([-1], pa.int64()), "hours": [0.0], "dial": [1.0], **columns})


def _share(answer: TableAnswer) -> float:
    """Return the part of epsilon that each part of an answer has, from what the guarantee says."""
    return answer.guarantee.amount / len(answer.plan.split)


def _values(answer: TableAnswer, name: str) -> NDArray[np.float64]:
    return np.array([row.value for row in answer.rows if row.aggregate == name])


def _aggregates(random_state: RandomState, *, groups: int = _GROUPS) -> list[Reached]:
    """Look at all aggregates of empty groups: each is made of noisy sums that can be had back from all of them."""
    ends = {"lower": 0, "upper": _UPPER}
    asked = {"people": count(), "all": total("hours", **ends), "mean": mean("hours", **ends)}
    asked["spread"] = variance("hours", **ends)
    answer = release_table(
        _nobody(), asked, epsilon=2.0, by={"ward": list(range(groups))}, weights="dial", random_state=random_state
    )
    people, means = _values(answer, "people"), _values(answer, "mean") - _UPPER / 2
    squares = _values(answer, "spread") - _UPPER**2 / 8 + means**2  # around the middle of what squares can be
    share = _share(answer)
    return [
        Reached("count", people * share),
        Reached("total", _values(answer, "all") * share / _UPPER),
        Reached("sum behind the mean", means * people * share / (_UPPER / 2)),
        Reached("squares behind the variance", squares * people * share / (_UPPER**2 / 8)),
    ]


def _counts(random_state: RandomState, *, groups: int = _MANY_GROUPS) -> list[Reached]:
    """Look at many counts of empty groups, in several of which a person may be."""
    by = {"ward": list(range(groups))}
    answer = release_table(
        _nobody(person=[1]), {"people": count()}, epsilon=1.0, by=by, unit="person", max_groups=_MOST_GROUPS,
        weights="dial", random_state=random_state,
    )  # fmt: skip
    return [Reached("count", _values(answer, "people") * _share(answer) / _MOST_GROUPS)]


def _chosen_keys(random_state: RandomState) -> list[Reached]:
    """Look at which keys come out that three or four people are in, and at how many people they then seem to have."""
    keys = np.arange(_KEYS * len(_MEMBERS))
    members = np.repeat(_MEMBERS, _KEYS)
    answer = release_table(
        pa.table({"ward": np.repeat(keys, members)}), {"people": count()}, epsilon=2.0,
        by={"ward": unknown_keys(delta=_DELTA)}, random_state=random_state,
    )  # fmt: skip
    share = _share(answer)
    bound = math.log((math.expm1(share) / answer.guarantee.delta + 2) / 2)
    found = np.zeros(keys.size, dtype=np.bool_)
    chosen = np.array([row.key[0] for row in answer.rows], dtype=np.int64)
    found[chosen] = True
    parts = [Reached("counts of chosen keys", (_values(answer, "people") - members[chosen]) * share)]
    for size in _MEMBERS:
        beyond = bound - size * share  # what noise, cut off at the bound, must be above
        chance = (math.exp(-beyond) - math.exp(-bound)) / (2 * -math.expm1(-bound))
        if beyond < 0:
            chance = 1 - (math.exp(beyond) - math.exp(-bound)) / (2 * -math.expm1(-bound))
        parts.append(Reached(f"keys of {size} people", found[members == size], "coins", chance))
    return parts


#: Every public way to a table, by name.
FRONT_DOORS: dict[str, FrontDoor] = {
    "hetdp.release_table, every aggregate": _aggregates,
    "hetdp.release_table, counts of people": _counts,
    "hetdp.release_table, unknown keys": _chosen_keys,
}


def _counted(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the count of each of many groups that the same people are in, or not."""
    dials = [dial for dial, there in zip(_DIALS, profile, strict=True) if there >= 0.5]  # noqa: PLR2004  (indicators)
    groups = np.repeat(np.arange(size), len(dials))
    table = pa.table({"ward": groups, "dial": np.tile(dials, size)})
    by = {"ward": list(range(size))}
    answer = release_table(
        table, {"people": count()}, epsilon=1.0, by=by, weights="dial", random_state=random_state
    )  # fmt: skip
    return _values(answer, "people")[:, None]


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `release_table`, for the battery."""
    if size == "quick":
        return []
    pairs = [(_EVERYBODY, [float(place != one) for place in range(len(_DIALS))]) for one in range(len(_DIALS))]
    return [
        *(scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()),
        statistical_case("hetdp.release_table, counts", _counted, adjacent=pairs, claimed=_DIALS, samples=30_000),
    ]


def _spread(factor: Callable[[TablePlan, Sum], Fraction]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return how to make the width of noise of what it should be."""
    return lambda real: lambda plan, added: real(plan, added) * factor(plan, added)


def _twice(level: Any) -> Any:  # noqa: ANN401  (a number of any make)
    return 2 * level


def _only(kind: Callable[[Sum], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return _spread(lambda plan, added: Fraction(1, len(plan.shares)) if kind(added) else Fraction(1))


#: Smaller, for what is far off.
_few_aggregates, _few_counts = partial(_aggregates, groups=2_000), partial(_counts, groups=2_000)

#: Splits of a table, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    behind(
        _few_aggregates,
        "table, a denominator at the full level",
        TablePlan,
        spread=_only(lambda added: added == PEOPLE),
    ),
    behind(_few_aggregates, "table, a total at the full level", TablePlan, spread=_only(lambda added: added.added_up)),
    behind(
        _few_aggregates,
        "table, squares at the full level",
        TablePlan,
        spread=_only(lambda added: added.power == 2),  # noqa: PLR2004
    ),
    behind(_counts, "table, noise 2 % too small", release, laplace_integers=narrower(Fraction(98, 100))),
    behind(
        _few_counts,
        "table, noise as for one group",
        TablePlan,
        spread=_spread(lambda plan, _: Fraction(1, plan.question.max_groups)),
    ),
    behind(
        _chosen_keys,
        "table, counts at the full level beside keys",
        TablePlan,
        spread=_spread(lambda plan, _: (plan.epsilon - plan.keys_share) / plan.epsilon),
    ),
    behind(_chosen_keys, "unknown keys at the full level", release, choose=told_otherwise(epsilon=_twice)),
    behind(_chosen_keys, "unknown keys at twice delta", release, choose=told_otherwise(delta=_twice)),
)
