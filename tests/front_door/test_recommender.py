"""`PrivateRecommender` by the front door: noise as wide as the guarantee says, and mutants that must be seen."""

import pytest

from front_door.doors import assert_kept, assert_seen, by_name
from hetdp.recommender.audits.front_door import MUTANTS, audit_cases

CASES = audit_cases("full")

pytestmark = pytest.mark.slow


@by_name(CASES)
def test_noise_is_as_wide_as_the_guarantee_says(thing):
    assert_kept(thing)


@by_name(MUTANTS)
def test_a_wrong_split_is_seen(thing):
    assert_seen(thing)
