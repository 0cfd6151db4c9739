"""The audits of models, small, and the mutants they must catch. Fixed seeds; false-alarm rate 1e-9 per case."""

import pytest
from hetdp.recommender.audits import audit_cases, matrix, sketched

from hetdp.auditing.registry import PROVIDERS
from hetdp.auditing.report import NOTHING

pytestmark = pytest.mark.slow

MUTANTS = [*sketched.MUTANTS, *matrix.MUTANTS]  # of front doors: tests/front_door

every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])


@pytest.mark.parametrize("case", audit_cases("quick"), ids=lambda case: f"{case.name} ({case.audit})")
def test_no_model_breaks_its_promise(case):
    finding = case.run(11)
    assert finding.verdict == NOTHING, str(finding)
    if case.name == "model from sketches" and case.audit == "statistical":
        # An audit that sees nothing at all would not see a violation either.
        bounds = {row["item"]: row["lower_bound"] for row in finding.figures["rows"]}
        assert bounds[3] > 0.8
        assert bounds[1] == 0.0


def test_the_battery_looks_at_every_release_in_both_ways():
    assert "hetdp.recommender.audits" in PROVIDERS
    for size in ("quick", "full"):
        cases = audit_cases(size)
        for release in ("model from sketches", "matrix"):
            assert "replay" in {case.audit for case in cases if release in case.name}
            assert {"statistical", "sampler"} & {case.audit for case in cases if release in case.name}


@every_mutant
def test_mutants_are_caught(mutant):
    assert mutant.is_caught(mutant.examine(7))


@pytest.mark.sampled(every=4)
@every_mutant
def test_repaired_twins_are_spared(mutant):
    assert mutant.examine(7, broken=False).verdict == NOTHING
