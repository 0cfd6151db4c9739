"""Tables through the front door: what is released, what it promises, and what is refused."""

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pytest
from scipy.stats import kstest
from tests.support.errors import refused

import hetdp
from hetdp import errors
from hetdp.tables import release
from hetdp.tables.ratios import NoisySum
from hetdp.tables.release import bind
from hetdp.tables.sources import open_source
from hetdp.tables.sums import PEOPLE, group_sums

HOURS = hetdp.tables.mean("hours", lower=0, upper=99)
WARDS = {"ward": ["er", "icu", "lab"]}
AGGREGATES = {
    "people": hetdp.tables.count(),
    "hours": HOURS,
    "spread": hetdp.tables.variance("hours", lower=0, upper=99),
    "overtime": hetdp.tables.total("overtime", lower=-5, upper=20),
}
EVERYTHING = {
    "by": WARDS,
    "weights": "privacy",
    "unit": "person",
    "max_groups": 2,
    "where": "age >= 18",
    "epsilon": 1.0,
}


def visits(size=4000, seed=1, *, people=1500):
    generator = np.random.default_rng(seed)
    dials = generator.choice([0.0, 0.25, 0.5, 1.0], people)
    person = generator.integers(0, people, size)
    return pa.table(
        {
            "person": person,
            "ward": generator.choice(["er", "icu", "lab", "roof"], size).tolist(),
            "age": generator.integers(10, 80, size),
            "hours": generator.normal(40, 15, size),
            "overtime": generator.normal(3, 4, size),
            "privacy": dials[person],
        }
    )


def exact_sums(table, plan):
    with open_source(table, numbers=["hours", "overtime", "privacy"]) as source:
        return group_sums(source, bind(plan, source).question)


def numbers(answer):
    return [row.value for row in answer.rows]


def test_one_row_per_key_and_aggregate():
    answer = hetdp.release_table(visits(), AGGREGATES, **EVERYTHING)
    frame = answer.to_frame()
    assert frame.columns.tolist() == ["ward", "aggregate", "estimate", "low", "high", "value"]
    assert frame["ward"].tolist() == [ward for ward in WARDS["ward"] for _ in AGGREGATES]
    assert frame["aggregate"].tolist() == list(AGGREGATES) * 3
    assert answer.public()["epsilon"] == 1.0
    assert repr(answer) == "TableAnswer(3 groups, people, hours, spread, overtime, epsilon=1)"


@pytest.mark.slow
def test_estimates_are_near_the_truth_and_intervals_cover_it():
    """400 groups; more misses of a 95 % interval than 45 happen less than once in a million."""
    generator, wards, people = np.random.default_rng(5), list(range(40)), 1000
    misses = 0
    for seed in range(10):
        hours = generator.uniform(20, 60, (len(wards), people))
        dials = generator.choice([0.2, 1.0], hours.shape)
        table = pa.table({"ward": np.repeat(wards, people), "hours": hours.ravel(), "privacy": dials.ravel()})
        answer = hetdp.release_table(
            table, {"hours": HOURS}, by={"ward": wards}, weights="privacy", epsilon=1.0, random_state=seed
        )
        for row, own in zip(answer.rows, hours, strict=True):
            assert abs(row.estimate - own.mean()) < 5
            misses += not row.low <= own.mean() <= row.high
    assert misses <= 45


def released_sums(answer):
    """The noisy sums of each ward, recovered from the four answers that were made of them."""
    for place in range(0, len(answer.rows), 4):
        people, hours, spread, overtime = (row.value for row in answer.rows[place : place + 4])
        squares = spread + (hours - 49.5) ** 2 - 99**2 / 8
        yield people, (hours - 49.5) * people, squares * people, overtime


@pytest.mark.slow
def test_noise_has_the_scale_that_the_guarantee_implies():
    """Kolmogorov-Smirnov on 1,200 noises each: the right scale is not rejected at 1e-7, 0.7 and 1.4 times it are."""
    wards = [*WARDS["ward"], *(f"empty {place}" for place in range(1197))]
    everything = {**EVERYTHING, "by": {"ward": wards}}
    table, plan = visits(300), hetdp.plan_table(AGGREGATES, **everything)
    exact = exact_sums(table, plan)
    released = np.array(list(released_sums(hetdp.release_table(table, AGGREGATES, **everything, random_state=1))))
    for place, added in enumerate(plan.shares):
        truth = [exact.get((ward,), {}).get(added, 0) / added.steps_per_unit for ward in wards]
        noise = released[:, place] - truth
        scale = 2 * added.most / added.steps_per_unit / 0.25
        assert plan.scale(added) == pytest.approx(scale)
        assert kstest(noise / scale, "laplace").pvalue > 1e-7
        for wrong in (0.7, 1.4):
            assert kstest(abs(noise) / (wrong * scale), "expon").pvalue < 1e-6


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("by", [WARDS, {"ward": hetdp.unknown_keys(delta=1e-3)}], ids=["listed", "unknown"])
def test_a_dial_of_zero_leaves_every_bit_as_it_was(unit, by):
    own = {**EVERYTHING, "by": by, "unit": unit, "max_groups": 2 if unit else 1}
    table = visits()
    silent = pa.compute.equal(table["privacy"], 0.0)
    changed = table.set_column(3, "hours", pa.compute.if_else(silent, pa.scalar(1e300), table["hours"])).set_column(
        1, "ward", pa.compute.if_else(silent, pa.scalar("er"), table["ward"])
    )
    without = table.filter(pa.compute.invert(silent))
    plain = hetdp.release_table(table, AGGREGATES, **own, random_state=3)
    assert len(without) < len(table)
    for other in (changed, without):
        replay = hetdp.release_table(other, AGGREGATES, **own, random_state=3)
        assert numbers(replay) == numbers(plain)
        assert [row.key for row in replay.rows] == [row.key for row in plain.rows]


@pytest.mark.parametrize("hours", [1e9, 49.5, 75.0, 98.0])
@pytest.mark.parametrize("dial", [0.01, 0.3, 1.0])
def test_one_person_moves_all_sums_together_by_no_more_than_epsilon_times_their_dial(dial, hours):
    """The exact shift of every sum over its scale, added up: the loss of a person who is in all groups, many times."""
    rows = {"person": [7] * 40, "ward": ["er", "icu", "lab"] * 13 + ["er"], "age": [30] * 40}
    rows |= {"hours": [hours] * 40, "overtime": [-1e9] * 40, "privacy": [dial] + [1.0] * 39}
    person = pa.table(rows).select(visits().column_names)
    table, plan = visits(), hetdp.plan_table(AGGREGATES, **EVERYTHING)
    crowd = table.filter(pa.compute.not_equal(table["person"], 7))
    sums = [exact_sums(other, plan) for other in (crowd, pa.concat_tables([crowd, person.cast(crowd.schema)]))]
    loss = sum(
        abs(sums[1][key][added] - sums[0][key][added]) / plan.spread(added)
        for key in sums[0]
        for added in plan.released
    )
    assert 0.4 * dial <= loss <= Fraction(dial)


def test_the_promise_is_said_in_full():
    text = hetdp.release_table(visits(), AGGREGATES, **EVERYTHING).guarantee.text
    assert "all rows of one person (person) being present or absent" in text
    assert "exp(1 * v_i), where v_i in [0, 1] is the person's own weight" in text
    assert "costs at most exp(1 * (v_i + v'_i))" in text
    assert (
        "Epsilon is split equally: count of people, sum of hours, sum of squared hours and total of overtime." in text
    )
    keys = hetdp.release_table(
        visits(), {"n": hetdp.tables.count()}, by={"ward": hetdp.unknown_keys(1e-6)}, epsilon=1.0
    )
    assert "one row being present or absent" in keys.guarantee.text
    assert "and by 0.000001 * v_i at most on top" in keys.guarantee.text
    assert "delta * (1 + exp(epsilon)) on top" in keys.guarantee.text


def test_unknown_keys_come_out_sorted_and_only_if_enough_people_have_them():
    table = pa.table({"ward": ["zoo"] * 500 + ["er"] * 400 + ["rare"] * 2 + [None] * 300})
    answer = hetdp.release_table(table, {"n": hetdp.tables.count()}, by={"ward": hetdp.unknown_keys()}, epsilon=1.0)
    assert [row.key for row in answer.rows] == [("er",), ("zoo",)]
    assert (
        hetdp.release_table(
            table.slice(900), {"n": hetdp.tables.count()}, by={"ward": hetdp.unknown_keys()}, epsilon=1.0
        ).rows
        == ()
    )


def test_counts_and_totals_are_scaled_up_only_to_a_public_number():
    table = visits()
    own = {"by": WARDS, "weights": "privacy", "epsilon": 5.0, "random_state": 1}
    asked = {"people": hetdp.tables.count(), "overtime": AGGREGATES["overtime"]}
    alone = hetdp.release_table(table, asked, **own)
    assert [row.estimate for row in alone.rows] == [None] * 6
    assert all("population" in row.reason for row in alone.rows)
    known = hetdp.release_table(table, asked, **own, population=3000)
    for row, ward in zip(known.rows[::2], WARDS["ward"], strict=True):
        assert row.estimate == pytest.approx(pa.compute.equal(table["ward"], ward).to_pylist().count(True), rel=0.1)
    plain = hetdp.release_table(table, asked, by=WARDS, epsilon=5.0)
    assert all(row.estimate is not None for row in plain.rows)
    assert not plain.remarks


def test_empty_groups_are_answered_like_others_and_other_keys_do_not_count():
    table = pa.table({"ward": ["roof"] * 1000, "hours": [40.0] * 1000})
    answer = hetdp.release_table(table, {"n": hetdp.tables.count(), "h": HOURS}, by=WARDS, epsilon=1.0, random_state=1)
    assert len(answer.rows) == 6
    assert all(abs(row.value) < 60 for row in answer.rows if row.aggregate == "n")
    assert all("not well above its noise" in row.reason for row in answer.rows if row.aggregate == "h")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_groups": 0}, ("max_groups", "a whole number of at least 1")),
        ({"max_groups": 2, "unit": None}, ("max_groups", "1 without unit and by")),
        ({"by": {"ward": ["er", "er"]}}, (None, "keys of 'ward' must be all different")),
        ({"by": {"ward": []}}, (None, "keys of 'ward' must be at least one")),
        ({"by": {"ward": "er"}}, (None, "keys of 'ward' must be a list, or hetdp.unknown_keys")),
        ({"by": {"ward": ["er", 1]}}, (None, "keys of 'ward' must be all texts, all whole numbers")),
        ({"by": {"age": ["young"]}}, (None, "keys of 'age' must be whole numbers, as the column is")),
        ({"by": {"hours": ["x"]}}, (None, "keys of 'hours' must be whole numbers, as the column is")),
        ({"by": {"age": [2**63]}}, (None, "keys of 'age' must be whole numbers")),
        ({"by": {"ward": ["\ud800"]}}, (None, "keys of 'ward' must be texts")),
        ({"by": {"ward": hetdp.unknown_keys()}, "population": 9}, ("population", "not be given with unknown keys")),
        ({"by": {"value": ["1"]}}, ("by", "columns other than those of the answer")),
        ({"by": {"nowhere": ["a"]}}, ("by", "nowhere")),
        ({"epsilon": 0}, ("epsilon", "a number above 0")),
        ({"epsilon": 1e-6}, ("epsilon", "above")),
        ({"where": "age >="}, (None, "a value")),
        ({"where": "age = 'old'"}, (None, "age")),
        ({"weights": "ward"}, ("weights", "'ward'")),
        ({"weights": "age"}, ("weights", "'age'")),
        ({"unit": None, "max_groups": 1, "ledger": hetdp.Ledger([1.0])}, ("unit", "given with a ledger")),
        ({"ledger": "ledger.db"}, ("ledger", "a hetdp.Ledger")),
        ({"population": 9, "max_groups": None}, ("population", "max_groups")),
        ({"population": -1}, ("population", "a number above 0")),
        ({"confidence": 1.0}, ("confidence", "between 0 and 1")),
    ],
)
def test_bad_input_is_refused(change, message):
    with refused(*message):
        hetdp.release_table(visits(), AGGREGATES, **(EVERYTHING | change))


def test_a_column_whose_type_holds_no_numbers_is_refused_before_anything_is_charged(engine, engine_table):
    table = engine_table(engine, pa.table({"person": [1, 2], "age": ["30", "40"]}))
    ledger = hetdp.Ledger.of_people(limit=3.0)
    with refused(problem="String", kind=errors.DataError):
        hetdp.release_table(
            table,
            {"people": hetdp.tables.count(), "mean age": hetdp.tables.mean("age", lower=18, upper=70)},
            epsilon=1.0,
            unit="person",
            ledger=ledger,
        )
    assert ledger.size == 0


@pytest.mark.slow
def test_white_space_makes_no_other_person_and_the_smallest_weight_of_their_rows_holds(engine, engine_table):
    people, weights = ["1", " 1", "ann", "ann ", "", " ", "bob"], [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    table = engine_table(engine, pa.table({"person": people, "weight": weights}))
    answer = hetdp.release_table(
        table, {"people": hetdp.tables.count()}, epsilon=1e6, unit="person", weights="weight", random_state=0
    )
    (row,) = answer.rows
    assert row.value == pytest.approx(2.0, abs=0.01)  # 1 and bob; ann has a row of weight 0


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([dt.date(2026, 1, 1)]),
        pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]),
        pa.array(["1"]).dictionary_encode(),
    ],
)
def test_dates_and_categories_are_no_numbers(cells):
    table = pa.table({"begun": cells})
    with refused(problem="'begun'", kind=errors.DataError):
        hetdp.release_table(table, {"t": hetdp.tables.total("begun", lower=0, upper=9)}, epsilon=1.0)


@pytest.mark.parametrize("cells", [["x", "y"], ["x", 3], [1, 2]])
def test_whether_objects_of_pandas_are_refused_does_not_depend_on_cells(cells):
    table = pd.DataFrame({"hours": pd.Series(cells, dtype="object")})
    answer = hetdp.release_table(table, {"hours": HOURS, "n": hetdp.tables.count()}, epsilon=1.0)
    (remark,) = answer.remarks
    assert "the middle of the range, in a total as 0: hours as 49.5." in remark
    assert '"hours is not null"' in remark
    assert not hetdp.release_table(table, {"hours": HOURS}, epsilon=1.0, where="hours is not null").remarks
    assert not hetdp.release_table(table, {"n": hetdp.tables.count()}, epsilon=1.0).remarks


@pytest.mark.parametrize("cell", [None, math.nan, -0.5, 1.5, math.inf])
def test_a_bad_dial_is_refused_before_anything_is_charged_and_not_quoted(cell):
    table = pa.table({"hours": [1.0, 2.0], "privacy": [0.5, cell]})
    with refused("weights", "Nothing was charged", kind=errors.DataError) as caught:
        hetdp.release_table(table, {"hours": HOURS}, weights="privacy", epsilon=1.0)
    assert "1.5" not in str(caught.error)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "privacy"])
def test_the_epsilon_of_an_accuracy_gives_it(weights):
    asked = {"hours": HOURS, "spread": hetdp.tables.variance("hours", lower=0, upper=99)}
    plan = hetdp.plan_table(asked, within={"hours": 3.0, "spread": 400.0}, people=2000, weights=weights)
    table = pa.table({"hours": [20.0, 79.0] * 1000, "privacy": [1.0] * 2000})
    answer = hetdp.release_table(table, asked, epsilon=plan.epsilon, weights=weights, random_state=1)
    hours, spread = answer.rows
    assert 1 < (hours.high - hours.low) / 2 < 3.3
    assert 50 < (spread.high - spread.low) / 2 < 440
    with refused("within", "aggregates"):
        hetdp.plan_table(asked, within={"nothing": 1.0}, people=5)
    with refused("people", "required"):
        hetdp.plan_table(asked, within=1.0)
    with refused(problem="epsilon or within must be given"):
        hetdp.plan_table(asked)
    if weights is not None:
        with refused(problem="What helps: more people in a group"):
            hetdp.plan_table({"hours": HOURS}, within=0.01, people=2000, weights=weights)


def test_an_accuracy_out_of_reach_is_told_of_the_aggregates_that_it_is_out_of_reach_for():
    asked = {"age": hetdp.tables.mean("age", lower=18, upper=70), "pay": hetdp.tables.mean("pay", lower=0, upper=9000)}
    own = {"people": 60, "weights": "privacy"}
    with refused("within", "at least 1,050 for pay") as found:
        hetdp.plan_table(asked, within=8, **own)
    assert 'within={"age": 8, "pay": ...}' in found.error.hint
    assert hetdp.plan_table(asked, within={"age": 8, "pay": 1050}, **own).epsilon > 0
    with refused(problem="at least 1,050 for pay"):
        hetdp.plan_table(asked, within={"age": 8, "pay": 1030}, **own)


def test_a_simulated_table_is_not_published():
    answer = hetdp.release_table(visits(), AGGREGATES, **EVERYTHING, random_state=1)
    assert numbers(answer) == numbers(hetdp.release_table(visits(), AGGREGATES, **EVERYTHING, random_state=1))
    with pytest.raises(errors.SimulatedResult):
        answer.public()
    assert "nothing is promised" in answer.guarantee.text


def test_rows_without_a_person_are_left_out():
    table = pa.table({"person": pa.array([1, None, 2, None]), "hours": [30.0, 99.0, 30.0, 99.0]})
    with open_source(table, numbers=["hours"]) as source:
        plan = hetdp.plan_table({"n": hetdp.tables.count()}, unit="person", epsilon=1.0)
        ((_, sums),) = group_sums(source, plan.question).items()
    assert 1.99 < next(iter(sums.values())) / 2**40 <= 2


def test_what_an_engine_says_about_a_cell_stays_inside(monkeypatch):
    def burst(*_, **__):
        message = "could not cast 'a secret'"
        raise RuntimeError(message)

    monkeypatch.setattr(release, "group_sums", burst)
    with refused(problem="RuntimeError", kind=errors.DataError) as found:
        hetdp.release_table(visits(), AGGREGATES, **EVERYTHING)
    assert "secret" not in str(found.error)


STAFF = pa.table(
    {
        "person": ["ann", "ann", "bob", "cleo", None],
        "hours": [10.0, 20.0, 30.0, 40.0, 99.0],
        "age": [30, 12, 40, 50, 60],
        "privacy": [1.0, 0.5, 0.25, 0.0, 0.1],
    }
)
CHARGED = {"aggregates": {"n": hetdp.tables.count()}, "weights": "privacy", "unit": "person", "epsilon": 1.0}


@pytest.mark.slow
def test_a_ledger_is_charged_by_the_smallest_dial_of_all_rows(engine, engine_table):
    ledger = hetdp.Ledger.of_people(limit=2.0)
    hetdp.release_table(engine_table(engine, STAFF), **CHARGED, where="age >= 18", ledger=ledger)
    spent = dict(zip(ledger.items, ledger.spent.tolist(), strict=True))
    assert spent == {"ann": 0.5, "bob": 0.25, "cleo": 0.0}
    assert ledger.weights_spent == 1.0


@pytest.mark.slow
def test_who_cannot_pay_does_not_count(engine, engine_table):
    ledger = hetdp.Ledger.of_people(limit=0.6, on_exhausted="drop")
    table = engine_table(engine, STAFF)
    hetdp.release_table(table, **CHARGED, ledger=ledger)
    after = hetdp.release_table(table, **CHARGED, ledger=ledger, random_state=1)  # ann cannot pay another 0.5
    others = STAFF.filter(pa.compute.not_equal(STAFF["person"], "ann"))
    alone = hetdp.release_table(others, **CHARGED, random_state=1)
    assert numbers(after) == numbers(alone)


def test_a_refused_charge_releases_nothing():
    ledger = hetdp.Ledger.of_people(limit=0.6)
    hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    with pytest.raises(hetdp.BudgetExhausted):
        hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    assert len(ledger.history) == 1


def test_nobody_counts_for_more_than_the_ledger_has():
    ledger = hetdp.Ledger.of_people(limit=5.0)
    hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    bold = STAFF.set_column(3, "privacy", pa.array([1.0] * 5))
    again = hetdp.release_table(bold, **CHARGED, ledger=ledger, random_state=1)
    assert numbers(again) == numbers(hetdp.release_table(STAFF, **CHARGED, random_state=1))


def test_an_engine_that_dies_is_charged_once_and_answers_nothing(monkeypatch):
    ledger = hetdp.Ledger.of_people(limit=5.0)

    def burst(*_, **__):
        raise MemoryError

    monkeypatch.setattr(release, "group_sums", burst)
    with refused(problem="MemoryError", kind=errors.DataError):
        hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    assert len(ledger.history) == 1


def test_bad_dials_and_majorities_of_strangers_are_refused_before_anything_is_charged():
    ledger = hetdp.Ledger.of_people(limit=5.0)
    hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    strangers = STAFF.set_column(0, "person", pa.array(["dee", "eve", "fay", "gus", "ann"]))
    with refused(problem="new"):
        hetdp.release_table(strangers, **CHARGED, ledger=ledger)
    wrong = STAFF.set_column(3, "privacy", pa.array([2.0] * 5))
    with refused(problem="Nothing was charged", kind=errors.DataError):
        hetdp.release_table(wrong, **CHARGED, ledger=ledger)
    assert len(ledger.history) == 1
    hetdp.release_table(strangers, **CHARGED, ledger=ledger, new_people=True)
    assert len(ledger.items) == 7


def test_dials_that_are_publicly_1_pay_nothing_and_distort_nothing():
    ledger = hetdp.Ledger.of_people(limit=5.0)
    plain = {**CHARGED, "weights": None}
    assert hetdp.release_table(STAFF, **plain, ledger=ledger).rows[0].estimate is not None
    assert ledger.weights_spent == 0.0
    hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    assert hetdp.release_table(STAFF, **plain, ledger=ledger).rows[0].estimate is None


def test_a_mistake_in_a_condition_is_found_before_anything_is_charged():
    ledger = hetdp.Ledger.of_people(limit=5.0)
    for where in ("age > 'old'", "age = person", "person > 'a'", "nowhere = 1"):
        with pytest.raises(errors.InvalidInput):
            hetdp.release_table(STAFF, **CHARGED, where=where, ledger=ledger)
    assert not ledger.history


def test_dials_in_a_ledger_are_paid_for_whether_the_table_has_them_or_not():
    ledger = hetdp.Ledger.of_people(limit=5.0, weights_limit=2.0)
    hetdp.release_table(STAFF, **CHARGED, ledger=ledger)
    plain = {**CHARGED, "weights": None}
    hetdp.release_table(STAFF, **plain, ledger=ledger)
    assert ledger.weights_spent == 2.0
    with pytest.raises(hetdp.BudgetExhausted):
        hetdp.release_table(STAFF, **plain, ledger=ledger)
    told = hetdp.Ledger.of_people(limit=5.0)
    hetdp.release_table(STAFF, **plain, ledger=told)
    assert not told.dialled
    told.set_dials(["ann"], [0.5])
    hetdp.release_table(STAFF, **plain, ledger=told)
    assert told.weights_spent == 1.0


@pytest.mark.parametrize(
    ("options", "estimated"),
    [
        ({"max_groups": None}, "max_groups"),
        ({"max_groups": 1}, None),
        ({"max_groups": 3}, None),
        ({"max_groups": 1, "weights": "privacy"}, "population"),
        ({"max_groups": 1, "weights": "privacy", "population": 4000}, None),
        ({"max_groups": 3, "weights": "privacy", "population": 4000}, "up to 3 groups"),
    ],
)
def test_counts_of_people_in_several_groups_are_estimated_only_where_that_is_right(options, estimated):
    own = {"weights": None, "unit": "person", "by": WARDS, "epsilon": 1.0, **options}
    rows = hetdp.release_table(visits(), {"n": hetdp.tables.count(), "all": AGGREGATES["overtime"]}, **own).rows
    for row in rows:
        assert (row.reason is None) == (estimated is None)
        assert estimated is None or estimated in row.reason


def test_ten_releases_of_a_tenth_fit_into_one():
    ledger = hetdp.Ledger.of_people(limit=1.0)
    for _ in range(10):
        hetdp.release_table(STAFF, **{**CHARGED, "epsilon": 0.1, "weights": None}, ledger=ledger)
    assert ledger.remaining.max() == 0.0


def test_an_engine_does_not_speak_through_the_context_of_an_error(monkeypatch):
    def burst(*_, **__):
        message = "could not cast 'a secret'"
        raise ValueError(message)

    monkeypatch.setattr(release, "group_sums", burst)
    with pytest.raises(errors.DataError) as caught:
        hetdp.release_table(visits(), AGGREGATES, **EVERYTHING)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_table_of_the_user_is_not_taken_for_the_ledgers():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", STAFF)
    connection.sql("CREATE TABLE hetdp_ids AS SELECT 'nobody' AS u, 1.0 AS cap")
    ledger = hetdp.Ledger.of_people(limit=0.6, on_exhausted="drop")
    for _ in range(2):
        table = connection.sql("SELECT * FROM people")
        after = hetdp.release_table(table, **CHARGED, ledger=ledger, random_state=1)
    others = STAFF.filter(pa.compute.not_equal(STAFF["person"], "ann"))
    assert numbers(after) == numbers(hetdp.release_table(others, **CHARGED, random_state=1))


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint64(), pa.large_string(), pa.decimal128(19, 0), pa.dictionary(pa.int32(), pa.large_string())],
    ids=str,
)
def test_people_of_any_type_are_lowered_by_the_ledger(kind):
    text = pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
    ids = pa.array(["a", "b", "c"] if text else [1, 2, 3]).cast(kind)
    table = pa.table({"person": ids, "privacy": [1.0, 0.25, 0.0]})
    ledger = hetdp.Ledger.of_people(limit=1.5, on_exhausted="drop")
    hetdp.release_table(table, **CHARGED, ledger=ledger)
    after = hetdp.release_table(table, **CHARGED, ledger=ledger, random_state=2)
    assert numbers(after) == numbers(hetdp.release_table(table.slice(1), **CHARGED, random_state=2))


def test_a_key_that_nobody_can_read_is_no_key():
    keys = pa.array([2**64 - 1] + [5] * 300, pa.uint64())
    answer = hetdp.release_table(
        pa.table({"key": keys}), {"n": hetdp.tables.count()}, by={"key": hetdp.unknown_keys()}, epsilon=1.0
    )
    assert [row.key for row in answer.rows] == [(5,)]


def test_whole_numbers_with_gaps_are_the_keys_they_were():
    frame = pa.table({"floor": pa.array([1, None, 2, 2])}).to_pandas()  # doubles, says pandas
    answer = hetdp.release_table(frame, {"n": hetdp.tables.count()}, by={"floor": [1, 2]}, epsilon=1.0, random_state=1)
    whole = hetdp.release_table(
        pa.table({"floor": [1, 2, 2]}), {"n": hetdp.tables.count()}, by={"floor": [1, 2]}, epsilon=1.0, random_state=1
    )
    assert [(row.key, row.value) for row in answer.rows] == [(row.key, row.value) for row in whole.rows]


@pytest.mark.parametrize(
    "address",
    ["postgresql:/ann:hunter2@host/db", "postgresql//ann:hunter2@host", "password=hunter2", "duckdb://x?p=hunter2"],
)
def test_a_mistyped_address_is_not_shown(address):
    with pytest.raises(errors.InvalidInput) as caught:
        hetdp.release_table(address, {"n": hetdp.tables.count()}, epsilon=1.0, table_name="visits")
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_only_empty_dials_take_the_default_in_every_engine(engine, engine_table):
    """Exactly as if the cells had held it; what is neither empty nor a dial is refused as ever."""
    numbers = pa.table({"id": range(6), "privacy": pa.array([1.0, None, 0.5, None, 0.0, 1.0])})
    texts = numbers.set_column(1, "privacy", pa.array(["1", "", "0.5", None, "0", "1"]))
    filled = numbers.set_column(1, "privacy", pa.array([1.0, 0.25, 0.5, 0.25, 0.0, 1.0]))

    def released(table, **options):
        options = {"weights": "privacy", "epsilon": 1.0, "random_state": 3, **options}
        return hetdp.release_table(table, {"people": hetdp.tables.count()}, **options).rows[0].value

    expected = released(filled)
    assert released(engine_table(engine, numbers), default_weight=0.25) == expected
    assert released(engine_table(engine, numbers), default_weight=0.25, unit="id") == released(filled, unit="id")
    if engine not in ("postgres", "spark"):  # whose texts are no numbers, or come from files
        assert released(engine_table(engine, texts), default_weight=0.25) == expected
        wrong = texts.set_column(1, "privacy", pa.array(["1", "", "0,5", None, "0", "1"]))
        with refused(problem="Nothing was charged", kind=errors.DataError):
            released(engine_table(engine, wrong), default_weight=0.25)
    with refused("weights", kind=errors.DataError):
        released(engine_table(engine, numbers))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"default_weight": 0.5}, ("default_weight", "come with weights")),
        ({"default_weight": 1.5, "weights": "privacy"}, ("default_weight", "in [0, 1]")),
        ({"default_weight": "1", "weights": "privacy"}, ("default_weight", "a finite number")),
    ],
)
def test_a_default_that_is_no_dial_is_refused(options, message):
    with refused(*message):
        hetdp.plan_table({"people": hetdp.tables.count()}, epsilon=1.0, **options)


def test_what_cells_that_are_empty_count_as_is_said_of_frames_too():
    frame = pd.DataFrame({"hours": [float("nan")] * 100})
    asked = {"hours": HOURS}
    assert "Empty cells count as the middle of the range" in hetdp.release_table(frame, asked, epsilon=1.0).remarks[0]
    assert not hetdp.release_table(frame, asked, epsilon=1.0, where="hours is not null").remarks


def test_a_plan_says_how_many_people_an_estimate_takes():
    plan = hetdp.plan_table({"hours": HOURS}, epsilon=0.5)
    needed = plan.people_for_an_estimate
    assert 40 < needed < 60
    for people, told in ((0.99 * needed, False), (1.01 * needed, True)):
        noisy = {added: NoisySum(people if added == PEOPLE else 0.0, plan.scale(added)) for added in plan.released}
        found = plan.aggregates["hours"].estimate(noisy, plan.context(None, dialled=False))
        assert (found.value is not None) == told
    assert hetdp.plan_table({"people": hetdp.tables.count()}, epsilon=0.5).people_for_an_estimate is None


@pytest.mark.network
def test_who_joins_a_database_while_it_is_released_is_neither_charged_nor_counted(filled_postgres, monkeypatch):
    import psycopg

    people = pa.table({"person": list(range(100)), "hours": [40.0] * 100})
    address, name = filled_postgres(people)

    def released(ledger):
        aggregates = {"people": hetdp.tables.count(), "hours": hetdp.tables.total("hours", lower=0, upper=80)}
        options = {"unit": "person", "epsilon": 1.0, "ledger": ledger, "random_state": 7, "table_name": name}
        return [row.value for row in hetdp.release_table(address, aggregates, **options).rows]

    charge = hetdp.Ledger.charge_people

    def charge_while_others_join(self, *people, **told):
        charged = charge(self, *people, **told)
        with psycopg.connect(address) as another:
            another.execute("INSERT INTO visits SELECT g, 80 FROM generate_series(1000, 1999) g")
        return charged

    alone = released(hetdp.Ledger.of_people(limit=5.0))
    monkeypatch.setattr(hetdp.Ledger, "charge_people", charge_while_others_join)
    ledger = hetdp.Ledger.of_people(limit=5.0)
    assert released(ledger) == alone
    assert ledger.size == 100


@pytest.mark.network
def test_a_role_that_may_only_read_is_told_what_a_ledger_needs_before_anything_is_charged(filled_postgres):
    import psycopg

    address, name = filled_postgres(pa.table({"person": [1, 2, 3], "hours": [30.0, 40.0, 50.0]}))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f'GRANT SELECT ON "{name}" TO reader')
        connection.execute("ALTER ROLE reader SET default_transaction_read_only = on")
    asked = {"hours": HOURS}
    reader = address.replace("hetdp:no-secret@", "reader@")
    ledger = hetdp.Ledger.of_people(limit=3.0)
    with refused(problem="must let you make temporary tables", kind=errors.DataError):
        hetdp.release_table(reader, asked, unit="person", epsilon=1.0, ledger=ledger, table_name=name)
    assert ledger.total == 0
    assert len(hetdp.release_table(reader, asked, unit="person", epsilon=1.0, table_name=name).rows) == 1
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP OWNED BY reader")
        connection.execute("DROP ROLE reader")
