"""Ids of users and items become codes, and codes the same ids again."""

import pytest

from hetdp.core.errors import InvalidInput
from hetdp.profiles.ids import IdEncoder, as_ids, position_of, positions, whole_numbers


def test_codes_follow_appearance_and_final_ids_are_sorted():
    encoder = IdEncoder("user")
    assert encoder.encode(["bob", "ann"]).tolist() == [0, 1]
    assert encoder.encode(["ann", "eve"]).tolist() == [1, 2]
    ids, places = encoder.finish()
    assert (ids.tolist(), places.tolist()) == (["ann", "bob", "eve"], [1, 0, 2])


def test_ids_are_texts_or_whole_numbers():
    assert as_ids("user", ["ann", "bob"]).tolist() == ["ann", "bob"]
    assert as_ids("item", range(3)).tolist() == [0, 1, 2]
    assert whole_numbers(as_ids("item", ["10", "9"])).tolist() == [10, 9]
    assert whole_numbers(as_ids("item", ["10", "007"])) is None


def test_where_ids_are():
    assert position_of(as_ids("user", ["ann", "bob"]), "bob") == 1
    assert position_of(as_ids("user", [0, 1]), True) is None  # noqa: FBT003  (a bool is no number here)
    assert positions(as_ids("item", ["tea", "7"]), as_ids("item", ["golf", "tea"])).tolist() == [-1, 0]
    assert positions(as_ids("item", ["tea", "7"]), as_ids("item", [7])).tolist() == [1]


def test_a_text_is_no_list_of_ids():
    with pytest.raises(InvalidInput, match=r"item ids must be a list of ids [(]got one text[)]"):
        as_ids("item", "catalogue.csv")
