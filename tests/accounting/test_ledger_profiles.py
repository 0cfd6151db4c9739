"""Ledgers of profiles: one running total for all releases from one set of profiles."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.errors import refused

import hetdp
from hetdp import Ledger
from hetdp.accounting.guarantee import Guarantee, Recipients
from hetdp.core.errors import BudgetExhausted, InvalidInput

ADDED = "adding or removing an item of a user"
MODEL = Guarantee("epsilon", 0.5, adjacent=ADDED)


def lists(each, *, shared=0, most=99, together=False):
    recipients = Recipients(Fraction(each), Fraction(shared), most, together=together)
    return Guarantee.of_lists(recipients, adjacent=ADDED, adversary="one recipient")


@pytest.mark.parametrize(
    ("colluders", "promised", "charged"),
    [
        (1, MODEL, 0.5),
        (7, MODEL, 0.5),
        (1, lists("0.4"), 0.4),
        (7, lists("0.4"), 2.8),
        (7, lists("0.4", shared="0.1"), 2.9),
        (7, lists("0.4", most=3), 1.2),  # there are no more lists than that
        (1, lists("0.4", most=99, together=True), 39.6),  # every comparison counts, whoever looks
    ],
)
def test_what_colluders_have_of_lists_is_charged_and_what_is_public_once(colluders, promised, charged):
    ledger = Ledger.of_profiles(colluders=colluders)
    ledger.charge_profiles(promised)
    assert ledger.total == charged
    ledger.charge_profiles(promised)
    assert ledger.total == 2 * charged


def test_limits_refuse_and_spend_nothing():
    ledger = Ledger.of_profiles(limit=1, delta_limit=1e-6)
    for _ in range(2):
        ledger.charge_profiles(MODEL)
    assert (ledger.total, ledger.left) == (1.0, 0.0)
    for refuse in (ledger.charge_profiles, ledger.preview_profiles):
        with pytest.raises(BudgetExhausted, match=r"against 1 recipient.*Requested epsilon: 0.5. Remaining: 0."):
            refuse(MODEL)
    assert len(ledger.history) == 2
    rare = Ledger.of_profiles(delta_limit=1e-6)
    rare.charge_profiles(Guarantee("epsilon", 0.5, adjacent=ADDED, delta=9e-7))
    with pytest.raises(BudgetExhausted, match="delta is exhausted"):
        rare.charge_profiles(Guarantee("epsilon", 0.5, adjacent=ADDED, delta=9e-7))
    assert (rare.total, rare.delta_spent, rare.left) == (0.5, 9e-7, None)


def test_ten_tenths_fit_into_one():
    ledger = Ledger.of_profiles(limit=1)
    for _ in range(10):
        ledger.charge_profiles(Guarantee("epsilon", 0.1, adjacent=ADDED))
    assert ledger.left == 0
    neighbors = Ledger.of_profiles(limit=1)
    for _ in range(10):
        neighbors.charge_profiles(hetdp.PrivateNeighbors(epsilon=0.1).promise(10))
    assert neighbors.left == 0


def test_charges_of_another_kind_are_refused():
    person = Guarantee("epsilon", 1.0, adjacent=ADDED, protected="person")
    mean = hetdp.queries.mean(hetdp.Box.uniform(0, 60, size=3))
    profiles, people = Ledger.of_profiles(), Ledger.of_people(limit=3)
    with refused("ledger", "protects item"):
        profiles.charge_profiles(person)
    with refused("ledger", "protects person"):
        Ledger.of_profiles(protects="person").charge_profiles(MODEL)
    with refused("ledger", "what the release tells apart (replacing one item"):
        profiles.charge_profiles(Guarantee("epsilon", 1.0))
    with refused(problem="protect"):
        profiles.charge_profiles(Guarantee("epsilon", 1.0, protects="weights"))
    for other in (people, Ledger(limits=[1.0])):
        with refused("ledger", "must be one of profiles (Ledger.of_profiles)"):
            other.charge_profiles(MODEL)
    for charge in (
        lambda: profiles.charge([]),
        lambda: profiles.charge_people([(["ann"], [1.0])], amount=1),
        lambda: profiles.view(["ann"], limit=1),
        lambda: profiles.set_dials([], []),
        lambda: hetdp.release(hetdp.stretch(mean, [1.0] * 3), [38, 41, 55], epsilon=1, ledger=profiles),
    ):
        with refused("ledger", "one of items, rows or people"):
            charge()
    assert not profiles.history
    assert not people.history


def test_zcdp_needs_a_ledger_that_counts_in_rho():
    matrix = Guarantee("rho", 0.02, adjacent=ADDED)
    with refused(problem="unit='rho'"):
        Ledger.of_profiles().charge_profiles(matrix)
    ledger = Ledger.of_profiles(unit="rho")
    ledger.charge_profiles(matrix)
    ledger.charge_profiles(MODEL)
    assert ledger.total == pytest.approx(0.02 + 0.5**2 / 2)


def test_a_file_keeps_total_limits_and_adversary(tmp_path):
    path = tmp_path / "likes.db"
    with Ledger.of_profiles(path, limit=2, delta_limit=1e-5, colluders=3) as ledger:
        ledger.charge_profiles(lists("0.25"), description="neighbours")
    with Ledger.open(path) as ledger:
        assert (ledger.total, ledger.left, ledger.colluders, ledger.protects) == (0.75, 1.25, 3, "item")
        assert "3 recipients who share" in ledger.adversary
        assert [entry.description for entry in ledger.history] == ["neighbours"]
        assert repr(ledger) == "Ledger(of profiles, 0.75 of 2 spent at weight 1, unit epsilon, 1 charge, file likes.db)"
    for other in ({"colluders": 1}, {"limit": 9}, {"delta_limit": None}, {"protects": "person"}):
        with pytest.raises(InvalidInput, match=f"{next(iter(other))} must be the same as in the ledger file likes.db"):
            Ledger.of_profiles(path, **{"limit": 2, "delta_limit": 1e-5, "colluders": 3, **other})
    with refused(problem="must be the same"):
        Ledger.of_people(path, limit=2, delta_limit=1e-5)


def test_more_lists_cost_each_recipient_more_and_others_no_more_than_there_are():
    promised = lists(1, shared="0.5", most=9)
    asked = promised.with_lists(Fraction(1), 1).with_lists(Fraction(1), 2).with_lists(Fraction(1), 1)
    assert [asked.against(colluders) for colluders in (1, 2, 9, 100)] == [4.5, 6.5, 13.5, 13.5]
    assert (asked.total, asked.per_recipient, asked.amount) == (13.5, 4.0, 4.5)
    assert "Against c who collude, at most: (0.5 + 4 c) * v_i; all lists together: 13.5 * v_i." in asked.text
    both = promised.compose(asked)
    np.testing.assert_array_equal([both.against(colluders) for colluders in (1, 2, 9)], [6, 9, 23])


def test_nobody_is_told_that_nothing_was_spent_of_accounts_that_are_not_there():
    ledger = Ledger.of_profiles(limit=3)
    ledger.charge_profiles(lists("0.25"))
    with refused("ledger", "got one of profiles"):
        ledger.report()
