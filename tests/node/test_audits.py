"""The audits of what a node publishes, small, and the mutants they must catch. Fixed seeds; false alarms 1e-9 each."""

import pytest

from hetdp.auditing.registry import PROVIDERS
from hetdp.auditing.report import NOTHING
from hetdp.node.audits.bits import MUTANTS, audit_cases

pytestmark = pytest.mark.slow

every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])


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


@every_mutant
def test_repaired_twins_are_spared(mutant):
    assert mutant.examine(7, broken=False).verdict == NOTHING
