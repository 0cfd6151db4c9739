"""The audits of tables, small, and the mutants they must catch. Fixed seeds; false alarms 1e-9."""

import pytest
from hetdp.tables.audits import keys, sums

from hetdp.auditing import audit
from hetdp.auditing.registry import PROVIDERS, run_cases
from hetdp.auditing.report import NOTHING, VIOLATED
from hetdp.tables import audits


def test_the_battery_knows_tables():
    assert "hetdp.tables.audits" in PROVIDERS
    findings = list(run_cases(audits.audit_cases("quick"), random_state=5))
    assert [finding.verdict for finding in findings] == [NOTHING] * 4, findings


@pytest.mark.parametrize("mutant", [*keys.MUTANTS, *sums.MUTANTS], ids=lambda mutant: mutant.name)
def test_mutants_are_caught(mutant):
    assert mutant.is_caught(mutant.examine(random_state=6))
    assert not mutant.is_caught(mutant.examine(random_state=6, broken=False))


def test_a_smaller_delta_than_promised_is_refuted():
    """The audit has teeth: what is promised is almost reached, so that three quarters of it are refuted."""
    table = keys._choosing(keys._Rules())
    for person in (0, 4):
        report = audit(
            table,
            adjacent=keys._pairs([person]),
            claimed=keys._CLAIMS,
            delta=[0.75 * delta for delta in keys._DELTAS],
            samples=60_000,
            confidence=1 - 1e-9,
            random_state=7,
        )
        assert report.verdict == VIOLATED
        assert "beyond delta" in str(report)
