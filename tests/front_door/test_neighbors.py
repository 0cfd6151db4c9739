"""`PrivateNeighbors` by the front door: the noise of lists and recommendations is what `guarantee_` implies."""

import pytest

from front_door.doors import assert_kept, assert_seen, assert_spared, by_name, twins
from hetdp.neighbors.audits.front_door import FRONT_DOORS, MUTANTS, audit_cases
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import SCORES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:score='squared-cosine'")]


@by_name(audit_cases("full"))
def test_noise_is_as_wide_as_the_guarantee_says(thing):
    assert_kept(thing)


@by_name(MUTANTS)
def test_a_wrong_split_is_seen(thing):
    assert_seen(thing)


@by_name(twins(MUTANTS, FRONT_DOORS))
def test_a_right_one_is_spared(thing):
    assert_spared(thing)


def test_every_engine_and_every_score_has_a_front_door():
    for engine in ENGINES:
        assert any(f"kneighbors, {engine}" in name for name in FRONT_DOORS)
    for score in SCORES:
        assert score == "overlap" or any(name.endswith(score) for name in FRONT_DOORS)
