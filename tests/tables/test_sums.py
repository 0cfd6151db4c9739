"""Integer sums are the same in every engine, exact, and no person moves them by more than their dial allows."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.support.table_reference import ODD, reference_sums

from hetdp.tables import count, mean, total, variance
from hetdp.tables.conditions import parse_condition
from hetdp.tables.sources import HALF, open_source
from hetdp.tables.sums import PEOPLE, KeyColumn, Question, group_sums, people

WARDS = KeyColumn("ward", ("er", "icu"))
SUMS = tuple(
    dict.fromkeys(
        added
        for aggregate in (
            count(),
            mean("hours", lower=0, upper=99),
            variance("hours", lower=-3, upper=1e-3),
            total("hours", lower=-10, upper=200),
            mean("hours", lower=-(2.0**60), upper=2.0**61),
        )
        for added in aggregate.sums(weighted=True)
    )
)
QUESTIONS = {
    "rows": Question(SUMS, (WARDS,), "privacy"),
    "rows, no dials": Question(SUMS, (WARDS,)),
    "one group": Question(SUMS, (), "privacy"),
    "two columns": Question(SUMS, (WARDS, KeyColumn("floor", (1, 2))), "privacy"),
    "where": Question(SUMS, (WARDS,), "privacy", where=parse_condition("floor >= 2 or ward = 'icu'")),
    "people": Question(SUMS, (WARDS,), "privacy", "person", 2),
    "people, one group": Question(SUMS, (), "privacy", "person"),
    "people, no dials": Question(SUMS, (WARDS,), None, "person", 1),
    "people, where": Question(SUMS, (WARDS,), "privacy", "person", 2, parse_condition("floor >= 2 or ward = 'icu'")),
}


def visits(size=600, seed=1):
    generator = np.random.default_rng(seed)
    hours = [ODD[place] if place < len(ODD) else float(generator.normal(40, 60)) for place in range(size)]
    return pa.table(
        {
            "ward": pa.array(generator.choice(["er", "icu", "lab", "ER"], size).tolist()),
            "floor": pa.array(generator.integers(1, 4, size)),
            "hours": pa.array(hours, pa.float64()),
            "privacy": pa.array(generator.choice([0.0, 1e-300, 0.1, 0.3, 0.5, 1.0], size)),
            "person": pa.array(
                [int(one) if one else None for one in generator.integers(0, size // 3, size)], pa.int64()
            ),
        }
    )


def rows_of(table, question):
    rows = table.to_pylist()
    for row in rows:
        row["kept"] = question.where is None or row["floor"] >= 2 or row["ward"] == "icu"
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_engine_comes_to_the_same_integers(name, engine, engine_table):
    question, table = QUESTIONS[name], visits()
    expected = reference_sums(rows_of(table, question), question)
    with open_source(engine_table(engine, table), numbers=["hours", "privacy"]) as source:
        found = group_sums(source, question)
    nobody = dict.fromkeys(SUMS, 0)
    for key in expected.keys() | found.keys():
        assert found.get(key, nobody) == expected.get(key, nobody)
    assert any(sums[PEOPLE] for sums in found.values())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_come_to_the_same_integers(ending, tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    table, path = visits(), tmp_path / f"visits.{ending}"
    (pyarrow.csv.write_csv if ending == "csv" else pyarrow.parquet.write_table)(table, path)
    question = QUESTIONS["people, where"]
    expected = reference_sums(rows_of(table, question), question)
    with open_source(path, numbers=["hours", "privacy", "floor"]) as source:
        assert group_sums(source, question) == expected


@pytest.mark.slow
def test_caps_lower_the_dials_of_those_who_have_lost_enough(engine, engine_table):
    table, question = visits(), QUESTIONS["people"]
    capped = {1: 0.05, 2: 0.0, 3: 0.9}
    rows = rows_of(table, question)
    for row in rows:
        if row["person"] in capped:
            row["privacy"] = min(row["privacy"], capped[row["person"]])
    with open_source(engine_table(engine, table), numbers=["hours", "privacy"]) as source:
        kind = source.collect(people(source, question))["u"].type  # pandas keeps whole numbers with gaps as floats
        allowed = pa.table({"u": pa.array(map(kind.to_pandas_dtype(), capped), kind), "cap": list(capped.values())})
        assert group_sums(source, question, allowed=allowed) == reference_sums(rows, question)


def test_sums_beyond_64_bits_do_not_wrap(engine, engine_table):
    """As many steps as 9,000,000 rows have, in 4,500 rows of 2,000 times as many steps as a row can have."""
    rows, steps = 4500, 2.0**51
    table = pa.table({"k0": pa.array(np.zeros(rows, dtype=np.int64)), "q0": pa.array(np.full(rows, -steps))})
    with open_source(engine_table(engine, table), numbers=["q0"]) as source:
        (found,) = source.collect(source.add_up(source.frame, ["k0"], ["q0"])).to_pylist()
    assert found["n"] == rows
    assert found["high_q0"] * HALF + found["low_q0"] == -rows * int(steps) < -(2**63)


@given(
    dial=st.floats(0, 1),
    groups=st.integers(1, 50),
    most=st.integers(1, 50),
    steps=st.integers(-(2**40), 2**40),
)
def test_nobody_moves_a_sum_by_more_than_their_dial_allows(dial, groups, most, steps):
    """The four roundings between a dial and its steps, exactly: |q| <= m v / g times |D|."""
    weight = min(1.0, (0.0 if dial < 2.0**-60 else dial) * float(most) / float(groups))
    moved = math.trunc(weight * (1 - 2.0**-51) * float(steps))
    assert abs(moved) <= Fraction(dial) * most / groups * abs(steps)
    assert abs(moved) <= abs(steps)


@given(dial=st.floats(0, 1), steps=st.integers(-(2**39), 2**39))
def test_room_is_free(dial, steps):
    """What a person adds to values and room together is never more than an end of the range would add to values."""
    room = math.floor((2.0**39 - steps) * (2.0**39 + steps) * 2.0**-40)
    assert abs(steps) + room <= 2**39
    added = [abs(math.trunc(dial * (1 - 2.0**-51) * float(part))) for part in (steps, room)]
    assert sum(added) <= Fraction(dial) * 2**39


@pytest.mark.parametrize("steps", [0, 1, 2**38, 2**39 - 3, 2**39 - 2, 2**39 - 1, 2**39])
def test_room_is_free_at_the_ends(steps):
    assert steps + math.floor((2.0**39 - steps) * (2.0**39 + steps) * 2.0**-40) <= 2**39
