"""The rules of the ledger, in memory: what is charged, refused, dropped and shown."""

import ast
import copy
import math
import os
import pickle
import sys
import threading
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.support.errors import refused

import hetdp.accounting.ledger.ledger
from hetdp.accounting.composition import STEPS
from hetdp.accounting.ledger.ledger import Charge, Ledger
from hetdp.core.errors import BudgetExhausted, InvalidInput, LedgerError

LIMITS = [1.0, 0.5, 0.0]


def test_a_charge_is_added_to_what_was_spent():
    ledger = Ledger(limits=[1.0, 1.0, 1.0])
    keep = ledger.charge([0.25, 0.125, 0.05], description="mean", amount=0.5, weights_loss=0.5)
    assert keep.tolist() == [True, True, True]
    assert ledger.spent.tolist() == [0.25, 0.125, 0.05]
    assert ledger.remaining.tolist() == [0.75, 0.875, 0.95]
    assert ledger.weights_spent == 0.5
    assert (ledger.size, ledger.unit, ledger.items, ledger.path) == (3, "epsilon", None, None)


def test_history_tells_releases_but_no_items():
    ledger = Ledger(limits=LIMITS)
    ledger.charge([0.25, 0.0, 0.0], description="mean", amount=0.5, weights_loss=0.5)
    ledger.charge([0.0, 0.1, 0.0])
    first, second = ledger.history
    assert (first.description, first.unit, first.amount, first.weights_loss) == ("mean", "epsilon", 0.5, 0.5)
    assert first.time.endswith("+00:00")
    assert (second.description, second.amount, second.weights_loss) == ("", None, 0.0)


def test_ten_charges_of_a_tenth_fit_and_an_eleventh_does_not():
    ledger = Ledger(limits=[1.0])
    for _ in range(10):
        ledger.charge([0.1])
    assert ledger.spent.tolist() == [1.0]
    assert ledger.remaining.tolist() == [0.0]
    with pytest.raises(BudgetExhausted):
        ledger.charge([1e-12])


def test_exhausted_budget_spends_nothing_and_tells_the_largest_shortfall():
    ledger = Ledger(limits=[1.0, 0.5, 0.25])
    ledger.charge([0.5, 0.25, 0.0], weights_loss=0.5)
    before = ledger.spent
    with pytest.raises(BudgetExhausted, match=r"2 items .*Requested: 1\. Remaining: 0\.25\. Short by: 0\.75") as caught:
        ledger.charge([0.5, 1.0, 0.5], weights_loss=1.0)
    assert (caught.value.requested, caught.value.remaining, caught.value.items) == (1.0, 0.25, 2)
    assert caught.value.short_by == 0.75
    assert ledger.spent.tolist() == before.tolist()
    assert ledger.weights_spent == 0.5
    assert len(ledger.history) == 1


def test_dropped_items_are_out_for_good():
    ledger = Ledger(limits=LIMITS, on_exhausted="drop")
    assert ledger.charge([0.5, 0.75, 0.0]).tolist() == [True, False, True]
    assert ledger.spent.tolist() == [0.5, 0.0, 0.0]
    assert ledger.active.tolist() == [True, False, True]
    assert ledger.charge([0.25, 0.1, 0.1]).tolist() == [True, False, False]
    assert ledger.spent.tolist() == [0.75, 0.0, 0.0]
    assert ledger.preview([0.1, 0.0, 0.0]).tolist() == [True, False, False]


def test_preview_spends_nothing():
    ledger = Ledger(limits=LIMITS)
    assert ledger.preview([1.0, 1.0, 0.0]).tolist() == [True, False, True]
    assert ledger.spent.tolist() == [0.0, 0.0, 0.0]
    assert ledger.history == ()


@pytest.mark.parametrize(
    ("charge", "message"),
    [
        ({"losses": [0.1, 0.1]}, ("losses", "one loss per item (3)")),
        ({"losses": [0.1, -0.123, 0.0]}, ("losses", ">= 0")),
        ({"losses": [0.1, math.nan, 0.0]}, ("losses", "finite numbers only")),
        ({"losses": [0.1, math.inf, 0.0]}, ("losses", "finite numbers only")),
        ({"losses": ["a", "b", "c"]}, ("losses", "a vector of numbers")),
        ({"losses": [[0.1, 0.1, 0.1]]}, ("losses", "a non-empty vector")),
        (
            {"losses": [0.1] * 3, "unit": "delta"},
            ("unit", "one of 'epsilon', 'rho'"),
        ),
        ({"losses": [0.1] * 3, "unit": "rho"}, (None, "A ledger with unit='rho' takes both")),
        (
            {"losses": [0.0] * 3, "weights_loss": -1},
            ("weights_loss", "a number of at least 0"),
        ),
        ({"losses": [0.0] * 3, "weights_loss": math.nan}, ("weights_loss", "a finite number")),
        ({"losses": [0.0] * 3, "amount": -1}, ("amount", "a number of at least 0")),
        ({"losses": [0.0] * 3, "description": 7}, ("description", "a valid text")),
        ({"losses": [0.0] * 3, "description": "\ud800"}, ("description", "a valid text")),
    ],
)
@pytest.mark.parametrize("on_exhausted", ["raise", "drop"])
def test_a_bad_charge_spends_nothing(charge, message, on_exhausted):
    ledger = Ledger(limits=[1.0, 1.0, 1.0], on_exhausted=on_exhausted)
    with refused(*message) as caught:
        ledger.charge(**charge)
    assert "0.123" not in str(caught.error)
    assert ledger.spent.tolist() == [0.0, 0.0, 0.0]
    assert ledger.active.all()
    assert ledger.history == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limits": 1.0}, r"limits must be a vector with one limit per item [(]got a single value[)]"),
        ({"limits": np.array(1.0)}, r"limits must be a vector with one limit per item"),
        ({"limits": []}, r"limits must be a non-empty vector"),
        ({"limits": [1.0, -1.0]}, r"limits must be >= 0 [(]got a negative limit[)]"),
        ({"limits": [math.inf]}, r"limits must hold finite numbers only"),
        ({"limits": [[1.0], [1.0, 2.0]]}, r"limits must be a vector of numbers"),
        ({"limits": None}, r"limits must hold finite numbers only"),
        ({"limits": [1.0], "unit": "delta"}, r"unit must be one of"),
        ({"limits": [1.0], "on_exhausted": "ignore"}, r"on_exhausted must be one of 'raise', 'drop'"),
        ({"limits": [1.0], "items": ["a", "b"]}, r"items must hold one label per item \(1\) [(]got 2[)]"),
        (
            {"limits": [1.0, 1.0], "items": ["a", "a"]},
            r"items must be all different [(]got 1 repeated[)]",
        ),
        ({"limits": [1.0, 1.0], "items": ["1", 1.0]}, r"items must be all different [(]got 1 repeated[)]"),
        ({"limits": [1.0], "items": [""]}, r"items must not be missing"),
        ({"limits": [1.0], "protects": "house"}, r"protects must be one of 'item', 'row', 'person'"),
        ({"limits": [1.0], "weights_limit": -1}, r"weights_limit must be a number of at least 0"),
        ({"limits": [1.0], "items": "a"}, r"items must be a list of ids"),
        ({"limits": [1.0], "path": 7}, r"path must be the name of a file [(]got int[)]"),
        ({"limits": [1.0], "path": "a\0b"}, r"path must be the name of a file|cannot be reached"),
    ],
)
def test_a_bad_ledger_is_not_made(arguments, message):
    with pytest.raises((InvalidInput, LedgerError), match=message):
        Ledger(**arguments)


def test_rho_ledger_takes_both_units():
    ledger = Ledger(limits=[1.0, 1.0, 1.0], unit="rho")
    ledger.charge([0.5, 0.0, 0.0], unit="epsilon", weights_loss=0.5)
    ledger.charge([0.25, 0.25, 0.0], unit="rho", weights_loss=0.25)
    assert ledger.spent.tolist() == [0.375, 0.25, 0.0]
    assert ledger.weights_spent == 0.375
    report = ledger.report(delta=1e-6)
    assert report.epsilon.tolist() == [math.inf, math.inf, 0.0]
    assert report.rho.tolist() == [0.375, 0.25, 0.0]
    assert report.epsilon_delta[0] > report.epsilon_delta[1] > report.epsilon_delta[2] == 0.0


def test_exhausted_rho_ledger_speaks_rho():
    ledger = Ledger(limits=[0.125], unit="rho")
    ledger.charge([0.5])
    with pytest.raises(BudgetExhausted, match=r"\(rho\)") as caught:
        ledger.charge([1.0])
    assert (caught.value.requested, caught.value.remaining) == (0.5, 0.0)


def test_report_takes_the_smaller_of_pure_and_converted():
    ledger = Ledger(limits=[100.0, 100.0])
    for _ in range(500):
        ledger.charge([0.1, 0.0])
    one, many = Ledger(limits=[100.0]), ledger.report(delta=1e-6)
    one.charge([0.1])
    assert one.report(delta=1e-6).epsilon_delta.tolist() == [0.1]
    assert many.epsilon_delta[0] < many.epsilon[0] / 2
    assert many.delta == 1e-6
    with refused("delta", ""):
        ledger.report(delta=0.0)


def test_charge_all_is_all_or_nothing():
    ledger = Ledger(limits=[1.0])
    with pytest.raises(BudgetExhausted):
        ledger.charge_all([Charge([0.5]), Charge([0.4]), Charge([0.2])])
    with refused("charges", "of type Charge"):
        ledger.charge_all([Charge([0.5]), [0.1]])

    def broken():
        yield Charge([0.5])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ledger.charge_all(broken())
    assert ledger.spent.tolist() == [0.0]
    assert ledger.history == ()
    assert ledger.charge_all([]) == []


def test_charge_all_equals_charges_one_by_one():
    rng = np.random.default_rng(3)
    charges = [Charge(rng.random(4) / 8, weights_loss=0.1) for _ in range(20)]
    one_by_one, together = (Ledger(limits=[1.0] * 4, on_exhausted="drop") for _ in range(2))
    singles = [one_by_one.charge(charge.losses, weights_loss=0.1) for charge in charges]
    keeps = together.charge_all(iter(charges))
    assert [keep.tolist() for keep in keeps] == [keep.tolist() for keep in singles]
    assert together.spent.tolist() == one_by_one.spent.tolist()
    assert together.weights_spent == one_by_one.weights_spent
    assert not together.active.all()


def test_charge_all_keeps_one_charge_in_memory():
    size, count = 10_000, 300
    ledger = Ledger(limits=np.ones(size))
    tracemalloc.start()
    try:
        ledger.charge_all(Charge(np.full(size, 1e-4)) for _ in range(count))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * size * count / 5


def test_the_ledger_is_closed_to_the_iterable_that_charges_it():
    ledger = Ledger(limits=[1.0])

    def nested():
        yield Charge([0.1])
        ledger.charge([0.1])

    with pytest.raises(LedgerError, match="while it reads the charges"):
        ledger.charge_all(nested())
    assert ledger.charge([0.25]).all()
    assert ledger.spent.tolist() == [0.25]


@given(
    st.lists(st.lists(st.floats(0.0, 0.6), min_size=3, max_size=3), max_size=8),
    st.sampled_from(["raise", "drop"]),
)
def test_no_item_ever_exceeds_its_limit_nor_is_counted_too_little(rounds, on_exhausted):
    ledger = Ledger(limits=[1.0, 0.5, 0.0], on_exhausted=on_exhausted)
    true = [Fraction(0)] * 3
    for losses in rounds:
        try:
            keep = ledger.charge(losses)
        except BudgetExhausted:
            continue
        true = [total + Fraction(loss) * bool(kept) for total, loss, kept in zip(true, losses, keep, strict=True)]
    spent = ledger._read().accounts.epsilon.tolist()
    assert all(steps >= total * STEPS * (1 - Fraction(1, 2**51)) for steps, total in zip(spent, true, strict=True))
    assert (ledger.spent <= ledger.limits).all()


def test_what_is_handed_out_cannot_change_the_ledger():
    limits = np.array([1.0, 1.0])
    ledger = Ledger(limits=limits)
    limits[0] = 99.0
    keep = ledger.charge([0.5, 0.5])
    assert ledger.limits.tolist() == [1.0, 1.0]
    for vector in (ledger.limits, ledger.spent, ledger.active, keep, ledger.report().epsilon):
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        keep.flags.writeable = True
    spent = ledger.spent
    spent.flags.writeable = True
    spent[:] = 0.0
    assert ledger.spent.tolist() == [0.5, 0.5]


def test_a_view_adds_unspent_items():
    ledger = Ledger(limits=[1.0], items=["a"])
    ledger.charge([0.5])
    assert ledger.view(["b", 7], limit=2.0, new_people=True).charge([1.0, 0.0]).tolist() == [True, True]
    assert ledger.items == ("a", "b", 7)
    assert ledger.limits.tolist() == [1.0, 2.0, 2.0]
    assert ledger.spent.tolist() == [0.5, 1.0, 0.0]
    with refused("items", "known"):
        ledger.view(["c"])
    with refused("items", "omitted"):
        Ledger(limits=[1.0]).view(["a"], limit=1.0)
    assert ledger.size == 3


def test_nothing_secret_in_reprs():
    ledger = Ledger(limits=[0.777, 1.0], items=["diary", "clinic"])
    ledger.charge([0.333, 0.111], description="mean")
    assert repr(ledger) == "Ledger(unit epsilon, 1 charge, in memory; private: 2 items)"
    assert repr(ledger.report()) == "LedgerReport(delta=1e-06; private: 2 items)"
    assert "0.333" not in repr(Charge([0.333, 0.111]))
    assert "0.333" not in repr(ledger.history)


def test_a_closed_ledger_says_so():
    with Ledger(limits=[1.0]) as ledger:
        ledger.charge([0.5])
    ledger.close()
    assert repr(ledger) == "Ledger(closed or unreadable, in memory)"
    for use in (lambda: ledger.spent, lambda: ledger.history, lambda: ledger.charge([0.1])):
        with pytest.raises(LedgerError, match="closed"):
            use()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_ledger_is_the_ledger(duplicate):
    ledger = Ledger(limits=[1.0])
    assert duplicate([ledger])[0] is ledger


def test_a_ledger_in_memory_cannot_be_pickled():
    with pytest.raises(TypeError, match="could spend the same budget"):
        pickle.dumps(Ledger(limits=[1.0]))


def test_threads_share_one_ledger():
    ledger = Ledger(limits=[1000.0] * 3)
    threads = [
        threading.Thread(target=lambda: [ledger.charge([0.25, 0.5, 1.0], weights_loss=0.5) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent.tolist() == [50.0, 100.0, 200.0]
    assert ledger.weights_spent == 100.0
    assert len(ledger.history) == 200


def test_a_forked_child_cannot_charge_a_ledger_in_memory():
    ledger = Ledger(limits=[1.0])
    child = os.fork()
    if child == 0:
        try:
            ledger.charge([0.5])
        except LedgerError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.charge([1.0]).all()


@pytest.mark.slow
def test_the_ledger_needs_numpy_and_the_standard_library_only():
    folder = Path(hetdp.accounting.ledger.ledger.__file__).parent
    files = [file for file in folder.glob("*.py") if file.stem != "__init__"]
    for file in (*files, folder.parent / "composition.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            ours = [module for module in modules if module.startswith("hetdp")]
            # Labels, cards and pictures need more only when somebody asks for one.
            views = ("hetdp.accounting.label", "hetdp.accounting.display", "hetdp.accounting.guarantee")
            own = (
                "hetdp.core",
                "hetdp.profiles.ids",
                "hetdp.accounting.ledger",
                "hetdp.accounting.composition",
                *views,
            )
            assert all(module.startswith(own) for module in ours)
            # What has come as a column of pyarrow is read by pyarrow.
            allowed = {"hetdp", "numpy", "pyarrow"} if file.stem in ("identity", "rollcall") else {"hetdp", "numpy"}
            foreign = {module.partition(".")[0] for module in modules} - allowed
            assert foreign <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("kept", ["in memory", "in a file"])
def test_what_is_too_much_to_be_counted_is_lost_and_no_limit_holds_it_back(kept, unit, tmp_path):
    path = None if kept == "in memory" else tmp_path / "ledger.db"
    made = {"limits": [1e30, 1e6, 0.7], "unit": unit, "weights_limit": 1e30}
    ledger = Ledger(path=path, **made)
    assert ledger.limits.tolist() == ledger.remaining.tolist() == [math.inf, 1e6, 0.7]
    for _ in range(2):
        ledger.charge([1e18, 0.0, 0.0], unit=unit, weights_loss=1e300)
        assert ledger.spent.tolist() == [math.inf, 0.0, 0.0]
    assert ledger.remaining.tolist() == [math.inf, 1e6, 0.7]
    assert (ledger.weights_limit, ledger.weights_spent) == (math.inf, math.inf)
    with pytest.raises(BudgetExhausted):
        ledger.charge([0.0, 1e18, 0.0], unit=unit)
    ledger.charge([0.0, 1e6, 0.7], unit=unit)
    assert (ledger.spent[1:].tolist(), ledger.remaining[1:].tolist()) == ([1e6, 0.7], [0.0, 0.0])
    if path is not None:
        ledger.close()
        assert Ledger(path=path, **made).spent[0] == math.inf


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_people_without_a_limit_pay_until_the_total_ends(unit):
    ledger = Ledger.of_people(limit=1e30, unit=unit)
    for _ in range(3):
        ledger.charge_people([(["ann", "bob"], [1.0, 1e-3])], amount=1000, unit=unit)
        ledger.charge_people([(["ann", "bob"], [1e-3, 1.0])], amount=1, unit=unit, update_dials=True)
    assert (ledger.limit, ledger.remaining.tolist()) == (math.inf, [math.inf] * 2)
    assert ledger.spent.min() > 1000.0
    with refused(problem="must leave the total of the ledger below"):
        ledger.charge_people([(["ann"], [1.0])], amount=1e30, unit=unit)


def test_a_description_of_ones_own_is_only_a_description():
    ledger = Ledger(limits=[1.0])
    ledger.charge([0.1], description="my survey (dropping)")
    assert not ledger.drops
    assert (ledger.history[0].description, ledger.history[0].dropping) == ("my survey (dropping)", False)
    dropping = Ledger(limits=[1.0], on_exhausted="drop")
    dropping.charge([0.1], description="mean")
    assert dropping.drops
    assert (dropping.history[0].description, dropping.history[0].dropping) == ("mean", True)


def test_a_view_charges_the_items_it_names():
    ledger = Ledger(limits=[1.0, 1.0, 1.0], items=["ann", "bob", "cem"])
    view = ledger.view(["cem", "ann"])
    assert view.charge([0.5, 0.25], description="mean", amount=0.5, weights_loss=0.5).tolist() == [True, True]
    assert ledger.spent.tolist() == [0.25, 0.0, 0.5]
    assert (ledger.history[0].description, ledger.weights_spent, view.new) == ("mean", 0.5, 0)
    assert view.preview([0.75, 0.75]).tolist() == [False, True]
    with refused("losses", "one loss per item (2)"):
        view.charge([0.1, 0.1, 0.1])


def test_a_view_adds_and_charges_new_items_or_does_nothing():
    ledger = Ledger(limits=[1.0], items=["ann"])
    with refused("items", "known to the ledger"):
        ledger.view(["ann", "dee", "eve"])
    view = ledger.view(["dee", "ann"], limit=0.25)
    assert (view.new, ledger.size, view.active.tolist()) == (1, 1, [True, True])
    assert view.preview([0.5, 0.5]).tolist() == [False, True]
    for losses in ([0.5, 0.5], [0.125, 2.0]):
        with pytest.raises(BudgetExhausted):
            view.charge(losses)
        assert (ledger.items, ledger.spent.tolist(), ledger.history) == (("ann",), [0.0], ())
    assert view.charge([0.25, 0.5]).tolist() == [True, True]
    assert (ledger.items, ledger.limits.tolist(), ledger.spent.tolist()) == (("ann", "dee"), [1.0, 0.25], [0.5, 0.25])
    assert view.new == 0


def test_a_view_of_a_dropping_ledger_drops():
    ledger = Ledger(limits=[1.0, 0.1], items=[1, 2], on_exhausted="drop")
    view = ledger.view([3, 2, 1], limit=0.25)
    assert view.charge([0.5, 0.5, 0.5]).tolist() == [False, False, True]
    assert (ledger.active.tolist(), view.active.tolist()) == ([True, False, False], [False, False, True])
    assert view.drops


def test_a_view_needs_labels():
    ledger = Ledger(limits=[1.0])
    with refused("items", "omitted, as when the ledger was made"):
        ledger.view(["ann"], limit=1.0)
    with refused("limits", ">= 0"):
        Ledger(limits=[1.0], items=["ann"]).view(["bob"], limit=-1.0)


def test_no_error_about_losses_or_limits_quotes_a_cell():
    for make in (lambda: Ledger(["SECRET"]), lambda: Ledger([1.0]).charge(["SECRET"])):
        with pytest.raises(InvalidInput) as caught:
            make()
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
