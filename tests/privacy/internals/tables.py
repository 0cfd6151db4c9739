"""Steps beneath `release_table`: keys chosen from the data, and the noisy sums of people."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hetdp.auditing.audit_all import Case, statistical_case, weight_zero_case, without
from hetdp.core.randomness import RandomState, as_stream
from hetdp.noise.samplers import truncated_laplace_integers
from hetdp.tables.aggregates import mean, total, variance
from hetdp.tables.keys import chosen, key_noise_scale, threshold
from hetdp.tables.plan import TablePlan, plan_table
from hetdp.tables.release import noisy_sums
from hetdp.tables.sources import open_source
from hetdp.tables.sums import GroupSums, group_sums
from tests.privacy.internals import SAMPLES

Floats = NDArray[np.float64]

_MOST_GROUPS = 3

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


_N_KEYS, _N_SUMS = len(_KEY_PEOPLE), len(_PEOPLE)
_EVERY_KEY, _EVERYBODY = without(range(_N_KEYS), _N_KEYS), without(range(_N_SUMS), _N_SUMS)

CASES: list[Case] = [
    statistical_case(
        "unknown keys", chosen_keys, adjacent=_EVERY_KEY, claimed=KEY_CLAIMS, delta=KEY_DELTAS, samples=SAMPLES
    ),
    weight_zero_case("unknown keys", partial(chosen_keys, counts_shown=True), 1, _N_KEYS),
    statistical_case("sums of a table", likelihood_ratios, adjacent=_EVERYBODY, claimed=SUM_CLAIMS, samples=SAMPLES),
    weight_zero_case("sums of a table", likelihood_ratios, _SMALLEST.index(0.0), _N_SUMS),
]
