"""Faults of one line that break a promise and that no other test sees: each test here fails with one of them.

Three more of this kind are broken variants: noise of keys for one group where people are in several, noise of names for
one name where people have eight, and nine names where noise is for eight.
"""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from hetdp import BudgetExhausted, Ledger, Profiles, release_table, unknown_keys
from hetdp.accounting import Guarantee
from hetdp.accounting.composition import ADDED
from hetdp.accounting.label import Label
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles, code_profiles
from hetdp.recommender.matrix import MatrixRule, MatrixSums
from hetdp.recommender.names import MOST_NAMES, _counting, counted_names
from hetdp.recommender.parts import Part, Parts
from hetdp.tables import count, mean, total
from hetdp.tables.plan import plan_table
from hetdp.tables.sources import open_source
from hetdp.tables.sums import group_sums

WARDS = {"ward": ["er", "icu", "lab"]}


def exact(table, asked, **told):
    """Return the exact sums of each group, and how far one person of weight 1 may move each of them."""
    plan = plan_table(asked, epsilon=1, **told)
    with open_source(table, numbers=["hours"]) as source:
        found = group_sums(source, plan.question)
    return found, {added: Fraction(added.most) for added in plan.released}


def test_a_charge_for_keys_from_the_data_has_their_delta():
    ledger = Ledger.of_people(limit=9.0, delta_limit=2.5e-6)
    table = pa.table({"ward": ["er"] * 300, "who": range(300)})
    asked = {"by": {"ward": unknown_keys(delta=1e-6)}, "unit": "who", "ledger": ledger, "new_people": True}
    for times in (1, 2):
        answer = release_table(table, {"people": count()}, epsilon=1.0, **asked)
        assert ledger.delta_spent == pytest.approx(times * answer.guarantee.delta, rel=1e-9)
        assert answer.guarantee.delta == 1e-6
    with pytest.raises(BudgetExhausted):
        release_table(table, {"people": count()}, epsilon=1.0, **asked)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_person_in_few_groups_counts_in_full_and_not_for_more(groups):
    """With m = max_groups and g groups a person counts min(1, m v / g) in each."""
    table = pa.table({"ward": list(WARDS["ward"])[:groups], "who": ["ann"] * groups, "hours": [8.0] * groups})
    asked = {"people": count(), "hours": total("hours", lower=0, upper=8)}
    found, most = exact(table, asked, by=WARDS, unit="who", max_groups=2)
    for sums in found.values():
        assert all(abs(sums[added]) <= min(1, Fraction(2, groups)) * most[added] for added in most)
    people = [sums[next(added for added in most if added.power == 0)] for sums in found.values()]
    assert sum(people) == pytest.approx(min(groups, 2) * 2**40, rel=1e-9)


@pytest.mark.parametrize("cell", [2.0**53 - 4, 2.0**53, 2.0**53 + 2, 2.0**53 + 1000, 1e300, -math.inf])
@pytest.mark.parametrize("unit", [None, "who"])
def test_cells_stay_in_a_range_whose_middle_is_no_float(cell, unit):
    """The middle of [2**53, 2**53 + 2] is rounded to its lower end, so that the upper end is too far from it."""
    table = pa.table({"who": ["ann"], "hours": [cell]})
    ends = {"lower": 2.0**53, "upper": 2.0**53 + 2}
    found, most = exact(table, {"mean": mean("hours", **ends)}, unit=unit)
    (sums,) = found.values()
    assert all(abs(sums[added]) <= most[added] for added in most)


def moved_by(rule, weights, *, pairs):
    """Return how far one person with some weights, at a dial of 1, moves the sums of a matrix: squared, in steps."""
    size = len(weights)
    profiles = Profiles.from_pairs([0] * size, range(size), weights, item_ids=np.arange(size))
    dials = np.array([WEIGHT_STEPS], dtype=np.uint8) if rule.unit == "user" else None
    part, sums = Part(profiles.user_ids, code_profiles(profiles), dials), MatrixSums.of_nobody(size, size)
    if pairs:
        sums.add_pairs(part, rule, np.arange(size, dtype=np.int32))
        return sum(int(step) ** 2 for step in sums.pairs)
    sums.add_counts(part, rule)
    return sum(int(step) ** 2 for step in sums.counts)


@pytest.mark.parametrize("clip", [1, 2, 30])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 40])
def test_a_whole_person_moves_a_matrix_by_no_more_than_noise_is_for(clip, beyond):
    rule, size = MatrixRule("user", clip), max(1, clip + beyond)
    assert moved_by(rule, [1.0] * size, pairs=False) <= rule.count_spread**2
    assert moved_by(rule, [1.0] * size, pairs=True) <= rule.pair_spread(size) ** 2
    if beyond == 0:  # what noise is for is reached
        assert moved_by(rule, [1.0] * size, pairs=False) > 0.999 * rule.count_spread**2


def test_a_factor_of_a_matrix_is_never_above_what_it_may_be():
    """A factor is 2**46 min(1, R/|y|), or its square, rounded down.

    Without a margin the root is first wrong at |y|**2 = 1,951,706 steps of 1/255**2, and with 161 items of weight 1.
    """
    people = [[255] * 30 + [30, 6, 4, 2], *([255] * size for size in range(31, 1_600))]
    assert sum(code**2 for code in people[0]) == 1_951_706
    sizes = [len(codes) for codes in people]
    items = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    coded = CodedProfiles(
        np.cumsum([0, *sizes]), items, np.concatenate(people).astype(np.uint8), n_items=max(sizes)
    )  # fmt: skip
    roots = MatrixRule("item", 30).pair_factors(coded, None).tolist()
    wholes = MatrixRule("user", 30).pair_factors(coded, None).tolist()
    limit = 30 * 255**2
    for codes, root, whole in zip(people, roots, wholes, strict=True):
        squares = sum(code**2 for code in codes)
        assert root**2 * squares <= limit * 2**92 < (root + 10) ** 2 * squares
        assert whole * squares <= limit * 2**46 < (whole + 10) * squares


@pytest.mark.parametrize("n_items", [1, 8, 9, 20, 300])
def test_a_person_counts_for_eight_names_at_most(n_items):
    steps, groups = _counting(whole_people=True)
    parts = Parts([Profiles.from_pairs([0] * n_items, range(n_items), [1.0] * n_items)])
    counts = counted_names(parts, whole_people=True).counts
    assert groups == MOST_NAMES == 8
    assert counts.max() <= steps
    assert steps * min(n_items, 8) * (1 - 1e-4) <= counts.sum() <= steps * 8


def test_a_label_of_what_is_spent_in_rho_counts_the_delta_of_names():
    odds = []
    for delta in (0.0, 0.05):
        ledger = Ledger.of_profiles(limit=9.0, delta_limit=0.5, unit="rho")
        promise = Guarantee("rho", 0.01, adjacent=ADDED["item"], delta=delta)
        ledger.charge_profiles(promise)
        label = Label.of(promise, ledger=ledger)
        assert label.level()[1] >= delta
        odds.append(float(label.spent_odds))
    assert odds[1] >= odds[0] + 4.9  # of 100: a delta tells everything with that chance


@pytest.mark.parametrize("delta", [1e-40, 5e-324, 1e-36])
def test_the_smallest_delta_is_counted(delta):
    ledger = Ledger.of_people(limit=1.0, delta_limit=1e-35)
    ledger.charge_people([([1], [1.0])], amount=0.1, delta=delta, new_people=True)
    assert ledger.delta_spent >= delta
    strict = Ledger.of_people(limit=1.0, delta_limit=delta / 2)
    with pytest.raises(BudgetExhausted):
        strict.charge_people([([1], [1.0])], amount=0.1, delta=delta, new_people=True)
