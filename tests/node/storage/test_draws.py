"""Draws on disk: never an epoch twice, each charged, whatever clocks, crashes and reboots do; and what is told."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from tests.support.node_swarm import a_network, identity_of

from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import REASONS, Uptime
from hetdp.node.publication import publish
from hetdp.node.settings import NodeSettings
from hetdp.node.storage import draws
from hetdp.node.storage.draws import read_uptime
from hetdp.node.storage.events import happening
from hetdp.node.storage.store import NodeStore

LENGTH_S = 1000
NETWORK = a_network(items=8, epoch_length_s=LENGTH_S)
ITEMS = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(8)]
WHO = identity_of(1)
FAR = 10**6  # epochs ahead


class Home:
    """A node on a machine whose clocks tests move."""

    def __init__(self, folder):
        self.store = NodeStore.make(folder / "node.db", NETWORK, ITEMS, default_limit=1e6)
        self.store.profile.set_dials({3: 100})
        self.handle = NodeHandle(folder, NETWORK, NodeSettings(), WHO, self.store)
        self.handle.now, self.handle.uptime = lambda: self.wall_s, lambda: Uptime(f"boot {self.boots}", self.up_s)
        self.wall_s, self.up_s, self.boots, self.on_s = NETWORK.epoch_start_s + 10.0, 50.0, 1, 0.0
        self.drawn = None  # the last draw, as it was certain to be on disk

    def work(self):
        """Do what the daemon does: draw if it may, then count the time."""
        now, before = {"now_s": self.wall_s, "uptime": self.handle.uptime()}, len(self.epochs)
        sketch = publish(self.store, identity=WHO, network=NETWORK, **now)
        newest = self.store.publications.newest_epoch()
        assert newest is None or sketch.epoch == newest == self.store.publications.all()[-1].epoch
        if len(self.epochs) > before:
            self.drawn = self.store.database.fact("last_draw")
        self.store.draws.look(NETWORK, **now)

    def run(self, seconds):
        self.wall_s, self.up_s, self.on_s = self.wall_s + seconds, self.up_s + seconds, self.on_s + seconds

    def jump(self, epochs):
        self.wall_s += epochs * LENGTH_S

    def restart(self):
        """Open the store anew, as another process does."""
        path = self.store.path
        self.store.close()
        self.store = self.handle.store = NodeStore(path)

    def reboot(self, off_s):
        """Lose what was counted since the last draw, as a power failure may."""
        with self.store.database.transaction(durable=True):
            self.store.database.set_fact("last_draw", self.drawn)
        self.wall_s, self.up_s, self.boots = self.wall_s + off_s, 0.0, self.boots + 1
        self.restart()

    @property
    def epochs(self):
        return [one.epoch for one in self.store.publications.all()]

    @property
    def told(self):
        return [event.kind for event in reversed(self.store.events.all())]


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path)
    yield made
    made.store.close()


STEPS = st.one_of(
    st.tuples(st.just("run"), st.floats(0.0, 1.5 * LENGTH_S)),
    st.tuples(st.just("jump"), st.sampled_from([-FAR, -2, -1, 1, 2, FAR])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("reboot"), st.floats(0.0, 2.0 * LENGTH_S)),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=25))
def test_no_epoch_twice_each_draw_charged_and_no_more_of_them_than_promised(steps):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        for name, *rest in steps:
            getattr(home, name)(*rest)
            home.work()
        epochs = home.epochs
        assert len(set(epochs)) == len(epochs) <= 1 + home.on_s / LENGTH_S + home.boots
        assert home.store.ledger.spent() == ({3: 3.0 * len(epochs)} if epochs else {})
        assert [epoch for epoch, _ in home.store.ledger.charges(3)] == epochs, "in the order in which they were drawn"
        home.store.close()


def test_a_clock_that_was_ahead_and_its_words(home):
    for _ in range(2):
        home.work()
        home.run(LENGTH_S)
    home.jump(FAR)
    home.work()
    home.run(9.0)
    home.jump(-FAR)
    home.work()
    home.work()
    assert home.epochs == [0, 1, 2 + FAR]
    clock, status = home.handle.clock(), home.handle.status()
    assert (clock.epoch, clock.published_epoch, clock.why) == (2, 2 + FAR, "behind")
    assert clock.next_draw_s == home.wall_s + LENGTH_S - 9.0
    assert clock.why_words == REASONS["behind"]
    assert (status.why, status.next_draw_s, status.clock_behind) == ("behind", clock.next_draw_s, True)
    planned = home.handle.next_sketch()
    assert (planned["would_draw_a_sketch"], planned["largest_loss"]) == (False, 0.0)
    home.run(LENGTH_S - 9.0)
    assert home.handle.next_sketch()["would_draw_a_sketch"]
    home.work()
    assert home.epochs == [0, 1, 2 + FAR, 3]
    assert home.store.publications.newest().epoch == home.store.publications.newest_signed().epoch == 3
    assert home.store.publications.newest_dials()[3] == 100
    assert home.handle.clock().why == "out"
    home.jump(FAR - 1)
    home.work()
    assert home.handle.clock().why == "skipped"
    home.run(LENGTH_S)
    home.work()
    assert home.epochs == [0, 1, 2 + FAR, 3, 3 + FAR]
    assert home.told == ["clock_behind", "clock_ahead", "epoch_skipped"]
    words = " ".join(happening(event) for event in home.store.events.all())
    assert "epoch 1,000,002" in words
    assert "epoch 3" in words


def test_a_paused_node_says_so_and_does_not_say_when(home):
    with home.store.database.transaction(durable=True):
        home.store.mode.set("paused")
    home.work()
    clock = home.handle.clock()
    assert (home.epochs, clock.why, clock.next_draw_s) == ([], "paused", None)
    assert not home.handle.next_sketch()["would_draw_a_sketch"]
    assert clock.why_words == REASONS["paused"]


def test_uptime_adds_up_over_reboots_if_it_was_counted(home):
    home.jump(1)
    for _ in range(4):
        home.work()
        home.run(240.0)
        home.work()
        home.wall_s, home.up_s, home.boots = home.wall_s - 240.0, 0.0, home.boots + 1  # a clock that knows no more
        home.restart()
    home.jump(-1)
    home.run(39.0)
    assert (home.epochs, home.handle.clock().why) == ([1], "behind")
    home.run(1.0)
    home.work()
    assert home.epochs == [1, 0]


@pytest.mark.parametrize("raw", [None, "", "nonsense", '{"epoch": "x"}', 7, b"\xff"])
def test_a_store_that_does_not_say_when_it_drew_counts_from_the_next_look(home, raw):
    """One of an earlier format says nothing, one that is damaged nonsense."""
    home.work()
    with home.store.database.transaction(durable=True):
        home.store.database.set_fact("last_draw", raw)
    last = home.store.draws.last()
    assert (last.epoch, last.wall_s, last.boot) == (0, home.wall_s, "")
    home.jump(0.9)
    home.up_s += 10**7  # before it was looked at, nothing counts, however long the machine has been up
    home.work()
    assert home.epochs == [0]
    home.run(LENGTH_S / 2)
    home.work()
    assert home.epochs == [0, 1], "the clock on the wall stood in: a full epoch has passed since the last sketch"


def test_epochs_may_be_forbidden_and_counting_may_begin_again(home):
    home.work()
    home.run(5 * LENGTH_S)
    with home.store.database.transaction(durable=True):
        home.store.draws.forbid_undrawn(1, 6, "restored")
        home.store.draws.forbid_undrawn(0, 0, "restored")
        home.store.draws.begin_again(home.wall_s)
    assert home.store.database.rows("SELECT why FROM drawn WHERE epoch <= 1 ORDER BY epoch") == [
        ("published",),
        ("restored",),
    ]
    assert home.handle.clock().why == "skipped"
    assert home.handle.clock().next_draw_s == NETWORK.starts(7)
    home.work()
    home.run(0.999 * LENGTH_S)
    home.work()
    assert home.epochs == [0]
    home.run(LENGTH_S)
    home.work()
    assert home.epochs == [0, 7]


def test_the_boot_clock_and_what_stands_for_it_elsewhere(monkeypatch, tmp_path):
    found = read_uptime()
    assert found.machine
    assert found.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for gone in (tmp_path / "nothing", tmp_path):
        monkeypatch.setattr(draws, "_BOOT_ID", gone)
        first, second = read_uptime(), read_uptime()
        assert not first.machine
        assert first.boot == second.boot != found.boot
        assert 0.0 <= first.seconds <= second.seconds < found.seconds
