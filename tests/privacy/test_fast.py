"""Small versions of the cases that measure noise against the guarantee, so that `make check` sees a wrong split.

Each sees noise that is 30 % too narrow; `test_cases` runs the whole cases. Fixed seed; false-alarm rate 1e-9.
"""

from functools import partial

import pytest

from hetdp.auditing import audit_cases as releases, battery, scale_audit
from hetdp.auditing.report import NOTHING, VIOLATED
from hetdp.neighbors import audit_cases as neighbors
from hetdp.node import audit_cases as node
from hetdp.recommender import audit_cases as models
from hetdp.tables import audit_cases as tables

#: By name of a case: where it is, and how small it is made.
SMALL = {
    "hetdp.release, histogram": (releases, {"_BINS": 20_000}),
    "hetdp.release, Gaussian histogram": (releases, {"_BINS": 20_000}),
    "hetdp.release, total": (releases, {"_RELEASES": 1_200}),
    "hetdp.release_table, every aggregate": (tables, {"groups": 3_000}),
    "hetdp.release_table, counts of people": (tables, {"groups": 3_000}),
    "PrivateNeighbors.kneighbors, exact": (neighbors, {"_USERS": 120}),
    "PrivateNeighbors.kneighbors, sketch": (neighbors, {"_SKETCHED": 120, "_SKETCH_FITS": 2}),
    "PrivateRecommender.fit, sketches": (models, {"_ITEMS": 10_000}),
    "PrivateRecommender.fit, matrix": (models, {"_HEAD": 200}),
    "node, publication": (node, {"_ITEMS": 6_000, "_OWN": 2_000, "_EPOCHS": 3}),
}


@pytest.mark.parametrize("name", SMALL)
def test_noise_is_as_wide_as_the_guarantee_says(name, monkeypatch):
    where, changes = SMALL[name]
    call = next(case.subject for case in battery("full") if (case.name, case.audit) == (name, "noise scale"))
    if "groups" in changes:
        call = partial(call, **changes)
    else:
        for constant, value in changes.items():
            monkeypatch.setattr(where, constant, value)
    parts = call(11)
    finding = scale_audit(lambda _: parts)
    assert finding.verdict == NOTHING, str(finding)
    assert all(figures["sees"] < 0.3 for figures in finding.figures.values())
    narrow = [type(part)(part.part, part.values * 0.7, part.law) for part in parts if part.law != "coins"]
    assert not narrow or scale_audit(lambda _: narrow).verdict == VIOLATED
