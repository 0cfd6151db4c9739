"""A node in memory with the interface that the page uses: a catalogue, a profile, made-up neighbours, a fake clock."""

import dataclasses
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
from swarm import draw_bits

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.node.facts import EpochClock, Neighbour, PeerInfo, Recommendation, Status, Traffic
from hetdp.node.protocol.identity import pseudonym
from hetdp.node.protocol.network import Network
from hetdp.node.settings import Settings
from hetdp.node.storage.catalogue import CatalogueItem
from hetdp.node.storage.profile import ListCounts, ProfileItem, Waiting
from hetdp.node.storage.store import OwnSketch, Publication
from hetdp.sketching.chance import RARE, expected_by_chance

START = 1_800_000_000
#: Chance of a one where there is nothing, at epsilon 3.
Q = 0.0474
GROUPS = ("Music", "Books", "Health", "Food", "")
WORDS = (
    "Green",
    "Silent",
    "Northern",
    "Early",
    "Paper",
    "Winter",
    "Copper",
    "Quiet",
    "Open",
    "Distant",
    "Amber",
    "Wild",
)
NOUNS = (
    "tea",
    "garden",
    "rivers",
    "jazz",
    "harbour",
    "letters",
    "bread",
    "forest",
    "atlas",
    "kitchen",
    "piano",
    "sleep",
)


def a_catalogue(count):
    items = []
    for place in range(count):
        title = f"{WORDS[place % 12]} {NOUNS[place // 12 % 12]}"
        if place >= 144:
            title += f" {place // 144 + 1}"
        link = f"https://example.org/{place}" if place % 7 == 0 else ""
        items.append(CatalogueItem(place, f"i{place}", title, link, GROUPS[place % 5]))
    return items


class FakeStore:
    """Profile, ledger and the rest, in dictionaries."""

    def __init__(self, network, items, *, limit=30.0):
        self.network, self.items = network, items
        self.dials, self.limits, self.edits = {}, {}, []
        self.limit, self.version, self.chosen = limit, 0, False
        self.ledger, self.drawn, self.gone = [], [], set()
        self.neighbour_sketches, self.known = 0, []
        self.sent = Traffic()
        self.history = []

    def search(self, text, *, limit=20, offset=0):
        words = text.lower().split()
        fits = [item for item in self.items if all(word in f"{item.title} {item.group}".lower() for word in words)]
        return sorted(fits, key=lambda item: (item.title, item.place))[offset : offset + limit]

    def catalogue_item(self, place):
        if not 0 <= place < len(self.items):
            raise InvalidInput("place must be a position in the catalogue. Got another instead.")
        return self.items[place]

    def profile(self):
        newest = self.newest_publication()
        spent, epsilon, found = self.spent(), float(self.network.epsilon), []
        for place, dial in sorted(self.dials.items()):
            limit = self.limits.get(place, self.limit)
            fits = dial == 0 or spent.get(place, 0.0) + epsilon * dial / 100 <= limit + 1e-9
            entry = dataclasses.astuple(self.items[place])
            found.append(
                ProfileItem(
                    *entry,
                    dial=dial,
                    effective_dial=dial if fits else 0,
                    published_dial=None if newest is None else newest.dials.get(place),
                    spent=spent.get(place, 0.0),
                    limit=limit,
                    exhausted=not fits,
                )
            )
        return found

    def listing(self, text="", *, limit, offset=0):
        words = text.lower().split()
        fits = [item for item in self.profile() if all(word in f"{item.title} {item.group}".lower() for word in words)]
        return self._in_order(fits)[offset : offset + limit], len(fits)

    def on_list(self, place):
        return next((item for item in self.profile() if item.place == place), None)

    def listed_among(self, places):
        return set(places) & set(self.dials)

    def list_counts(self):
        profile = self.profile()
        counting = sum(item.effective_dial > 0 for item in profile)
        return ListCounts(len(profile), counting, sum(item.exhausted for item in profile))

    def group_counts(self):
        groups = [self.items[place].group for place in self.dials]
        return sorted({(group, groups.count(group)) for group in groups}, key=lambda row: (row[0] == "", row))

    def set_group(self, group, dial):
        places = [place for place in self.dials if group in {None, self.items[place].group}]
        self.set_dials(dict.fromkeys(places, dial))
        return len(places)

    def waiting(self, most):
        newest = self.newest_publication()
        if newest is None:
            return [], 0
        now = {item.place: item for item in self.profile()}
        found = []
        for item in self._in_order(self.items):
            before, after = newest.dials.get(item.place, 0), now.get(item.place)
            if before != (after.effective_dial if after else 0):
                change = (
                    before,
                    after.effective_dial if after else 0,
                    after is not None,
                    bool(after and after.exhausted),
                )
                found.append(Waiting(item.place, item.title, *change))
        return found[:most], len(found)

    def items_at(self, places):
        return [self.items[place] for place in places]

    @staticmethod
    def _in_order(items):
        return sorted(items, key=lambda item: (item.group == "", item.group, item.title.casefold(), item.place))

    def set_dials(self, dials):
        for place, dial in dials.items():
            self.catalogue_item(place)
            if not 0 <= dial <= 100:
                raise InvalidInput("a dial must be a whole number from 0 to 100. Got another instead.")
        if len(self.dials | dials) > self.network.most_items:
            raise InvalidInput(f"a profile must hold at most {self.network.most_items} items. Got more instead.")
        self._edit(self.dials | dials)

    def remove(self, places):
        self._edit({place: dial for place, dial in self.dials.items() if place not in set(places)})

    def undo(self):
        if not self.edits:
            return False
        self.dials = self.edits.pop()
        self.version += 1
        return True

    def profile_version(self):
        return self.version

    def default_limit(self):
        return self.limit

    def default_limit_chosen(self):
        return self.chosen

    def set_default_limit(self, epsilon):
        self.limit, self.version, self.chosen = epsilon, self.version + 1, True

    def set_limit(self, place, epsilon):
        self.catalogue_item(place)
        self.limits.pop(place, None)
        if epsilon is not None:
            self.limits[place] = epsilon
        self.version += 1

    def charges(self, place):
        return [(epoch, loss) for epoch, charged, loss in self.ledger if charged == place]

    def all_charges(self):
        return list(self.ledger)

    def spent(self):
        spent = {}
        for _, place, loss in self.ledger:
            spent[place] = spent.get(place, 0.0) + loss
        return spent

    def publications(self):
        return [Publication(sketch.epoch, sketch.published_s, int(sketch.bits.sum())) for sketch in self.drawn]

    def newest_publication(self):
        return self.drawn[-1] if self.drawn else None

    def dismiss(self, place):
        self.catalogue_item(place)
        self.gone.add(place)

    def undismiss(self, place):
        self.gone.discard(place)

    def dismissed(self):
        return set(self.gone)

    def peers(self):
        return list(self.known)

    def sketch_count(self):
        return self.neighbour_sketches

    def traffic(self):
        return self.sent

    def traffic_history(self):
        return list(self.history)

    def publish(self, epoch, now_s):
        counting = {item.place: item.effective_dial for item in self.profile() if item.effective_dial}
        epsilon = self.network.epsilon
        self.ledger += [(epoch, place, float(epsilon * dial / 100)) for place, dial in counting.items()]
        bits = draw_bits(counting, epsilon=epsilon, size=self.network.items, stream=seeded_stream(5, epoch))
        self.drawn.append(OwnSketch(epoch, now_s, bits, counting))

    def _edit(self, dials):
        self.edits.append(dict(self.dials))
        self.dials, self.version = dict(dials), self.version + 1


class FakeNode:
    """A handle on nothing but memory."""

    def __init__(self, *, items=600, epsilon=3, limit=30.0, most_items=1000):
        self.network = Network(
            name="test-net",
            catalogue="items.csv",
            catalogue_sha256="0" * 64,
            items=items,
            epsilon=Fraction(epsilon),
            epoch_start_s=START,
            epoch_length_s=6 * 3600,
            most_items=most_items,
        )
        self.folder = Path("hetdp-node")
        self.settings = Settings()
        self.store = FakeStore(self.network, a_catalogue(items), limit=limit)
        self.stopping = threading.Event()
        self.now_s = START + 2.3 * 3600
        self.key_hex = key_of(0)
        self.people, self.advice = (), ()
        self.running, self.clock_behind = True, False

    @property
    def name(self):
        return pseudonym(bytes.fromhex(self.key_hex))

    def clock(self):
        epoch = self.network.epoch_at(self.now_s)
        published = self.store.drawn[-1].epoch if self.store.drawn else None
        starts = float(self.network.starts(epoch))
        return EpochClock(self.now_s, epoch, starts, starts + self.network.epoch_length_s, published)

    def neighbours(self):
        return tuple(self.people)

    def recommendations(self, limit=20):
        counting = {item.place for item in self.store.profile() if item.effective_dial}
        without = counting | self.store.dismissed()
        return tuple(one for one in self.advice if one.place not in without)[:limit]

    def findings(self, limit=20):
        return self.neighbours(), self.recommendations(limit)

    def status(self):
        clock = self.clock()
        return Status(
            name=self.name,
            key_hex=self.key_hex,
            network=self.network.name,
            address="tcp://127.0.0.1:7470",
            running=self.running,
            epoch=clock.epoch,
            published_epoch=clock.published_epoch,
            next_epoch_s=clock.ends_s,
            peers=len(self.store.peers()),
            sketches=self.store.sketch_count(),
            traffic=self.store.traffic(),
            items=len(self.store.dials),
            exhausted=sum(item.exhausted for item in self.store.profile()),
            clock_behind=self.clock_behind,
        )

    def pass_epochs(self, count):
        """Publish in this epoch and in the next ones, ending in the last."""
        for number in range(count):
            self.now_s += self.network.epoch_length_s if number else 0
            self.store.publish(self.network.epoch_at(self.now_s), self.now_s - 60.0)

    def meet(self, count):
        """Fill the network with made-up peers, neighbours and recommendations."""
        store, mine = self.store, max(1, sum(item.effective_dial > 0 for item in self.store.profile()))
        store.neighbour_sketches = count
        store.known = [
            PeerInfo(
                key_of(n), pseudonym(bytes.fromhex(key_of(n))), f"tcp://10.0.0.{n}:7470", self.now_s - 17 * n, n % 3
            )
            for n in range(1, count + 1)
        ]
        error = (mine * Q * (1 - Q)) ** 0.5 / 0.9
        self.people = [
            Neighbour(
                store.known[n].name,
                store.known[n].key_hex,
                score=(share := mine * (0.62 - 0.055 * n)) * 0.9,
                shared=share,
                shared_error=error,
                share=share / mine,
                significance=share / error,
                by_chance=expected_by_chance(
                    round(0.9 * share + mine * Q), max(mine, round(share)), Q, candidates=count
                ),
                epoch=3,
            )
            for n in range(min(10, count))
        ]
        asked = sum(one.by_chance < RARE for one in self.people)
        self.advice = [
            Recommendation(
                **dataclasses.asdict(store.items[place]),
                votes=max(0.8, 6.2 - 0.7 * n),
                voters=(voters := min(asked, max(1, 7 - n // 2))),
                asked=asked,
                significance=6.0 - 0.4 * n,
                by_chance=expected_by_chance(voters, asked, Q, candidates=self.network.items),
                in_profile=place in store.dials,
            )
            for n, place in enumerate(range(301, 341, 4))
        ]
        store.sent = Traffic(1_830_000, 2_410_000, 4120, 4188, 2060, 31, 4)
        sizes = np.cumsum(4200 + 900 * np.sin(np.arange(120) / 4.0) + 300 * np.cos(np.arange(120) * 1.7)).astype(int)
        store.history = [(self.now_s - 10.0 * (120 - n), int(size), int(size * 1.2)) for n, size in enumerate(sizes)]


def key_of(number):
    return seeded_stream(31, number).words(4).tobytes().hex()


def a_lived_in_node(**changes):
    """Return a node that has run for some epochs and has neighbours."""
    node = FakeNode(**changes)
    node.store.set_dials(dict.fromkeys(range(0, 60, 3), 100) | {1: 60, 7: 25, 22: 35, 2: 0, 12: 5})
    node.pass_epochs(6)
    node.store.set_limit(9, 16.0)
    node.store.set_dials({3: 40, 62: 100})
    node.store.remove([6])
    node.meet(38)
    return node
