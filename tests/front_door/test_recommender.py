"""`PrivateRecommender` by the front door: noise as wide as the guarantee says, and mutants that must be seen."""

import pytest

from front_door.doors import assert_kept, assert_seen, assert_spared, by_name, twins
from hetdp.recommender.audits.front_door import FRONT_DOORS, MUTANTS, audit_cases

CASES = audit_cases("full")

pytestmark = pytest.mark.slow


@by_name(CASES)
def test_noise_is_as_wide_as_the_guarantee_says(thing):
    assert_kept(thing)


@by_name(MUTANTS)
def test_a_wrong_split_is_seen(thing):
    assert_seen(thing)


@by_name(twins(MUTANTS, FRONT_DOORS))
def test_a_right_one_is_spared(thing):
    assert_spared(thing)
