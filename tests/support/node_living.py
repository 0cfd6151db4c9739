"""Nodes that live on a network in memory: folder, store, ledger and daemon are real, time and wires are not."""

from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial

from hetdp.core.randomness import seeded_stream
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.addresses import host_of
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.publication import publish
from hetdp.node.wire.transport import Flooded


class AtOnce:
    """The worker of a daemon without a thread: what is handed to it is done right away."""

    def submit(self, work, *arguments):
        done = Future()
        done.set_result(work(*arguments))
        return done


class LivingNode:
    """One node from its folder, as `hetdp node run` would run it; what it publishes is written down in `published`.

    `offset_s` is how far its clock on the wall is ahead.
    """

    def __init__(self, folder, wire, *, seed, published, monkeypatch):
        self.handle = NodeHandle.open(folder)
        self.offset_s = 0.0
        self._wire, self._published = wire, published
        self.handle.now = lambda: wire.now_s + self.offset_s
        self.handle.uptime = lambda: Uptime("one boot", wire.now_s)
        monkeypatch.setattr("hetdp.node.daemon.secure_stream", lambda: seeded_stream(seed, int(wire.now_s)))
        self._daemon = Daemon(self.handle)
        self._daemon._learner.consider = lambda *_: False
        self._drawing = partial(publish, stream=seeded_stream(seed, 7, int(wire.now_s)), simulation=True)
        self._monkeypatch = monkeypatch
        self.node = self._daemon._node()
        self._adopt(self._publish())
        self._due_s = self.handle.now()
        self._saving = None
        wire.add(self, address=self.handle.address, curve=self.handle.identity.curve)

    @property
    def next_wakeup_s(self):
        """When to look again: as a daemon does, also before the node says, for its clock may have been set."""
        return min(self.node.next_wakeup_s - self.offset_s, self._wire.now_s + self.handle.network.period_s)

    def tick(self, _now_s):
        now_s, period_s = self.handle.now(), self.handle.network.period_s
        self._due_s = min(self._due_s, now_s + period_s)
        due = now_s >= self._due_s
        if due:
            self._due_s = now_s + period_s
            before = self.node.shelf.own
            with self._seeded():
                self._daemon._take_over(self.node, AtOnce(), now_s)
            if self.node.shelf.own is not before:
                self._note(self.node.shelf.own)
        actions = self.node.tick(now_s)
        if due:
            if self._saving is not None:
                self.node.take_up(self._saving.result())
            self._saving = self._daemon._save(self.node, AtOnce(), now_s)
        return actions

    def receive(self, link, curve, raw, *, now_s, **options):
        del now_s
        return self.node.receive(link, curve, raw, now_s=self.handle.now(), **options)

    def flooded(self, address):
        """Hear from the transport that a host sends more than its share."""
        self._daemon._answers(self.node, Flooded(host_of(address)))

    def kill(self):
        """Vanish without a word: what was not on disk is lost."""
        self._wire.remove(self.handle.address)
        self.handle.close()

    def _publish(self):
        with self._seeded():
            return self._daemon._publish()

    @contextmanager
    def _seeded(self):
        """Let the daemon draw with a seed: the result is the same every time."""
        with self._monkeypatch.context() as patched:
            patched.setattr("hetdp.node.daemon.publish", self._drawing)
            yield

    def _adopt(self, sketch):
        if sketch is not None:
            self.node.adopt(sketch)
            self._note(sketch)

    def _note(self, sketch):
        """Write down what left the node, and the dials behind it by the names of items."""
        catalogue, newest = self.handle.store.catalogue, self.handle.store.publications.newest()
        assert newest.epoch == sketch.epoch
        dials = {catalogue.item(place).item: dial for place, dial in newest.dials.items()}
        known = self._published.setdefault((sketch.key, sketch.epoch), (sketch.bits, dials))
        assert known[0] == sketch.bits, "an epoch was drawn twice"
