"""Tables of people: one total for all, accounts that end, dials that change, people who come and go."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from tests.support.errors import refused

import hetdp
from hetdp.accounting.composition import STEPS, steps_down
from hetdp.accounting.ledger import file as ledger_file
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.core.errors import BudgetExhausted, InvalidInput, LedgerError

SOURCE = Path(hetdp.__file__).parents[1]
PEOPLE = ["ann", "bob", "cem", 4, 5]
#: By how much a float may differ from the decimal that it stands for, and by how much releases shrink a dial.
SHRINK = 1 - Fraction(1, 2**51)


def ledger_of(people, **settings):
    """Return a ledger that has been charged once for a table of {id: dial}."""
    ledger = Ledger.of_people(**{"limit": 1.0, **settings})
    ledger.charge_people([(list(people), list(people.values()))], amount=0)
    return ledger


# --- The total never counts too little --------------------------------------------------------------------

dials = st.one_of(st.sampled_from([0.0, 0.05, 0.1, 0.3, 1 / 3, 0.5, 0.7, 1.0]), st.floats(0.0, 1.0))
amounts = st.one_of(st.sampled_from([0.1, 0.25, 1 / 3, 1.0]), st.floats(0.0, 2.0), st.fractions(0, 2))
tables = st.dictionaries(st.sampled_from(PEOPLE), dials, min_size=1)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("table"), tables, amounts, st.sampled_from(["epsilon", "rho"]), st.booleans()),
        st.tuples(st.just("everybody"), amounts),
        st.tuples(st.just("losses"), st.lists(st.floats(0.0, 0.3), min_size=5, max_size=5)),
        st.tuples(st.just("new_dials"), tables),
    ),
    max_size=12,
)


def meant(number):
    """Return the least that a public number may stand for."""
    return number if isinstance(number, Fraction) else Fraction(number) * SHRINK


class Truth:
    """Releases charged to a ledger, and what each person has lost by them, in exact fractions."""

    def __init__(self, limit, unit, on_exhausted):
        self.ledger = Ledger.of_people(limit=limit, unit=unit, on_exhausted=on_exhausted)
        self.unit = unit
        self.lost = dict.fromkeys(PEOPLE, Fraction(0))
        self.dials = {}

    def loses(self, person, amount, dial, kind):
        loss = amount * (Fraction(dial) * SHRINK) ** (1 if kind == "epsilon" else 2)
        self.lost[person] += loss if kind == self.unit else loss * loss / 2

    def table(self, table, amount, kind, update):
        kind = kind if self.unit == "rho" else "epsilon"
        batches = [([person], [dial]) for person, dial in table.items()]
        told = {"amount": amount, "unit": kind, "new_people": True, "update_dials": update}
        smaller = dict(self.ledger.charge_people(batches, **told))
        self.dials |= table if update else {}
        for person, dial in table.items():
            allowed = smaller.get(person, dial)
            assert allowed <= min(dial, self.dials.setdefault(person, dial))
            self.loses(person, meant(amount), allowed, kind)

    def everybody(self, amount):
        out = dict(self.ledger.charge_people(None, amount=amount))
        for person in set(self.dials) - set(out):
            self.loses(person, meant(amount), self.dials[person], "epsilon")

    def losses(self, losses):
        items = self.ledger.items
        keep = self.ledger.charge(losses[: len(items)]) if items else []
        for person, loss, kept in zip(items, losses, keep, strict=False):
            self.loses(person, Fraction(loss) * bool(kept), 1, "epsilon")

    def new_dials(self, table):
        known = {person: dial for person, dial in table.items() if person in self.dials}
        self.ledger.set_dials(list(known), list(known.values()))
        self.dials |= known

    def check(self, limit):
        state = self.ledger._read()
        counted = state.accounts.lost(self.unit, state.totals).tolist()
        for person, steps in zip(self.ledger.items, counted, strict=True):
            assert steps >= self.lost[person] * STEPS
            assert self.lost[person] * STEPS <= int(steps_down(limit))


@pytest.mark.slow
@pytest.mark.parametrize("on_exhausted", ["raise", "drop"])
@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@given(happenings=operations, limit=st.one_of(st.sampled_from([0.0, 0.1, 1.0, 3.0]), st.floats(0.0, 5.0)))
def test_no_history_makes_the_ledger_count_too_little_or_anybody_lose_too_much(happenings, limit, unit, on_exhausted):
    """Losses are those of releases in which each counts with the largest dial allowed, shrunk as releases do."""
    truth = Truth(limit, unit, on_exhausted)
    for name, *what in happenings:
        try:
            getattr(truth, name)(*what)
        except BudgetExhausted:
            assert on_exhausted == "raise"
        truth.check(limit)


@pytest.mark.slow
@settings(max_examples=50)
@given(
    st.integers(1, 60),
    st.sampled_from([0.05, 0.1, 0.2, 0.3, 1 / 3, 0.7, 0.9, 1.0]),
    st.sampled_from(["epsilon", "rho"]),
)
def test_a_limit_lasts_for_as_many_charges_as_it_should(charges, dial, unit):
    """Decimals and thirds are no floats, and fit all the same: k charges of limit / k / dial."""
    limit = charges * (dial if unit == "epsilon" else dial**2)
    ledger = ledger_of({"ann": dial}, limit=limit, unit=unit)
    for _ in range(charges):
        ledger.charge_people([(["ann"], [dial])], amount=1, unit=unit)
    with pytest.raises(BudgetExhausted):
        ledger.charge_people([(["ann"], [dial])], amount=1e-6, unit=unit)


def test_a_ledger_of_people_speaks_of_people():
    ledger = ledger_of({"ann": 1.0, "bob": 0.5})
    assert repr(ledger) == "Ledger(unit epsilon, 1 charge, in memory; private: 2 people)"
    assert '<th scope="row">private</th><td>2 people</td>' in ledger._repr_html_()


def test_twelve_months_fit_into_a_year():
    ledger = ledger_of({"ann": 1.0})
    for _ in range(12):
        ledger.charge_people([(["ann"], [1.0])], amount=1 / 12)
    assert (ledger.spent.tolist(), ledger.total) == ([1.0], 1.0)
    with pytest.raises(BudgetExhausted, match=r"1 person .*Requested: 1e-09\. Remaining: 0\."):
        ledger.charge_people([(["ann"], [1.0])], amount=1e-9)


# --- Who is charged, admitted, refused --------------------------------------------------------------------


def test_a_charge_admits_and_charges_in_one():
    ledger = Ledger.of_people(limit=2)
    allowed = ledger.charge_people(
        [(["ann", "bob"], [1.0, 0.5]), (pa.array([7]), np.array([0.0]))],
        amount=Fraction(1, 2),
        delta=1e-9,
        description="hours",
        weights_loss=0.25,
    )
    assert (list(allowed), repr(allowed)) == ([], "AllowedDials(private: 0 people)")
    spent = dict(zip(ledger.items, ledger.spent.tolist(), strict=True))
    assert spent == {"ann": 0.5, "bob": 0.25, 7: 0.0}
    entry = ledger.history[0]
    assert (entry.description, entry.amount, entry.delta, entry.weights_loss) == ("hours", 0.5, 1e-9, 0.25)
    assert (ledger.total, ledger.delta_spent, ledger.weights_spent, ledger.limit) == (0.5, 1e-9, 0.25, 2.0)
    assert ledger.report().delta_spent == 1e-9


def test_who_is_absent_is_charged_all_the_same():
    ledger = ledger_of({"ann": 1.0, "bob": 0.5})
    ledger.charge_people([(["ann"], [1.0])], amount=0.5)
    assert sorted(ledger.spent.tolist()) == [0.25, 0.5]


def test_the_dial_of_the_ledger_holds_where_the_table_has_a_larger_one():
    ledger = ledger_of({"ann": 0.5, "bob": 0.5})
    table = pa.chunked_array([[" ann"], ["bob"]])
    allowed = ledger.charge_people([(table, [1.0, 0.25])], amount=0.5)
    assert list(allowed) == [(" ann", 0.5)]
    assert ledger.spent.tolist() == [0.25, 0.25]  # a smaller one is charged as the ledger's
    assert allowed.to_arrow("who").to_pydict() == {"who": [" ann"], "dial": [0.5]}
    ledger.set_dials(["ann"], [1.0])
    assert list(ledger.charge_people([(table, [1.0, 0.25])], amount=0.5)) == []
    assert sorted(ledger.spent.tolist()) == [0.5, 0.75]


def test_the_dials_of_a_table_take_the_place_of_the_ledgers_if_told():
    ledger = ledger_of({"ann": 0.5, "bob": 0.5, "cem": 0.5})
    ledger.charge_people([(["ann", "bob"], [0.5, 0.5])], amount=1)
    asked = {"amount": 0.5, "update_dials": True}
    assert ledger.preview_people([(["ann", "bob"], [1.0, 0.1])], **asked).unable == 0
    assert list(ledger.charge_people([(["ann", "bob"], [1.0, 0.1])], **asked)) == []
    assert dict(zip(ledger.items, ledger.spent.tolist(), strict=True)) == {"ann": 1.0, "bob": 0.55, "cem": 0.75}
    with pytest.raises(BudgetExhausted):
        ledger.charge_people([(["ann", "bob"], [0.1, 0.1])], **asked)
    assert list(ledger.charge_people([(["bob"], [1.0])], amount=1)) == [("bob", 0.1)]


def test_who_was_dropped_stays_out_whatever_their_dial():
    ledger = ledger_of({"ann": 1.0, "bob": 0.1}, on_exhausted="drop")
    table = [(["ann", "bob"], [0.01, 0.1])]
    assert list(ledger.charge_people(table, amount=2)) == [("ann", 0.0)]
    assert list(ledger.charge_people(table, amount=0.1, update_dials=True)) == [("ann", 0.0)]
    ledger.set_dials(["ann"], [0.0])
    assert dict(zip(ledger.items, ledger.active.tolist(), strict=True)) == {"ann": False, "bob": True}
    own = Ledger([1.0, 0.1], items=["ann", "bob"], on_exhausted="drop")
    own.charge([0.5, 0.5])  # bob is dropped with nothing spent
    assert list(own.charge_people([(["ann", "bob"], [0.1, 0.1])], amount=0.1)) == [("bob", 0.0)]


def test_who_cannot_pay_is_dropped_for_good_or_stops_the_release():
    people = {1: 1.0, 2: 0.5, 3: 0.0}
    table = [(np.array([1, 2, 3]), np.array([1.0, 0.5, 0.0]))]
    strict, dropping = ledger_of(people), ledger_of(people, on_exhausted="drop")
    with pytest.raises(BudgetExhausted, match=r"Private.* 1 person cannot spend.*exclude these people") as caught:
        strict.charge_people(table, amount=1.5)
    assert (caught.value.requested, caught.value.remaining, caught.value.items) == (1.5, 1.0, 1)
    assert (strict.total, strict.spent.tolist(), len(strict.history)) == (0.0, [0.0, 0.0, 0.0], 1)
    assert list(dropping.charge_people(table, amount=1.5)) == [(1, 0.0)]
    assert dropping.active.tolist() == [False, True, True]
    assert list(dropping.charge_people(table, amount=0.1)) == [(1, 0.0)]
    assert dropping.preview_people(table, amount=1).unable == 1
    assert dropping.preview_people(table, amount=1).dropped == 1
    assert dropping.drops
    assert not strict.drops


def test_who_was_dropped_does_not_stop_a_release_but_who_was_absent_does():
    """On a ledger that drops nobody, somebody whose account ended while they were absent must be noticed."""
    ledger = ledger_of({"ann": 1.0, "bob": 0.1})
    ledger.charge_people([(["bob"], [0.1])], amount=2)
    with pytest.raises(BudgetExhausted):
        ledger.charge_people([(["ann", "bob"], [1.0, 0.1])], amount=0.1)
    assert list(ledger.charge_people([(["bob"], [0.1])], amount=0.1)) == []


def test_a_new_person_who_cannot_pay_the_first_release_is_dropped_or_refused():
    batches = [(["ann"], [1.0])]
    with pytest.raises(BudgetExhausted):
        Ledger.of_people(limit=0.5).charge_people(batches, amount=1)
    assert list(Ledger.of_people(limit=0.5, on_exhausted="drop").charge_people(batches, amount=1)) == [("ann", 0.0)]


def test_everybody_is_charged_without_a_table():
    ledger = ledger_of({"ann": 1.0, "bob": 0.5, 7: 0.0}, on_exhausted="drop")
    assert list(ledger.charge_people(None, amount=0.75)) == []
    assert list(ledger.charge_people(None, amount=0.75)) == [("ann", 0.0)]
    last = ledger.charge_people(None, amount=1)
    assert dict(last) == {"ann": 0.0, "bob": 0.0}
    assert last[0] in {("ann", 0.0), ("bob", 0.0)}
    assert sorted(last.to_arrow()["id"].to_pylist()) == ["ann", "bob"]
    mixed = ledger_of({"ann": 1.0, 7: 1.0}, on_exhausted="drop").charge_people(None, amount=2)
    assert sorted(mixed.to_arrow()["id"].to_pylist()) == ["7", "ann"]
    strict = ledger_of({"ann": 1.0})
    with pytest.raises(BudgetExhausted):
        strict.charge_people(None, amount=2)
    assert strict.total == 0.0


def test_new_people_need_a_limit_and_must_not_be_most():
    ledger = ledger_of({"ann": 1.0, "bob": 1.0})
    for ids, told in ((["ann", "dee", "eve"], "2 of 3 people are new"), (["dee"], "1 of 1 people are new")):
        with refused("new_people", told):
            ledger.charge_people([(ids, [1.0] * len(ids))], amount=0.1)
    ledger.charge_people([(["ann", "dee"], [1.0, 1.0])], amount=0.1)  # half is not most
    ledger.charge_people([(["eve", "fay"], [1.0, 1.0])], amount=0.1, limit=0.25, new_people=True)
    assert sorted(ledger.limits.tolist()) == [0.25, 0.25, 1.0, 1.0, 1.0]
    unlimited = Ledger.of_people()
    with refused("ids", "known to the ledger"):
        unlimited.charge_people([(["ann"], [1.0])], amount=0.1)
    view = ledger.view(["gil"], limit=1.0, new_people=True)
    assert view.new == 1
    with refused("new_people", "new"):
        ledger.view(["gil"], limit=1.0)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([(["ann", " ann"], [1, 1])], ("ids", "all different")),
        ([(["ann"], [1]), (["ann"], [1])], ("ids", "all different")),
        ([(["SECRET", "SECRET"], [1, 1])], ("ids", "all different")),
        ([(["ann"], [1, 1])], ("dials", "one dial per id (1)")),
        ([(["ann"], [1.5])], ("dials", "in [0, 1]")),
        ([(["ann"], [float("nan")])], ("dials", "in [0, 1]")),
        ([(["ann"], ["SECRET"])], ("dials", "a vector of numbers")),
        ([(["ann"], [[1.0]])], ("dials", "a vector")),
        ([(["SECRET", None], [1, 1])], ("ids", "not be missing")),
    ],
)
def test_a_table_that_is_none_costs_nothing(batches, message):
    ledger = ledger_of({"ann": 1.0})
    for ask in (ledger.charge_people, ledger.preview_people):
        with refused(*message) as caught:
            ask(batches, amount=0.5, new_people=True)
        assert "SECRET" not in str(caught.error)
    assert (ledger.total, ledger.size, len(ledger.history)) == (0.0, 1, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"amount": -1}, ("amount", "a number of at least 0")),
        ({"amount": 1e9}, ("amount", "leave the total")),
        ({"amount": 1, "unit": "rho"}, (None, "no finite epsilon covers")),
        ({"amount": 1, "delta": -1}, ("delta", "")),
        ({"amount": 1, "limit": -1}, ("limit", "")),
        ({"amount": 1, "weights_loss": -1}, ("weights_loss", "")),
        ({"amount": 1, "description": 7}, ("description", "")),
    ],
)
def test_a_bad_charge_of_people_spends_nothing(settings, message):
    ledger = ledger_of({"ann": 1.0})
    for ask in (ledger.charge_people, ledger.preview_people):
        with refused(*message):
            ask([(["ann"], [1.0])], **settings)
    assert (ledger.total, len(ledger.history)) == (0.0, 1)


def test_an_error_of_the_table_spends_nothing():
    ledger = ledger_of({"ann": 1.0})

    def broken():
        yield ["ann"], [1.0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ledger.charge_people(broken(), amount=0.5)

    def nested():
        yield ["ann"], [1.0]
        ledger.charge_people(None, amount=0.5)

    with pytest.raises(LedgerError, match="while it reads"):
        ledger.charge_people(nested(), amount=0.5)
    assert ledger.total == 0.0


def test_items_without_labels_cannot_be_people():
    with refused("ledger", "must know people by their ids"):
        Ledger([1.0]).charge_people([(["ann"], [1.0])], amount=0.5)


def test_a_person_who_was_charged_losses_of_their_own_joins_with_what_is_left():
    ledger = Ledger([1.0, 1.0], items=["ann", "bob"])
    ledger.charge([0.5, 0.0])
    ledger.charge_people([(["bob"], [1.0])], amount=0.25)  # ann has no dial yet and is not charged
    assert ledger.spent.tolist() == [0.5, 0.25]
    with pytest.raises(BudgetExhausted):
        ledger.charge_people([(["ann", "bob"], [1.0, 1.0])], amount=0.75)
    ledger.charge_people([(["ann", "bob"], [0.5, 1.0])], amount=0.75)
    assert ledger.spent.tolist() == [0.875, 1.0]
    assert ledger.charge([0.125, 0.0]).all()
    assert ledger.remaining.tolist() == [0.0, 0.0]


def test_gaussian_charges_of_people_divide_by_the_square_of_the_dial():
    ledger = ledger_of({"ann": 1.0, "bob": 0.5, "cem": 0.0}, unit="rho", limit=0.5)
    ledger.charge_people(None, amount=0.25, unit="rho")
    ledger.charge_people(None, amount=0.5, unit="epsilon")
    found = dict(zip(ledger.items, ledger.spent.tolist(), strict=True))
    assert found == {"ann": 0.375, "bob": 0.09375, "cem": 0.0}
    pure = dict(zip(ledger.items, ledger.report().epsilon.tolist(), strict=True))
    assert pure == {"ann": np.inf, "bob": np.inf, "cem": 0.0}
    ledger.charge_people([(["ann", "dee"], [1.0, 1.0])], amount=0.5, unit="epsilon")
    assert dict(zip(ledger.items, ledger.report().epsilon.tolist(), strict=True))["dee"] == 0.5


# --- Limits of weights and delta --------------------------------------------------------------------------


@pytest.mark.parametrize("on_exhausted", ["raise", "drop"])
def test_weights_have_a_limit_of_their_own(on_exhausted):
    ledger = Ledger([9.0], weights_limit=1.0, on_exhausted=on_exhausted)
    for _ in range(10):
        ledger.charge([0.1], weights_loss=0.1)
    with pytest.raises(BudgetExhausted, match=r"budget of weights is exhausted; .* Remaining: 0\.") as caught:
        ledger.charge([0.1], weights_loss=0.1)
    assert caught.value.items == 0
    assert (ledger.spent.tolist(), ledger.weights_spent, ledger.weights_limit) == ([1.0], 1.0, 1.0)
    people = Ledger.of_people(limit=9, weights_limit=0.5, on_exhausted=on_exhausted)
    with pytest.raises(BudgetExhausted, match="weights"):
        people.charge_people([(["ann"], [1.0])], amount=1, weights_loss=0.6)
    assert (people.size, people.total) == (0, 0.0)


def test_delta_has_a_limit_of_its_own():
    ledger = Ledger.of_people(limit=9, delta_limit=1e-6, on_exhausted="drop")
    for _ in range(10):
        ledger.charge_people([(["ann"], [1.0])], amount=0.1, delta=1e-7)
    with pytest.raises(BudgetExhausted, match="budget of delta is exhausted"):
        ledger.charge_people([(["ann"], [1.0])], amount=0.1, delta=1e-15)
    assert (ledger.delta_spent, ledger.delta_limit, ledger.total) == (1e-6, 1e-6, 1.0)


# --- In a file --------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def small_chunks(monkeypatch):
    """Make chunks so small that a test has many."""
    monkeypatch.setattr(ledger_file, "_CHUNK", 3)


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
def test_a_file_holds_what_memory_holds(path):
    chance = np.random.default_rng(7)
    memory = Ledger.of_people(limit=1.5, on_exhausted="drop")
    Ledger.of_people(path, limit=1.5).close()
    for turn in range(30):
        people = chance.choice(40, size=8, replace=False)
        names = [f"p{one}" if one % 2 else int(one) for one in people]
        table = [(names[:5], chance.random(5)), (names[5:], chance.random(3))]
        with Ledger.open(path, "drop") as ledger:
            for each in (ledger, memory):
                if turn % 5 == 4:
                    each.set_dials(each.items[:2], [0.5, turn / 30])
                if turn % 7 == 6:
                    each.charge(np.full(each.size, 0.01))
            asked = {"amount": 0.3, "new_people": True, "description": str(turn), "delta": 1e-9}
            assert list(ledger.charge_people(iter(table), **asked)) == list(memory.charge_people(iter(table), **asked))
            if turn % 3 == 0:
                everybody = [list(each.charge_people(None, amount=0.05)) for each in (ledger, memory)]
                assert everybody[0] == everybody[1]
        with Ledger.open(path) as ledger:
            assert ledger.items == memory.items
            assert ledger.spent.tolist() == memory.spent.tolist()
            assert ledger.active.tolist() == memory.active.tolist()
            assert ledger.report().epsilon.tolist() == memory.report().epsilon.tolist()
            assert (ledger.total, ledger.delta_spent) == (memory.total, memory.delta_spent)
    assert not memory.active.all()


@pytest.mark.usefixtures("small_chunks")
def test_a_charge_of_everybody_reads_heads_and_the_chunks_in_which_somebody_ends(path, monkeypatch):
    with Ledger.of_people(path, limit=1, on_exhausted="drop") as ledger:
        ledger.charge_people([(list(range(12)), [0.01] * 9 + [1.0] * 3)], amount=0.5)
    read = []
    whole = ledger_file._read_chunk
    with Ledger.open(path, "drop") as ledger:
        monkeypatch.setattr(ledger_file, "_read_chunk", lambda *given: read.append(given[1]) or whole(*given))
        ledger.charge_people(None, amount=0.5)
        assert read == []
        assert [one for one, _ in ledger.charge_people(None, amount=0.1)] == [9, 10, 11]
        assert read == [3]
        monkeypatch.setattr(ledger_file, "_write_accounts", None)  # nor is any written
        ledger.charge_people(None, amount=0.1)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET dials = zeroblob(24) WHERE id = 1",
        "UPDATE chunks SET ends = 4611686018427387904 WHERE id = 1",
        "UPDATE chunks SET size = 2 WHERE id = 1",
        "DELETE FROM chunks WHERE id = 2",
        "UPDATE chunks SET texts = x'00' WHERE id = 1",
        "UPDATE state SET totals = replace(totals, '126000000000', '126')",
    ],
)
def test_doctored_accounts_are_refused_even_where_only_heads_are_inspected(path, damage, monkeypatch):
    with Ledger.of_people(path, limit=1, on_exhausted="drop") as ledger:
        ledger.charge_people([(list(range(9)), np.linspace(0.5, 1, 9))], amount=0.5)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger.open(path)
    monkeypatch.setattr(ledger_file, "_SMALL_BYTES", 0)
    with pytest.raises(LedgerError, match="is damaged"), Ledger.open(path, "drop") as ledger:
        ledger.charge_people(None, amount=2)
    assert path.read_bytes() == before


def test_a_ledger_says_whose_losses_it_counts(path):
    Ledger([1.0], path, protects="row").close()
    with Ledger.open(path) as ledger:
        assert ledger.protects == "row"
    with refused("protects", "the same"):
        Ledger([1.0], path, protects="person")
    assert (Ledger([1.0]).protects, Ledger.of_people().protects) == ("item", "person")


def test_an_empty_ledger_of_people_is_made_lazily_and_must_match(path):
    with Ledger.of_people(path, limit=2, weights_limit=3, delta_limit=1e-6, lazy=True) as ledger:
        assert (ledger.size, ledger.spent.tolist(), ledger.items, path.exists()) == (0, [], (), False)
        assert repr(ledger) == "Ledger(unit epsilon, no charges, file ledger.db; private: no people)"
        with pytest.raises(BudgetExhausted):
            ledger.charge_people([(["ann"], [1.0])], amount=3)
        assert not path.exists()
        ledger.charge_people([(["ann"], [1.0])], amount=1)
        assert path.exists()
    same = {"limit": 2, "weights_limit": 3, "delta_limit": 1e-6}
    with Ledger.of_people(path, **same) as ledger:
        assert ledger.spent.tolist() == [1.0]
    for name, other in [("limit", 3), ("weights_limit", None), ("delta_limit", 1e-5), ("unit", "rho")]:
        with pytest.raises(InvalidInput, match=rf"^{name} must be the same"):
            Ledger.of_people(path, **{**same, name: other})


def start(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["_write_accounts", "_write_history", "_write_state"])
@pytest.mark.parametrize("after", [True, False])
def test_a_kill_at_any_step_charges_and_admits_all_or_nobody(path, moment, after):
    script = """
        import os, signal, sys
        from hetdp.accounting.ledger import file
        from hetdp.accounting.ledger.ledger import Ledger
        file._CHUNK = 3
        whole = getattr(file, sys.argv[2])
        def killed(*arguments, **options):
            if sys.argv[3] == "True":
                whole(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        with Ledger.open(sys.argv[1]) as ledger:
            setattr(file, sys.argv[2], killed)
            ledger.charge_people([(list(range(20)), [0.5] * 20)], amount=0.5, new_people=True)
    """
    with Ledger.of_people(path, limit=1) as ledger:
        ledger.charge_people([(list(range(5)), [0.5] * 5)], amount=0.5)
    with start(script, path, moment, after) as process:
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
    with Ledger.open(path) as ledger:
        assert (ledger.size, ledger.total, ledger.spent.tolist()) == (5, 0.5, [0.25] * 5)
        ledger.charge_people([(list(range(20)), [0.5] * 20)], amount=0.5, new_people=True)
        assert sorted(ledger.spent.tolist()) == [0.25] * 15 + [0.5] * 5


@pytest.mark.slow
def test_kill_minus_nine_never_loses_a_charge_of_people(path):
    """Each charge admits somebody, so that accounts, totals and history are written every time."""
    script = """
        import sys
        from hetdp.accounting.ledger import file
        from hetdp.accounting.ledger.ledger import Ledger
        file._CHUNK = 5
        with Ledger.open(sys.argv[1]) as ledger:
            while True:
                new = ledger.size
                ledger.charge_people([([*range(new), new], [0.5] * (new + 1))], amount=0.25)
                print("charged", flush=True)
    """
    with Ledger.of_people(path, limit=1e6) as ledger:
        ledger.charge_people([([0], [0.5])], amount=0.25)
    sure = 1
    for turns in (1, 9, 4, 17):
        with start(script, path) as process:
            for _ in range(turns):
                assert process.stdout.readline() == "charged\n"
            process.send_signal(signal.SIGKILL)
            sure += turns + process.stdout.read().count("charged\n")
            assert process.wait() == -signal.SIGKILL
        with Ledger.open(path) as ledger:
            recorded = len(ledger.history)
            assert sure <= recorded <= sure + 1
            assert (ledger.size, ledger.total) == (recorded, 0.25 * recorded)
            assert sorted(ledger.spent.tolist()) == [0.125 * (turn + 1) for turn in range(recorded)]
            sure = recorded


@pytest.mark.slow
def test_a_fork_in_the_middle_of_a_table_pays_in_the_parent_only(path):
    script = """
        import os, sys
        from hetdp.accounting.ledger.ledger import Ledger
        from hetdp.core.errors import LedgerError
        with Ledger.open(sys.argv[1]) as ledger:
            children = []
            def forking():
                yield ["ann"], [1.0]
                children.append(os.fork())
            try:
                ledger.charge_people(forking(), amount=0.25)
                assert children[0]
            except LedgerError as error:
                assert not children[0] and "forked" in str(error), error
            if children[0]:
                assert os.waitpid(children[0], 0)[1] == 0
    """
    Ledger.of_people(path, limit=1).close()
    with start(script, path) as process:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    with Ledger.open(path) as ledger:
        assert (ledger.size, ledger.total, len(ledger.history)) == (1, 0.25, 1)


@pytest.mark.slow
def test_processes_admit_and_charge_people_at_once(path):
    script = """
        import sys
        from hetdp.accounting.ledger.ledger import Ledger
        print("ready", flush=True)
        sys.stdin.readline()
        me = int(sys.argv[2])
        with Ledger.of_people(sys.argv[1], limit=1000) as ledger:
            for turn in range(10):
                ids = [f"{me}-{turn}", "shared"]
                ledger.charge_people([(ids, [1.0, 0.5])], amount=0.25, delta=1e-9)
                ledger.charge_people(None, amount=0.25)
    """
    processes = [start(script, path, number) for number in range(3)]
    assert all(process.stdout.readline() == "ready\n" for process in processes)
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    with Ledger.open(path) as ledger:
        assert (ledger.size, ledger.total, len(ledger.history)) == (31, 15.0, 60)
        assert ledger.delta_spent == 30e-9
        assert dict(zip(ledger.items, ledger.spent.tolist(), strict=True))["shared"] == 7.5


def test_a_ledger_sees_accounts_that_another_has_changed(path):
    with Ledger.of_people(path, limit=1, on_exhausted="drop") as one, Ledger.open(path, "drop") as two:
        one.charge_people([(["ann", "bob"], [1.0, 0.5])], amount=0.5)
        assert two.spent.tolist() == one.spent.tolist()
        two.set_dials(["ann"], [0.25])
        assert list(one.charge_people([(["ann", "bob"], [1.0, 0.5])], amount=1)) == [("ann", 0.25)]
        assert two.total == 1.5
