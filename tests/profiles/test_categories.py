"""Public categories: each cell is coded to one of them or to none, and never complained about."""

import datetime as dt
import decimal

import numpy as np
import pytest

from hetdp import Categories, errors


class Broken:
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("er", "er"),
        (" er\t", "er"),
        (b"er", "er"),
        (1, "1"),
        (np.int8(1), "1"),
        (1.0, "1"),
        (np.float32(1), "1"),
        ("1.0", "1"),
        ("-1.00", "-1"),
        (-0.0, "0"),
        (1e22, "10000000000000000000000"),
        (0.5, "0.5"),
        (1e-30, "1e-30"),
        ("007", "007"),
        ("1.0.0", "1.0.0"),
        (True, "true"),
        (np.False_, "false"),
        ("TRUE", "true"),
        (decimal.Decimal("2.50"), "2.50"),
        (dt.date(2026, 11, 16), "2026-11-16"),
    ],
)
def test_cells_and_labels_are_compared_as_texts(cell, text):
    assert Categories([cell]).labels == (text,)
    assert Categories(["other", text]).codes([cell]).tolist() == [1.0]


@pytest.mark.parametrize("cell", [None, "", "  ", float("nan"), np.nan, b"\xff", Broken(), "ER", [1], {}])
def test_whatever_is_no_category_counts_for_none(cell):
    assert Categories(["er", "icu"]).codes([cell, "icu"]).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "one label at least, none of them empty"),
        (["a", " "], "one label at least, none of them empty"),
        (["a", None], "one label at least, none of them empty"),
        (["a", " a"], "must be different from each other [(]got 'a' twice[)]"),
        ([1, "1.0"], "must be different from each other [(]got '1' twice[)]"),
        ("abc", "must be a list of labels [(]got str[)]"),
        (3, "must be a list of labels [(]got int[)]"),
    ],
)
def test_bad_categories_are_refused(labels, message):
    with pytest.raises(errors.InvalidInput, match=message):
        Categories(labels)


def test_a_value_that_is_no_number_is_no_category():
    wards = Categories(["er", "icu"])
    assert wards.places(wards.domain(size=3).clamp([np.nan, 9.0, -9.0])).tolist() == [-1, 1, -1]
