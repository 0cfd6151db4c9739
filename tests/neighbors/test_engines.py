"""Engines by name: what they say before anything is drawn."""

import numpy as np
import pytest

from hetdp import PrivateNeighbors, Profiles
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.scores import SCORES


def test_every_engine_is_whole():
    for name, engine in ENGINES.items():
        assert engine.name == name
        assert engine.help
        assert set(engine.scores) <= set(SCORES)


@pytest.mark.parametrize(("engine", "score"), [("sketch", "overlap"), *(("exact", score) for score in SCORES)])
@pytest.mark.parametrize("sizes", ["noisy", "public"])
@pytest.mark.parametrize("catalogue", ["private", "given"])
@pytest.mark.filterwarnings("ignore:score='squared-cosine'")
@pytest.mark.filterwarnings("ignore:No item passed")
def test_the_promise_before_the_fact_is_the_promise_after_it(engine, score, sizes, catalogue):
    profiles = Profiles.from_pairs(np.repeat(np.arange(12), 4), np.arange(48) % 7)
    model = PrivateNeighbors(2, epsilon=0.3, engine=engine, score=score, sizes=sizes, catalogue=catalogue)
    planned = model.promise(profiles.n_users)
    assert model.fit(profiles).guarantee_ == planned
    assert model.guarantee_.text == planned.text


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_grows_with_users_and_neighbours(engine):
    small, large = (Profiles.from_pairs(np.repeat(np.arange(n), 20), np.arange(20 * n)) for n in (300, 3000))
    found = ENGINES[engine]
    assert found.memory_bytes(small, 10) < found.memory_bytes(large, 10) < found.memory_bytes(large, 100)
