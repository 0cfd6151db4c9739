"""Real sockets and real processes: encryption, sizes, bans, and a small network that finds itself."""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time

import pytest
import zmq
from tests.support.node_swarm import a_network, identity_of

from hetdp.core.errors import DataError
from hetdp.node.daemon import Daemon
from hetdp.node.demo.people import invent_people
from hetdp.node.demo.processes import running
from hetdp.node.demo.running import arrange, run_demo
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.node import Call, HangUp, Reply
from hetdp.node.storage.events import happening
from hetdp.node.wire.transport import Transport

pytestmark = pytest.mark.network

SERVER, CLIENT = identity_of(1), identity_of(2)
LARGEST = 1000


class Pair:
    """Two transports in one thread, taking turns."""

    def __init__(self, *, banned=frozenset()):
        self.banned = set(banned)
        self.server = Transport(
            SERVER, listen="tcp://127.0.0.1:*", largest_message=LARGEST, banned=lambda key: key in self.banned
        )
        self.client = Transport(CLIENT, listen="tcp://127.0.0.1:*", largest_message=LARGEST, banned=lambda _: False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.close()

    def collect(self, who, *, seconds, count=1):
        found, deadline = [], time.monotonic() + seconds
        while len(found) < count and time.monotonic() < deadline:
            for one in (self.server, self.client):
                found += [arrived for arrived in one.wait(0.01) if one is who]
        return found


def test_messages_go_both_ways_and_prove_who_sends():
    with Pair() as pair:
        pair.client.perform(Call(1, pair.server.address, SERVER.curve, b"hello"))
        (asked,) = pair.collect(pair.server, seconds=20)
        assert (asked.raw, asked.curve) == (b"hello", CLIENT.curve)
        pair.server.perform(Reply(asked.link, b"welcome"))
        (answered,) = pair.collect(pair.client, seconds=20)
        assert (answered.link, answered.raw, answered.curve) == (1, b"welcome", SERVER.curve)
        pair.client.perform(HangUp(1))
        pair.client.perform(Reply(1, b"too late"))
        pair.server.perform(Reply(b"nobody", b"lost"))
        assert pair.collect(pair.server, seconds=0.3) == []


def test_the_wrong_server_gets_nothing():
    """Whoever answers at the address must hold the key that was expected there."""
    with Pair() as pair:
        pair.client.perform(Call(1, pair.server.address, identity_of(3).curve, b"secret"))
        assert pair.collect(pair.server, seconds=1) == []


def test_banned_keys_plain_connections_and_large_messages_are_cut_off():
    with Pair(banned={CLIENT.curve}) as pair:
        pair.client.perform(Call(1, pair.server.address, SERVER.curve, b"hello"))
        assert pair.collect(pair.server, seconds=1) == []
        context = zmq.Context()
        plain = context.socket(zmq.DEALER)
        plain.connect(pair.server.address)
        plain.send(b"no encryption")
        assert pair.collect(pair.server, seconds=0.5) == []
        context.destroy(linger=0)
        pair.banned.clear()
        pair.client.perform(Call(2, pair.server.address, SERVER.curve, bytes(LARGEST + 100)))
        assert pair.collect(pair.server, seconds=0.5) == []
        pair.client.perform(Call(3, pair.server.address, SERVER.curve, bytes(LARGEST)))
        assert len(pair.collect(pair.server, seconds=20)) == 1


def test_a_taken_address_is_an_error():
    with Pair() as pair, pytest.raises(DataError, match="listen must be a free address"):
        Transport(CLIENT, listen=pair.server.address, largest_message=LARGEST, banned=lambda _: False)


def test_an_epoch_is_not_paid_for_where_the_node_cannot_listen(tmp_path):
    plan = arrange(tmp_path, invent_people(2, seed=3), epsilon=a_network().epsilon, period_s=0.2, epoch_length_s=10**6)
    handle = NodeHandle.open(plan.folders[0])
    _, _, port = handle.settings.listen.rpartition(":")
    with contextlib.closing(handle), socket.create_server(("127.0.0.1", int(port))) as taken:
        with pytest.raises(DataError, match="listen must be a free address"):
            Daemon(handle).run()
        assert (handle.store.publications.newest_epoch(), handle.store.ledger.spent()) == (None, {})
        taken.close()
        handle.now = stopping_clock(handle, after=20)
        Daemon(handle).run()
        assert handle.store.publications.newest_epoch() == 0
        assert handle.store.ledger.spent()


def test_sockets_go_elsewhere_where_temporary_files_have_too_long_a_path(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with Pair() as pair:
        pair.client.perform(Call(1, pair.server.address, SERVER.curve, b"hello"))
        assert len(pair.collect(pair.server, seconds=20)) == 1
    assert list(deep.iterdir()) == []
    monkeypatch.setattr("hetdp.node.wire.transport._SHORT_PLACES", (str(tmp_path / "nowhere"),))
    with pytest.raises(DataError, match="TMPDIR must be a writable folder whose path is short"):
        Pair()
    assert list(deep.iterdir()) == []


def test_nowhere_is_not_an_error():
    with Pair() as pair:
        pair.client.perform(Call(1, "tcp://127.0.0.1:1", SERVER.curve, b"hello"))
        pair.client.perform(Call(2, "tcp://no-such-host.invalid:1", SERVER.curve, b"hello"))
        assert pair.collect(pair.client, seconds=0.2) == []


def test_three_real_processes_find_each_other_and_stop():
    lines = []
    report = run_demo(3, period_s=0.3, enough=1.0, timeout_s=120.0, say=lines.append)
    assert report.least_sketches == 2
    assert 0 <= report.recall_random.mean <= 1
    assert "every node holds at least 2" in lines[-1]


def test_a_restarted_node_remembers_and_does_not_draw_again(tmp_path):
    people = invent_people(3, seed=2)
    plan = arrange(tmp_path, people, epsilon=a_network().epsilon, period_s=0.2, epoch_length_s=10**6)
    commands = [[sys.executable, "-m", "hetdp.node", str(home)] for home in plan.folders]
    handle = NodeHandle.open(plan.folders[0])
    try:
        with running(commands):
            deadline = time.monotonic() + 60
            while handle.store.peers.sketch_count() < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            first = handle.store.publications.newest()
            assert handle.status().running
        assert not handle.status().running
        assert handle.store.peers.sketch_count() == 2
        spent, sent = handle.store.ledger.spent(), handle.store.peers.traffic().sent_bytes
        assert sent > 0
        assert {peer.key_hex for peer in handle.store.peers.known()} <= set(plan.keys[1:])
        # In this process, with nobody else there: old contacts are asked, the old sketch is kept, traffic adds up.
        handle.stopping.clear()
        daemon = Daemon(handle, ready=lambda _address: None)
        handle.now = stopping_clock(handle, after=200)
        daemon.run()
        assert handle.store.ledger.spent() == spent
        assert (handle.store.publications.newest().bits == first.bits).all()
        assert handle.store.peers.traffic().sent_bytes > sent
        assert handle.store.peers.sketch_count() == 2
    finally:
        handle.close()


@pytest.fixture
def impatient(monkeypatch):
    """Let no loop wait for messages: time is a clock that runs with its readings."""
    monkeypatch.setattr("hetdp.node.daemon._LONGEST_WAIT_S", 0.002)


def stopping_clock(handle, *, after, ahead=lambda _passed_s: 0.0):
    """A clock that tells the node to stop when it has been read often enough: 20 s in 200. The boot clock goes with it.

    `ahead` maps seconds since the start to how far ahead the clock on the wall is.
    """
    start, reads = time.time(), [0]

    def now():
        reads[0] += 1
        if reads[0] >= after:
            handle.stopping.set()
        return start + 0.1 * reads[0] + ahead(0.1 * reads[0])

    handle.uptime = lambda: Uptime("boot", 1000.0 + 0.1 * reads[0])
    return now


@pytest.mark.usefixtures("impatient")
def test_a_new_epoch_is_published_while_running(tmp_path):
    plan = arrange(tmp_path, invent_people(2, seed=3), epsilon=a_network().epsilon, period_s=0.2, epoch_length_s=5)
    handle = NodeHandle.open(plan.folders[0])
    try:
        handle.now = stopping_clock(handle, after=400)
        Daemon(handle).run()
        epochs = [one.epoch for one in handle.store.publications.all()]
        assert len(epochs) >= 4
        assert epochs == sorted(set(epochs))
        charged = {epoch for epoch, _, _ in handle.store.ledger.all_charges()}
        assert charged <= set(epochs)
    finally:
        handle.close()


@pytest.mark.usefixtures("impatient")
def test_nine_seconds_with_a_clock_ten_years_ahead_cost_one_epoch_length(tmp_path):
    """A node that believed the clock alone would be silent until the epoch that it has drawn: for ten years."""
    length_s, years_s = 30, 10 * 365 * 86400
    plan = arrange(
        tmp_path, invent_people(2, seed=3), epsilon=a_network().epsilon, period_s=0.2, epoch_length_s=length_s
    )
    handle = NodeHandle.open(plan.folders[0])
    try:
        handle.now = stopping_clock(handle, after=1500, ahead=lambda passed_s: years_s if 40 <= passed_s < 49 else 0)
        handle.now()  # else the boot clock, read first, would show less than it ever did
        Daemon(handle).run()
        publications, up_s = handle.store.publications.all(), 1000.0
        epochs = [one.epoch for one in publications]
        far = years_s // length_s
        assert [epoch >= far for epoch in epochs[:4]] == [False, False, True, False], epochs
        assert len(epochs) == len(set(epochs)) == len({epoch for epoch, _, _ in handle.store.ledger.all_charges()})
        wrong, right = publications[2:4]
        silent_s = right.published_s - (wrong.published_s - years_s)
        assert length_s <= silent_s <= length_s + 1.0, "and it was ten years"
        told = [event.kind for event in reversed(handle.store.events.all())]
        assert told == ["clock_behind", "clock_ahead"], told
        assert all(happening(event) for event in handle.store.events.all())
        assert handle.store.draws.last().counted_s < length_s
        assert up_s < handle.store.draws.last().mark_s
    finally:
        handle.close()


def test_a_node_process_loads_nothing_heavy():
    code = "import sys, json, hetdp.node.daemon, hetdp.node.handle; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "scipy", "pandas", "pyarrow", "sklearn", "polars", "zmq"} & set(json.loads(done.stdout))


def test_a_folder_that_is_no_node_is_an_error_without_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "hetdp.node", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("Error: there must be a node in")
    assert "Traceback" not in done.stderr
