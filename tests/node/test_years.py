"""A network of eighteen nodes lives through what years bring, in a minute: real folders, stores and ledgers, no wires.

The catalogue grows twice, three nodes are killed, one moves, one is restored from a backup, one has a clock that runs
ten years ahead for nine seconds, one is attacked by copies of its own sketch, one is flooded. At the end every ledger
is at least the sum of what was published, and equal where nothing was restored.
"""

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from tests.support.memory_network import MemoryNetwork
from tests.support.node_living import LivingNode
from tests.support.node_swarm import START, BadPeer, address_of, identity_of
from tests.support.page_client import Page, text_of

from hetdp.core.randomness import seeded_stream
from hetdp.node.demo.people import invent_people
from hetdp.node.moving import NewNode, move
from hetdp.node.protocol.catalogue_versions import NewItem, sign_versions
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.protocol.node import Node
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.restoring import back_up, restore
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.events import happening
from hetdp.node.storage.folder import init_node
from hetdp.node.storage.parcels import open_origin
from hetdp.sketching.drawing import unpack

DAY, COUNT = 86_400, 18
MAKER = identity_of(999)
ANNA, MOVED, RESTORED, CLOCK, FLOODED = 0, 5, 9, 7, 12
KILLED = range(14, 17)


class Years:
    """The network, day by day."""

    seed = 4

    def __init__(self, folder, monkeypatch):
        self.folder, self._monkeypatch = folder, monkeypatch
        self.people = invent_people(COUNT, seed=3)
        text = "item,title,link,group\n" + "".join(
            f"{item},{title},,{group}\n" for item, title, group in self.people.items
        )
        (folder / "items.csv").write_text(text)
        self.network = NetworkParameters(
            name="years",
            catalogue="items.csv",
            catalogue_sha256=hashlib.sha256(text.encode()).hexdigest(),
            items=len(self.people.items),
            epsilon=Fraction(3),
            epoch_start_s=int(START),
            epoch_length_s=DAY,
            period_s=4800.0,
            network_key=MAKER.key.hex(),
            most_catalogue=10_000,
            bootstrap=tuple(
                Bootstrap(address_of(n), identity_of(n).key.hex(), identity_of(n).curve.hex()) for n in range(3)
            ),
        )
        (folder / "net.toml").write_text(self.network.to_toml())
        self.wire = MemoryNetwork(seed=4, now_s=START + 10.0)
        self.published = {}
        self.nodes = {}
        for number in range(COUNT):
            profile = folder / f"{number}.csv"
            rows = [
                f"{self.people.items[place][0]},{dial / 100}" for place, dial in self.people.profiles[number].items()
            ]
            profile.write_text("\n".join(["item,weight", *rows]) + "\n")
            init_node(
                self.home(number),
                network_path=folder / "net.toml",
                profile_path=profile,
                settings=NodeSettings(listen=address_of(number)),
                identity=identity_of(number),
            )
            self.start(number)

    def home(self, number):
        return self.folder / f"node-{number}"

    def start(self, number, folder=None):
        self.nodes[number] = LivingNode(
            folder or self.home(number),
            self.wire,
            seed=number,
            published=self.published,
            monkeypatch=self._monkeypatch,
        )

    def until(self, day):
        self.wire.run(until_s=START + day * DAY)

    def grow(self, through, *names, retired=()):
        """Sign the next version and give it to one node by hand."""
        handle = self.nodes[through].handle
        history = handle.store.catalogue.history(self.network)
        rows = [NewItem(name, name.title(), "", "new") for name in names]
        places = [self.place(through, name) for name in retired]
        assert handle.take_up(sign_versions(history, self.network, MAKER, rows, places)) == 1

    def place(self, number, name):
        return self.nodes[number].handle.store.database.one("SELECT place FROM catalogue WHERE item = ?", name)

    def spent(self, number):
        """Return the ledger of a node by the names of items."""
        store = self.nodes[number].handle.store
        return {store.catalogue.item(place).item: loss for place, loss in store.ledger.spent().items()}

    def owed(self, number):
        """Return what everything that ever left a node under its key has cost, by the names of items."""
        key, total = identity_of(number).key, {}
        for (whose, _), (_, dials) in self.published.items():
            if whose == key:
                for name, dial in dials.items():
                    total[name] = total.get(name, 0) + dial
        return {name: 3 * dial / 100 for name, dial in total.items()}

    def told(self, number):
        """Return the pages of a node as their owner reads them."""
        page = Page(self.nodes[number].handle).enter()
        try:
            return " ".join(text_of(page.get(address)) for address in ("/items", "/network", "/privacy", "/neighbours"))
        finally:
            page.close()


@pytest.fixture(scope="module")
def years(tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        life = Years(tmp_path_factory.mktemp("years"), monkeypatch)
        live(life)
        yield life


def live(life):
    wire, nodes = life.wire, life.nodes
    life.until(1.5)
    back_up(life.home(RESTORED), life.folder / "backup", now_s=wire.now_s)
    life.grow(3, "radio", "lamp", "kettle")
    life.until(2.2)
    for number in (ANNA, MOVED, RESTORED, 10):
        nodes[number].handle.store.profile.set_dials({life.place(number, "lamp"): 100})
    for number in KILLED:
        nodes[number].kill()
    nodes[CLOCK].offset_s = 10 * 365 * DAY
    wire.run(until_s=wire.now_s + 9.0)
    nodes[CLOCK].tick(wire.now_s)
    nodes[CLOCK].offset_s = 0.0
    life.until(3.2)
    for number in KILLED:
        life.start(number)
    nodes[MOVED].kill()
    with open_origin(life.home(MOVED)) as origin:
        move(origin, NewNode(life.folder / "moved", None, {"listen": address_of(105)}), now_s=wire.now_s)
    life.start(MOVED, life.folder / "moved")
    life.grow(11, "sofa", retired=["radio"])
    life.until(4.3)
    nodes[RESTORED].kill()
    restore(life.folder / "backup", life.folder / "restored", settings={"listen": address_of(109)}, now_s=wire.now_s)
    life.start(RESTORED, life.folder / "restored")
    life.until(5.6)
    attack(life)
    life.until(6.9)


def attack(life):
    """Ten keys on ten hosts publish Anna's sketch with one more bit; a host calls one node without end."""
    wire, own = life.wire, life.nodes[ANNA].node.shelf.own
    store = life.nodes[ANNA].handle.store
    bits = unpack(own.bits, store.catalogue.size())
    free = np.flatnonzero(~bits)
    life.target = int(free[~np.isin(free, store.profile.places())][0])
    bits[life.target] = True
    life.copies = [identity_of(number) for number in range(200, 210)]
    for number, who in zip(range(200, 210), life.copies, strict=True):
        node = Node(
            who,
            address=address_of(number),
            network=life.network,
            settings=NodeSettings(),
            stream=seeded_stream(number),
            now_s=wire.now_s,
            catalogue=store.catalogue.history(life.network),
        )
        node.adopt(sign_sketch(bits, epoch=own.epoch, identity=who, network=life.network, catalogue=own.catalogue))
        wire.add(node, address=address_of(number), curve=who.curve)
    flood = BadPeer(300, life, "flooding")
    flood.victims = [FLOODED]
    wire.add(flood, address=address_of(300), curve=flood.identity.curve)
    life.nodes[FLOODED].flooded(address_of(300))


@pytest.mark.slow
def test_every_ledger_is_what_was_published_and_at_least_that_where_a_backup_was_restored(years):
    for number in range(COUNT):
        spent, owed = years.spent(number), years.owed(number)
        assert owed, number
        if number == RESTORED:
            assert all(spent[name] >= loss for name, loss in owed.items())
        else:
            assert spent == pytest.approx(owed), number


def test_everybody_has_the_whole_catalogue_and_publishes_for_it(years):
    for number, living in years.nodes.items():
        assert living.handle.store.catalogue.number() == 3, number
        assert living.node.shelf.own.catalogue == living.handle.store.catalogue.digest(), number
    sketches = years.nodes[1].handle.store.peers.sketches()
    assert len({sketch.key for sketch in sketches} & {identity_of(n).key for n in range(COUNT)}) >= COUNT - 2


def test_nobody_publishes_less_often_for_what_happened(years):
    """Seven days: one sketch each, but for those who were away, and the one whose clock was wrong."""
    epochs = {
        number: sorted(epoch for key, epoch in years.published if key == identity_of(number).key)
        for number in range(COUNT)
    }
    for number, drawn in epochs.items():
        usual = [epoch for epoch in drawn if epoch < 100]
        missed = 1 if number in KILLED else 2 if number in (RESTORED, CLOCK) else 0
        assert len(usual) >= 6 - missed, (number, drawn)
    assert all(max(drawn) <= 6 for number, drawn in epochs.items() if number != CLOCK)


def test_recommendations_come_from_honest_sketches(years):
    copies = {who.key.hex() for who in years.copies}
    held = {sketch.key.hex() for sketch in years.nodes[ANNA].handle.store.peers.sketches()}
    assert copies & held, "the shelf knows them like any other"
    for living in years.nodes.values():
        found = living.handle.findings()
        assert len(copies & {neighbor.key_hex for neighbor in found.neighbors}) <= 1
    found = years.nodes[ANNA].handle.findings()
    assert not copies & {neighbor.key_hex for neighbor in found.neighbors}
    assert years.target not in [recommendation.item.place for recommendation in found.recommendations[:3]]


@pytest.mark.slow
def test_the_page_tells_each_owner_what_happened(years):
    for number in (MOVED, RESTORED, CLOCK, FLOODED, ANNA):
        events = years.nodes[number].handle.store.events.all()
        told = years.told(number)
        for event in events:  # at the end of the years nothing is older than what the page shows
            assert " ".join(happening(event).split()) in told, (number, event.kind)
    kinds = {
        number: {event.kind for event in living.handle.store.events.all()} for number, living in years.nodes.items()
    }
    assert all("grown" in found for found in kinds.values())
    assert {number: found - {"grown"} for number, found in kinds.items() if found != {"grown"}} == {
        MOVED: {"moved_here"},
        RESTORED: {"restored", "epoch_skipped"},
        CLOCK: {"clock_ahead", "clock_behind"},
        FLOODED: {"flood"},
    }
    assert "yours, to look like you" in years.told(ANNA)
