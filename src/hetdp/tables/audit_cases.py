"""Audit cases of tables: every aggregate and the choice of keys through `release_table`, and the steps beneath it.

The guarantee says how many parts share epsilon equally; how wide the noise of each must be follows from how far one
person can move it, which the ranges in the call say.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, replay_case, scale_case, statistical_case
from hetdp.auditing.scales import PublicCall as FrontDoor, Reached
from hetdp.auditing.subjects import Pair
from hetdp.core.randomness import RandomState, as_stream
from hetdp.noise.truncated import truncated_laplace_integers
from hetdp.tables.aggregates import count, mean, total, variance
from hetdp.tables.answer import TableAnswer
from hetdp.tables.keys import chosen, key_noise_scale, threshold, unknown_keys
from hetdp.tables.plan import TablePlan, plan_table
from hetdp.tables.release import noisy_sums, release_table
from hetdp.tables.sources import open_source
from hetdp.tables.sums import GroupSums, group_sums

#: Groups that nobody is in, for all aggregates together, and for counts alone, where 2 % are seen.
_GROUPS, _MANY_GROUPS = 12_000, 212_000
_UPPER = 8.0
#: Keys that some people are in, and how many.
_KEYS, _MEMBERS, _PEOPLE_OF_KEYS = 8_000, (3, 4), (6, 9)
_DELTA = 0.01
#: Weights of people who are in a group, or not.
_DIALS = [1.0, 0.0, 0.4]
_MOST_GROUPS = 3
_SAMPLES = {"quick": 20_000, "full": 60_000}


def all_but(people: Sequence[int], n_people: int) -> list[Pair]:
    """Return everybody against everybody but one, for each of some people."""
    return [([1.0] * n_people, [float(place != one) for place in range(n_people)]) for one in people]


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
        chance = _above(bound - size * share, bound, 1.0)
        parts.append(Reached(f"keys of {size} people", found[members == size], "coins", chance))
    return parts


def _keys_of_people(random_state: RandomState) -> list[Reached]:
    """Look at which keys come out where each person is in as many keys as they may be counted in."""
    sizes = np.repeat(_PEOPLE_OF_KEYS, _KEYS // 4)
    rows = np.arange(sizes.sum())
    table = pa.table({"ward": np.repeat(np.arange(sizes.size), sizes), "person": rows % (rows.size // _MOST_GROUPS)})
    answer = release_table(
        table, {"people": count()}, epsilon=4.0, by={"ward": unknown_keys(delta=_DELTA)}, unit="person",
        max_groups=_MOST_GROUPS, random_state=random_state,
    )  # fmt: skip
    scale = _MOST_GROUPS / _share(answer)
    bound = scale * math.log((math.expm1(1 / scale) * _MOST_GROUPS / answer.guarantee.delta + 2) / 2)
    found = np.zeros(sizes.size, dtype=np.bool_)
    found[[row.key[0] for row in answer.rows]] = True
    return [
        Reached(f"keys of {size} people", found[sizes == size], "coins", _above(bound - size, bound, scale))
        for size in _PEOPLE_OF_KEYS
    ]


def _above(level: float, bound: float, scale: float) -> float:
    """Return the chance that Laplace noise, cut off at a bound, is above a level."""
    tail = (math.exp(-abs(level) / scale) - math.exp(-bound / scale)) / (2 * -math.expm1(-bound / scale))
    return tail if level >= 0 else 1 - tail


#: Every public way to a table, by name.
FRONT_DOORS: dict[str, FrontDoor] = {
    "hetdp.release_table, every aggregate": _aggregates,
    "hetdp.release_table, counts of people": _counts,
    "hetdp.release_table, unknown keys": _chosen_keys,
    "hetdp.release_table, unknown keys of people": _keys_of_people,
}


def _counted(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the count of each of many groups that the same people are in, or not."""
    dials = [dial for dial, there in zip(_DIALS, profile, strict=True) if there]
    groups = np.repeat(np.arange(size), len(dials))
    table = pa.table({"ward": groups, "dial": np.tile(dials, size)})
    by = {"ward": list(range(size))}
    answer = release_table(
        table, {"people": count()}, epsilon=1.0, by=by, weights="dial", random_state=random_state
    )  # fmt: skip
    return _values(answer, "people")[:, None]


# Keys chosen from the data. The subject is a list of people, present or absent, each with a weight and keys; what is
# looked at is which keys are released. Delta is as large as one in twenty, so that what it allows, and what exceeds it,
# happens in every audit.
_KEY_EPSILON, _KEY_DELTA, _STEPS = Fraction(1), Fraction(1, 20), 2**40
#: Weight and keys: alone in as many keys as there may be; with weight 0; beside others; in more keys than there may be;
#: with all of a third in one key.
_KEY_PEOPLE: Sequence[tuple[Fraction, Sequence[int]]] = (
    (Fraction(1), (0, 1, 2)),
    (Fraction(0), (3,)),
    (Fraction(1, 2), (4, 5)),
    (Fraction(1, 2), (6, 7, 8, 9, 10)),
    (Fraction(1, 3), (11,)),
)
#: People who are always there: as many as the bound, and a crowd.
_KEY_OTHERS = {5: 7 * _STEPS, 12: 1000 * _STEPS}
_ALL_KEYS = 13
KEY_CLAIMS = [float(_KEY_EPSILON * weight) for weight, _ in _KEY_PEOPLE]
KEY_DELTAS = [float(_KEY_DELTA * weight) for weight, _ in _KEY_PEOPLE]


def counts_of_keys(profile: Sequence[float]) -> dict[int, int]:
    """Return the exact stretched counts of the keys that somebody counts in."""
    counts = dict(_KEY_OTHERS)
    for there, (weight, keys) in zip(profile, _KEY_PEOPLE, strict=True):
        share = min(Fraction(1), _MOST_GROUPS * weight / len(keys))
        for key in keys if there and weight else ():
            counts[key] = counts.get(key, 0) + int(share * _STEPS)
    return counts


def chosen_keys(
    profile: Sequence[float], size: int, random_state: RandomState, *, counts_shown: bool = False
) -> NDArray[np.float64]:
    """Return which keys are released; for a replay, which compares to the last bit, their noisy counts too."""
    counts = counts_of_keys(profile)
    scale = key_noise_scale(_KEY_EPSILON, steps=_STEPS, groups=_MOST_GROUPS)
    bound = threshold(_KEY_EPSILON, _KEY_DELTA, steps=_STEPS, groups=_MOST_GROUPS)
    listed = sorted(counts)
    exact = [counts[key] for key in listed] * size
    noise = truncated_laplace_integers(scale, bound, len(exact), as_stream(random_state))
    released = np.array(chosen(exact, noise.tolist(), bound), dtype=np.float64)
    found = np.zeros((size, _ALL_KEYS))
    found[:, listed] = (released * (exact + noise) if counts_shown else released).reshape(size, -1)
    return found


# The noisy sums of a table with several rows per person. What is looked at is, for each person, the most telling number
# there is: the logarithm of how much likelier the noisy sums are with that person than without.
_WARDS = ("er", "icu", "lab")
#: A person's rows: ward, age, hours, weight. The smallest weight of all of them counts, also of rows that do not.
_PEOPLE: Sequence[Sequence[tuple[str, int, float, float]]] = (
    [("er", 30, 99.0, 1.0)],
    [("er", 40, 99.0, 0.5), ("icu", 40, 0.0, 0.5), ("lab", 40, 99.0, 0.5)],
    [("icu", 50, 99.0, 0.25)] * 40,
    [("lab", 20, 99.0, 1.0), ("lab", 12, 50.0, 0.25)],
    [("lab", 70, 60.0, 0.5)],
    [("er", 60, 99.0, 0.0), ("icu", 60, 0.0, 1.0)],
)
_COLUMNS = ("ward", "age", "hours", "dial", "person")
_WEIGHTS = [min(weight for *_, weight in rows) for rows in _PEOPLE]
SUM_CLAIMS = [2.0 * weight for weight in _WEIGHTS]
_SILENT = _WEIGHTS.index(0.0)


def sums_plan() -> TablePlan:
    """Return the plan whose noisy sums are looked at."""
    ends: dict[str, Any] = {"lower": 0, "upper": 99}
    asked = {"hours": mean("hours", **ends), "spread": variance("hours", **ends), "all": total("hours", **ends)}
    return plan_table(
        asked, epsilon=Fraction(2), by={"ward": list(_WARDS)}, weights="dial", unit="person", max_groups=2,
        where="age >= 18",
    )  # fmt: skip


def rows_of(profile: Sequence[float]) -> list[tuple[Any, ...]]:
    """Return the rows of those who are present."""
    return [(*row, person) for person, rows in enumerate(_PEOPLE) if profile[person] for row in rows]


def exact_sums(profile: Sequence[float]) -> GroupSums:
    """Return the sums of a table of those who are present, added up by Arrow."""
    rows = rows_of(profile)
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)})
    with open_source(table, numbers=["hours", "dial", "age"]) as source:
        return group_sums(source, sums_plan().question)


@lru_cache(maxsize=64)
def _known_sums(profile: tuple[float, ...]) -> GroupSums:
    return exact_sums(profile)


def telling_sums(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return how telling the noisy sums are about each person."""
    plan, keys = sums_plan(), [(ward,) for ward in _WARDS]

    def vector(people: Sequence[float]) -> NDArray[np.float64]:
        found = _known_sums(tuple(people))
        return np.array([[found.get(key, {}).get(one, 0) for key in keys] for one in plan.released], dtype=np.float64)

    scales = np.array([float(plan.spread(added)) for added in plan.released])[:, None]
    noisy = noisy_sums(plan, keys * size, _known_sums(tuple(profile)), as_stream(random_state))
    seen = np.array(list(noisy.values()), dtype=np.float64).reshape(len(noisy), size, len(keys)).swapaxes(0, 1)
    told = []
    for everybody, others in all_but(range(len(_PEOPLE)), len(_PEOPLE)):
        ratios = (np.abs(seen - vector(others)) - np.abs(seen - vector(everybody))) / scales
        told.append(ratios.sum(axis=(1, 2)))
    return np.array(told).T


def audit_cases(size: str) -> list[Case]:
    """Return the cases of tables."""
    samples, n_keys, n_sums = _SAMPLES[size], len(_KEY_PEOPLE), len(_PEOPLE)
    cases = [
        statistical_case(
            "unknown keys", chosen_keys, adjacent=all_but(range(n_keys), n_keys), claimed=KEY_CLAIMS,
            delta=KEY_DELTAS, samples=samples,
        ),
        # A person of weight 0 must leave every bit as it was.
        replay_case(
            "unknown keys", partial(chosen_keys, counts_shown=True), adjacent=all_but([1], n_keys), limits={1: 0.0}
        ),
        statistical_case(
            "sums of a table", telling_sums, adjacent=all_but(range(n_sums), n_sums), claimed=SUM_CLAIMS,
            samples=samples,
        ),
        replay_case("sums of a table", telling_sums, adjacent=all_but([_SILENT], n_sums), limits={_SILENT: 0.0}),
    ]  # fmt: skip
    if size == "quick":
        return cases
    everybody = all_but(range(len(_DIALS)), len(_DIALS))
    return [
        *cases,
        *(scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()),
        replay_case("hetdp.release_table, counts", _counted, adjacent=everybody[1:2], limits={1: 0.0}),
        statistical_case("hetdp.release_table, counts", _counted, adjacent=everybody, claimed=_DIALS, samples=30_000),
    ]
