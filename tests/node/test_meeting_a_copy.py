"""A node that meets a sketch under its own key which it did not draw pays for it and publishes no more."""

import msgspec
import numpy as np
import pytest
from tests.support.node_swarm import a_network, identity_of

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.copies import meet
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.events import happening
from hetdp.node.storage.store import NodeStore

NETWORK = a_network(items=8, epoch_length_s=100, most_items=8)
WHO = identity_of(1)


@pytest.fixture
def store(tmp_path):
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(8)]
    with NodeStore.make(tmp_path / "node.db", NETWORK, items, default_limit=300.0) as made:
        made.profile.set_dials({1: 100, 2: 50})
        for epoch in range(3):
            draw(made, epoch)
        yield made


def draw(store, epoch):
    now_s = NETWORK.starts(epoch) + 1.0
    return publish(store, identity=WHO, network=NETWORK, now_s=now_s, uptime=Uptime("boot", now_s))


def drawn_elsewhere(epoch, seed=1):
    bits = seeded_stream(seed, epoch).uniforms(8) < 0.5
    return sign_sketch(np.asarray(bits), epoch=epoch, identity=WHO, network=NETWORK)


def lost(store):
    assert not store.other_charges.repair(store.events, now_s=0.0)
    return store.database.array("lost").tolist()[:3]


def test_own_sketches_are_no_surprise(store):
    assert not meet(store, [draw(store, 2), store.publications.of_epoch(0)], now_s=1.0)
    assert store.mode.get() == "open"
    assert lost(store) == [0, 300, 150]


def test_a_sketch_of_a_later_epoch_is_paid_for_up_to_it_and_stops_the_node(store):
    assert meet(store, [drawn_elsewhere(5)], now_s=1.0)
    assert store.mode.get() == "stopped"
    assert lost(store) == [600, 900, 750], "epochs 3, 4 and 5, and those that both may have drawn: 0, 1 and 2"
    assert store.database.rows("SELECT epoch FROM drawn WHERE why = 'met'") == [(3,), (4,), (5,)]
    assert draw(store, 6).epoch == 2, "it shows what it has, and draws no more"
    assert lost(store) == [600, 900, 750]
    (event,) = store.events.all()
    assert "epoch 5" in happening(event)
    assert "paid for 6 more epochs" in happening(event)
    assert not meet(store, [drawn_elsewhere(5), drawn_elsewhere(4), drawn_elsewhere(5, seed=2)], now_s=2.0)
    assert lost(store) == [600, 900, 750], "what was paid for is not paid again"


def test_who_has_left_stays_so_whatever_is_met(store):
    with store.database.transaction(durable=True):
        store.mode.set("closed")
    assert meet(store, [drawn_elsewhere(5)], now_s=1.0)
    assert store.mode.get() == "closed"


def test_another_sketch_of_an_epoch_that_was_drawn_here_is_paid_once(store):
    assert meet(store, [drawn_elsewhere(1)], now_s=1.0)
    assert lost(store) == [300, 600, 450], "the copy may have drawn each of the three epochs"
    assert not meet(store, [drawn_elsewhere(1), drawn_elsewhere(0), drawn_elsewhere(2)], now_s=1.0)
    assert lost(store) == [300, 600, 450]
    assert meet(store, [drawn_elsewhere(0, seed=2)], now_s=1.0), "a second copy"
    assert lost(store) == [400, 700, 550]
    with store.database.transaction(durable=True):
        store.mode.set("open")  # the owner has stopped the copy
    assert not meet(store, [drawn_elsewhere(1)], now_s=1.0)
    assert store.mode.get() == "open"
    assert draw(store, 3).epoch == 3
    assert not meet(store, [drawn_elsewhere(1), drawn_elsewhere(2)], now_s=1.0), "old sketches still go round"
    assert meet(store, [drawn_elsewhere(3)], now_s=1.0), "the copy was not stopped"
    assert store.mode.get() == "stopped"
    assert lost(store) == [500, 900, 700], "epoch 3, here and there: what was before is paid for"


def test_epochs_that_both_drew_are_paid_for_however_few_sketches_are_met(store):
    """Also those that this node slept through: 0 to 2 drawn, 3 and 4 not, 5 drawn; the copy was seen in 5 only."""
    draw(store, 5)
    assert meet(store, [drawn_elsewhere(5)], now_s=1.0)
    assert lost(store) == [600, 1000, 800]
    assert not meet(store, [drawn_elsewhere(epoch) for epoch in range(6)], now_s=1.0)
    assert not meet(store, [store.publications.of_epoch(epoch) for epoch in (0, 1, 2, 5)], now_s=1.0)
    assert lost(store) == [600, 1000, 800]


def test_a_restored_node_expects_what_it_has_paid_for_and_nothing_beyond(store):
    with store.database.transaction(durable=True):
        store.database.execute_many("INSERT INTO drawn VALUES (?, 'restored')", [(3,), (4,)])
        store.other_charges.add("restored", "restored", every=200)
    assert not meet(store, [drawn_elsewhere(3), drawn_elsewhere(4)], now_s=1.0)
    assert store.mode.get() == "open"
    assert meet(store, [drawn_elsewhere(6)], now_s=1.0)
    assert lost(store) == [700, 1000, 850], "epochs 5 and 6, and 0 to 2 that both may have drawn"


def test_a_damaged_record_of_an_own_sketch_counts_as_none(store):
    whole = store.publications.of_epoch(1)
    with store.database.transaction(durable=True):
        store.database.execute("UPDATE publications SET sketch = ? WHERE epoch = 1", msgspec.msgpack.encode(3))
    assert store.publications.of_epoch(1) is None
    assert meet(store, [whole], now_s=1.0), "it cannot be told from another's: rather pay twice"


def test_a_stopped_node_goes_on_only_if_its_owner_says_that_the_copy_is_gone(store, tmp_path):
    meet(store, [drawn_elsewhere(5)], now_s=1.0)
    handle = NodeHandle(tmp_path, NETWORK, NodeSettings(), WHO, store)
    with pytest.raises(InvalidInput, match="give --copy-is-gone"):
        handle.resume()
    assert store.mode.get() == "stopped"
    assert handle.resume(copy_is_gone=True)
    assert store.mode.get() == "open"
    assert draw(store, 6).epoch == 6
