"""The audits of what a node publishes, small, and the mutants they must catch. Fixed seeds; false alarms 1e-9 each."""

import math

import pytest
from hetdp.node.audits import group_dials
from hetdp.node.audits.bits import MUTANTS, audit_cases

from hetdp.auditing.registry import PROVIDERS
from hetdp.auditing.report import NOTHING
from hetdp.sketching.law import chance_of_one

pytestmark = pytest.mark.slow

ALL_MUTANTS = (*MUTANTS, *group_dials.MUTANTS)
every_mutant = pytest.mark.parametrize("mutant", ALL_MUTANTS, ids=[mutant.name for mutant in ALL_MUTANTS])


@pytest.mark.parametrize("case", audit_cases("quick"), ids=lambda case: case.audit)
def test_the_node_keeps_its_promise(case):
    finding = case.run(11)
    assert finding.verdict == NOTHING, str(finding)
    if case.audit == "statistical":
        # An audit that sees nothing at all would not see a violation either.
        bounds = {row["item"]: row["lower_bound"] for row in finding.figures["rows"]}
        assert bounds[3] > 0.6
        assert bounds[1] == 0.0


def test_the_battery_looks_at_the_node_in_both_ways():
    assert "hetdp.node.audits" in PROVIDERS
    for size in ("quick", "full"):
        assert [case.audit for case in audit_cases(size)] == ["statistical", "replay"]


@every_mutant
def test_mutants_are_caught(mutant):
    assert mutant.is_caught(mutant.examine(7))


@pytest.mark.sampled(every=4)
@every_mutant
def test_repaired_twins_are_spared(mutant):
    assert mutant.examine(7, broken=False).verdict == NOTHING


def test_what_dials_computed_from_other_items_would_cost():
    """Ten items at 1 and one at 0.1, scaled to a sum of 10 at epsilon 3: the loss if the ten show 0 and the one 1."""
    share = 10 / 10.1
    ten = (1 - chance_of_one(3, share)) / (1 - chance_of_one(3, 1.0))
    one = chance_of_one(3, 0.1 * share) / chance_of_one(3, 0.0)
    assert math.log(ten**10 * one) == pytest.approx(4.92, abs=0.005)


def test_a_group_of_many_items_keeps_the_promise_of_each():
    (case,) = group_dials.audit_cases("full")
    assert case.run(11).verdict == NOTHING
    assert group_dials.audit_cases("quick") == []
