"""Small versions of the cases that measure noise against the guarantee, so that `make check` sees a wrong split.

Each sees noise that is 30 % too narrow; `test_cases` runs the whole cases. Fixed seed; false-alarm rate 1e-9.
"""

from functools import partial

import pytest

from hetdp.auditing import battery, scale_audit
from hetdp.auditing.report import NOTHING, VIOLATED

#: By name of a case: how small its call is made.
SMALL = {
    "hetdp.release, histogram": {"bins": 20_000},
    "hetdp.release, Gaussian histogram": {"bins": 20_000},
    "hetdp.release, total": {"releases": 1_200},
    "hetdp.release_table, every aggregate": {"groups": 3_000},
    "hetdp.release_table, counts of people": {"groups": 3_000},
    "PrivateNeighbors.kneighbors, exact": {"n_users": 120},
    "PrivateNeighbors.kneighbors, sketch": {"n_users": 120, "fits": 2},
    "PrivateRecommender.fit, sketches": {"n_items": 10_000},
    "PrivateRecommender.fit, matrix": {"n_head": 200},
    "node, publication": {"own": 2_000, "epochs": 3},
}


@pytest.mark.parametrize("name", SMALL)
def test_noise_is_as_wide_as_the_guarantee_says(name):
    call = next(case.subject for case in battery("full") if (case.name, case.audit) == (name, "noise scale"))
    call = partial(call, **SMALL[name])
    parts = call(11)
    finding = scale_audit(lambda _: parts)
    assert finding.verdict == NOTHING, str(finding)
    assert all(figures["sees"] < 0.3 for figures in finding.figures.values())
    narrow = [type(part)(part.part, part.values * 0.7, part.law) for part in parts if part.law != "coins"]
    assert not narrow or scale_audit(lambda _: narrow).verdict == VIOLATED
