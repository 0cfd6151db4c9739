"""Ids of people: what is one person, what is two, and that columns of any kind say the same."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hetdp.accounting.ledger.identity import Ids, canonical_ids
from hetdp.core.errors import InvalidInput
from hetdp.profiles.ids import person_id as canonical

SAME = [
    [1, 1.0, "1", " 1", "1.0", "1.000", "1\n", np.int32(1), np.float64(1), Decimal("1.00")],
    ["01", " 01"],
    [0, "0", "-0", "-0.0", -0.0],
    [-5, "-5", "-5.0"],
    [1.5, "1.5", "1.50", Decimal("1.5")],
    [0.0000001, "0.0000001", 1e-7],
    ["é", "e\N{COMBINING ACUTE ACCENT}", " é "],
    [2**64, str(2**64), f"{2**64}.0", float(2**64)],
    ["ann", "ann ", "\tann"],
]
DIFFERENT = ["+1", "1e3", "1000", "1,000", "1_000", "0x1", "1.", ".5", "0.5", "Ann", "a nn", "٣", "3", "--1"]

texts = st.one_of(
    st.from_regex(r"\s?-?[0-9.]{1,20}\s?", fullmatch=True),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=30),
    st.integers().map(str),
).filter(str.strip)


@pytest.mark.parametrize("group", SAME, ids=lambda group: repr(group[0]))
def test_one_person_has_one_id_however_it_is_written(group):
    assert len({canonical(one) for one in group}) == 1
    assert len(set(canonical_ids(group).keys.tolist())) == 1


def test_what_may_be_two_people_stays_two():
    kept = [canonical(one) for one in (*(group[0] for group in SAME), *DIFFERENT)]
    assert len(set(kept)) == len(kept)
    assert canonical_ids(kept).repeated == 0


@pytest.mark.slow
@given(st.lists(texts, min_size=1, max_size=20))
def test_columns_of_texts_follow_the_law(column):
    """The quick ways through a column of pyarrow lead where one id at a time does."""
    law = tuple(canonical(one) for one in column)
    slow = canonical_ids(column)
    assert slow.labels() == law
    for kind in (pa.string(), pa.large_string()):
        whole = pa.array(["x", *column, "y"], kind)
        for array in (pa.array(column, kind), whole.slice(1, len(column)), pa.chunked_array([column[:1], column[1:]])):
            quick = canonical_ids(array)
            assert quick.labels() == law
            assert quick.keys.tolist() == slow.keys.tolist()
    assert canonical_ids(pa.array(column).dictionary_encode()).labels() == law


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
def test_numbers_go_by_value(numbers):
    law = tuple(canonical(one) for one in numbers)
    assert canonical_ids(numbers).labels() == law
    assert canonical_ids([str(one) if isinstance(one, int) else one for one in numbers]).labels() == law
    floats = [float(one) for one in numbers]
    assert canonical_ids(np.array(floats)).labels() == tuple(canonical(one) for one in floats)
    assert canonical_ids(pa.array(floats)).labels() == tuple(canonical(one) for one in floats)


def test_columns_of_other_kinds():
    assert canonical_ids(np.array([2**64 - 1, 1], dtype=np.uint64)).labels() == (str(2**64 - 1), 1)
    assert canonical_ids(pa.array([Decimal("1.00"), Decimal("2.50")])).labels() == (1, "2.5")
    assert canonical_ids(np.array(["a", " 7"])).labels() == ("a", 7)
    assert canonical_ids(np.array(["a", 7.0], dtype=object)).labels() == ("a", 7)
    assert canonical_ids(pa.chunked_array([], pa.string())).labels() == ()
    assert canonical_ids([]).labels() == ()


@pytest.mark.parametrize(
    "values",
    [
        ["SECRET", None],
        ["SECRET", ""],
        ["SECRET", "  "],
        [1.0, float("nan")],
        np.array([1.0, np.inf]),
        pa.array(["SECRET", None]),
        pa.array(["SECRET", ""]),
        pa.array(["SECRET", " \t"]),
        pa.array([1, None]),
        pa.array([True]),
        pa.array([["SECRET"]]),
        [True],
        [b"SECRET\xff"],
        "SECRET",
        7,
        np.zeros((2, 2)),
        ["SECRET\ud800"],
    ],
    ids=lambda values: type(values).__name__,
)
def test_what_is_no_id_is_refused_without_being_quoted(values):
    with pytest.raises(InvalidInput, match=r"^ids must") as caught:
        canonical_ids(values)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.slow
@given(st.lists(texts, unique_by=canonical, max_size=30), st.lists(texts, max_size=30))
def test_ids_are_found_where_they_are(known, wanted):
    ids = canonical_ids(known)
    law = {canonical(one): place for place, one in enumerate(known)}
    assert ids.find(canonical_ids(wanted)).tolist() == [law.get(canonical(one), -1) for one in wanted]


@given(st.lists(st.integers(-100, 200_000), unique=True, max_size=30), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_are_found_in_a_table_or_in_order(known, wanted):
    ids = canonical_ids(known)
    law = {one: place for place, one in enumerate(known)}
    for given_ids in (wanted, known):
        assert ids.find(canonical_ids(given_ids)).tolist() == [law.get(one, -1) for one in given_ids]


@pytest.mark.slow
@given(st.lists(texts, min_size=1, max_size=30), st.data())
def test_ids_can_be_taken_apart_and_joined(column, data):
    ids = canonical_ids(column)
    cut = data.draw(st.integers(0, len(column)))
    places = data.draw(st.lists(st.integers(0, len(column) - 1)))
    assert Ids.joined([ids.part(0, cut), ids.part(cut, len(column))]).labels() == ids.labels()
    assert ids.take(np.array(places, dtype=np.intp)).labels() == tuple(ids.labels()[place] for place in places)
    assert ids.repeated == len(column) - len(set(ids.labels()))
