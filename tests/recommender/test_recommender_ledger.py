"""Models add up: in the object, in its copies, and in a ledger."""

import copy
import pickle

import pytest
from tests.support.crowds import tastes

from hetdp import Ledger, PrivateRecommender, Profiles
from hetdp.core.errors import BudgetExhausted, DataError, InvalidInput
from hetdp.recommender import estimator

CROWD = tastes(200)
NEWCOMER = Profiles.from_pairs(["newcomer"], ["item 00"])


def model(**options):
    return PrivateRecommender(**{"epsilon": 1, "catalogue": list(CROWD.item_ids), **options})


def test_every_fit_counts_and_lists_and_growth_do_not():
    ledger = Ledger.of_profiles()
    recommender = model(ledger=ledger)
    for fits in range(1, 4):
        recommender.fit(CROWD)
        recommender.recommend(2)
        recommender.recommend(2, profiles=NEWCOMER)
        recommender.partial_fit(Profiles.from_pairs([f"late {fits}"], ["item 00"]))
        assert recommender.guarantee_.amount == ledger.total == fits
    assert [entry.description for entry in ledger.history] == ["model (sketch)"] * 3
    assert recommender.guarantee_.adversary == model().promise().adversary


def test_a_ledger_given_while_a_crowd_grows_is_charged_once():
    ledger = Ledger.of_profiles()
    recommender = model().partial_fit(CROWD).set_params(ledger=ledger)
    for late in ("one", "two"):
        recommender.partial_fit(Profiles.from_pairs([late], ["item 00"]))
        assert ledger.total == 1
    recommender.fit(CROWD)
    assert ledger.total == 2


def test_private_names_charge_delta():
    ledger = Ledger.of_profiles(delta_limit=1e-4)
    recommender = model(ledger=ledger, catalogue="private", epsilon=50, delta=6e-5).fit(CROWD)
    assert (ledger.total, ledger.delta_spent) == (50.0, 6e-5)
    with pytest.raises(BudgetExhausted, match="delta is exhausted"):
        recommender.fit(CROWD)
    assert recommender.guarantee_.delta == 6e-5


@pytest.mark.parametrize(("unit", "protects", "other"), [("item", "item", "person"), ("user", "person", "item")])
def test_a_matrix_needs_a_ledger_in_rho_that_protects_the_same(unit, protects, other):
    matrix = {"release": "matrix", "unit": unit}
    for ledger in (Ledger.of_profiles(protects=protects), Ledger.of_profiles(unit="rho", protects=other)):
        with pytest.raises(InvalidInput):
            model(ledger=ledger, **matrix).fit(CROWD)
        assert not ledger.history
    ledger = Ledger.of_profiles(unit="rho", protects=protects)
    recommender = model(ledger=ledger, **matrix).fit(CROWD).fit(CROWD)
    assert ledger.total == pytest.approx(recommender.guarantee_.amount, rel=1e-9)
    assert ledger.total == pytest.approx(2 * model(**matrix).promise().amount, rel=1e-9)


def test_a_limit_refuses_before_anything_is_drawn_and_keeps_the_model(monkeypatch):
    ledger = Ledger.of_profiles(limit=1)
    recommender = model(ledger=ledger).fit(CROWD)
    before = recommender.recommend(3, profiles=NEWCOMER)
    monkeypatch.setattr(estimator, "Crowd", None)
    for learn in (recommender.fit, model(ledger=ledger).fit, model(ledger=ledger).partial_fit):
        with pytest.raises(BudgetExhausted, match="Remaining: 0"):
            learn(CROWD)
    assert recommender.recommend(3, profiles=NEWCOMER).equals(before)
    assert recommender.guarantee_.amount == ledger.total == 1


def test_copies_share_the_ledger_and_a_pickle_of_it_is_refused():
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")
    ledger = Ledger.of_profiles(limit=2)
    recommender = model(ledger=ledger).fit(CROWD)
    twin, fresh = copy.deepcopy(recommender), sklearn.clone(recommender)
    assert twin.ledger is fresh.ledger is ledger
    fresh.fit(CROWD)
    with pytest.raises(BudgetExhausted):
        twin.fit(CROWD)
    with pytest.raises(TypeError, match="could spend the same budget"):
        pickle.dumps(recommender)


def test_a_fit_that_fails_is_counted_too():
    ledger = Ledger.of_profiles()
    recommender = model(ledger=ledger, catalogue="private", epsilon=1e-3)
    for _ in range(3):
        with pytest.raises(DataError):
            recommender.fit(CROWD)
    recommender.set_params(epsilon=100).fit(CROWD)
    assert recommender.guarantee_.amount == ledger.total == 100.003


def test_a_saved_model_tells_what_it_costs_itself(tmp_path):
    recommender = model().fit(CROWD).fit(CROWD)
    recommender.save(tmp_path / "model.hetdp")
    assert PrivateRecommender.load(tmp_path / "model.hetdp").guarantee_.amount == 1
    assert recommender.guarantee_.amount == 2


def test_promises_of_another_kind_do_not_add_up():
    recommender = model().fit(CROWD).set_params(release="matrix")
    with pytest.raises(InvalidInput, match="must make the same kind of promise"):
        recommender.fit(CROWD)
    assert recommender.guarantee_.amount == 1
