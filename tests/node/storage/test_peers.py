"""What a node keeps of others between two starts: bounded, and not for whoever calls most often."""

import pytest
from tests.support.node_swarm import START, a_network, address_of

from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.protocol.messages import Record, SignedSketch
from hetdp.node.storage.store import NodeStore

NETWORK = a_network()
OWN = address_of(0)


@pytest.fixture
def store(tmp_path):
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(100)]
    with NodeStore.make(tmp_path / "node.db", NETWORK, items, default_limit=30.0) as made:
        yield made


def record(number, address=None):
    key = number.to_bytes(32, "big")
    return Record(key, key, address or address_of(number), 1, b"", b"")


def keep_reached(store, peers, **more):
    store.peers.keep(peers=peers, reached={one.key for one, _ in peers}, first_epoch=0, **more)


# --- who counts as a peer --------------------------------------------------------------------------------------------


def test_who_has_only_called_is_no_peer_until_it_is_reached_there(store):
    assert not store.peers.met_any()
    store.peers.keep(peers=[(record(n), 1.0) for n in (1, 2)], now_s=1.0, first_epoch=0)
    assert store.peers.met_any()
    assert store.peers.known() == []
    keep_reached(store, [(record(1), 2.0)], now_s=2.0)
    store.peers.keep(peers=[(record(1), 3.0)], now_s=3.0, first_epoch=0)  # calls again: it was reached there
    assert [(peer.key_hex, peer.seen_s) for peer in store.peers.known()] == [(record(1).key.hex(), 3.0)]
    store.peers.keep(peers=[(record(1, address_of(9)), 4.0)], now_s=4.0, first_epoch=0)
    assert store.peers.known() == [], "where it says it is now, it was not reached"


def test_a_crowd_of_callers_pushes_out_nobody_who_was_reached(store):
    keep_reached(store, [(record(n), 1.0) for n in range(1, 31)], now_s=1.0)
    store.peers.keep(peers=[(record(1000 + n), 2.0) for n in range(2000)], now_s=2.0, first_epoch=0)
    assert len(store.peers.known()) == 30
    drawn = store.peers.contacts(20, own_address=OWN, most_per_host=4)
    assert {peer.key for peer in drawn} <= {record(n).key.hex() for n in range(1, 31)}
    assert len(store.peers.contacts(40, own_address=OWN, most_per_host=4)) == 40  # then those who called


# --- contacts --------------------------------------------------------------------------------------------------------


def test_contacts_are_few_of_a_host_and_not_those_who_called_last(store):
    """200 peers, then 20 keys of one machine; by chance about 1.9 of 20 contacts are of it, and never more than 4."""
    store.peers.keep(peers=[(record(n), 100.0) for n in range(1, 201)], now_s=100.0, first_epoch=0)
    crowd = [(record(1000 + n, f"tcp://10.9.9.9:{2000 + n}"), 110.0) for n in range(20)]
    store.peers.keep(peers=crowd, now_s=110.0, first_epoch=0)
    draws = [store.peers.contacts(20, own_address=OWN, most_per_host=4) for _ in range(30)]
    assert {len(drawn) for drawn in draws} == {20}
    assert max(sum("10.9.9.9" in peer.address for peer in drawn) for drawn in draws) <= 4
    assert len({peer.key for drawn in draws for peer in drawn}) > 100  # 600 draws from 204; never the same 20


def test_half_of_the_contacts_are_those_seen_last_for_others_may_be_gone(store):
    store.peers.keep(peers=[(record(n), 100.0) for n in range(1, 501)], now_s=100.0, first_epoch=0)
    store.peers.keep(peers=[(record(n), 9000.0) for n in range(501, 531)], now_s=9000.0, first_epoch=0)
    fresh = {record(n).key.hex() for n in range(501, 531)}
    for _ in range(5):
        drawn = store.peers.contacts(20, own_address=OWN, most_per_host=4)
        assert len(drawn) == 20
        assert sum(peer.key in fresh for peer in drawn) >= 10


def test_the_limit_per_host_is_that_of_the_view(store):
    crowd = [(record(n, f"tcp://10.9.9.9:{2000 + n}"), 1.0) for n in range(20)]
    near = [(record(100 + n, f"tcp://127.0.0.1:{2000 + n}"), 1.0) for n in range(20)]
    store.peers.keep(peers=[*crowd, *near], now_s=1.0, first_epoch=0)
    for own, most, expected in ((OWN, 4, 8), (OWN, 0, 40), ("tcp://127.0.0.1:1", 4, 24)):
        assert len(store.peers.contacts(50, own_address=own, most_per_host=most)) == expected


# --- bans ------------------------------------------------------------------------------------------------------------


def test_stored_bans_are_those_in_force_and_no_others(store):
    store.peers.keep(bans={b"a": 50.0, b"b": 60.0}, now_s=1.0, first_epoch=0)
    store.peers.keep(bans={b"b": 60.0, b"c": 70.0}, now_s=2.0, first_epoch=0)  # a was pushed out of memory
    assert store.peers.bans() == {b"b": 60.0, b"c": 70.0}
    store.peers.keep(now_s=65.0, first_epoch=0)
    assert store.peers.bans() == {b"c": 70.0}


def test_no_more_bans_are_loaded_than_a_node_keeps(store):
    many = {number.to_bytes(32, "big"): START + number for number in range(20_000)}
    store.peers.keep(bans=many, now_s=1.0, first_epoch=0)
    loaded = store.peers.bans()
    assert len(loaded) == 4096
    assert min(loaded.values()) == START + 20_000 - 4096


# --- a clock that was ahead ------------------------------------------------------------------------------------------


def test_what_was_dated_in_the_future_does_not_outlive_the_rest(store):
    ahead_s, now_s = START + 10**6, START
    early = [(record(n), ahead_s) for n in range(1, 1001)]
    keep_reached(store, early, now_s=ahead_s)
    keep_reached(store, [(record(5000), now_s)], now_s=now_s)
    assert max(peer.seen_s for peer in store.peers.known()) == now_s
    later = [(record(6000 + n), now_s + 1) for n in range(1000)]
    keep_reached(store, later, now_s=now_s + 1)
    assert {peer.seen_s for peer in store.peers.known()} == {now_s + 1}


def test_sketches_of_the_future_give_way_to_those_of_now(store):
    def sketch(epoch):
        return SignedSketch(b"k" * 32, epoch, b"\0", b"", bytes(64))

    store.peers.keep(sketches=[sketch(500)], now_s=START, first_epoch=499, last_epoch=500)
    store.peers.keep(sketches=[sketch(3)], now_s=START, first_epoch=2, last_epoch=3)
    assert [one.epoch for one in store.peers.sketches()] == [3]
