"""`hetdp.evaluate`: what the command measures, from Python."""

import numpy as np
import pytest

import hetdp
from hetdp import Profiles, policies
from hetdp.core.errors import DataError, InvalidInput

FAST = {"neighbors": 3, "runs": 2, "engine": "exact"}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(5)
    pairs = sorted({(user, 40 * (user % 4) + int(item)) for user in range(60) for item in rng.integers(0, 40, 25)})
    return Profiles.from_pairs(*zip(*pairs, strict=True))


def test_a_row_per_method_and_level_each_once(groups):
    found = hetdp.evaluate(groups, **{**FAST, "engine": ("sketch", "exact")}, epsilon=(1, 50, 1.0))
    assert [(row.method, row.epsilon) for row in found.rows] == [
        ("baseline", None), ("exact", 1.0), ("exact", 50.0), ("sketch", 1.0), ("sketch", 50.0), ("random", None),
    ]  # fmt: skip
    frame = found.to_frame()
    assert frame["recall"].tolist() == [row.recall for row in found.rows]
    assert frame["against_all"][1] == 59.0


def test_same_seed_same_rows_whatever_the_threads(groups):
    options = {**FAST, "policy": policies.slices(0, 1, 3), "epsilon": 2}
    one, two = (hetdp.evaluate(groups, **options, threads=threads) for threads in (1, 2))
    assert one == two
    assert hetdp.evaluate(groups, **options, seed=1) != one


def test_it_tells_how_far_it_is(groups):
    told = []
    hetdp.evaluate(groups, **FAST, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(1, 7)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"engine": "magic"}, "engine must be one of 'exact', 'gossip', 'sketch'"),
        ({"engine": "sketch", "score": "cosine"}, "score must be 'overlap' with engine='sketch'"),
        ({"runs": 1}, "runs must be a whole number >= 2"),
        ({"neighbors": 60}, r"neighbors must be below the number of users \(60\)"),
    ],
)
def test_what_cannot_be_measured_is_refused(groups, options, words):
    with pytest.raises(InvalidInput, match=words):
        hetdp.evaluate(groups, **{**FAST, **options})


def test_data_without_a_shared_item_are_refused():
    with pytest.raises(DataError, match="an item must be shared by two users"):
        hetdp.evaluate(Profiles.from_pairs(range(9), range(9)), **FAST)
