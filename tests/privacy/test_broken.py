"""Every broken variant is caught by the audit that it names, and every repaired twin is spared. Each runs once.

Fixed seeds; false-alarm rate 1e-9 per twin. A twin that is the subject of an honest case is examined in `test_cases`,
the others by `make exhaustive` only.
"""

from functools import partial

import pytest

from hetdp.auditing.report import NOTHING
from tests.privacy.registry import CASES, VARIANTS

BROKEN = True


def key(function):
    """Return what tells whether two subjects are the same, whether they are given in part or not."""
    if isinstance(function, partial):
        return function.func, tuple(sorted(function.keywords.items(), key=str))
    return function


def twins():
    """Return one variant for each repaired twin that no honest case examines."""
    known = {(case.audit, key(case.subject)) for case in CASES}
    found = {(variant.caught_by, key(variant.attack.build(not BROKEN))): variant for variant in VARIANTS}
    return [variant for twin, variant in found.items() if twin not in known]


def by_name(variants):
    return pytest.mark.parametrize("variant", variants, ids=[variant.name for variant in variants])


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:score='squared-cosine'")]


@by_name(VARIANTS)
def test_a_broken_variant_is_caught(variant):
    finding = variant.examine(7)
    assert variant.is_caught(finding), str(finding)


@pytest.mark.exhaustive
@by_name(twins())
def test_a_repaired_twin_is_spared(variant):
    finding = variant.examine(7, broken=False)
    assert finding.verdict == NOTHING, str(finding)
