"""The audits of models from a matrix, small, and the mutants they must catch. Fixed seeds; false alarms 1e-9."""

import pytest
from hetdp.recommender.audits import matrix

from hetdp.auditing import audit
from hetdp.auditing.registry import PROVIDERS
from hetdp.auditing.report import NOTHING, VIOLATED

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", matrix.audit_cases("quick"), ids=lambda case: f"{case.name} ({case.audit})")
def test_no_matrix_breaks_its_promise(case):
    assert "hetdp.recommender.audits" in PROVIDERS
    finding = case.run(11)
    assert finding.verdict == NOTHING, str(finding)


@pytest.mark.parametrize("mutant", matrix.MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_caught(mutant):
    assert mutant.is_caught(mutant.examine(random_state=6))
    assert mutant.examine(random_state=6, broken=False).verdict == NOTHING


@pytest.mark.parametrize(("unit", "one"), [("item", 3), ("user", 0)])
def test_a_smaller_loss_than_promised_is_refuted(unit, one):
    """The audit has teeth: what is promised is almost reached, so that three quarters of the distance are refuted."""
    epsilon, delta = matrix._level(0.75)
    report = audit(
        matrix._telling(unit, matrix._Handling()),
        adjacent=matrix._sides(unit, [one]),
        claimed={one: epsilon},
        delta={one: delta},
        samples=40_000,
        confidence=1 - 1e-9,
        random_state=7,
    )
    assert report.verdict == VIOLATED
