"""What an owner does with a node: pause while it publishes, hide somebody, mute and remove items; who can notice."""

import csv
import json
import shutil
import threading

import numpy as np
import pytest
from tests.support.node_swarm import START, Swarm, a_network, address_of, contact_of, identity_of

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node import publication
from hetdp.node.catalogue_file import CatalogueItem, read_network_catalogue
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.own_data import list_as_csv
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import pseudonym
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.crowd import CrowdModel, save_model
from hetdp.node.storage.folder import MODEL, init_node
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.storage.importing import import_list
from hetdp.node.storage.store import NodeStore
from hetdp.recommender.model import ItemModel

OWN = dict.fromkeys(range(20), 100)
#: Somebody who has everything the owner has, and item 50.
TWIN = OWN | {50: 100}


@pytest.fixture
def home(tmp_path):
    """Make the folder of node 20, whose bootstrap peer is node 0."""
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f"i{n},Item {n}\n" for n in range(100)))
    digest = read_network_catalogue(tmp_path / "items.csv")[1]
    network = a_network(catalogue_sha256=digest, bootstrap=(contact_of(0),), epoch_length_s=10_000)
    (tmp_path / "n.toml").write_text(network.to_toml())
    init_node(
        tmp_path / "home",
        network_path=tmp_path / "n.toml",
        settings=NodeSettings(listen="tcp://127.0.0.1:7470", advertise=address_of(20)),
        identity=identity_of(20),
    )
    return tmp_path / "home"


@pytest.fixture
def handle(home):
    opened = NodeHandle.open(home)
    opened.now = lambda: START + 1.0
    opened.store.profile.set_dials(OWN)
    yield opened
    opened.close()


def published(handle, epoch):
    now_s = handle.network.starts(epoch) + 1.0
    return publish(
        handle.store, identity=handle.identity, network=handle.network, now_s=now_s, uptime=Uptime("boot", now_s)
    )


def test_a_paused_node_draws_nothing_shows_what_it_has_and_goes_on(handle):
    first = published(handle, 0)
    assert handle.pause()
    assert not handle.pause()
    assert published(handle, 1) == first
    assert [charge for charge, _ in handle.store.ledger.charges(3)] == [0]
    assert handle.resume()
    assert not handle.resume()
    assert published(handle, 2).epoch == 2
    assert [charge for charge, _ in handle.store.ledger.charges(3)] == [0, 2]
    assert [event.kind for event in handle.store.events.all()] == ["resumed", "paused"]


def test_a_pause_during_publication_waits_for_it_and_stops_the_next(handle, monkeypatch):
    """The draw is under way when the owner pauses: it is whole. Once the pause is told, none begins."""
    drawing, paused, order = threading.Event(), threading.Event(), []
    draw = publication.draw_bits

    def slow(*arguments, **options):
        drawing.set()
        paused.wait(0.3)
        order.append("drawn")
        return draw(*arguments, **options)

    monkeypatch.setattr(publication, "draw_bits", slow)
    thread = threading.Thread(target=published, args=(handle, 0))
    thread.start()
    assert drawing.wait(30)
    assert handle.pause()
    order.append("paused")
    paused.set()
    thread.join(30)
    assert order == ["drawn", "paused"]
    assert [one.epoch for one in handle.store.publications.all()] == [0]
    assert handle.store.ledger.spent() == dict.fromkeys(range(20), 3.0)
    assert published(handle, 1).epoch == 0
    assert order == ["drawn", "paused"]


def test_what_stopped_the_node_is_not_paused_away(handle):
    with handle.store.database.transaction(durable=True):
        handle.store.mode.set("stopped")
    for change in (handle.pause, handle.resume):
        with pytest.raises(InvalidInput, match="The node is"):
            change()
    assert handle.mode() == "stopped"


def a_swarm(**options):
    return Swarm(8, dials=lambda number: TWIN if number < 4 else {}, epoch_length_s=10_000, **options)


def meet(handle, swarm):
    sketches = [swarm.sketch(number, 0) for number in swarm.nodes]
    handle.store.peers.keep(sketches=sketches, now_s=START, first_epoch=0)


def test_who_is_hidden_is_no_neighbour_and_has_no_vote(handle):
    swarm = a_swarm()
    meet(handle, swarm)
    before = handle.findings()
    assert 50 in [one.item.place for one in before.recommendations]
    close = [one.key_hex for one in before.neighbors if one.by_chance < 0.05]
    assert len(close) == 4
    for key in close:
        handle.hide(key)
    handle.hide(close[0])
    after = handle.findings()
    assert not {one.key_hex for one in after.neighbors} & set(close)
    assert after.recommendations == ()
    assert {key for _, key in handle.hidden()} == set(close)
    handle.unhide(close[0])
    assert close[0] in {one.key_hex for one in handle.neighbors()}
    for odd in ("", "ab", "x" * 64):
        with pytest.raises(InvalidInput, match="64 hexadecimal"):
            handle.hide(odd)


@pytest.mark.slow
def test_nobody_can_notice_who_is_hidden(home, handle, monkeypatch):
    """The node of a store in which everybody is hidden, or nobody, in the same network with the same chance.

    Every message is the same: to whom, when, and each byte of it.
    """
    meet(handle, a_swarm())
    sketch = publish(
        handle.store,
        identity=handle.identity,
        network=handle.network,
        now_s=START + 1.0,
        uptime=Uptime("boot", 0.0),
        stream=seeded_stream(3),
        simulation=True,
    )
    handle.close()
    shutil.copytree(home, home.parent / "other")
    hiding = NodeHandle.open(home.parent / "other")
    for number in range(8):
        hiding.hide(identity_of(number).key.hex())
    hiding.close()
    monkeypatch.setattr("hetdp.node.daemon.secure_stream", lambda: seeded_stream(4))
    seen = []
    for place in (home, home.parent / "other"):
        opened, swarm, sent = NodeHandle.open(place), a_swarm(catalogue_sha256=handle.network.catalogue_sha256), []
        opened.now = lambda: START + 1.0
        send = swarm.wire._send
        swarm.wire._send = lambda member, there, raw, send=send, sent=sent: (
            sent.append((member.address, there[0], raw)),
            send(member, there, raw),
        )
        node = Daemon(opened)._node()
        node.adopt(sketch)
        swarm.wire.add(node, address=address_of(20), curve=opened.identity.curve)
        swarm.cycles(30)
        opened.close()
        seen.append((sent, swarm.wire.log))
    assert seen[0] == seen[1]
    calls = [sender for sender, _, _ in seen[0][0]]
    assert calls.count(address_of(20)) > 20, "it took part"


@pytest.mark.parametrize("way", ["votes", "crowd"])
def test_muted_removed_and_dismissed_items_are_not_recommended_until_asked_for(handle, way):
    meet(handle, a_swarm())
    if way == "crowd":
        speaks = np.full((100, 100), 0.1, dtype=np.float32)
        save_model(handle.folder / MODEL, CrowdModel(ItemModel(np.arange(100.0)[::-1].copy(), speaks), 500))

    def recommended():
        return {one.item.place for one in handle.recommendations(100)}

    profile = handle.store.profile
    assert 50 in recommended()
    profile.set_dials({50: 0})
    assert 50 not in recommended(), "muted"
    profile.remove([50])
    assert 50 not in recommended(), "removed by hand"
    assert profile.dismissed() == {50}
    profile.undismiss(50)
    assert 50 in recommended(), "asked for"
    profile.dismiss(50)
    assert 50 not in recommended(), "dismissed"
    profile.set_dials({50: 100})
    assert profile.dismissed() == set()
    profile.undo()
    profile.undismiss(50)
    assert 50 in recommended(), "an item that was added and taken back is not one that was removed"
    profile.remove([0])
    profile.undo()
    assert profile.dismissed() == set()


def test_the_list_as_csv_comes_back_the_same(handle, home):
    handle.store.profile.set_dials({7: 33, 8: 0})
    handle.import_items('title,weight\n"Odd, \u00fcnknown",0.25\n'.encode())
    text = handle.list_as_csv()
    other = home.parent / "other"
    init_node(other, network_path=home.parent / "n.toml", settings=NodeSettings(listen="tcp://127.0.0.1:0"))
    fresh = NodeHandle.open(other)
    imported = fresh.import_items(text.encode())
    assert (imported.added, imported.unknown) == (20, ("Odd, \u00fcnknown",))
    assert fresh.list_as_csv() == text
    fresh.close()


def test_who_is_held_is_hidden_by_name(handle):
    meet(handle, a_swarm())
    key = handle.store.peers.sketches()[0].key
    handle.hide(pseudonym(key))
    assert handle.store.hidden.all() == {key}
    handle.unhide(pseudonym(key))
    assert not handle.store.hidden.all()
    with pytest.raises(InvalidInput, match="64 hexadecimal"):
        handle.hide("nobody-of-them")


def test_an_export_holds_everything_and_what_was_spent_adds_up(handle):
    store = handle.store
    published(handle, 0)
    published(handle, 1)
    lost = np.zeros(100, np.int64)
    lost[[3, 60]] = 250, 40
    with store.database.transaction(durable=True):
        store.other_charges.add("a", "moved", lost=lost)
        store.other_charges.add("b", "restored", every=100)
        store.unknown.keep("Nowhere", 50, lost=70, lifetime=2.0)
    store.ledger.set_limit(70, 1.5)
    store.profile.set_group_limit(WHOLE_LIST, 4.0)
    handle.hide("ab" * 32)
    handle.pause()
    told = handle.export()
    epsilon = told["epsilon_per_epoch"]
    otherwise = {row["item"]: row["loss"] for row in told["charged_otherwise"]}
    assert otherwise == pytest.approx({"i3": 2.5 * epsilon, "i60": 0.4 * epsilon})
    every = told["charged_to_every_item"]
    for row in told["profile"]:
        own = sum(one["loss"] for one in told["losses"] if one["item"] == row["item"])
        assert row["spent"] == pytest.approx(own + otherwise.get(row["item"], 0.0) + every)
    (kept,) = told["kept_for_later"]
    assert kept == {"name": "Nowhere", "weight": 0.5, "spent": pytest.approx(0.7 * epsilon), "limit": 2.0}
    assert [(row["item"], row["limit"]) for row in told["limits"]] == [("i70", 1.5)]
    assert (told["limit_of_the_whole_list"], told["group_limits"], told["mode"]) == (4.0, {}, "paused")
    assert told["hidden"] == ["ab" * 32]
    assert told["events"][0]["kind"] == "paused"
    json.dumps(told)


def test_a_title_is_no_formula_in_the_exported_table_and_is_found_again(tmp_path):
    titles = ("=HYPERLINK(A2)", "+1", "-2", "@SUM(A1)", "'=quoted", "'Tis tea")
    items = [CatalogueItem(place, f"={place}", title) for place, title in enumerate(titles)]
    with NodeStore.make(tmp_path / "a.db", a_network(items=len(items)), items, default_limit=9.0) as store:
        store.profile.set_dials(dict.fromkeys(range(len(items)), 50))
        text = list_as_csv(store)
        assert not [cell for row in csv.reader(text.splitlines()) for cell in row if cell[:1] in ("=", "+", "-", "@")]
        store.profile.remove(range(len(items)))
        assert import_list(store, text.encode()).added == len(items)
        store.profile.remove(range(len(items)))
        by_title = "title\n" + "".join(line.split(",")[1] + "\n" for line in text.splitlines()[1:])
        assert import_list(store, by_title.encode()).added == len(items)
