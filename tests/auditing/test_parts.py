"""The parts that audits are made of, on examples small enough to check by hand."""

import numpy as np
import pytest

from hetdp import Box, queries, stretch
from hetdp.auditing.audit_all import BatteryReport
from hetdp.auditing.events import apparent_loss, certified_log_ratio, learn_events, learn_features, precision_feature
from hetdp.auditing.report import NOTHING, AuditReport, AuditRow, Finding, rounded_up
from hetdp.auditing.statistical import plan_samples
from hetdp.auditing.subjects import (
    claims_for,
    default_items,
    differing_item,
    pairs_for,
    planned,
    read_outputs,
    search_pair,
    subject_of,
)


def test_adjacent_profiles_differ_in_a_position_a_key_or_a_member():
    assert differing_item([0, 0, 1], [0, 1, 1]) == 1
    assert differing_item({"a": 1}, {"a": 2}) == "a"
    assert differing_item({1, 2}, {1}) == 2


def test_the_search_for_a_pair_climbs():
    one, two = search_pair(Box.uniform(0, 1, size=2), 0, lambda one, _: float(one[1]), movers=4)
    assert (one.tolist(), two.tolist()) == ([0, 1], [1, 1])


def test_bounds():
    assert plan_samples(1.0, samples=33_240).detectable == pytest.approx(1.1, abs=0.005)
    hits, others = [500, 0, 1000, 1000], [100, 0, 1000, 0]
    assert certified_log_ratio(hits, 1000, others, 1000, false_alarm=1e-3).round(1).tolist() == [1.2, 0, 0, 4.9]
    assert apparent_loss(np.zeros((500, 1)), np.ones((500, 1))) > 3


def test_features_of_a_number():
    assert [feature.words for feature in learn_features(np.zeros((9, 1)), np.ones((9, 1)))] == [
        "output",
        "learned log-ratio",
    ]
    rng = np.random.default_rng(1)
    one, two = rng.laplace(0, 1, (2000, 1)), rng.laplace(1, 1, (2000, 1))
    events = learn_events(one, two, runs=2000, false_alarm=1e-3)
    assert {event.feature.words for event in events} == {"learned log-ratio", "output"}
    vectors = rng.laplace(0, 1, (4000, 3)), rng.laplace([1, 0, 0], 1, (4000, 3))
    events = learn_events(*vectors, runs=4000, false_alarm=1e-3)
    assert [event.swapped for event in events] == [False] * 3 + [True] * 3


def test_precision_counts_binary_digits():
    numbers = np.array([[0.0], [1.0], [-2.5], [0.1], [2.0**-60], [1 + 2.0**-52], [1e300]])
    assert precision_feature().of(numbers).tolist() == [0, 0, 1, 55, 60, 52, 0]


def test_outputs_are_rows_of_numbers_or_labels():
    assert read_outputs([[1.0, 2.0], [3.0, 4.0]])[0].tolist() == [[1, 2], [3, 4]]
    assert read_outputs(["red", "blue"])[0].tolist() == ["red", "blue"]
    assert read_outputs([10**400, -(10**400)])[0].tolist() == [[np.inf], [-np.inf]]


def test_findings_and_reports_are_ready_for_json():
    finding = Finding("replay", "total", NOTHING, "12 pairs.", smallest="one bit")
    assert (finding.to_dict()["verdict"], finding.to_dict()["smallest"]) == ("no violation found", "one bit")
    assert str(finding) == "total (replay audit): no violation found. 12 pairs. Would have found: one bit."
    assert [rounded_up(0.02101, 2), rounded_up(1.1), rounded_up(12.0, 2)] == ["0.022", "1.1", "12"]
    assert AuditRow(0, 1.0, 2.0, "output >= 1", 1000, 1.1).to_dict()["verdict"] == "violated"
    assert AuditReport("total", [], 0.999).to_dict()["verdict"] == "no violation found"
    assert AuditReport("total", [], 0.999).smallest.startswith("nothing")
    assert not BatteryReport(seed=1, planned=2).to_dict()["complete"]


def test_subjects_and_claims():
    assert subject_of(lambda profile, size: [sum(profile)] * size).vectorised
    assert planned(stretch(queries.total(Box([0], [1])), [1.0]), epsilon=2.0).amount == 2
    assert (claims_for(0.5, "any"), claims_for([0.1, 0.2], 1), claims_for({"diary": 0.0}, "diary")) == (0.5, 0.2, 0)
    assert default_items(np.linspace(1, 0, 100))[:2] == [99, 85]
    assert pairs_for(subject_of(sum), [([0, 0], [0, 1])], None) == [(1, ([0, 0], [0, 1]))]
