"""The noisy sums of a table with several rows per person, in the eyes of an attacker who knows everything else.

The subject is a list of people, present or absent. What is looked at is, for each of them, the most telling number
there is: the logarithm of how much likelier the noisy sums are with that person than without.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import Mutant, by_statistics
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.core.randomness import RandomState, as_stream
from hetdp.tables.aggregates import mean, total, variance
from hetdp.tables.plan import TablePlan, plan_table
from hetdp.tables.release import noisy_sums
from hetdp.tables.sources import open_source
from hetdp.tables.sums import PEOPLE, GroupSums, Question, group_sums

__all__ = ["MUTANTS", "audit_cases"]

Telling: TypeAlias = Callable[[Sequence[float], int, RandomState], NDArray[np.float64]]

_WARDS = ("er", "icu", "lab")
#: A person's rows: ward, age, hours, dial. The smallest dial of all of them counts, also of rows that do not.
_PEOPLE: Sequence[Sequence[tuple[str, int, float, float]]] = (
    [("er", 30, 99.0, 1.0)],
    [("er", 40, 99.0, 0.5), ("icu", 40, 0.0, 0.5), ("lab", 40, 99.0, 0.5)],
    [("icu", 50, 99.0, 0.25)] * 40,
    [("lab", 20, 99.0, 1.0), ("lab", 12, 50.0, 0.25)],
    [("lab", 70, 60.0, 0.5)],
    [("er", 60, 99.0, 0.0), ("icu", 60, 0.0, 1.0)],
)
_DIALS = [min(dial for *_, dial in rows) for rows in _PEOPLE]
_COLUMNS = ("ward", "age", "hours", "dial", "person")
_AGGREGATES = {
    "hours": mean("hours", lower=0, upper=99),
    "spread": variance("hours", lower=0, upper=99),
    "all": total("hours", lower=0, upper=99),
}
_SAMPLES = {"quick": 20_000, "full": 60_000}
#: What an attacker makes of a number without noise.
_CERTAIN = 50.0


def _plan(*, max_groups: int = 2) -> TablePlan:
    return plan_table(
        _AGGREGATES, epsilon=Fraction(2), by={"ward": list(_WARDS)}, weights="dial", unit="person",
        max_groups=max_groups, where="age >= 18",
    )  # fmt: skip


@dataclass(frozen=True)
class _Handling:
    """How a table is handled; the defaults keep the promise."""

    #: Whether the count, which means are divided by, gets noise.
    noise_on_counts: bool = True
    #: Whether all rows of a person count once together.
    by_person: bool = True
    #: Whether who is in more groups counts less in each.
    stretched: bool = True
    #: Whether rows that do not count take part in a person's dial.
    all_dials: bool = True
    #: Whether the sums share one epsilon.
    split: bool = True
    #: What people away from the ends of the range add to the sum that is free, compared with what may be.
    room: int = 1

    def question(self, plan: TablePlan) -> Question:
        """Return what is added up."""
        asked = plan.question if self.stretched else replace(plan.question, max_groups=99)
        return asked if self.by_person else replace(asked, unit=None, max_groups=1)

    def plan(self) -> TablePlan:
        """Return the plan that noise is drawn by."""
        plan = _plan()
        return plan if self.split else replace(plan, shares=dict.fromkeys(plan.shares, plan.epsilon))


def _exact(handling: _Handling, present: tuple[bool, ...]) -> GroupSums:
    """Return the sums of a table of those who are present, added up by Arrow."""
    rows = [(*row, person) for person, own in enumerate(_PEOPLE) if present[person] for row in own]
    if not handling.all_dials:
        rows = [row for row in rows if row[1] >= 18]  # noqa: PLR2004  (the condition)
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)})
    with open_source(table, numbers=["hours", "dial", "age"]) as source:
        found = group_sums(source, handling.question(_plan()))
    return {
        key: {added: steps * (handling.room if added.free else 1) for added, steps in sums.items()}
        for key, sums in found.items()
    }


_cached = lru_cache(maxsize=256)(_exact)


def _telling(handling: _Handling) -> Telling:
    plan = handling.plan()
    keys = [(ward,) for ward in _WARDS]

    def vector(found: GroupSums) -> NDArray[np.float64]:
        return np.array(
            [[found.get(key, {}).get(added, 0) for key in keys] for added in plan.released], dtype=np.float64
        )

    scales = np.array([float(plan.spread(added)) for added in plan.released])[:, None]
    silent = np.array([[added == PEOPLE and not handling.noise_on_counts] for added in plan.released])

    with_them = vector(_cached(handling, (True,) * len(_PEOPLE)))
    but_one = [tuple(place != person for place in range(len(_PEOPLE))) for person in range(len(_PEOPLE))]
    without_them = [vector(_cached(handling, others)) for others in but_one]

    def release(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        found = _cached(handling, tuple(bool(there) for there in profile))
        noisy = noisy_sums(plan, keys * size, found, as_stream(random_state))
        seen = np.array(list(noisy.values()), dtype=np.float64).reshape(len(noisy), size, len(keys)).swapaxes(0, 1)
        seen = np.where(silent, vector(found), seen)
        told = []
        for without in without_them:
            ratios = (np.abs(seen - without) - np.abs(seen - with_them)) / scales
            sure = np.where(with_them == without, 0.0, np.where(seen == with_them, _CERTAIN, -_CERTAIN))
            told.append(np.where(silent, sure, ratios).sum(axis=(1, 2)))
        return np.array(told).T

    return release


def _pairs(people: Sequence[int]) -> list[Pair]:
    """Return everybody against everybody but one, for each of some people."""
    return [([1.0] * len(_PEOPLE), [float(place != one) for place in range(len(_PEOPLE))]) for one in people]


_CLAIMS = [2.0 * dial for dial in _DIALS]
_SILENT = _DIALS.index(0.0)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of sums, for the battery."""
    name, telling = "sums of a table", _telling(_Handling())
    everybody = _pairs(range(len(_PEOPLE)))
    return [
        statistical_case(name, telling, adjacent=everybody, claimed=_CLAIMS, samples=_SAMPLES[size]),
        # The person of dial 0 must leave every bit as it was.
        replay_case(name, telling, adjacent=_pairs([_SILENT]), limits={_SILENT: 0.0}),
    ]


def _mutant(name: str, handling: _Handling, person: int) -> Mutant:
    def build(broken: bool) -> Telling:  # noqa: FBT001  (every build has this shape)
        return _telling(handling if broken else _Handling())

    return Mutant(name, by_statistics(build, _pairs([person]), _CLAIMS))


#: Tables broken on purpose.
MUTANTS: Sequence[Mutant] = (
    _mutant("table, a denominator without noise", _Handling(noise_on_counts=False), 0),
    _mutant("table, every row of a person counted", _Handling(by_person=False), 2),
    _mutant("table, counted in full in each group", _Handling(stretched=False), 1),
    _mutant("table, the dial of the rows that count", _Handling(all_dials=False), 3),
    _mutant("table, epsilon spent once per sum", _Handling(split=False), 0),
    _mutant("table, a free sum that is not", _Handling(room=16), 4),
)
