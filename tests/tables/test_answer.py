"""A released table is shown row by row, and drawn group by group, with nothing in it that was not released."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import hetdp

PEOPLE = pa.table(
    {
        "id": np.arange(600),
        "ward": np.array(["er", "<b>icu", "lab"])[np.arange(600) % 3],
        "hours": np.full(600, 31.4159265),
        "privacy": np.where(np.arange(600) % 2, 0.7310585, 1.0),
    }
)
ASKED = {"people": hetdp.tables.count(), "hours": hetdp.tables.mean("hours", lower=0, upper=80)}
BY = {"ward": ["er", "<b>icu", "lab", "nobody"]}


@pytest.fixture(scope="module")
def answer():
    return hetdp.release_table(PEOPLE, ASKED, by=BY, weights="privacy", population=600, epsilon=5.0)


def values(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_every_group_has_its_estimate_and_interval_in_the_panel_of_its_aggregate(answer):
    chart = answer.plot()
    assert [panel["title"] for panel in chart.to_dict()["vconcat"]] == ["people", "hours"]
    shown = {(row["name"], row["estimate"], row["low"], row["high"]) for row in values(chart)}
    assert shown == {(row.key[0], row.estimate, row.low, row.high) for row in answer.rows}
    names = chart.to_dict()["vconcat"][0]["layer"][0]["encoding"]["y"]["sort"]
    assert names == BY["ward"]
    said = " ".join(chart.title["subtitle"])
    assert "95 % interval of each estimate by itself" in said
    assert "against anyone who sees this release" in said


def test_nothing_in_a_picture_was_not_released(answer):
    text = json.dumps(answer.plot().to_dict())
    public = json.dumps(answer.public())
    numbers = {cell for row in values(answer.plot()) for cell in row.values() if isinstance(cell, float)}
    assert len(numbers) > len(answer.rows)
    assert all(repr(number) in public for number in numbers)
    for shown in (text, answer._repr_html_()):
        assert "31.41592" not in shown
        assert "0.73105" not in shown


def test_a_card_has_a_row_for_each_group_and_aggregate_escaped(answer):
    html = answer._repr_html_()
    assert html.count("<tr>") == 1 + len(answer.rows)
    assert "<b>icu" not in html
    assert "&lt;b&gt;icu" in html
    assert "4 groups" in html
    assert "raw value" in html
    assert "95 % interval" in html
    assert "curious reader" in html


def test_what_cannot_be_estimated_is_shown_as_dials_leave_it_and_says_why():
    counts = hetdp.release_table(PEOPLE, {"people": hetdp.tables.count()}, by=BY, weights="privacy", epsilon=5.0)
    chart = counts.plot()
    assert "Grey: raw values, without an estimate." in " ".join(chart.title["subtitle"])
    assert {row["value"] for row in values(chart)} == {row.value for row in counts.rows}
    assert "No estimate: " in counts._repr_html_()


def test_a_table_without_groups_and_a_simulated_one():
    seeded = hetdp.release_table(PEOPLE, ASKED, weights="privacy", population=600, epsilon=5.0, random_state=1)
    assert {row["name"] for row in values(seeded.plot())} == {"all"}
    assert "Simulated: nothing is promised." in " ".join(seeded.plot().title["subtitle"])
    assert "simulated: do not publish" in seeded._repr_html_()
    assert "groups" not in re.sub(r"<style>.*?</style>", "", seeded._repr_html_()).split("<table")[0]


def test_many_groups_are_cut_in_a_card_and_many_reasons_in_its_sentences():
    wards = [f"ward {number}" for number in range(40)]
    table = pa.table({"ward": wards, "hours": np.full(40, 3.0), "privacy": np.full(40, 0.5)})
    mean = {"hours": hetdp.tables.mean("hours", lower=0, upper=80)}
    answer = hetdp.release_table(table, mean, by={"ward": wards}, weights="privacy", epsilon=0.5)
    html = answer._repr_html_()
    assert "16 more in .to_frame()." in html
    assert html.count("<p>No estimate: ") <= 2
    assert "more reasons in .rows." in html
