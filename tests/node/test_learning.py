"""Learning from the crowd: from public sketches alone, bounded by host, at times that the profile does not set."""

import io
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from tests.support.node_swarm import a_network, draw_bits, identity_of

from hetdp.core.randomness import seeded_stream
from hetdp.node import dials as node_dials, learning
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.learning import ENOUGH, Learner, learn_from_crowd, main
from hetdp.node.protocol.messages import Record
from hetdp.node.protocol.seen_sketches import SeenSketches
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.protocol.who_counts import Counted, CrowdCount
from hetdp.node.settings import NodeSettings, settings_toml
from hetdp.node.storage.crowd import load_model
from hetdp.node.storage.folder import MODEL, NETWORK, STORE
from hetdp.node.storage.store import NodeStore
from hetdp.recommender.model import learn
from hetdp.recommender.sketched import SketchSums, bit_spread
from hetdp.sketching.bit_law import chance_of_one
from hetdp.sketching.drawing import unpack

SIZE, HEAD = 60, 45
NET = a_network(items=SIZE, n_head=HEAD)
SIZES = {b"": SIZE}
#: Two tastes, and a few things that everybody has.
PEOPLE = 160


def sketch_of(number, *, epoch=0, places=None):
    mine = range(5 + 20 * (number % 2), 25 + 20 * (number % 2)) if places is None else places
    dials = dict.fromkeys([*range(5), *list(mine)[number % 3 :: 2]] if places is None else mine, 100)
    bits = draw_bits(dials, epsilon=NET.epsilon, size=SIZE, stream=seeded_stream(8, number, epoch))
    return sign_sketch(bits, epoch=epoch, identity=identity_of(number), network=NET)


SKETCHES = [sketch_of(number) for number in range(PEOPLE)]


def news_of(sketches):
    return [(Counted(one.key, one.epoch, f"10.0.{n}.1", reached=True), one) for n, one in enumerate(sketches)]


def make(folder, sketches, dials=None):
    folder.mkdir()
    (folder / NETWORK).write_text(NET.to_toml())
    items = [CatalogueItem(n, f"i{n}", f"Item {n}") for n in range(SIZE)]
    store = NodeStore.make(folder / STORE, NET, items, default_limit=30.0)
    store.profile.set_dials(dials or {})
    store.crowd.keep(news_of(sketches), n_head=HEAD, sizes=SIZES, first_epoch=0)
    return NodeHandle(folder, NET, NodeSettings(), identity_of(999), store)


@pytest.fixture
def handle(tmp_path):
    node = make(tmp_path / "node", SKETCHES)
    yield node
    node.close()


def test_the_model_is_that_of_the_sketches_that_count(handle):
    assert learn_from_crowd(handle.folder) == PEOPLE
    bits = np.stack([unpack(one.bits, SIZE)[:HEAD] for one in SKETCHES])
    expected = learn(SketchSums.of_bits(bits).evidence(NET.epsilon)).arrays()
    found = load_model(handle.folder / MODEL, n_head=HEAD)
    assert found.sketches == PEOPLE
    assert found.model.arrays().keys() == expected.keys()
    for name, array in found.model.arrays().items():
        assert np.array_equal(array, expected[name])
    assert (handle.folder / MODEL).stat().st_mode & 0o777 == 0o600


def test_nothing_that_is_private_is_read(tmp_path):
    """The model is the same, byte by byte, for another profile, and where the private tables are not even there."""
    made = []
    for number, dials in enumerate(({}, {place: 1 + place for place in range(0, SIZE, 2)}, {3: 0, 7: 100})):
        folder = tmp_path / str(number)
        make(folder, SKETCHES, dials).close()
        if number == 2:
            with closing(sqlite3.connect(folder / STORE)) as connection:
                for table in ("arrays", "limits", "edits", "dismissed", "publications"):
                    connection.execute(f"DROP TABLE {table}")
        learn_from_crowd(folder)
        model = load_model(folder / MODEL, n_head=HEAD).model.arrays()
        made.append({name: array.tobytes() for name, array in model.items()})
    assert made[0] == made[1] == made[2]


def test_without_sketches_nothing_is_learned(tmp_path):
    node = make(tmp_path / "node", [])
    node.close()
    assert learn_from_crowd(node.folder) == 0
    assert not (node.folder / MODEL).exists()


def sums_with_a_crowd_of_one_host(most_per_host):
    """Return the sums without and with a host of 100 keys that all say they have the last things of the head."""
    crowd = CrowdCount(
        bytes(32), "tcp://10.9.9.9:1", most=5000, most_per_host=most_per_host, reached=lambda *_: True,
        seen=SeenSketches(NET.epsilon), n_head=HEAD, size_of=lambda _: SIZE, learn_epochs=10,
    )  # fmt: skip
    liars = [sketch_of(1000 + number, places=range(35, 45)) for number in range(100)]
    found = []
    for sketches, address in ((SKETCHES, "tcp://10.0.{}.1:7470"), (liars, "tcp://10.200.0.1:{}")):
        for number, one in enumerate(sketches):
            crowd.locate(Record(one.key, bytes(32), address.format(number + 1), 0, b"", b""))
            crowd.count(one)
            found += [unpack(of.bits, SIZE)[:HEAD] for _, of in crowd.take_news()[0]]
        yield SketchSums.of_bits(np.stack(found))


def test_a_host_with_many_keys_moves_the_model_by_at_most_the_cap():
    before, after = sums_with_a_crowd_of_one_host(4)
    assert after.n_people == before.n_people + 4
    assert np.abs(after.pairs - before.pairs).max() <= 4
    assert np.abs(after.ones - before.ones).max() <= 4
    # Without the cap the same test would fail.
    before, after = sums_with_a_crowd_of_one_host(0)
    assert np.abs(after.pairs - before.pairs).max() > 50


def test_epochs_add_up_and_old_ones_go(handle):
    store = handle.store
    assert store.crowd.size() == PEOPLE
    again = [sketch_of(number, epoch=1) for number in range(10)]
    assert store.crowd.keep(news_of(again), n_head=HEAD, sizes=SIZES, first_epoch=0) == 10
    assert store.crowd.keep(news_of(again), n_head=HEAD, sizes=SIZES, first_epoch=0) == 0, "once per key and epoch"
    assert store.crowd.size() == PEOPLE + 10
    assert len(store.crowd.counted(1)) == 10
    assert store.crowd.keep([], [(again[0].key, 1)], n_head=HEAD, sizes=SIZES, first_epoch=0) == 1
    assert store.crowd.keep([], n_head=HEAD, sizes=SIZES, first_epoch=1) == PEOPLE
    assert store.crowd.size() == 9
    assert store.crowd.keep([], n_head=HEAD - 8, sizes=SIZES, first_epoch=1) == 9, "those of another head go"


def test_whether_an_owner_was_reached_is_kept(handle):
    first = handle.store.crowd.counted(0)[0]
    claim = Counted(first.key, first.epoch, first.host, reached=False)
    handle.store.crowd.keep([(claim, None)], n_head=HEAD, sizes=SIZES, first_epoch=0)
    assert claim in handle.store.crowd.counted(0)


def test_what_counts_is_written_with_the_rest_and_known_after_a_restart(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(Learner, "consider", lambda _self, size, changes: told.append((size, changes)))
    handle = make(tmp_path / "node", [])
    handle.now = lambda: NET.starts(0) + 50.0
    daemon = Daemon(handle)
    node = daemon._node()
    for number, one in enumerate(SKETCHES[:7]):
        node.crowd.locate(Record(one.key, bytes(32), f"tcp://127.0.0.1:{7000 + number}", 0, b"", b""))
        node._keep(one, handle.now())
    with ThreadPoolExecutor(1) as worker:
        daemon._save(node, worker, handle.now()).result()
        daemon._save(node, worker, handle.now()).result()
    assert told == [(7, 7), (7, 0)]
    again = daemon._node()
    assert len(again.crowd) == len(again.shelf) == 7
    handle.now = lambda: NET.starts(12) + 50.0
    with ThreadPoolExecutor(1) as worker:
        daemon._save(again, worker, handle.now()).result()
    assert told[-1] == (0, 7), "ten epochs count"
    handle.close()


def test_recommendations_come_from_the_crowd_and_name_own_items(handle):
    assert handle.status().learned_from == 0
    assert handle.findings().crowd == 0
    handle.store.profile.set_dials(dict.fromkeys(range(5, 15), 100))
    learn_from_crowd(handle.folder)
    findings = handle.findings(8)
    assert findings.crowd == handle.status().learned_from == PEOPLE
    places = [one.item.place for one in findings.recommendations]
    assert len(places) == 8
    assert sum(15 <= place < 25 or place < 5 for place in places) >= 7
    assert not any(25 <= place < 45 for place in places[:4])
    reasons = [item.place for one in findings.recommendations for item in one.because]
    assert reasons
    assert set(reasons) <= set(range(5, 15))
    assert all(1 <= len(one.because) <= 3 for one in findings.recommendations[:3])
    assert "Item" not in repr(findings) + repr(findings.recommendations[0]) + repr(handle.status())


@pytest.mark.parametrize("dial", [0, 1, 100])
def test_the_whole_list_speaks_and_none_of_it_is_recommended(handle, dial):
    learn_from_crowd(handle.folder)
    popular = {one.item.place for one in handle.recommendations(5)}
    handle.store.profile.set_dials(dict.fromkeys(range(25, 35), dial))
    places = [one.item.place for one in handle.recommendations(HEAD)]
    assert not set(places) & set(range(25, 35))
    taste = [place for place in places if place not in popular]
    assert sum(35 <= place < 45 for place in taste[:6]) >= 5
    handle.store.profile.dismiss(places[0])
    assert [one.item.place for one in handle.recommendations(HEAD)] == places[1:]


def test_who_has_nothing_gets_what_is_popular(handle):
    learn_from_crowd(handle.folder)
    found = handle.recommendations(4)
    assert sum(one.item.place < 5 for one in found) >= 3
    assert not any(one.because for one in found)


def test_a_small_crowd_leaves_it_to_neighbours(tmp_path):
    node = make(tmp_path / "node", SKETCHES[: ENOUGH - 1])
    learn_from_crowd(node.folder)
    assert node.crowd_model() is None
    assert node.findings().crowd == 0
    node.close()


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY"])
def test_a_file_that_cannot_be_read_is_no_model(handle, damage):
    learn_from_crowd(handle.folder)
    assert handle.crowd_model() is not None
    assert load_model(handle.folder / MODEL, n_head=HEAD - 1) is None
    (handle.folder / MODEL).write_bytes(damage)
    assert handle.crowd_model() is None
    learn_from_crowd(handle.folder)
    assert handle.crowd_model() is not None


class FakeProcess:
    started: list["FakeProcess"] = []  # noqa: RUF012  (emptied by the test)

    def __init__(self, command, *, stdin, **_):
        self.command, self.killed = command, False
        self.told = msgspec.msgpack.decode(stdin.read())
        reading, self._writing = os.pipe()
        self.stdout = os.fdopen(reading, "rb")
        self.started.append(self)

    def close_output(self):
        os.close(self._writing)

    def kill(self):
        self.killed = True

    def wait(self):
        return 0


def test_the_model_is_learned_when_enough_has_changed_and_rarely(monkeypatch, tmp_path):
    now = [1000.0]
    monkeypatch.setattr(learning.subprocess, "Popen", FakeProcess)
    FakeProcess.started.clear()
    left_out = [(bytes(32), 7)]
    learner = Learner(tmp_path, now=lambda: now[0], left_out=lambda: left_out)
    assert not learner.consider(ENOUGH - 1, ENOUGH - 1)
    assert learner.consider(ENOUGH, 1)
    assert FakeProcess.started[0].command == [sys.executable, "-m", "hetdp.node.learning", str(tmp_path)]
    assert FakeProcess.started[0].told == [[bytes(32), 7]]
    now[0] += 7.0
    assert not learner.consider(1000, 900), "one at a time"
    FakeProcess.started[0].close_output()
    assert not learner.consider(1000, 0), "a rest of forty times what the public part took"
    now[0] += 279.0
    assert not learner.consider(1000, 0)
    now[0] += 1.0
    assert learner.consider(1000, 0)
    assert FakeProcess.started[0].killed, "what does not end by itself"
    FakeProcess.started[1].close_output()
    now[0] += 10_000.0
    assert not learner.consider(1050, 50)
    now[0] += 10_000_000.0
    assert not learner.consider(1099, 49), "time alone is no reason"
    assert learner.consider(1110, 12)
    learner.close()
    assert FakeProcess.started[2].killed
    assert len(FakeProcess.started) == 3


@pytest.mark.slow
@pytest.mark.timeout(1800)  # it gives way to everything else on a busy machine
def test_a_real_process_learns(handle):
    learner = Learner(handle.folder, now=lambda: 0.0)
    try:
        assert learner.consider(PEOPLE, PEOPLE)
        assert learner._process.wait() == 0
        assert handle.crowd_model().sketches == PEOPLE
    finally:
        learner.close()


def test_what_cannot_be_learned_ends_quietly(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(learning.os, "nice", lambda _more: 0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(msgspec.msgpack.encode([]))))
    assert main(str(tmp_path)) == 1
    assert capsys.readouterr() == ("", "")


def test_a_network_of_before_has_a_head_and_is_the_same_network():
    text = "\n".join(line for line in NET.to_toml().splitlines() if not line.startswith("n_head"))
    assert "n_head" in NET.to_toml()
    assert "n_head" not in text
    old = a_network(items=SIZE)
    assert old.id == NET.id
    assert (old.head_of(SIZE), NET.head_of(SIZE)) == (SIZE, HEAD)
    assert a_network(items=5000, epsilon=Fraction(1)).head_of(5000) == 2048


@pytest.mark.slow
def test_a_node_that_runs_and_recommends_loads_neither_scipy_nor_numba(handle):
    """They would take tens of megabytes; only the process that learns needs them."""
    handle.store.profile.set_dials({3: 100, 7: 0})
    learn_from_crowd(handle.folder)
    (handle.folder / "node.toml").write_text(settings_toml(NodeSettings()))
    handle.identity.save(handle.folder / "identity.key")
    code = (
        "import sys; from pathlib import Path; import hetdp.node.daemon; from hetdp.node.handle import NodeHandle; "
        "handle = NodeHandle.open(Path(sys.argv[1])); print(len(handle.recommendations(5)), handle.findings().crowd); "
        "handle.close(); print(*({'scipy', 'numba', 'pandas', 'sklearn'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(handle.folder)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == [f"5 {PEOPLE}", "", ""]


def test_sketches_of_a_tuned_network_are_read_by_its_law():
    """Counts and pairs are unbiased: 4,000 people, 5 standard errors (6e-7 each)."""
    epsilon, tuned_for, people = Fraction(2), Fraction(1, 2), 4000
    row = np.zeros(3, dtype=np.uint8)
    row[:2] = 100
    bits = node_dials.draw_bits(np.tile(row, people), epsilon=epsilon, tuned_for=tuned_for, stream=seeded_stream(5))
    found = SketchSums.of_bits(bits.reshape(people, 3)).evidence(epsilon, tuned_for)
    q, p = (chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in (0.0, 1.0))
    error = 5 * np.sqrt(people * np.array([p * (1 - p), p * (1 - p), q * (1 - q)])) / (p - q)
    assert (np.abs(found.counts - [people, people, 0]) < error).all()
    assert abs(found.gram[0, 1] - people) < 5 * np.sqrt(people * p * (1 - p) * (2 + 2 * p)) / (p - q) ** 2
    assert bit_spread(epsilon, tuned_for) == pytest.approx(q * (1 - q) / (p - q) ** 2)
