"""A real node for tests of its page: a folder, a store, a clock that tests move, and sketches of others on demand."""

import csv
import hashlib
import shutil
from contextlib import ExitStack
from fractions import Fraction
from itertools import islice

import msgspec
import numpy as np

from hetdp.core.randomness import seeded_stream
from hetdp.node.copies import HomeTrust
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.messages import Record, SignedSketch
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.node import Traffic
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.folder import init_node, locked
from hetdp.sketching.drawing import pack

START = 1_800_000_000
GROUPS = ("Music", "Books", "Health", "Food", "")
FIRST = ["Green", "Silent", "Northern", "Early", "Paper", "Winter"]
FIRST += ["Copper", "Quiet", "Open", "Distant", "Amber", "Wild"]
SECOND = ["tea", "garden", "rivers", "jazz", "harbour", "letters"]
SECOND += ["bread", "forest", "atlas", "kitchen", "piano", "sleep"]
#: How many of the owner's items the sketches of the people met have set, the nearest first: eight of them stand out
#: from chance among 38 sketches at epsilon 3. Whoever comes after them shows none.
ONES = (14, 13, 12, 11, 10, 9, 8, 7, 4, 3)
#: Place of an item that the owner has not -> which of the nearest people have it set. The first six stand out.
LIKED = {
    301: (0, 1, 2, 3, 4, 5),
    305: (0, 1, 2, 3, 4, 6),
    309: (0, 1, 2, 3, 4, 7),
    313: (0, 1, 2, 3, 5, 7),
    317: (0, 1, 2, 3, 4),
    321: (0, 1, 2, 3, 5),
    325: (0, 1, 2, 3),
    329: (0, 1, 2),
    333: (0, 1),
    337: (0,),
}


class Credulous(HomeTrust):
    """Takes whoever there is: the people of these tests have no noise, so they would be copies of each other."""

    def neighbors(self, ranked, count):
        return islice(ranked, count)


class PageNode(NodeHandle):
    """A node as the page gets it, whose time and company tests decide."""

    @property
    def trust(self):
        return Credulous(self.store, self.network, self.settings, self.identity.key, self.address)

    def begin(self):
        self.now_s = START + 2.3 * 3600
        self.now = lambda: self.now_s
        self.uptime = lambda: Uptime("page", self.now_s)
        self.heard = 0
        return self

    @property
    def dials(self):
        return {item.place: item.dial for item in self.store.profile.items()}

    def pass_epochs(self, count):
        """Publish in this epoch and in the next ones, ending in the last."""
        for number in range(count):
            self.now_s += self.network.epoch_length_s if number else 0
            stream = seeded_stream(5, self.network.epoch_at(self.now_s))
            now_s = self.now_s - 60.0
            publish(
                self.store,
                identity=self.identity,
                network=self.network,
                now_s=now_s,
                uptime=Uptime("page", now_s),
                stream=stream,
                simulation=True,
            )

    def set_bits(self, bits):
        """Let chance have drawn the newest sketch otherwise."""
        newest = self.store.publications.newest()
        newest.bits[list(bits)] = list(bits.values())
        signed = msgspec.structs.replace(self.store.publications.newest_signed(), bits=pack(newest.bits))
        raw = msgspec.msgpack.encode(signed)
        self.store.database.execute("UPDATE publications SET sketch = ? WHERE epoch = ?", raw, newest.epoch)

    def meet(self, count, *, ones=ONES, liked=LIKED):
        """Meet so many people, the first of whom are alike, and nobody else; traffic is as after half an hour."""
        self.store.peers.keep(held=(), now_s=self.now_s, first_epoch=0)
        mine = sorted(self.store.ledger.effective_dials())
        sketches, peers = [], []
        for number in range(count):
            bits = np.zeros(self.network.items, dtype=np.bool_)
            bits[mine[: ones[number] if number < len(ones) else 0]] = True
            bits[[place for place, people in liked.items() if number in people]] = True
            sketches.append(self._sketch(number, bits))
            record = Record(sketches[-1].key, bytes(32), f"tcp://10.0.0.{number + 1}:7470", 0, b"", b"")
            peers.append((record, self.now_s - 17 * (number + 1)))
        size = 0
        for step in range(30, -1, -1):
            size += 4200 + 900 * (step % 4)
            traffic = Traffic(size, round(1.2 * size), 4120, 4188, 2060, 31, 4)
            self.store.peers.keep(traffic=traffic, now_s=self.now_s - 10.0 * step - 1.0, first_epoch=0)
        traffic = Traffic(1_830_000, 2_410_000, 4120, 4188, 2060, 31, 4)
        reached = {record.key for record, _ in peers}
        self.store.peers.keep(
            sketches=sketches, peers=peers, reached=reached, traffic=traffic, now_s=self.now_s, first_epoch=0
        )

    def hear_of_strangers(self, count):
        """Get the sketches of so many people whom nothing is known about."""
        nothing = np.zeros(self.network.items, dtype=np.bool_)
        sketches = [self._sketch(1000 + self.heard + number, nothing) for number in range(count)]
        self.heard += count
        self.store.peers.keep(sketches=sketches, now_s=self.now_s, first_epoch=0)

    @staticmethod
    def _sketch(number, bits):
        key = seeded_stream(31, number + 1).words(4).tobytes()
        return SignedSketch(key, number % 3, pack(bits), b"", bytes(64))


class PageNodes:
    """Makes nodes: a folder of each kind once, and a copy for every test.

    Parameters
    ----------
    folder
        Where to put them.
    """

    def __init__(self, folder):
        self._folder, self._made, self._kinds = folder, 0, {}
        self._open = ExitStack()

    def new(self, *, running=True, **kind):
        """Return a node that has done nothing yet: items, epsilon, most_items, lifetime_epochs, title."""
        return self._copy("new", running=running, **kind)

    def lived_in(self, *, running=True, **kind):
        """Return a node that has run for some epochs and has neighbours."""
        return self._copy("lived-in", running=running, **kind)

    def close(self):
        """Close the nodes of the last test."""
        self._open.close()

    def _copy(self, life, *, running, **kind):
        if (life, *sorted(kind.items())) not in self._kinds:
            self._kinds[life, *sorted(kind.items())] = self._make(life, **kind)
        source, now_s = self._kinds[life, *sorted(kind.items())]
        self._made += 1
        home = self._folder / f"copy-{self._made}" / "hetdp-node"
        shutil.copytree(source, home)
        node = PageNode.open(home).begin()
        self._open.callback(shutil.rmtree, home)
        self._open.callback(node.close)
        node.now_s = now_s
        if running:
            self._open.enter_context(locked(home))
        return node

    def _make(self, life, *, items=600, epsilon=3, most_items=1000, lifetime_epochs=10.0, title=""):
        self._made += 1
        folder = self._folder / f"kind-{self._made}"
        folder.mkdir()
        with (folder / "items.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["item", "title", "link", "group"])
            for place in range(items):
                usual = f"{FIRST[place % 12]} {SECOND[place // 12 % 12]}"
                usual += f" {place // 144 + 1}" if place >= 144 else ""
                link = f"https://example.org/{place}" if place % 7 == 0 else ""
                shown = (f"{title} {place}", title) if title else (usual, GROUPS[place % 5])
                rows.writerow([f"i{place}", shown[0], link, shown[1]])
        network = NetworkParameters(
            name="test-net",
            catalogue="items.csv",
            catalogue_sha256=hashlib.sha256((folder / "items.csv").read_bytes()).hexdigest(),
            items=items,
            epsilon=Fraction(epsilon),
            epoch_start_s=START,
            epoch_length_s=6 * 3600,
            most_items=most_items,
        )
        (folder / "network.toml").write_text(network.to_toml())
        init_node(
            folder / "node",
            network_path=folder / "network.toml",
            settings=NodeSettings(lifetime_epochs=lifetime_epochs),
            identity=Identity.generate(seeded_stream(31, 0)),
        )
        node = PageNode.open(folder / "node").begin()
        if life == "lived-in":
            node.store.profile.set_dials(dict.fromkeys(range(0, 60, 3), 100) | {1: 60, 7: 25, 22: 35, 2: 0, 12: 5})
            node.pass_epochs(6)
            node.store.ledger.set_limit(9, 16.0)
            node.store.profile.set_dials({3: 40, 62: 100})
            node.store.profile.remove([6])
            node.meet(38)
        node.close()
        return folder / "node", node.now_s
