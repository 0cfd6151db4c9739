"""A store whose catalogue grows: nothing that was there changes, and what is new is there from the next sketch on."""

import hashlib
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import msgspec
import numpy as np
import pytest
from tests.support.node_swarm import a_network, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.catalogue_versions import CatalogueHistory, NewItem, sign_versions
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.sketches import check_sketch
from hetdp.node.protocol.who_counts import Counted
from hetdp.node.publication import publish
from hetdp.node.storage.events import happening
from hetdp.node.storage.folder import init_node
from hetdp.node.storage.network_file import versions_file_of, write_versions
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.drawing import pack, unpack

MAKER, WHO = identity_of(999), identity_of(1)
EPOCH_S = 100
NETWORK = a_network(
    items=40, epoch_length_s=EPOCH_S, most_items=30, network_key=MAKER.key.hex(), most_catalogue=1000, n_head=64
)
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}", group="even" if n % 2 == 0 else "odd") for n in range(40)]


@pytest.fixture
def store(tmp_path):
    with NodeStore.make(tmp_path / "node.db", NETWORK, ITEMS, default_limit=9.0) as made:
        yield made


def a_version(store, *names, retired=()):
    history = store.catalogue.history(NETWORK)
    (version,) = sign_versions(
        history, NETWORK, MAKER, [NewItem(name, f"New {name}", "", "brand new") for name in names], retired
    )
    return version


def publish_at(store, epoch):
    now_s = NETWORK.starts(epoch) + 1.0
    return publish(
        store,
        identity=WHO,
        network=NETWORK,
        now_s=now_s,
        uptime=Uptime("boot", now_s),
        stream=seeded_stream(epoch),
        simulation=True,
    )


def test_what_was_there_stays_and_what_is_new_counts_from_the_next_sketch_on(store):
    store.profile.set_dials({1: 100, 2: 50})
    store.ledger.set_limit(2, 4.0)
    first = publish_at(store, 0)
    spent = store.ledger.spent()
    assert store.grow(a_version(store, "a", "b", retired=[7]), now_s=5.0)
    assert store.ledger.spent() == spent
    assert {item.place: (item.dial, item.limit) for item in store.profile.items()} == {1: (100, 9.0), 2: (50, 4.0)}
    assert (store.catalogue.size(), store.catalogue.number()) == (42, 2)
    assert [item.title for item in store.catalogue.search("new")] == ["New a", "New b"]
    assert [name for name, _ in store.profile.group_counts()] == ["even", "odd"]
    store.profile.set_dials({40: 100})
    assert [name for name, _ in store.profile.group_counts()] == ["brand new", "even", "odd"]
    rows, count = store.profile.waiting(10)
    assert ([row.place for row in rows], count) == ([40], 1)
    assert publish_at(store, 0) == first, "the epoch has its sketch already"
    second = publish_at(store, 1)
    sizes = store.catalogue.sizes()
    assert (sizes[first.catalogue], sizes[second.catalogue]) == (40, 42)
    for sketch in (first, second):
        check_sketch(sketch, network=NETWORK, network_id=NETWORK.id, size=sizes[sketch.catalogue])
    assert store.ledger.spent() == {1: 6.0, 2: 3.0, 40: 3.0}
    assert store.ledger.charges(40) == [(1, 3.0)]
    assert happening(store.events.all()[0]).startswith("The catalogue has grown to version 2: 2 new items, 1 retired.")


def test_a_retired_item_is_never_published_again_and_its_losses_are_kept(store):
    """Same stream, adjacent lists: an item that the network has retired moves no bit, at any dial."""
    store.profile.set_dials({3: 100, 7: 100})
    publish_at(store, 0)
    store.grow(a_version(store, retired=[7]), now_s=5.0)
    assert store.ledger.effective_dials() == {3: 100}
    with_it = publish_at(store, 1)
    assert store.ledger.spent() == {3: 6.0, 7: 3.0}
    assert store.ledger.charges(7) == [(0, 3.0)]
    with NodeStore.make(store.path.with_name("other.db"), NETWORK, ITEMS, default_limit=9.0) as other:
        other.profile.set_dials({3: 100})
        other.grow(a_version(other, retired=[7]), now_s=5.0)
        assert publish_at(other, 1).bits == with_it.bits
    assert store.profile.item(7).effective_dial == 0
    assert store.profile.item(7).retired
    assert not store.profile.item(7).exhausted
    assert [item.place for item in store.catalogue.search("Item 7")] == [17, 27, 37]
    assert store.catalogue.item(7).title == "Item 7", "whoever has it on the list still sees its name"


def test_a_version_is_taken_over_once_and_in_order(store):
    version = a_version(store, "a")
    assert store.grow(version, now_s=5.0)
    assert not store.grow(version, now_s=5.0)
    assert (store.catalogue.size(), len(store.events.all())) == (41, 1)
    assert store.catalogue.history(NETWORK).digest == store.catalogue.digest()


@pytest.mark.slow
def test_a_kill_while_growing_leaves_the_catalogue_as_it_was_or_as_it_will_be(store, tmp_path):
    version = a_version(store, *(f"n{n}" for n in range(300)))
    (tmp_path / "version").write_bytes(msgspec.json.encode(version))
    script = """
        import sys, threading, time, os, signal
        from pathlib import Path
        import msgspec
        from hetdp.node.protocol.catalogue_versions import CatalogueVersion
        from hetdp.node.storage.store import NodeStore
        version = msgspec.json.decode(Path(sys.argv[2]).read_bytes(), type=CatalogueVersion)
        store = NodeStore(Path(sys.argv[1]))
        steps, real = iter(range(int(sys.argv[3]))), store.database.execute
        def execute(*args):
            if next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args)
        store.database.execute = execute
        real_many = store.database.execute_many
        store.database.execute_many = lambda *args: (execute("SELECT 1"), real_many(*args))
        real_array = store.database.set_array
        store.database.set_array = lambda *args: (execute("SELECT 1"), real_array(*args))
        store.grow(version, now_s=1.0)
    """
    killed, step = 0, 0
    while True:
        arguments = [
            sys.executable,
            "-c",
            textwrap.dedent(script),
            str(store.path),
            str(tmp_path / "version"),
            str(step),
        ]
        done = subprocess.run(arguments, check=False)
        with closing(sqlite3.connect(store.path)) as connection:
            (items,) = connection.execute("SELECT count(*) FROM catalogue").fetchone()
        lengths = {store.database.array(name).size for name in ("dials", "lost", "limits", "page", "groups")}
        assert lengths == {items} == {store.catalogue.size()}
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        assert items == 40
        killed, step = killed + 1, step + 1
    assert killed >= 7
    assert items == 340


def test_a_new_node_starts_with_all_versions_that_lie_beside_the_network_file(tmp_path):
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"i{n}\n" for n in range(40)))
    digest = hashlib.sha256((tmp_path / "items.csv").read_bytes()).hexdigest()
    network = msgspec.structs.replace(NETWORK, catalogue_sha256=digest)
    (tmp_path / "net.toml").write_text(network.to_toml())
    history = CatalogueHistory(network, names=[f"i{n}" for n in range(40)])
    sign_versions(history, network, MAKER, [NewItem("a", "A", "", "")])
    write_versions(versions_file_of(tmp_path / "net.toml"), history.versions, mode=0o644)
    (tmp_path / "me.csv").write_text("item\ni3\na\n")
    init_node(tmp_path / "home", network_path=tmp_path / "net.toml", profile_path=tmp_path / "me.csv")
    handle = NodeHandle.open(tmp_path / "home")
    try:
        assert handle.status().catalogue_version == 2
        assert [item.item for item in handle.store.profile.items()] == ["i3", "a"]
    finally:
        handle.close()


def test_shorter_sketches_are_filled_up_with_noise_for_the_model(store):
    store.grow(a_version(store, *(f"n{n}" for n in range(30))), now_s=5.0)
    sizes, late = store.catalogue.sizes(), store.catalogue.digest()
    ones = {b"": np.ones(40, dtype=bool), late: np.ones(70, dtype=bool)}

    news = [
        (
            Counted(bytes([n]) * 32, 0, "10.0.0.1", reached=True),
            SignedSketch(bytes([n]) * 32, 0, pack(bits), b"", b"", version),
        )
        for n, (version, bits) in enumerate(ones.items())
    ]
    store.crowd.keep(news, n_head=64, sizes=sizes, first_epoch=0)
    (rows,) = store.crowd.bits(64, lambda size: np.arange(size) % 3 == 0)
    assert rows.shape == (2, 64)
    assert rows[:, :40].all()
    assert rows[1].all()
    assert rows[0, 40:].tolist() == [n % 3 == 0 for n in range(24)]
    assert unpack(pack(rows[0]), 64).tolist() == rows[0].tolist()
