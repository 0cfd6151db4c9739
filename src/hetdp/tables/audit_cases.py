"""Audit cases of tables: every aggregate, and the choice of keys, through `release_table`.

The guarantee says how many parts share epsilon equally. How wide the noise of each part must be follows from how far
one person can move it, which the ranges in the call say.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.randomness import RandomState
from hetdp.tables.aggregates import count, mean, total, variance
from hetdp.tables.answer import TableAnswer
from hetdp.tables.keys import unknown_keys
from hetdp.tables.release import release_table

Floats = NDArray[np.float64]

_UPPER, _MOST_GROUPS = 8.0, 3
#: Weights of people who are in a group, or not.
_WEIGHTS = [1.0, 0.0, 0.4]


def _nobody(**columns: Any) -> pa.Table:  # noqa: ANN401  (cells of any kind)
    return pa.table({"ward": pa.array([-1], pa.int64()), "hours": [0.0], "weight": [1.0], **columns})


def _share(answer: TableAnswer) -> float:
    """Return the part of epsilon that each part of an answer has, from what the guarantee says."""
    return answer.guarantee.amount / len(answer.plan.split)


def _values(answer: TableAnswer, name: str) -> Floats:
    return np.array([row.value for row in answer.rows if row.aggregate == name])


def _aggregates(random_state: RandomState, *, groups: int = 12_000) -> list[Reached]:
    """Measure all aggregates of empty groups: each is made of noisy sums, which follow from all aggregates together."""
    ends = {"lower": 0, "upper": _UPPER}
    asked = {"people": count(), "all": total("hours", **ends), "mean": mean("hours", **ends)}
    asked["spread"] = variance("hours", **ends)
    by = {"ward": list(range(groups))}
    answer = release_table(_nobody(), asked, epsilon=2.0, by=by, weights="weight", random_state=random_state)
    people, means = _values(answer, "people"), _values(answer, "mean") - _UPPER / 2
    squares = _values(answer, "spread") - _UPPER**2 / 8 + means**2  # around the middle of what squares can be
    share = _share(answer)
    return [
        Reached("count", people * share),
        Reached("total", _values(answer, "all") * share / _UPPER),
        Reached("sum behind the mean", means * people * share / (_UPPER / 2)),
        Reached("squares behind the variance", squares * people * share / (_UPPER**2 / 8)),
    ]


def _counts(random_state: RandomState, *, groups: int = 212_000) -> list[Reached]:
    """Measure many counts of empty groups, so that 2 % are seen; a person may be in several groups."""
    answer = release_table(
        _nobody(person=[1]), {"people": count()}, epsilon=1.0, by={"ward": list(range(groups))}, unit="person",
        max_groups=_MOST_GROUPS, weights="weight", random_state=random_state,
    )  # fmt: skip
    return [Reached("count", _values(answer, "people") * _share(answer) / _MOST_GROUPS)]


def _keys(
    random_state: RandomState, *, members: Sequence[int], each: int, groups: int, epsilon: float
) -> list[Reached]:
    """Measure which keys are released, and their counts; each person is in as many keys as they may be counted in."""
    sizes = np.repeat(members, each)
    rows = np.arange(sizes.sum())
    columns, asked = {"ward": np.repeat(np.arange(sizes.size), sizes)}, dict[str, Any]()
    if groups > 1:
        columns["person"] = rows % (rows.size // groups)
        asked = {"unit": "person", "max_groups": groups}
    by = {"ward": unknown_keys(delta=0.01)}
    answer = release_table(
        pa.table(columns), {"people": count()}, epsilon=epsilon, by=by, random_state=random_state, **asked
    )
    named, level = np.array([row.key[0] for row in answer.rows], dtype=np.int64), _share(answer)
    found = np.isin(np.arange(sizes.size), named)
    return [
        Reached("counts of chosen keys", (_values(answer, "people") - sizes[named]) * level / groups),
        *(
            Reached(
                f"keys of {size} people", found[sizes == size], "coins",
                chance_of_key(size, level=level, delta=answer.guarantee.delta, groups=groups),
            )
            for size in members
        ),
    ]  # fmt: skip


def chance_of_key(people: float, *, level: float, delta: float, groups: int = 1) -> float:
    """Return the probability that a key is released, by the number of people in it.

    Their count gets Laplace noise that is truncated at a bound, and the key is released if the sum is above that bound.
    `level` and `delta` are the shares of the choice; each person counts in up to `groups` keys.
    """
    scale = groups / level
    bound = scale * math.log((math.expm1(level / groups) * groups / delta + 2) / 2)
    tail = (math.exp(-abs(bound - people) / scale) - math.exp(-bound / scale)) / (2 * -math.expm1(-bound / scale))
    return tail if people <= bound else 1 - tail


#: Every public way to a table, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
    "hetdp.release_table, every aggregate": _aggregates,
    "hetdp.release_table, counts of people": _counts,
    "hetdp.release_table, unknown keys": partial(_keys, members=(3, 4), each=8_000, groups=1, epsilon=2.0),
    "hetdp.release_table, unknown keys of people": partial(
        _keys, members=(6, 9), each=2_000, groups=_MOST_GROUPS, epsilon=4.0
    ),
}


def _counted(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return the count of each of many groups that the same people are in, or not."""
    weights = [weight for weight, there in zip(_WEIGHTS, profile, strict=True) if there]
    table = pa.table({"ward": np.repeat(np.arange(size), len(weights)), "weight": np.tile(weights, size)})
    by = {"ward": list(range(size))}
    answer = release_table(
        table, {"people": count()}, epsilon=1.0, by=by, weights="weight", random_state=random_state
    )  # fmt: skip
    return _values(answer, "people")[:, None]


def audit_cases(size: str) -> list[Case]:
    """Return the cases of tables."""
    name, n_people = "hetdp.release_table, counts", len(_WEIGHTS)
    cases = [scale_case(way, call) for way, call in PUBLIC_CALLS.items()]
    cases.append(weight_zero_case(name, _counted, 1, n_people))
    if size == "quick":
        return cases
    everybody = without(range(n_people), n_people)
    return [*cases, statistical_case(name, _counted, adjacent=everybody, claimed=_WEIGHTS, samples=30_000)]
