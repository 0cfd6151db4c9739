"""Fits and lists add up: in the object, in its copies, and in a ledger."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.errors import refused

from hetdp import Ledger, PrivateNeighbors, Profiles
from hetdp.core.errors import BudgetExhausted, InvalidInput
from hetdp.neighbors import estimator

PEOPLE = [f"u{place}" for place in range(12)]
PROFILES = Profiles.from_pairs(PEOPLE * 3, [f"i{place % 5}" for place in range(36)])
VISITORS = Profiles.from_pairs(["x", "y"], ["i1", "i2"])


def model(**options):
    return PrivateNeighbors(3, **{"epsilon": 1, "catalogue": "given", **options})


@pytest.mark.parametrize(("engine", "each"), [("exact", 1), ("gossip", 11), ("sketch", 1)])
def test_every_fit_of_an_object_counts(engine, each):
    ledger = Ledger.of_profiles()
    neighbors = model(engine=engine, ledger=ledger)
    for fits in range(1, 5):
        neighbors.fit(PROFILES)
        assert neighbors.guarantee_.against(1) == ledger.total == fits * each
    assert f"epsilon = {4 * each}:" in neighbors.guarantee_.text
    assert neighbors.guarantee_.total == 4 * (each if engine == "sketch" else 11)


def test_a_seed_does_not_hide_fits():
    neighbors = model(random_state=0)
    for _ in range(40):
        neighbors.fit(PROFILES)
    assert neighbors.guarantee_.against(1) == 40
    assert neighbors.guarantee_.simulated
    secure = neighbors.set_params(random_state=None).fit(PROFILES).guarantee_
    assert not secure.simulated
    assert secure.against(1) == 1
    assert "Fits with a seed are not counted" in secure.text


@pytest.mark.parametrize("engine", ["exact", "gossip", "sketch"])
@pytest.mark.parametrize("colluders", [1, 4])
def test_the_ledger_counts_what_the_object_promises_against_colluders(engine, colluders):
    ledger = Ledger.of_profiles(colluders=colluders)
    neighbors = model(engine=engine, ledger=ledger, epsilon=0.5).fit(PROFILES)
    neighbors.fit(PROFILES)
    if engine == "exact":
        neighbors.kneighbors(VISITORS)
        neighbors.kneighbors(VISITORS)
        neighbors.kneighbors()
    assert ledger.total == pytest.approx(neighbors.guarantee_.against(colluders), rel=1e-12)
    assert len(ledger.history) == 2 + (engine == "exact")  # fits; lists of visitors, once


def test_a_limit_refuses_before_anything_is_drawn_and_keeps_what_there_is(monkeypatch):
    ledger = Ledger.of_profiles(limit=1.5)
    neighbors = model(ledger=ledger).fit(PROFILES)
    before = neighbors.kneighbors(), neighbors.guarantee_

    def draw(*_, **__):
        raise AssertionError

    monkeypatch.setattr(estimator, "scoring", draw)
    monkeypatch.setattr(type(neighbors._releases.fitted), "for_recipients", draw)
    for spend in (lambda: neighbors.fit(PROFILES), lambda: neighbors.kneighbors(VISITORS)):
        with pytest.raises(BudgetExhausted) as refusal:
            spend()
        assert (refusal.value.requested, refusal.value.remaining) == (1, 0.5)
    assert (neighbors.kneighbors()[0] == before[0][0]).all()
    assert neighbors.guarantee_ == before[1]
    assert ledger.total == 1


def test_gossip_is_charged_for_comparisons_with_everybody():
    ledger = Ledger.of_profiles(limit=10)
    with pytest.raises(BudgetExhausted) as refusal:
        model(engine="gossip", ledger=ledger).fit(PROFILES)
    assert refusal.value.requested == 11
    assert ledger.total == 0


def test_recipients_that_an_engine_cannot_serve_cost_nothing():
    ledger = Ledger.of_profiles()
    neighbors = model(engine="gossip", ledger=ledger).fit(PROFILES)
    before = ledger.total
    with refused("X", "gossip"):
        neighbors.kneighbors(VISITORS)
    assert ledger.total == before


def test_recipients_who_read_what_was_published_cost_nothing():
    ledger = Ledger.of_profiles(limit=1)
    neighbors = model(engine="sketch", ledger=ledger).fit(PROFILES)
    assert neighbors.kneighbors(VISITORS)[1].shape == (2, 3)
    assert ledger.total == neighbors.guarantee_.against(5) == 1
    assert len(ledger.history) == 1


def test_copies_share_the_ledger_and_what_was_released():
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")
    ledger = Ledger.of_profiles(limit=3)
    neighbors = model(ledger=ledger).fit(PROFILES)
    twin, fresh = copy.deepcopy(neighbors), sklearn.clone(neighbors)
    assert twin.ledger is fresh.ledger is ledger
    twin.kneighbors(VISITORS[[0]])
    assert neighbors.guarantee_.against(1) == 2
    fresh.fit(PROFILES)
    with pytest.raises(BudgetExhausted):
        twin.fit(PROFILES)
    assert ledger.total == 3
    copy.copy(neighbors).set_params(ledger=None, epsilon=7).fit(PROFILES)
    assert neighbors.guarantee_.against(1) == 2 + 7


def test_ledgers_of_another_kind_are_refused():
    for ledger, words in (
        (Ledger.of_people(limit=9), "must be one of profiles"),
        (Ledger(limits=[9.0] * 12), "must be one of profiles"),
        (Ledger.of_profiles(protects="person"), r"must protect what the release does \(item\)"),
        ("ledger.db", "ledger must be a Ledger .*[(]got str[)]"),
    ):
        with pytest.raises(InvalidInput, match=words):
            model(ledger=ledger).fit(PROFILES)


def test_a_ledger_given_after_the_fit_is_charged_for_what_comes_after():
    first, second = Ledger.of_profiles(), Ledger.of_profiles()
    neighbors = model(ledger=first).fit(PROFILES).set_params(ledger=second)
    neighbors.kneighbors(VISITORS)
    assert (first.total, second.total) == (2, 1)
    model().fit(PROFILES).set_params(ledger=second).kneighbors(VISITORS)
    assert second.total == 2


def test_what_is_interrupted_was_counted_before(monkeypatch):
    neighbors = model(ledger=Ledger.of_profiles()).fit(PROFILES)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(type(neighbors._releases.fitted), "for_recipients", interrupt)
        with pytest.raises(KeyboardInterrupt):
            neighbors.kneighbors(VISITORS)
        assert neighbors.guarantee_.against(1) == neighbors.ledger.total == 2
    with monkeypatch.context() as context:
        context.setattr(estimator, "holdings", interrupt)
        with pytest.raises(KeyboardInterrupt):
            neighbors.fit(PROFILES)
    assert neighbors.guarantee_.against(1) == neighbors.ledger.total == 3


def test_threads_and_copies_of_a_model_that_was_not_fitted_share_the_count():
    fresh = model()
    twin = copy.deepcopy(fresh)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: one.fit(PROFILES), [fresh, twin] * 2))
    assert fresh.guarantee_.against(1) == twin.guarantee_.against(1) == 4


def test_public_sizes_are_another_difference_than_a_ledger_counts():
    ledger = Ledger.of_profiles()
    with refused("ledger", "swapping"):
        model(score="cosine", sizes="public", ledger=ledger).fit(PROFILES)
    assert not ledger.history


def test_promises_of_another_kind_do_not_add_up():
    neighbors = model().fit(PROFILES).set_params(score="cosine", sizes="public")
    with pytest.raises(InvalidInput, match="must make the same kind of promise"):
        neighbors.fit(PROFILES)
    with pytest.raises(InvalidInput, match="must make the same kind of promise"):
        neighbors.set_params(random_state=0).fit(PROFILES)
    assert neighbors.guarantee_.against(1) == 1
