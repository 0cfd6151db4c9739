"""The audits of engines and names, small, and the mutants they must catch. Fixed seeds; false alarms: 1e-9 per case."""

import pytest
from hetdp.neighbors.audits import names

from hetdp.auditing.report import NOTHING
from hetdp.neighbors.engines import audits as engines

pytestmark = pytest.mark.slow

CASES = [*engines.audit_cases("quick"), *names.audit_cases("quick")]
MUTANTS = [*engines.MUTANTS, *names.MUTANTS]
every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} ({case.audit})")
def test_no_engine_breaks_its_promise(case):
    finding = case.run(11)
    assert finding.verdict == NOTHING, str(finding)
    if case.audit == "statistical":
        # An audit that sees nothing at all would not see a violation either.
        bounds = {row["item"]: row["lower_bound"] for row in finding.figures["rows"]}
        assert bounds[3] > 0.6
        assert bounds[1] == 0.0


def test_every_engine_is_audited_in_both_ways():
    assert {(case.name, case.audit) for case in engines.audit_cases("full")} == {
        (name, audit) for name in engines.SUBJECTS for audit in ("statistical", "replay")
    }


@every_mutant
def test_mutants_are_caught(mutant):
    assert mutant.is_caught(mutant.examine(7))


@pytest.mark.sampled(every=4)
@every_mutant
def test_repaired_twins_are_spared(mutant):
    assert mutant.examine(7, broken=False).verdict == NOTHING
