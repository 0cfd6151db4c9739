"""Engines by name: what they say before anything is drawn."""

import numpy as np
import pytest
from hetdp.neighbors.recommending import split_epsilon

from hetdp import PrivateNeighbors, Profiles
from hetdp.core.errors import InvalidInput
from hetdp.neighbors.engines import ENGINES, estimate
from hetdp.neighbors.scores import SCORES


def test_every_engine_is_whole():
    for name, engine in ENGINES.items():
        assert engine.name == name
        assert engine.help
        assert set(engine.scores) <= set(SCORES)


def test_epsilon_is_split_exactly():
    for name in ENGINES:
        assert sum(split_epsilon(0.1, name)) == 0.1
    assert split_epsilon(0.1, "sketch")[1] == 0
    with pytest.raises(InvalidInput, match="engine must be one of 'exact', 'gossip', 'sketch'"):
        split_epsilon(1, "magic")


@pytest.mark.parametrize(("engine", "score"), [("sketch", "overlap"), *(("exact", score) for score in SCORES)])
@pytest.mark.parametrize("sizes", ["noisy", "public"])
@pytest.mark.parametrize("catalogue", ["private", "given", "observed"])
@pytest.mark.filterwarnings("ignore:score='squared-cosine'")
@pytest.mark.filterwarnings("ignore:no item may be named")
def test_the_promise_before_the_fact_is_the_promise_after_it(engine, score, sizes, catalogue):
    profiles = Profiles.from_pairs(np.repeat(np.arange(12), 4), np.arange(48) % 7)
    model = PrivateNeighbors(2, epsilon=0.3, engine=engine, score=score, sizes=sizes, catalogue=catalogue)
    planned = model.promise(profiles.n_users)
    assert model.fit(profiles).guarantee_ == planned
    planned = model.promise(profiles.n_users, recommendations=0.7)
    model.recommend(3, epsilon=0.7)
    assert model.guarantee_ == planned
    assert model.guarantee_.text == planned.text


class TestEstimate:
    def test_grows_with_what_costs(self):
        rng = np.random.default_rng(1)
        small, large = (
            Profiles.from_pairs(np.repeat(np.arange(n), 20), rng.integers(0, 1000, 20 * n) + 1000 * np.arange(20 * n))
            for n in (300, 3000)
        )
        for engine in ENGINES:
            few, many = (estimate(profiles, engine=engine) for profiles in (small, large))
            assert few.seconds < many.seconds
            assert few.memory_bytes < many.memory_bytes
            assert estimate(large, engine=engine, recommendations=10).seconds > many.seconds
            assert estimate(large, engine=engine, threads=2).seconds < many.seconds
        assert estimate(large, engine="gossip", cycles=40).seconds > estimate(large, engine="gossip").seconds

    def test_items_that_do_not_count_do_not_count(self):
        profiles = Profiles.from_pairs([0, 0, 1, 1, 2], list("abaca"))
        without = profiles.with_weights([1, 0, 1, 1, 1])
        assert estimate(without, engine="exact").seconds < estimate(profiles, engine="exact").seconds
