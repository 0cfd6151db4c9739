"""Losses are the sum of what was published and of other charges; where records differ, the larger counts."""

import numpy as np
import pytest
from tests.support.node_swarm import a_network, identity_of

from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.storage.store import NodeStore

NETWORK = a_network(items=8, epoch_length_s=100, most_items=8)
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(8)]


@pytest.fixture
def store(tmp_path):
    with NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=30.0) as made:
        made.profile.set_dials({1: 100, 2: 50})
        for epoch in range(2):
            now_s = NETWORK.starts(epoch) + 1.0
            publish(made, identity=identity_of(1), network=NETWORK, now_s=now_s, uptime=Uptime("boot", now_s))
        yield made


def lost(store):
    return store.database.array("lost").tolist()


def charge(store, *arguments, **more):
    with store.database.transaction(durable=True):
        return store.other_charges.add(*arguments, **more)


def test_losses_are_recomputed_from_all_that_was_charged(store):
    assert lost(store) == [0, 200, 100, 0, 0, 0, 0, 0]
    assert charge(store, "a", "moved", lost=np.arange(8))
    assert charge(store, "b", "restored", every=300)
    assert lost(store) == [300, 501, 402, 303, 304, 305, 306, 307]
    assert store.other_charges.recomputed().tolist() == lost(store)
    assert store.other_charges.of_every_item() == 300
    assert not store.other_charges.repair(store.events, now_s=1.0)
    assert store.events.all() == []


def test_a_charge_is_made_once(store):
    assert charge(store, "a", "restored", every=100)
    assert not charge(store, "a", "restored", every=100)
    assert lost(store)[0] == 100


def test_losses_do_not_overflow(store):
    for mark in "abc":
        charge(store, mark, "moved", every=2**40, lost=np.full(8, 2**40))
    assert min(lost(store)) > 2**30
    assert not store.ledger.effective_dials()
    assert store.other_charges.recomputed().tolist() == lost(store)


@pytest.mark.parametrize(
    ("damaged", "expected"),
    [
        ([0, 10, 100, 0, 0, 0, 0, 0], [0, 200, 100, 0, 0, 0, 0, 0]),
        ([7, 900, 0, 0, 0, 0, 0, 0], [7, 900, 100, 0, 0, 0, 0, 0]),
        ([-7, 200, 100, 0, 0, 0, 0, 0], [0, 200, 100, 0, 0, 0, 0, 0]),
    ],
)
def test_of_two_records_the_larger_counts_and_it_is_said_once(store, damaged, expected):
    with store.database.transaction(durable=True):
        store.database.set_array("lost", np.array(damaged))
        store.database.execute("DELETE FROM drawn WHERE epoch = 1")
    assert store.other_charges.repair(store.events, now_s=5.0)
    assert lost(store) == expected
    assert store.other_charges.recomputed().tolist() == expected
    assert store.database.rows("SELECT epoch FROM drawn ORDER BY epoch") == [(0,), (1,)]
    assert [(event.kind, event.detail) for event in store.events.all()] == [("repaired", {})]
    assert not store.other_charges.repair(store.events, now_s=6.0)


def test_a_publication_that_is_gone_is_still_paid_for(store):
    with store.database.transaction(durable=True):
        store.database.execute("DELETE FROM publications WHERE epoch = 0")
    assert store.other_charges.repair(store.events, now_s=5.0)
    assert lost(store) == [0, 200, 100, 0, 0, 0, 0, 0]
    assert not store.other_charges.repair(store.events, now_s=6.0)
