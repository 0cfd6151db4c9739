"""An evaluation is drawn with every method at its total loss, lines for what has none, and that it is private."""

import math
from itertools import pairwise

import pytest

from hetdp.core.errors import InvalidInput
from hetdp.evaluation.pictures import _apart, _shift
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
from hetdp.plots import WIDTH


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


@pytest.mark.parametrize("most", [3.0, 5000.0])
def test_points_of_the_same_loss_stand_beside_each_other_and_near_their_loss(most):
    ends = [1 / 1.4, most * 1.4]
    points = [{"name": name, "loss": loss} for name in "abcde" for loss in (1.0, most)]
    shifts = [_shift(point, points, ends) for point in points if point["loss"] == 1.0]
    assert shifts == sorted(set(shifts))
    assert sum(shifts) == pytest.approx(0)
    assert max(shifts) <= WIDTH * math.log(1.125) / math.log(ends[1] / ends[0])
    assert _shift({"name": "f", "loss": 2.0}, [{"name": "f", "loss": 2.0}], ends) == 0


def test_what_knows_no_privacy_is_a_dashed_line_with_its_name_beside_it():
    chart = BOTH.plot("items").to_dict()
    rule = chart["vconcat"][0]["layer"][0]
    assert rule["mark"]["strokeDash"]
    rows = chart["datasets"][rule["data"]["name"]]
    assert [row["name"] for row in rows] == [EASE, POPULARITY]
    labels = {row["label"] for row in values(BOTH.plot("items")) if "label" in row}
    assert labels == {"no privacy", "popularity", MODEL, "exact", PRIVATE_POPULARITY}


def test_it_says_that_it_is_private_and_what_the_bars_are():
    said = " ".join(BOTH.plot().title["subtitle"])
    assert "Private: measured without noise" in said
    assert "95 % intervals" in said


def test_both_tables_are_drawn_or_the_one_that_is_wanted():
    assert panels(BOTH.plot()) == ["Recommendations: NDCG", "Neighbours: recall"]
    assert panels(BOTH.plot("neighbors")) == ["Neighbours: recall"]
    assert panels(BOTH.plot(measure="recall")) == ["Recommendations: recall", "Neighbours: recall"]
    assert panels(Evaluation(NEIGHBORS, ()).plot()) == ["Neighbours: recall"]


def test_each_choice_of_weights_has_its_panel_and_lines_are_in_all():
    rows = (item(EASE), *(item(MODEL, 1.0, weights, ndcg=0.4, loss=1.0) for weights in ("slices", "westin")))
    chart = Evaluation((), rows).plot()
    assert panels(chart) == [f"Recommendations: NDCG, weights {weights}" for weights in ("slices", "westin")]
    assert [row["name"] for row in values(chart) if row.get("loss", 0) is None].count(EASE) >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "people"}, "table must be"),
        ({"measure": "luck"}, "measure must be"),
        ({"table": "neighbors"}, "was measured"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        Evaluation((), ITEMS).plot(**arguments)


@pytest.mark.parametrize("places", [[], [0.3], [0.5, 0.5, 0.5], [0.0, 0.1, 5.0], [3.0, 1.0, 2.0], [0.0, 0.4, 0.8, 0.9]])
def test_labels_are_moved_apart_and_keep_their_order(places):
    moved = _apart(places, 1.0)
    ranked = [moved[one] for one in sorted(range(len(places)), key=lambda one: places[one])]
    assert all(high - low >= 1.0 - 1e-9 for low, high in pairwise(ranked))
    assert sum(moved) == pytest.approx(sum(places))
    apart = _apart([0.0, 2.0, 4.0], 1.0)
    assert apart == [0.0, 2.0, 4.0]
