"""An evaluation is drawn with every method at its total loss, lines for what has none, and that it is private."""

import pytest
from tests.support.errors import refused

from hetdp.evaluation.results import (
    EASE,
    MODEL,
    POPULARITY,
    PRIVATE_POPULARITY,
    RANDOM,
    TRUE,
    Evaluation,
    ItemRow,
    NeighborRow as Found,
)


def item(method, epsilon=None, weights=None, ndcg=0.3, loss=None):
    third = [0.1, 0.01]
    return ItemRow(
        method, epsilon, weights, 0.1, 0.01, 0.2, 0.02, ndcg, 0.03, *third, *third, *third, None, None, None, loss
    )


def neighbor(method, epsilon=None, recall=0.5, loss=None):
    return Found(method, epsilon, None, recall, recall - 0.1, recall + 0.1, 0.1, None, None, loss)


ITEMS = (
    item(EASE, ndcg=0.6),
    item(MODEL, 1.0, ndcg=0.4, loss=1.0),
    item(MODEL, 3.0, ndcg=0.5, loss=3.0),
    item("exact", 1.0, ndcg=0.35, loss=499.0),
    item(PRIVATE_POPULARITY, 1.0, ndcg=0.2, loss=1.0),
    item(POPULARITY, ndcg=0.25),
)
NEIGHBORS = (neighbor(TRUE, recall=0.8), neighbor("sketch", 1.0, loss=1.0), neighbor(RANDOM, recall=0.3))
BOTH = Evaluation(NEIGHBORS, ITEMS)


def panels(chart):
    return [panel["title"] for panel in chart.to_dict()["vconcat"]]


def values(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_every_method_is_drawn_at_its_total_loss_with_its_interval():
    chart = BOTH.plot("items")
    points = {
        (row["name"], row["loss"], row["mean"]): (row["low"], row["high"]) for row in values(chart) if row.get("loss")
    }
    assert points == {
        (row.method, row.against_all, row.ndcg): pytest.approx((row.ndcg - 0.03, row.ndcg + 0.03))
        for row in ITEMS
        if row.against_all is not None
    }
    x = chart.to_dict()["vconcat"][0]["layer"][1]["encoding"]["x"]
    assert x["scale"]["type"] == "log"
    assert "against everybody together" in x["title"]


def test_what_knows_no_privacy_is_a_dashed_line_and_every_method_is_in_the_legend():
    chart = BOTH.plot("items").to_dict()
    rule = chart["vconcat"][0]["layer"][0]
    assert rule["mark"]["strokeDash"]
    rows = chart["datasets"][rule["data"]["name"]]
    assert [row["name"] for row in rows] == [EASE, POPULARITY]
    color = rule["encoding"]["color"]
    assert set(color["scale"]["domain"]) == {row.method for row in ITEMS}
    assert color["legend"] is not None


def test_it_says_that_it_is_private_and_what_the_bars_are():
    said = " ".join(BOTH.plot().title["subtitle"])
    assert "Private: measured without noise" in said
    assert "95 % intervals" in said


@pytest.mark.slow
def test_both_tables_are_drawn_or_the_one_that_is_wanted():
    assert panels(BOTH.plot()) == ["Recommendations: NDCG", "Neighbours: recall"]
    assert panels(BOTH.plot("neighbors")) == ["Neighbours: recall"]
    assert panels(BOTH.plot(measure="recall")) == ["Recommendations: recall", "Neighbours: recall"]
    assert panels(Evaluation(NEIGHBORS, ()).plot()) == ["Neighbours: recall"]


@pytest.mark.slow
def test_each_choice_of_weights_has_its_panel_and_lines_are_in_all():
    rows = (item(EASE), *(item(MODEL, 1.0, weights, ndcg=0.4, loss=1.0) for weights in ("slices", "westin")))
    chart = Evaluation((), rows).plot()
    assert panels(chart) == [f"Recommendations: NDCG, weights {weights}" for weights in ("slices", "westin")]
    assert [row["name"] for row in values(chart) if row.get("loss", 0) is None].count(EASE) >= 1


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [({"table": "people"}, "table"), ({"measure": "luck"}, "measure"), ({"table": "neighbors"}, "table")],
)
def test_what_cannot_be_drawn_is_refused(arguments, parameter):
    with refused(parameter):
        Evaluation((), ITEMS).plot(**arguments)
