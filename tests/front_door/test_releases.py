"""`hetdp.release` and its sisters by the front door: noise as wide as the guarantee says, and mutants that are seen."""

import pytest

from front_door.doors import assert_kept, assert_seen, by_name
from hetdp.auditing.registry import scale_case
from hetdp.auditing.releases import FRONT_DOOR_MUTANTS as MUTANTS
from hetdp.auditing.releases import FRONT_DOORS

CASES = [scale_case(name, front_door) for name, front_door in FRONT_DOORS.items()]

pytestmark = pytest.mark.slow


@by_name(CASES)
def test_noise_is_as_wide_as_the_guarantee_says(thing):
    assert_kept(thing)


@by_name(MUTANTS)
def test_a_wrong_split_is_seen(thing):
    assert_seen(thing)
