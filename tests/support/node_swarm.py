"""Nodes for the in-memory network, honest and otherwise, from seeds."""

from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from hetdp.core.randomness import seeded_stream
from hetdp.node import dials as node_dials
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.messages import Answer, Delivery, Opening, Record, SignedSketch, Slip, encode, name_of
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.protocol.node import Call, Node, Reply
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.settings import NodeSettings
from tests.support.memory_network import MemoryNetwork

START = 1_000_000.0
#: Where nobody is.
FAKE = "10.77."


def a_network(**changes):
    given = {
        "name": "test",
        "catalogue": "items.csv",
        "catalogue_sha256": "0" * 64,
        "items": 100,
        "epsilon": Fraction(3),
        "epoch_start_s": int(START),
        "epoch_length_s": 100_000,
    }
    return NetworkParameters(**(given | changes))


def address_of(number):
    return f"tcp://10.{number // 65536}.{number // 256 % 256}.{number % 256}:7470"


@cache
def identity_of(number):
    return Identity.generate(seeded_stream(77, number))


def contact_of(number):
    who = identity_of(number)
    return Bootstrap(address_of(number), who.key.hex(), who.curve.hex())


def draw_bits(dials, *, epsilon, size, stream):
    """Draw the bits of a profile given as place -> dial."""
    row = np.zeros(size, dtype=np.uint8)
    row[list(dials)] = list(dials.values())
    return node_dials.draw_bits(row, epsilon=epsilon, stream=stream)


class Swarm:
    """Nodes 0, 1, ... on one in-memory network; node 0 is everybody's bootstrap peer."""

    def __init__(
        self, count, *, seed=1, dials=lambda _number: {}, settings=None, conditions=None, bootstrap=1, **changes
    ):
        self.network = a_network(bootstrap=tuple(contact_of(number) for number in range(bootstrap)), **changes)
        self.settings = settings or NodeSettings()
        self.seed = seed
        self.dials = dials
        self.wire = MemoryNetwork(seed=seed, now_s=START, conditions=conditions)
        self.nodes = {}
        for number in range(count):
            self.join(number)

    def join(self, number, *, clock_offset_s=0.0, settings=None):
        who = identity_of(number)
        node = Node(
            who,
            address=address_of(number),
            network=self.network,
            settings=settings or self.settings,
            stream=seeded_stream(self.seed, number),
            now_s=self.wire.now_s + clock_offset_s,
        )
        node.adopt(self.sketch(number, self.network.epoch_at(self.wire.now_s)))
        self.nodes[number] = node
        self.wire.add(node, address=address_of(number), curve=who.curve, clock_offset_s=clock_offset_s)

    def leave(self, number):
        self.wire.remove(address_of(number))
        del self.nodes[number]

    def sketch(self, number, epoch):
        stream = seeded_stream(self.seed, 10**6 + number, epoch)
        bits = draw_bits(self.dials(number), epsilon=self.network.epsilon, size=self.network.items, stream=stream)
        return sign_sketch(bits, epoch=epoch, identity=identity_of(number), network=self.network)

    def cycles(self, count):
        self.wire.run(until_s=self.wire.now_s + count * self.network.period_s)

    def held(self):
        return {number: len(node.shelf) for number, node in self.nodes.items()}


class BadPeer:
    """Misbehaves toward everybody once per period; `kind` says how."""

    def __init__(self, number, swarm, kind):
        self.kind, self.swarm, self.number = kind, swarm, number
        self.identity = identity_of(number)
        self.stream = seeded_stream(swarm.seed, 5, number)
        self.victims = list(swarm.nodes)
        self.next_wakeup_s = swarm.wire.now_s + 0.1
        self.turn = 0
        self.captured = []

    def record(self, now_s):
        fields = (self.identity.key, self.identity.curve, address_of(self.number), int(1000 * now_s), b"")
        unsigned = Record(*fields, b"")
        return Record(*fields, self.identity.sign(unsigned.text(self.swarm.network.id)))

    def opening(self, now_s):
        have = (Slip(name_of(self.identity.key), self.swarm.network.epoch_at(now_s)),)
        return encode(self.swarm.network.id, Opening(self.stream.words(1).tobytes(), self.record(now_s), (), have))

    def tick(self, now_s):
        burst = 20 if self.kind == "flooding" else 1
        self.next_wakeup_s = now_s + self.swarm.network.period_s / 5
        actions = []
        for _ in range(burst):
            self.turn += 1
            victim = self.victims[int(self.stream.words(1)[0]) % len(self.victims)]
            raw = {
                "garbage": lambda: self.stream.words(20).tobytes(),
                "oversized": lambda: bytes(self.swarm.network.largest_message + 1),
                "replaying": lambda: self.captured[-1] if self.captured else self.opening(now_s),
            }.get(self.kind, lambda: self.opening(now_s))()
            actions.append(Call(self.turn, address_of(victim), b"", raw))
        return actions

    def receive(self, link, _curve, raw, **_):
        self.captured.append(raw)
        if self.kind in ("silent", "garbage", "oversized", "flooding"):
            return [] if self.kind == "silent" else [Reply(link, self.stream.words(4).tobytes())]
        return [Reply(link, raw)]


@lru_cache(maxsize=1024)
def signed_record(number, address, now_s, *, network_id=None):
    who = identity_of(number)
    fields = (who.key, who.curve, address, int(1000 * now_s), b"")
    return Record(*fields, who.sign(Record(*fields, b"").text(network_id or a_network().id)))


class Crowd:
    """Many keys of one machine that call the victims in turn, each from a host that does not exist."""

    def __init__(self, swarm, victims, *, count, every_s, brings):
        self.swarm, self.victims, self.count, self.every_s, self.brings = swarm, victims, count, every_s, brings
        self.network_id = swarm.network.id
        self.turn, self.next_wakeup_s = 0, swarm.wire.now_s + 0.1

    def record(self, number, now_s):
        place = number % self.count
        return signed_record(
            5000 + place,
            f"tcp://{FAKE}{place // 250}.{1 + place % 250}:7470",
            now_s // 10 * 10,
            network_id=self.network_id,
        )

    def tick(self, now_s):
        self.next_wakeup_s = now_s + self.every_s
        for victim in self.victims:
            self.turn += 1
            named = tuple(self.record(self.turn + more, now_s) for more in range(1, 1 + self.brings))
            raw = encode(self.network_id, Opening(bytes(8), self.record(self.turn, now_s), named, ()))
            curve = identity_of(5000 + self.turn % self.count).curve
            self.swarm.nodes[victim].receive(("crowd", self.turn), curve, raw, now_s=now_s)
        return []

    def receive(self, *_, **__):
        return []


__all__ = ["START", "Answer", "BadPeer", "Delivery", "SignedSketch", "Swarm", "a_network", "address_of", "identity_of"]
