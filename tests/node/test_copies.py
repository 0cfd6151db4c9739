"""Copies at home: they have no vote, and nobody can see who was found to be one."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from tests.support.memory_network import MemoryNetwork
from tests.support.node_swarm import START, a_network, contact_of, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node import daemon as daemon_module, learning
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.copies import copies_of_own, one_vote_each
from hetdp.node.daemon import Daemon
from hetdp.node.demo.people import invent_people
from hetdp.node.handle import NodeHandle
from hetdp.node.learning import learn_from_crowd
from hetdp.node.neighbors import find_neighbors
from hetdp.node.protocol.messages import Record
from hetdp.node.protocol.node import Node
from hetdp.node.protocol.seen_sketches import SeenSketches
from hetdp.node.protocol.sketch_shelf import SketchShelf
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.protocol.who_counts import Counted
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.crowd import load_model
from hetdp.node.storage.folder import MODEL, NETWORK, STORE
from hetdp.node.storage.publications import OwnDraw
from hetdp.node.storage.store import NodeStore
from hetdp.sketching.drawing import pack, unpack

PEOPLE = invent_people(48, seed=4)
SIZE = len(PEOPLE.items)
NET = a_network(items=SIZE)
ANNA = identity_of(0)


def signed(bits, number, *, epoch=0, network=NET):
    return sign_sketch(bits, epoch=epoch, identity=identity_of(number), network=network)


def drawn(number, *, epoch=0):
    stream = seeded_stream(1, number, epoch)
    return draw_bits(PEOPLE.profiles[number], epsilon=NET.epsilon, size=SIZE, stream=stream)


HONEST = [signed(drawn(number), number) for number in range(1, 48)]


def dials_of(profile, size=SIZE):
    row = np.zeros(size, dtype=np.uint8)
    row[list(profile)] = list(profile.values())
    return row


def make(folder, *, sketches=(), address="tcp://10.9.9.9:7470", epochs=1, network=NET):
    """Make Anna's node, which has published sketches of some epochs."""
    folder.mkdir()
    (folder / NETWORK).write_text(network.to_toml())
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(network.items)]
    store = NodeStore.make(folder / STORE, network, items, default_limit=1e6)
    store.profile.set_dials(PEOPLE.profiles[0])
    for epoch in range(epochs):
        bits = drawn(0, epoch=epoch)
        sketch = signed(bits, 0, epoch=epoch)
        with store.database.transaction(durable=True):
            store.publications.add(sketch, ones=int(bits.sum()), dials=dials_of(PEOPLE.profiles[0]), now_s=0.0)
    handle = NodeHandle(folder, network, NodeSettings(listen=address), ANNA, store)
    hold(handle, sketches)
    return handle


def hold(handle, sketches, hosts=lambda number: f"10.0.{number}.1"):
    """Put sketches on the shelf and into the crowd; `hosts` says where each was reached, None for nowhere."""
    handle.store.peers.keep(sketches=sketches, now_s=0.0, first_epoch=0)
    news = [
        (Counted(one.key, one.epoch, hosts(number) or "10.250.0.1", reached=hosts(number) is not None), one)
        for number, one in enumerate(sketches)
    ]
    handle.store.crowd.keep(news, n_head=SIZE, sizes={b"": SIZE}, first_epoch=0)


def promoted(bits):
    """Return bits with one more, and its place: an item that Anna does not have and that she has not shown."""
    place = next(n for n in range(SIZE) if not bits[n] and n not in PEOPLE.profiles[0])
    changed = bits.copy()
    changed[place] = True
    return changed, place


@pytest.fixture
def anna(tmp_path):
    handle = make(tmp_path / "anna", sketches=HONEST)
    yield handle
    handle.close()


def view_of(handle):
    found = handle.findings()
    return [one.key_hex for one in found.neighbors], [one.item.place for one in found.recommendations]


def test_ten_keys_that_copied_anna_take_ten_slots_where_nobody_looks(anna):
    """As it was before, so that the other tests mean something."""
    bits, place = promoted(drawn(0))
    copies = [signed(bits, 1000 + number) for number in range(10)]
    everybody = [*HONEST, *copies]
    mine = [item for item, dial in PEOPLE.profiles[0].items() if dial]
    found = find_neighbors(everybody, mine, epsilon=NET.epsilon, sizes={b"": SIZE}, count=10)
    assert {one.key_hex for one in found} == {copy.key.hex() for copy in copies}
    assert place in [one.item.place for one in anna.by_votes(everybody, found, 3)]


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_copies_of_an_own_sketch_have_no_vote(tmp_path, epoch):
    """Of this epoch or of one before, under any number of keys and hosts."""
    handle = make(tmp_path / "anna", sketches=HONEST, epochs=3)
    before = view_of(handle)
    bits, _ = promoted(drawn(0, epoch=epoch))
    hold(handle, [signed(bits, 1000 + number, epoch=2) for number in range(30)], lambda n: f"10.7.{n}.1")
    assert view_of(handle) == before
    assert len(before[0]) == 10
    handle.close()


def half_copied(bits, number):
    """Return bits that differ from a sketch in many places, yet have all its ones: not nearly alike, still a copy."""
    return bits | (seeded_stream(3, number).uniforms(SIZE) < 0.08)


def test_the_owner_knows_copies_that_nobody_else_can(anna):
    """The public test is passed by them, among each other and with the own sketch."""
    before = view_of(anna)
    copies = [signed(half_copied(drawn(0), number), 1000 + number) for number in range(30)]
    seen = SeenSketches(NET.epsilon)
    seen.add({(copy.key, 0): copy.bits for copy in copies}, SIZE)
    seen.add({(ANNA.key, 0): pack(drawn(0))}, SIZE)
    assert all(len(seen.alike(copy.bits, SIZE)) == 1 for copy in copies)
    hold(anna, copies, lambda n: f"10.7.{n}.1")
    assert view_of(anna) == before
    assert anna.findings().copies == 30
    assert set(anna.trust.left_out_of_learning()) == {(copy.key, 0) for copy in copies}


def test_honest_sketches_are_no_copies_however_alike():
    """Given a sketch, the noise that it shares is binomial: each of 20,000 comparisons is wrong with probability 1e-5.

    Twins of Anna's profile and people who have everything are among them. Of 100 sketches of Anna's, each compared with
    200, those with a false alarm are at most binomial(100, 0.002): above 6 with probability below 1e-8.
    """
    epsilon, size = Fraction(3), 600
    rich = dict.fromkeys(range(size), 100)
    alike = dict.fromkeys(range(40), 100)
    others = [
        pack(draw_bits(profile, epsilon=epsilon, size=size, stream=seeded_stream(11, number, kind)))
        for kind, profile in enumerate((alike, rich, dict.fromkeys(range(300), 100), {}))
        for number in range(50)
    ]
    found = 0
    for run in range(100):
        bits = draw_bits(alike, epsilon=epsilon, size=size, stream=seeded_stream(12, run))
        own = OwnDraw(0, pack(bits), dials_of(alike, size))
        found += bool(copies_of_own(others, [own], epsilon=epsilon).any())
        assert copies_of_own([own.bits], [own], epsilon=epsilon).all()
    assert found <= 6


def test_a_network_of_shorter_sketches_is_no_obstacle():
    """A copy of a sketch of a longer catalogue, cut; and an own sketch that is shorter than what others show."""
    epsilon, size = Fraction(3), 1000
    bits = draw_bits({}, epsilon=epsilon, size=size, stream=seeded_stream(13))
    honest = draw_bits({}, epsilon=epsilon, size=size, stream=seeded_stream(14))
    own = [OwnDraw(0, pack(bits), np.zeros(size, dtype=np.uint8))]
    short = [OwnDraw(0, pack(bits[:500]), np.zeros(500, dtype=np.uint8))]
    assert copies_of_own([pack(bits[:500]), pack(honest[:500])], own, epsilon=epsilon).tolist() == [True, False]
    assert copies_of_own([pack(bits), pack(honest)], short, epsilon=epsilon).tolist() == [True, False]
    assert copies_of_own([], own, epsilon=epsilon).tolist() == []
    assert copies_of_own([pack(bits)], [], epsilon=epsilon).tolist() == [False]


def test_what_others_publish_counts_once_the_first_seen(anna):
    best = view_of(anna)[0][0]
    original = next(one for one in HONEST if one.key.hex() == best)
    bits = unpack(original.bits, SIZE)
    changed, _ = promoted(bits)
    before = view_of(anna)
    hold(anna, [signed(changed, 1000 + number) for number in range(20)], lambda n: f"10.7.{n}.1")
    assert view_of(anna) == before


def test_the_last_epochs_sketch_of_another_is_no_second_vote(tmp_path):
    handle = make(tmp_path / "anna", sketches=HONEST)
    best = view_of(handle)[0][0]
    original = next(one for one in HONEST if one.key.hex() == best)
    fresh = [signed(drawn(number, epoch=1), number, epoch=1) for number in range(1, 48)]
    hold(handle, fresh)
    before = view_of(handle)
    hold(handle, [signed(promoted(unpack(original.bits, SIZE))[0], 1000, epoch=1)], lambda _: "10.7.7.7")
    assert handle.store.peers.sketch_count() == 48
    assert view_of(handle) == before
    handle.close()


def crafted(number):
    """Return a sketch that fits Anna's profile well and is no copy: what somebody who knew her might make."""
    profile = {place: dial for place, dial in PEOPLE.profiles[0].items() if dial}
    bits = draw_bits(profile, epsilon=NET.epsilon, size=SIZE, stream=seeded_stream(21, number))
    bits[list(profile)] = True
    return signed(bits, 1000 + number)


@pytest.mark.parametrize(
    ("hosts", "slots"), [(lambda _: "10.7.7.7", 2), (lambda _: None, 5), (lambda n: f"10.7.{n % 3}.1", 6)]
)
def test_slots_are_few_per_host_and_half_for_those_reached_nowhere(anna, hosts, slots):
    sybils = [crafted(number) for number in range(30)]
    hold(anna, sybils, hosts)
    keys = {one.key.hex() for one in sybils}
    chosen = view_of(anna)[0]
    assert len(chosen) == 10
    assert sum(key in keys for key in chosen) == slots


@pytest.mark.parametrize(
    "change",
    [
        {"settings": NodeSettings(listen="tcp://127.0.0.1:7470")},
        {"settings": NodeSettings(listen="tcp://10.9.9.9:7470", most_per_host=0)},
        {"network": msgspec.structs.replace(NET, admission="invite", network_key="ab" * 32)},
    ],
)
def test_hosts_say_nothing_on_one_machine_and_where_keys_are_scarce(anna, change):
    hold(anna, [crafted(number) for number in range(30)], lambda _: "10.7.7.7")
    handle = dataclasses.replace(anna, **change)
    assert len({one.key_hex for one in handle.neighbors()} & {crafted(n).key.hex() for n in range(30)}) == 10


def test_who_copies_first_does_not_silence_whom_it_copies():
    """Ten keys of one host show ten people's sketches first. Two of them have a vote, and the others' originals."""
    originals = HONEST[:10]
    copies = [signed(promoted(unpack(one.bits, SIZE))[0], 1000 + n) for n, one in enumerate(originals)]
    seen = SeenSketches(NET.epsilon)
    seen.add({(one.key, 0): one.bits for one in [*copies, *originals]}, SIZE)
    hosts = {one.key: "10.7.7.7" for one in copies} | {one.key: f"10.0.{n}.1" for n, one in enumerate(originals)}
    ranked = [one for pair in zip(copies, originals, strict=True) for one in pair]
    chosen = list(one_vote_each(ranked, 10, seen=seen, sizes={b"": SIZE}, own_key=ANNA.key, hosts=hosts))
    assert chosen == [*copies[:2], *originals[2:]]


def test_the_model_is_learned_without_copies_and_the_public_part_is_done_before(tmp_path):
    handle = make(tmp_path / "anna", sketches=HONEST)
    learn_from_crowd(handle.folder)
    expected = (handle.folder / MODEL).read_bytes()
    hold(handle, [signed(half_copied(drawn(0), n), 1000 + n) for n in range(30)], lambda n: f"10.7.{n}.1")
    (handle.folder / MODEL).unlink()
    done = []
    left_out = handle.trust.left_out_of_learning()
    seen = lambda: done.append((handle.folder / MODEL).exists())  # noqa: E731
    assert learn_from_crowd(handle.folder, left_out=left_out, public_part_done=seen) == 47
    assert done == [False]
    assert (handle.folder / MODEL).read_bytes() == expected
    assert learn_from_crowd(handle.folder) == 77
    assert load_model(handle.folder / MODEL, n_head=SIZE).sketches == 77
    handle.close()


# What others see.

BIG = a_network(
    items=600, bootstrap=(contact_of(1),), inventory_size=100, sketches_per_message=32, epoch_length_s=10**6
)
VICTIM = identity_of(0)
#: A third of the ones in the published sketch are items of one profile, and these are the noise of the other.
SHOWN = draw_bits(dict.fromkeys(range(0, 120, 4), 100), epsilon=BIG.epsilon, size=600, stream=seeded_stream(41))
ONES = np.flatnonzero(SHOWN)
WORLDS = (ONES[: ONES.size // 2], ONES[ONES.size // 2 :])


def probes():
    """Return 300 sketches, each with a random quarter of the published ones and noise of its own."""
    found = []
    for number in range(300):
        luck = seeded_stream(42, number).uniforms(600)
        bits = luck < np.where(SHOWN, 1 / 4, 0.03)
        found.append(signed(bits, 2000 + number, network=BIG))
    return found


PROBES = probes()


class Overheard:
    """A node, and everything it says."""

    def __init__(self, node):
        self.node, self.said = node, []

    @property
    def next_wakeup_s(self):
        return self.node.next_wakeup_s

    def tick(self, now_s):
        return self._heard(now_s, self.node.tick(now_s))

    def receive(self, link, curve, raw, *, now_s):
        return self._heard(now_s, self.node.receive(link, curve, raw, now_s=now_s))

    def _heard(self, now_s, actions):
        self.said += [(now_s, action) for action in actions]
        return actions


class IdleProcess:
    """Stands for the process that learns; its public part is over at once."""

    started: list[tuple[float, list[tuple[bytes, int]]]] = []  # noqa: RUF012  (emptied by each run)

    def __init__(self, _command, *, stdin, **_):
        self.started.append(msgspec.msgpack.decode(stdin.read()))
        self.stdout = None

    def kill(self):
        pass

    def wait(self):
        return 0


def life(folder, items, monkeypatch):
    """Let a node with some items live among probes; return what others may see of it, and what its owner sees."""
    folder.mkdir()
    (folder / NETWORK).write_text(BIG.to_toml())
    store = NodeStore.make(
        folder / STORE, BIG, [CatalogueItem(n, f"i{n}", f"I {n}") for n in range(600)], default_limit=1e6
    )
    profile = {int(place): 100 for place in items}
    store.profile.set_dials(profile)
    with store.database.transaction(durable=True):
        store.publications.add(signed(SHOWN, 0, network=BIG), ones=ONES.size, dials=dials_of(profile, 600), now_s=0.0)
    wire = MemoryNetwork(seed=43, now_s=START)
    handle = NodeHandle(folder, BIG, NodeSettings(listen="tcp://127.0.0.1:7470"), VICTIM, store, now=lambda: wire.now_s)
    monkeypatch.setattr(daemon_module, "secure_stream", lambda: seeded_stream(44))
    monkeypatch.setattr(learning.subprocess, "Popen", IdleProcess)
    IdleProcess.started = []
    daemon = Daemon(handle)
    starts, usual = [], daemon._learner.consider
    daemon._learner.consider = lambda *counts: starts.append((wire.now_s, counts, usual(*counts)))
    node = daemon._node()
    node.adopt(daemon._publish())
    overheard = Overheard(node)
    crook = Node(
        identity_of(1),
        address="tcp://127.0.0.1:7471",
        network=BIG,
        settings=NodeSettings(),
        stream=seeded_stream(45),
        now_s=START,
        contacts=(handle.contact,),
    )
    for number, probe in enumerate(PROBES):
        crook.shelf.keep(probe)
        node.crowd.locate(Record(probe.key, bytes(32), f"tcp://127.0.0.1:{8000 + number}", 0, b"", b""))
    wire.add(overheard, address="tcp://127.0.0.1:7470", curve=VICTIM.curve)
    for address in ("tcp://127.0.0.1:7471", contact_of(1).address):
        wire.add(crook, address=address, curve=identity_of(1).curve)
    owner = []
    with ThreadPoolExecutor(1) as worker:
        for cycle in range(30):
            wire.run(until_s=START + 10.0 * (cycle + 1))
            daemon._save(node, worker, wire.now_s).result()
            owner.append(len(handle.trust.usable()))
    kept = store.database.rows("SELECT * FROM sketches"), store.database.rows("SELECT * FROM crowd")
    seen = (overheard.said, starts, [sketch.key for sketch in node.shelf], node.traffic, kept)
    handle.close()
    return seen, (owner, IdleProcess.started)


@pytest.mark.slow
def test_nobody_sees_who_was_found_to_be_a_copy(tmp_path, monkeypatch):
    """Two profiles, one published sketch, the same traffic: what is sent, kept and learned from, and when, is the same.

    One profile's items are the other's noise. So 300 probes, which would tell one from the other if an answer depended
    on who is a copy, tell nothing: whatever is made of the answers is as right about one profile as it is wrong about
    the other.
    """
    seen, home = zip(*(life(tmp_path / str(n), items, monkeypatch) for n, items in enumerate(WORLDS)), strict=True)
    assert seen[0] == seen[1]
    assert len(seen[0][0]) > 100
    assert len(seen[0][2]) > 250, "the probes have arrived"
    assert any(started for _, _, started in seen[0][1]), "there was something to learn from"
    assert home[0][0] != home[1][0], "their owners leave out different ones"
    assert home[0][1] != home[1][1]


def drop_copies(monkeypatch, items):
    """Break the shelf: it refuses what only the owner can know to be a copy."""
    own = OwnDraw(0, pack(SHOWN), dials_of({int(place): 100 for place in items}, 600))
    usual = SketchShelf.keep

    def keep(shelf, sketch, **how):
        if shelf._own_key == VICTIM.key and copies_of_own([sketch.bits], [own], epsilon=BIG.epsilon)[0]:
            return False
        return usual(shelf, sketch, **how)

    monkeypatch.setattr(SketchShelf, "keep", keep)


def guessed_noise(said):
    """Return what an attacker takes for noise: ones whose presence in a probe goes with its not being passed on.

    A peer announces what it holds, half of it by chance: what it never announces, it does not hold.
    """
    from hetdp.node.protocol.messages import decode, name_of

    announced = set()
    for _, action in said:
        raw = getattr(action, "raw", None)
        message = None if raw is None else decode(BIG.id, raw, largest=BIG.largest_message)
        announced |= {slip.key for slip in getattr(message, "have", ())}
    inside = np.stack([unpack(probe.bits, 600)[ONES] for probe in PROBES])
    passed = np.array([name_of(probe.key) in announced for probe in PROBES])
    drawback = inside[~passed].mean(axis=0) - inside[passed].mean(axis=0) if (~passed).any() else np.zeros(ONES.size)
    order = np.argsort(-drawback, kind="stable")
    return set(ONES[order[: ONES.size // 2]].tolist())


@pytest.mark.slow
def test_a_shelf_without_copies_would_tell_noise_from_items(tmp_path, monkeypatch):
    """The mutant that the test above must catch, and what an attacker gains by it."""
    seen, right = [], []
    for number, items in enumerate(WORLDS):
        with monkeypatch.context() as patch:
            drop_copies(patch, items)
            seen.append(life(tmp_path / str(number), items, patch)[0])
        noise = set(ONES.tolist()) - set(items.tolist())
        guess = guessed_noise(seen[-1][0])
        right.append(len(guess & noise) / len(guess))
    assert seen[0] != seen[1]
    assert min(right) > 0.75
