"""A network of many people in memory, with the node's own protocol code: bytes, storage, recall, time to converge.

`PYTHONPATH=. python benchmarks/network_of_many.py --nodes 10000 --periods 150` prints a line every few periods.
People have tastes in communities of 200 (`populations.py`). A tenth of each list is hidden. Recall is the share of
hidden items that the full lists of ten neighbours have. Neighbours are found at home, with the exact list, among the
sketches held. Everything is as on the wire, except that signatures are taken to be genuine, and that all start at once
with a sketch each. `--blind` switches the second view and the choice by likeness off.
"""

import argparse
import hashlib
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from tests.support.memory_network import MemoryNetwork

from hetdp.core.randomness import seeded_stream
from hetdp.node.protocol import admission, sketches
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import Bootstrap, NetworkParameters
from hetdp.node.protocol.node import Node
from hetdp.node.protocol.sketch_shelf import SketchShelf
from hetdp.node.settings import NodeSettings
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import pack
from populations import community_profiles

START, EPSILON, HIDDEN, NEIGHBORS = 1_000_000, 3.0, 0.1, 10
Bits = NDArray[np.bool_]


class NamedIdentity(Identity):
    """An identity whose keys are digests: signing and checking are left out, the lengths stay."""

    @property
    def key(self) -> bytes:
        return hashlib.blake2b(self.signing_secret, digest_size=32).digest()

    @property
    def curve(self) -> bytes:
        return hashlib.blake2b(self.curve_secret, digest_size=32).digest()

    def sign(self, _text: bytes) -> bytes:
        return bytes(64)


class People:
    """Who has what, what of it is hidden, and the sketches that they publish."""

    def __init__(self, count: int, items: int, per_person: int, seed: int) -> None:
        profiles = community_profiles(count, items, per_person, random_state=seed)
        self.full: Bits = np.zeros((count, items), dtype=np.bool_)
        self.full[np.repeat(np.arange(count), np.diff(profiles.indptr)), profiles.indices] = True
        random = np.random.default_rng(seed + 1000)
        self.hidden: Bits = self.full & (random.random(self.full.shape) < HIDDEN)
        self.known: Bits = self.full & ~self.hidden
        q = chance_of_one(EPSILON)
        self.bits: Bits = random.random(self.full.shape) < np.where(self.known, 1 - q, q)
        self.asking = random.permutation(np.flatnonzero(self.hidden.any(axis=1)))[:300]

    def recall(self, person: int, held: NDArray[np.intp]) -> float:
        """Return the share of hidden items that the ten best of those held have."""
        ones = self.bits[held][:, self.known[person]].sum(axis=1)
        best = held[np.argsort(-ones, kind="stable")[:NEIGHBORS]]
        found = self.full[best].any(axis=0) & self.hidden[person]
        return float(found.sum() / self.hidden[person].sum())


def home(number: int) -> str:
    return f"tcp://10.{number // 65536}.{number // 256 % 256}.{number % 256}:7470"


def simulate(people: People, *, periods: int, every: int, most: int, blind: bool, seed: int) -> None:
    count, items = people.full.shape
    sketches.check_signature = admission.check_signature = lambda *_: True  # type: ignore[attr-defined]
    if blind:
        SketchShelf.full = property(lambda _self: False)  # type: ignore[assignment]
        setattr(SketchShelf, "_scores", lambda _self, some: [0.0] * len(some))  # noqa: B010  (a private one)
    whos = [NamedIdentity(number.to_bytes(32, "big"), number.to_bytes(32, "little")) for number in range(count)]
    boot = tuple(Bootstrap(home(number), whos[number].key.hex(), whos[number].curve.hex()) for number in range(8))
    network = NetworkParameters(
        name="many",
        catalogue="items.csv",
        catalogue_sha256="0" * 64,
        items=items,
        epsilon=Fraction(3),
        epoch_start_s=START,
        epoch_length_s=604_800,
        n_head=min(items, 512),
        bootstrap=boot,
    )
    wire, settings = MemoryNetwork(seed=seed, now_s=float(START)), NodeSettings(most_sketches=most)
    nodes, number_of = [], {who.key: number for number, who in enumerate(whos)}
    for number, who in enumerate(whos):
        stream = seeded_stream(seed, number)
        node = Node(
            who,
            address=home(number),
            network=network,
            settings=settings,
            stream=stream,
            now_s=wire.now_s,
        )
        node.adopt(SignedSketch(who.key, 0, pack(people.bits[number]), b"", bytes(64)))
        wire.add(node, address=home(number), curve=who.curve)
        nodes.append(node)
    begin, before = time.perf_counter(), 0
    print(f"{count:,} people, {items:,} items, {'blind' if blind else 'by likeness'}: the best that ", end="")
    everybody = np.arange(count)
    best = [people.recall(one, np.delete(everybody, one)) for one in people.asking]
    print(
        f"all sketches give is {np.mean(best):.3f}; standard error {np.std(best) / np.sqrt(len(best)):.3f}", flush=True
    )
    for done in range(every, periods + 1, every):
        wire.run(until_s=START + done * network.period_s)
        wire.log.clear()
        found = [people.recall(one, np.array([number_of[s.key] for s in nodes[one].shelf])) for one in people.asking]
        sent = sum(node.traffic.sent_bytes for node in nodes) / count
        held = np.mean([len(node.shelf) for node in nodes])
        counted = np.mean([len(node.crowd) for node in nodes])
        asked = sum(node.traffic.exchanges for node in nodes) / count
        print(
            f"period {done}: recall {np.mean(found):.3f}, {held:.0f} sketches held, {counted:.0f} count, "
            f"{asked:.0f} exchanges started, {sent / 1000:.0f} kB sent, "
            f"{(sent - before) / every / 1000:.2f} kB per period; {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
        before = sent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--per-person", type=int, default=20)
    parser.add_argument("--periods", type=int, default=150)
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--blind", action="store_true")
    chosen = parser.parse_args()
    people = People(chosen.nodes, chosen.items, chosen.per_person, chosen.seed)
    simulate(people, periods=chosen.periods, every=chosen.every, most=chosen.most, blind=chosen.blind, seed=chosen.seed)


if __name__ == "__main__":
    main()
