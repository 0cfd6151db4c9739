"""What the tests of all front doors share: each door keeps its promise, and each mutant behind it is seen.

Fixed seeds; false-alarm rate 1e-9 per door. A mutant's repaired twin is the front door itself, so that each is examined
once, however many mutants there are behind it.
"""

import pytest

from hetdp.auditing.report import NOTHING

BROKEN = True


def by_name(things):
    return pytest.mark.parametrize("thing", things, ids=[thing.name for thing in things])


def assert_kept(case):
    finding = case.run(11)
    assert finding.verdict == NOTHING, str(finding)
    return finding


def assert_seen(mutant):
    finding = mutant.examine(7)
    assert mutant.is_caught(finding), str(finding)


def twins(mutants, front_doors):
    """Front doors that are not examined anyway, one mutant of each: what is repaired is the same for all of them."""
    known = set(map(id, front_doors.values()))
    found = {id(mutant.attack.build(not BROKEN)): mutant for mutant in mutants}
    return [mutant for door, mutant in found.items() if door not in known]


def assert_spared(mutant):
    finding = mutant.examine(7, broken=False)
    assert finding.verdict == NOTHING, str(finding)
