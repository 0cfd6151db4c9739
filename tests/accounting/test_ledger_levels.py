"""How a ledger stands in a few rows: levels agree with the accounts, wherever these are cut into parts."""

import numpy as np
import pytest

from hetdp.accounting import Ledger
from hetdp.accounting.ledger import accounts


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(accounts, "_TOGETHER", 7)


def test_few_dials_are_levels_of_their_own():
    dials = np.resize([1.0, 0.0, 0.5], 100)
    ledger = Ledger.of_people(limit=3)
    ledger.charge_people([(np.arange(100), dials)], amount=1)
    found = {(level.dial, level.items, level.spent, level.remaining, level.dropped) for level in ledger.levels()}
    assert found == {(0.0, 33, 0.0, 3.0, False), (0.5, 33, 0.5, 2.5, False), (1.0, 34, 1.0, 2.0, False)}


def test_who_was_dropped_is_a_level_and_comes_last():
    ledger = Ledger(limits=[0.1] * 20 + [1.0] * 20, on_exhausted="drop")
    ledger.charge([0.5] * 40)
    assert [(level.items, level.spent, level.dropped) for level in ledger.levels()] == [
        (20, 0.5, False),
        (20, 0.0, True),
    ]
    assert all(level.dial is None for level in ledger.levels())


def test_many_losses_are_levels_by_the_share_that_is_left():
    rng = np.random.default_rng(5)
    limits = rng.uniform(0, 2, 500)
    limits[:20] = 0
    losses = limits * rng.choice([0, 1, 1 / 3, *rng.random(9)], 500)
    ledger = Ledger(limits=limits)
    ledger.charge(losses * (1 - 1e-9))
    levels, left = ledger.levels(), ledger.remaining / np.maximum(ledger.limits, 1e-300)
    assert sum(level.items for level in levels) == 500
    assert len({level.share for level in levels}) == len(levels) <= 6
    for level in levels:
        low, high = level.share
        inside = (left > low) & (left <= high) & (left < 1) if low < high else left == low
        assert level.items == inside.sum()
        assert level.spent == ledger.spent[inside].max()
        assert level.remaining == ledger.remaining[inside].min()


def test_nobody_has_no_level():
    assert Ledger.of_people(limit=1).levels() == ()
