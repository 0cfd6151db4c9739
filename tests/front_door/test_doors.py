"""Every front door keeps its promise: noise as wide as the guarantee says, and mutants behind it that must be seen.

Fixed seeds; false-alarm rate 1e-9 per door. A mutant's repaired twin is the front door itself, so that each is examined
once, however many mutants there are behind it.
"""

import pytest
from hetdp.neighbors.audits import front_door as neighbors
from hetdp.node.audits import front_door as node
from hetdp.recommender.audits import front_door as recommender
from hetdp.tables.audits import front_door as tables

from hetdp.auditing import front_door as releases
from hetdp.auditing.registry import scale_case
from hetdp.auditing.report import NOTHING
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import SCORES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:score='squared-cosine'")]

ROOMS = (neighbors, recommender, tables, node)
CASES = [
    *(scale_case(name, front_door) for name, front_door in releases.FRONT_DOORS.items()),
    *(case for room in ROOMS for case in room.audit_cases("full")),
]
MUTANTS = [*releases.MUTANTS, *(mutant for room in ROOMS for mutant in room.MUTANTS)]
BROKEN = True


def twins(mutants, front_doors):
    """Front doors that are not examined anyway, one mutant of each: what is repaired is the same for all of them."""
    known = set(map(id, front_doors))
    found = {id(mutant.attack.build(not BROKEN)): mutant for mutant in mutants}
    return [mutant for door, mutant in found.items() if door not in known]


DOORS = [front_door for room in (releases, *ROOMS) for front_door in room.FRONT_DOORS.values()]


def by_name(things):
    return pytest.mark.parametrize("thing", things, ids=[thing.name for thing in things])


@by_name(CASES)
def test_noise_is_as_wide_as_the_guarantee_says(thing):
    finding = thing.run(11)
    assert finding.verdict == NOTHING, str(finding)


@by_name(MUTANTS)
def test_a_wrong_split_is_seen(thing):
    finding = thing.examine(7)
    assert thing.is_caught(finding), str(finding)


@by_name(twins(MUTANTS, DOORS))
def test_a_right_one_is_spared(thing):
    finding = thing.examine(7, broken=False)
    assert finding.verdict == NOTHING, str(finding)


def test_every_engine_and_every_score_has_a_front_door():
    for engine in ENGINES:
        assert any(f"kneighbors, {engine}" in name for name in neighbors.FRONT_DOORS)
    for score in SCORES:
        assert score == "overlap" or any(name.endswith(score) for name in neighbors.FRONT_DOORS)
