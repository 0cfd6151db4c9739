"""Two profiles, one published sketch, the same chance, time and peers: the same traffic, shelf and disk, byte by byte.

What a node keeps and asks for is chosen by its published sketch. So other sketches make other traffic, and that is no
loss; other profiles behind the same sketch must not.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.node_swarm import Swarm, address_of, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node import daemon as daemon_room, publication
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.learning import Learner
from hetdp.node.protocol.likeness import Likeness
from hetdp.node.settings import NodeSettings
from hetdp.node.storage import peers as peers_room
from hetdp.node.storage.folder import STORE
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.drawing import pack

SIZE, PEOPLE, OWNER = 160, 24, 100
#: Few fit on the shelf, so that likeness decides.
SETTINGS = NodeSettings(most_sketches=12, keep_epochs=1, clock_skew_s=1, listen=address_of(OWNER))


def taste_of(number):
    return dict.fromkeys(range(number % 4 * 40, number % 4 * 40 + 30), 100)


class Watched:
    """A participant whose every message, in and out, is written down."""

    def __init__(self, node):
        self.node, self.seen = node, []

    @property
    def next_wakeup_s(self):
        return self.node.next_wakeup_s

    def tick(self, now_s):
        actions = self.node.tick(now_s)
        self.seen += [(now_s, repr(action)) for action in actions]
        return actions

    def receive(self, link, curve, raw, *, now_s):
        actions = self.node.receive(link, curve, raw, now_s=now_s)
        self.seen += [(now_s, raw), *((now_s, repr(action)) for action in actions)]
        return actions


def live(folder, monkeypatch, *, profile, shown=0, after_start=lambda _node, _handle: None):
    """Let one node with a store live for two epochs and a restart; return all that others, and the disk, see of it."""
    swarm = Swarm(PEOPLE, seed=5, dials=taste_of, items=SIZE, settings=SETTINGS, epoch_length_s=220, bootstrap=2)
    calls = iter(range(10**6))
    for room in (daemon_room, peers_room):
        monkeypatch.setattr(room, "secure_stream", lambda: seeded_stream(6, next(calls)))
    monkeypatch.setattr(Learner, "consider", lambda *_: None)
    drawn = iter(range(10))
    monkeypatch.setattr(
        publication,
        "draw_bits",
        lambda *_, **__: draw_bits(
            taste_of(shown), epsilon=swarm.network.epsilon, size=SIZE, stream=seeded_stream(9, shown, next(drawn))
        ),
    )
    folder.mkdir()
    items = [CatalogueItem(place, f"i{place}", f"Item {place}") for place in range(SIZE)]
    store = NodeStore.make(folder / STORE, swarm.network, items, default_limit=30.0)
    store.profile.set_dials(profile)
    who = identity_of(OWNER)
    handle = NodeHandle(folder, swarm.network, SETTINGS, who, store, now=lambda: swarm.wire.now_s)
    seen, shelves = [], []
    with ThreadPoolExecutor(1) as worker:
        for epoch, cycles in ((0, 8), (0, 12), (1, 15)):  # the second begins with a restart, and so does the third
            if epoch:
                swarm.wire.run(until_s=swarm.network.starts(epoch) + 1.0)
                for number, node in swarm.nodes.items():
                    node.adopt(swarm.sketch(number, epoch))
            runner = Daemon(handle)
            watched = Watched(runner._node())
            watched.node.adopt(runner._publish())
            after_start(watched.node, handle)
            swarm.wire.add(watched, address=address_of(OWNER), curve=who.curve)
            for _ in range(cycles):
                swarm.cycles(1)
                runner._save(watched.node, worker, swarm.wire.now_s).result()
            swarm.wire.remove(address_of(OWNER))
            seen.append(watched.seen)
            shelves.append(([*watched.node.shelf], sorted(watched.node.shelf.liked)))
    tables = [
        store.database.rows(f"SELECT * FROM {table}")  # noqa: S608  (names from here)
        for table in ("sketches", "peers", "bans", "crowd")
    ]
    tables.append(store.database.fact("traffic"))
    store.close()
    return seen, shelves, tables


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield live(tmp_path_factory.mktemp("usual") / "node", patch, profile=taste_of(0))


OTHERS = [{}, taste_of(1), dict.fromkeys(range(SIZE), 100), {0: 1}]


@pytest.mark.slow
@pytest.mark.parametrize("profile", OTHERS, ids=["nothing", "another taste", "everything", "one item"])
def test_traffic_shelf_and_disk_are_the_same_for_every_profile_behind_one_sketch(usual, profile, tmp_path, monkeypatch):
    assert live(tmp_path / "node", monkeypatch, profile=profile) == usual
    seen, shelves, _ = usual
    assert min(len(one) for one in seen) > 40
    like = {identity_of(number).key for number in range(0, PEOPLE, 4)}
    assert max(len(like & set(liked)) for _, liked in shelves) >= 3, "likeness decides (chance: 1.5), so it could tell"


@pytest.mark.slow
def test_other_sketches_make_other_traffic(usual, tmp_path, monkeypatch):
    assert live(tmp_path / "node", monkeypatch, profile=taste_of(0), shown=1)[0] != usual[0]


@pytest.mark.slow
def test_a_shelf_that_looks_at_the_profile_would_be_seen(usual, tmp_path, monkeypatch):
    """A mutant: likeness to what the owner has, instead of to what was published."""

    def peek(node, handle):
        has = np.zeros(SIZE, dtype=np.bool_)
        has[list(handle.store.profile.places())] = True
        node.shelf._taste = Likeness(pack(has), node.shelf._shares)

    assert live(tmp_path / "node", monkeypatch, profile=taste_of(1), after_start=peek)[:2] != usual[:2]
