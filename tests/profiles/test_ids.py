"""Ids: one rule for people, items as they are written, and codes that lead back to the same ids."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.support.errors import refused

from hetdp import Profiles
from hetdp.profiles.ids import (
    IdEncoder,
    as_ids,
    as_text,
    person_column,
    person_id,
    position_of,
    positions,
    whole_numbers,
)

ONE = [1, 1.0, "1", " 1", "1.0", "1\t", np.int32(1), Decimal("1.00"), b"1"]
OTHERS = ["01", "+1", "1e3", "1,000", "1.", "2", "ann", "Ann"]


def test_one_person_has_one_id_however_it_is_written():
    assert {person_id(one) for one in ONE} == {1}
    assert len({person_id(other) for other in OTHERS}) == len(OTHERS)
    profiles = Profiles.from_pairs([*ONE, *OTHERS], range(len(ONE) + len(OTHERS)))
    assert profiles.n_users == 1 + len(OTHERS)
    assert len(profiles.profile(1)) == len(profiles.profile(" 1.0")) == len(ONE)


def test_composed_and_decomposed_letters_are_one_person_and_one_item():
    composed, apart = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
    profiles = Profiles.from_pairs([composed, apart], [apart, composed])
    assert profiles.shape == (1, 1)
    assert profiles.profile(apart) == {composed: 1.0}


def test_items_are_compared_as_they_are_written():
    assert Profiles.from_pairs([1] * 4, ["1", " 1", "1.0", "01"]).n_items == 4


@pytest.mark.parametrize("kind", ["text", "number"])
def test_whole_numbers_beyond_2_to_the_53_are_exact(kind):
    ids = [2**53, 2**53 + 1, 2**63 - 1]
    profiles = Profiles.from_pairs(ids if kind == "number" else [str(one) for one in ids], ["a"] * 3)
    assert [int(one) for one in profiles.user_ids] == ids


@pytest.mark.slow
@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.none())))
def test_a_column_follows_the_rule_for_one(values):
    """What is no id is null, never an error."""
    found = [None if one is None else person_id(one) for one in person_column(values).to_pylist()]
    assert found == [person_id(one) for one in values]


def test_what_is_no_id_is_left_out_and_its_user_stays():
    profiles = Profiles.from_pairs(["ann", None, "", "\ud800", "bob"], ["tea", "a", "b", "c", None])
    assert profiles.user_ids.tolist() == ["ann", "bob"]
    assert profiles.item_ids.tolist() == ["tea"]
    assert Profiles.from_pairs(np.array([1.0, np.nan]), np.array([np.nan, 2.0])).shape == (1, 0)


def test_codes_follow_appearance_and_final_ids_are_sorted():
    encoder = IdEncoder("user_ids", people=True)
    assert encoder.encode(["bob", "ann"]).tolist() == [0, 1]
    assert encoder.encode(["ann", "eve", None]).tolist() == [1, 2, -1]
    ids, places = encoder.finish()
    assert (ids.tolist(), places.tolist()) == (["ann", "bob", "eve"], [1, 0, 2])


def test_numbers_become_texts_when_a_later_batch_holds_texts():
    encoder = IdEncoder("item_ids", people=False, read_as_text=True)
    assert encoder.encode(pa.array(["7", "8"])).tolist() == [0, 1]
    assert encoder.encode(pa.array(["tea", "7"])).tolist() == [2, 0]
    assert encoder.finish()[0].tolist() == ["7", "8", "tea"]


def test_ids_are_texts_or_whole_numbers():
    assert as_ids("user_ids", ["ann", "bob"]).tolist() == ["ann", "bob"]
    assert as_ids("item_ids", range(3)).tolist() == [0, 1, 2]
    assert whole_numbers(as_ids("item_ids", ["10", "9"])).tolist() == [10, 9]
    assert whole_numbers(as_ids("item_ids", ["10", "007"])) is None


def test_where_ids_are():
    assert position_of(as_ids("item_ids", ["ann", "bob"]), "bob") == 1
    assert position_of(as_ids("item_ids", [0, 1]), True) is None  # noqa: FBT003  (a bool is no number here)
    assert positions(as_ids("item_ids", ["tea", "7"]), as_ids("item_ids", ["golf", "tea"])).tolist() == [-1, 0]
    assert positions(as_ids("item_ids", ["tea", "7"]), as_ids("item_ids", [7])).tolist() == [1]


def test_ids_that_somebody_lists_are_checked():
    with refused("item_ids", "list of ids"):
        as_ids("item_ids", "catalogue.csv")
    with refused("user_ids", "all be different"):
        as_ids("user_ids", ["1", "1.0"], people=True)
    with refused("item_ids", "must all be non-empty"):
        as_ids("item_ids", ["a", ""])
    with refused("user_ids", "texts or whole numbers"):
        as_ids("user_ids", [True])


def test_only_cells_that_are_no_text_are_replaced():
    cells = pa.array([b"tea", b"", b"\xff", None])
    assert as_text(cells).to_pylist() == ["tea", "", None, None]
    assert as_text(cells, "?").to_pylist() == ["tea", "", "?", None]
