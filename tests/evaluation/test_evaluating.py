"""`hetdp.evaluate`: what the command measures, from Python: neighbours, recommendations, and their rivals."""

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Profiles, policies
from hetdp.core.errors import DataError
from hetdp.evaluation import Evaluation
from hetdp.evaluation.evaluating import popularity_thirds
from hetdp.evaluation.metrics import judge

FAST = {"neighbors": 3, "runs": 2, "engine": "exact", "what": "neighbors"}
RIVALS = ("private popularity", "holder's popularity")
RECOMMENDERS = ("model", "matrix model")
ITEMS = {"items": 5, "runs": 3, "what": "items", "engine": "model"}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(5)
    pairs = sorted({(user, 40 * (user % 4) + int(item)) for user in range(60) for item in rng.integers(0, 40, 25)})
    return Profiles.from_pairs(*zip(*pairs, strict=True))


def test_a_row_per_method_and_level_each_once(groups):
    found = hetdp.evaluate(groups, **{**FAST, "engine": ("sketch", "exact")}, epsilon=(1, 50, 1.0))
    assert [(row.method, row.epsilon) for row in found.neighbors] == [
        ("true neighbours", None), ("exact", 1.0), ("exact", 50.0), ("sketch", 1.0), ("sketch", 50.0),
        ("same people", None), ("random", None),
    ]  # fmt: skip
    assert found.items == ()
    frame = found.to_frame("neighbors")
    assert frame["recall"].tolist() == [row.recall for row in found.neighbors]
    assert frame["against_all"][1] == 59.0


def test_same_seed_same_rows_whatever_the_threads(groups):
    options = {**FAST, "policy": policies.slices(0, 1, 3), "epsilon": 2}
    one, two = (hetdp.evaluate(groups, **options, threads=threads) for threads in (1, 2))
    assert one == two
    assert hetdp.evaluate(groups, **options, seed=1) != one


def test_it_tells_how_far_it_is(groups):
    told = []
    hetdp.evaluate(groups, **FAST, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize(
    ("options", "parameter", "problem"),
    [
        ({"epsilon": 0}, "epsilon", "above 0"),
        ({"engine": "magic"}, "engine", "'model', 'exact', 'gossip', 'sketch'"),
        ({"engine": "sketch", "score": "cosine"}, "score", "'overlap'"),
        ({"engine": "gossip", "combine": "larger"}, "combine", "'smaller', 'product'"),
        ({"what": "users"}, "what", "'neighbors', 'items'"),
        ({"items": 0}, "items", "at least 1"),
        ({"share": 0}, "share", "above 0"),
        ({"policy": "westin"}, "policy", "hetdp.policies"),
        ({"runs": 1}, "runs", "at least 2"),
        ({"neighbors": 60}, "neighbors", "(60)"),
    ],
)
def test_what_cannot_be_measured_is_refused(groups, options, parameter, problem):
    with refused(parameter, problem):
        hetdp.evaluate(groups, **{**FAST, **options})


def test_data_without_a_shared_item_are_refused():
    with refused(problem="shared by two users", kind=DataError):
        hetdp.evaluate(Profiles.from_pairs(range(9), range(9)), **FAST)


def items(groups, **options):
    return {(row.method, row.epsilon): row for row in hetdp.evaluate(groups, **{**ITEMS, **options}).items}


@pytest.mark.slow
def test_recommendations_stand_beside_their_rivals(groups):
    found = items(groups, epsilon=(0.5, 30), engine=())
    levels = [(name, level) for level in (0.5, 30.0) for name in (*RECOMMENDERS, *RIVALS)]
    assert list(found) == [("EASE, no privacy", None), *levels, ("popularity", None)]
    sure, noise = found["model", 30.0], found["model", 0.5]
    assert found["EASE, no privacy", None].ndcg > sure.ndcg - 0.05 > found["popularity", None].ndcg
    assert (sure.beats_popularity, noise.beats_popularity) == ("yes", "unsure")
    assert sure.beyond_popularity == pytest.approx(sure.ndcg - found["private popularity", 30.0].ndcg)
    matrix = found["matrix model", 30.0]
    assert matrix.beyond_popularity == pytest.approx(matrix.ndcg - found["holder's popularity", 30.0].ndcg)
    assert found["private popularity", 30.0].beats_popularity is None
    assert found["popularity", None].beyond_popularity is None


def test_losses_are_the_levels_of_the_models(groups):
    found = items(groups, epsilon=3, engine=("model", "exact", "sketch"))
    private = {"model", "matrix model", *RIVALS}
    assert {name: row.against_all for (name, _), row in found.items()} == {
        name: 3.0 if name in private else None for name in ("EASE, no privacy", *private, "popularity")
    }
    assert not items(groups, epsilon=3, engine="exact", what=("neighbors", "items")), "engines recommend nothing"


def test_items_are_judged_as_the_metrics_do(groups):
    found = items(groups, epsilon=2)
    plain = []
    for seed in range(3):
        train, test = hetdp.split(groups, random_state=seed)
        model = hetdp.PrivateRecommender(2, catalogue="given", random_state=seed).fit(train)
        plain.append(judge(model, groups, test, 5))
    row = found["model", 2.0]
    for name in ("precision", "recall", "ndcg"):
        assert getattr(row, name) == pytest.approx(np.mean([getattr(one, name) for one in plain]), abs=0.02)


def test_thirds_make_up_what_was_found():
    """A few items that all have, some that many have, and rare ones: popularity finds the head only."""
    rng = np.random.default_rng(8)
    chance = np.repeat([0.9, 0.3, 0.05], [10, 30, 180])
    profiles = Profiles.from_pairs(*np.nonzero(rng.random((80, 220)) < chance), item_ids=range(220))
    found = items(profiles, epsilon=1)["popularity", None]
    assert found.head > 0.9
    assert found.middle < found.head / 2
    assert found.tail == 0.0


def test_weights_cost_signal_and_rivals_without_privacy_do_not_mind(groups):
    slices = policies.slices(0, 0.1, 1), policies.constant(1)
    rows = {(row.method, row.weights): row for row in hetdp.evaluate(groups, **ITEMS, epsilon=30, policy=slices).items}
    assert rows["model", "slices 0,0.1,1 per item"].ndcg < rows["model", "constant 1 per item"].ndcg - 0.1
    assert rows["EASE, no privacy", None].ndcg == items(groups, epsilon=30)["EASE, no privacy", None].ndcg


def test_nothing_hidden_of_a_third_is_no_share():
    pairs = [(user, item) for user in range(30) for item in range(6)]
    found = items(Profiles.from_pairs(*zip(*pairs, strict=True)), epsilon=1, share=0.2)["popularity", None]
    assert (found.head, found.middle, found.tail) != (None, None, None)
    assert popularity_thirds(np.zeros(3, dtype=np.int64)).tolist() == [0, 0, 0]


def test_frames_have_the_fields_of_rows_also_without_any(groups):
    found = hetdp.evaluate(groups, **ITEMS)
    assert found.to_frame()["ndcg"].tolist() == [row.ndcg for row in found.items]
    assert list(found.to_frame("neighbors").columns)[:3] == ["method", "epsilon", "weights"]
    with refused("table"):
        found.to_frame("both")


def test_an_evaluation_says_how_much_it_holds_and_shows_no_figure():
    assert repr(Evaluation((), ())) == (
        "Evaluation(neighbors: no rows, items: no rows; private: to_frame() and plot() show them)"
    )
