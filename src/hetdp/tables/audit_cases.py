"""Audit cases of tables: every aggregate and the choice of keys through `release_table`, and the steps beneath it.

The guarantee says how many parts share epsilon equally. How wide the noise of each part must be follows from how far
one person can move it, which the ranges in the call say.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hetdp.auditing.audit_all import SAMPLES, Case, scale_case, statistical_case, weight_zero_case, without
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.core.randomness import RandomState, as_stream
from hetdp.noise.samplers import truncated_laplace_integers
from hetdp.tables.aggregates import count, mean, total, variance
from hetdp.tables.answer import TableAnswer
from hetdp.tables.keys import chosen, key_noise_scale, threshold, unknown_keys
from hetdp.tables.plan import TablePlan, plan_table
from hetdp.tables.release import noisy_sums, release_table
from hetdp.tables.sources import open_source
from hetdp.tables.sums import GroupSums, group_sums

Floats = NDArray[np.float64]

_UPPER, _MOST_GROUPS, _DELTA = 8.0, 3, 0.01
#: Keys of each size, and their sizes in people: of one key per person, and of three.
_KEYS, _MEMBERS, _PEOPLE_OF_KEYS = 8_000, (3, 4), (6, 9)
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


def _released_keys(table: pa.Table, sizes: NDArray[np.int64], *, groups: int, **settings: Any) -> list[Reached]:  # noqa: ANN401
    """Measure which keys are released, and the counts of the released ones."""
    answer = release_table(table, {"people": count()}, by={"ward": unknown_keys(delta=_DELTA)}, **settings)
    found = np.zeros(sizes.size, dtype=np.bool_)
    named = np.array([row.key[0] for row in answer.rows], dtype=np.int64)
    found[named] = True
    level, delta = _share(answer), answer.guarantee.delta
    coins = [
        Reached(
            f"keys of {size} people", found[sizes == size], "coins",
            chance_of_key(size, level=level, delta=delta, groups=groups),
        )
        for size in np.unique(sizes).tolist()
    ]  # fmt: skip
    counts = Reached("counts of chosen keys", (_values(answer, "people") - sizes[named]) * level)
    return [counts, *coins] if groups == 1 else coins


def _keys_of_rows(random_state: RandomState) -> list[Reached]:
    sizes = np.repeat(_MEMBERS, _KEYS)
    table = pa.table({"ward": np.repeat(np.arange(sizes.size), sizes)})
    return _released_keys(table, sizes, groups=1, epsilon=2.0, random_state=random_state)


def _keys_of_people(random_state: RandomState) -> list[Reached]:
    """Measure keys where each person is in as many keys as they may be counted in."""
    sizes = np.repeat(_PEOPLE_OF_KEYS, _KEYS // 4)
    rows = np.arange(sizes.sum())
    table = pa.table({"ward": np.repeat(np.arange(sizes.size), sizes), "person": rows % (rows.size // _MOST_GROUPS)})
    settings = {"unit": "person", "max_groups": _MOST_GROUPS, "random_state": random_state}
    return _released_keys(table, sizes, groups=_MOST_GROUPS, epsilon=4.0, **settings)


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
    "hetdp.release_table, unknown keys": _keys_of_rows,
    "hetdp.release_table, unknown keys of people": _keys_of_people,
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


# Keys chosen from the data. The profile says which people are present; each has a weight and keys. The output is which
# keys are released. Delta is 1/20, so that what it allows, and what exceeds it, happens in every audit.
_KEY_EPSILON, _KEY_DELTA, _STEPS = Fraction(1), Fraction(1, 20), 2**40
#: Weight and keys: alone in as many keys as there may be; with weight 0; beside others; in more keys than there may be;
#: with a weight of a third in one key.
_KEY_PEOPLE: Sequence[tuple[Fraction, Sequence[int]]] = (
    (Fraction(1), (0, 1, 2)),
    (Fraction(0), (3,)),
    (Fraction(1, 2), (4, 5)),
    (Fraction(1, 2), (6, 7, 8, 9, 10)),
    (Fraction(1, 3), (11,)),
)
#: Counts of people who are always there: as many as the bound, and a thousand.
_KEY_OTHERS, _ALL_KEYS = {5: 7 * _STEPS, 12: 1000 * _STEPS}, 13
KEY_CLAIMS = [float(_KEY_EPSILON * weight) for weight, _ in _KEY_PEOPLE]
KEY_DELTAS = [float(_KEY_DELTA * weight) for weight, _ in _KEY_PEOPLE]


def counts_of_keys(profile: Sequence[float]) -> dict[int, int]:
    """Return the exact stretched counts of the keys in which a person of positive weight is."""
    counts = dict(_KEY_OTHERS)
    for there, (weight, keys) in zip(profile, _KEY_PEOPLE, strict=True):
        share = min(Fraction(1), _MOST_GROUPS * weight / len(keys))
        for key in keys if there and weight else ():
            counts[key] = counts.get(key, 0) + int(share * _STEPS)
    return counts


def chosen_keys(
    profile: Sequence[float], size: int, random_state: RandomState, *, counts_shown: bool = False
) -> Floats:
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


# The noisy sums of a table with several rows per person. The output is, for each person, the log-likelihood ratio of
# the noisy sums with and without that person: no other number says more about them.
_WARDS = ("er", "icu", "lab")
#: A person's rows: ward, age, hours, weight. The smallest weight of all rows counts, also of rows that are left out.
_PEOPLE: Sequence[Sequence[tuple[str, int, float, float]]] = (
    [("er", 30, 99.0, 1.0)],
    [("er", 40, 99.0, 0.5), ("icu", 40, 0.0, 0.5), ("lab", 40, 99.0, 0.5)],
    [("icu", 50, 99.0, 0.25)] * 40,
    [("lab", 20, 99.0, 1.0), ("lab", 12, 50.0, 0.25)],
    [("lab", 70, 60.0, 0.5)],
    [("er", 60, 99.0, 0.0), ("icu", 60, 0.0, 1.0)],
)
_COLUMNS = ("ward", "age", "hours", "weight", "person")
_SMALLEST = [min(weight for *_, weight in rows) for rows in _PEOPLE]
SUM_CLAIMS = [2.0 * weight for weight in _SMALLEST]


def sums_plan() -> TablePlan:
    """Return the plan of the noisy sums."""
    ends: dict[str, Any] = {"lower": 0, "upper": 99}
    asked = {"hours": mean("hours", **ends), "spread": variance("hours", **ends), "all": total("hours", **ends)}
    return plan_table(
        asked, epsilon=Fraction(2), by={"ward": list(_WARDS)}, weights="weight", unit="person", max_groups=2,
        where="age >= 18",
    )  # fmt: skip


def rows_of(profile: Sequence[float]) -> list[tuple[Any, ...]]:
    """Return the rows of those who are present."""
    return [(*row, person) for person, rows in enumerate(_PEOPLE) if profile[person] for row in rows]


def exact_sums(profile: Sequence[float]) -> GroupSums:
    """Return the sums of a table of those who are present, added up by Arrow."""
    rows = rows_of(profile)
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)})
    with open_source(table, numbers=["hours", "weight", "age"]) as source:
        return group_sums(source, sums_plan().question)


@lru_cache(maxsize=64)
def _known_sums(profile: tuple[float, ...]) -> GroupSums:
    return exact_sums(profile)


def likelihood_ratios(profile: Sequence[float], size: int, random_state: RandomState) -> Floats:
    """Return the log-likelihood ratio of the noisy sums for each person."""
    plan, keys = sums_plan(), [(ward,) for ward in _WARDS]

    def vector(people: Sequence[float]) -> Floats:
        found = _known_sums(tuple(people))
        return np.array([[found.get(key, {}).get(one, 0) for key in keys] for one in plan.released], dtype=np.float64)

    scales = np.array([float(plan.spread(added)) for added in plan.released])[:, None]
    noisy = noisy_sums(plan, keys * size, _known_sums(tuple(profile)), as_stream(random_state))
    seen = np.array(list(noisy.values()), dtype=np.float64).reshape(len(noisy), size, len(keys)).swapaxes(0, 1)
    ratios = [
        ((np.abs(seen - vector(others)) - np.abs(seen - vector(everybody))) / scales).sum(axis=(1, 2))
        for everybody, others in without(range(len(_PEOPLE)), len(_PEOPLE))
    ]
    return np.array(ratios).T


def audit_cases(size: str) -> list[Case]:
    """Return the cases of tables."""
    n_keys, n_sums, n_people = len(_KEY_PEOPLE), len(_PEOPLE), len(_WEIGHTS)
    everybody, all_keys, all_sums = (without(range(number), number) for number in (n_people, n_keys, n_sums))
    shown, silent = partial(chosen_keys, counts_shown=True), _SMALLEST.index(0.0)
    keys: dict[str, Any] = {"adjacent": all_keys, "claimed": KEY_CLAIMS, "delta": KEY_DELTAS}
    sums: dict[str, Any] = {"adjacent": all_sums, "claimed": SUM_CLAIMS}
    cases = [
        statistical_case("unknown keys", chosen_keys, **keys, samples=SAMPLES[size]),
        weight_zero_case("unknown keys", shown, 1, n_keys),
        statistical_case("sums of a table", likelihood_ratios, **sums, samples=SAMPLES[size]),
        weight_zero_case("sums of a table", likelihood_ratios, silent, n_sums),
    ]
    if size == "quick":
        return cases
    name = "hetdp.release_table, counts"
    return [
        *cases,
        *(scale_case(way, call) for way, call in PUBLIC_CALLS.items()),
        weight_zero_case(name, _counted, 1, n_people),
        statistical_case(name, _counted, adjacent=everybody, claimed=_WEIGHTS, samples=30_000),
    ]
