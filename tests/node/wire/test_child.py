"""The transport process: what bad peers can do to it, what becomes of the node, and what it can see."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tests.support.node_raw_curve import Poisoner, RawCaller
from tests.support.node_swarm import a_network, identity_of
from tests.support.sockets import hung_up

from hetdp.node.demo.people import invent_people
from hetdp.node.demo.running import arrange
from hetdp.node.handle import NodeHandle
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.messages import Opening, Record, encode
from hetdp.node.protocol.network import split_address
from hetdp.node.protocol.node import Call, Reply
from hetdp.node.wire.child import Poll
from hetdp.node.wire.frames import Broken, Kind, Pipe
from hetdp.node.wire.outgoing import Connector
from hetdp.node.wire.transport import Arrived, Lost, Transport

pytestmark = pytest.mark.network

SERVER, CLIENT = identity_of(1), identity_of(2)
LARGEST = 1000
PATIENCE_S = 60.0
LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")


@contextmanager
def transports(*whos, banned=frozenset(), **more):
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                closing(
                    Transport(
                        who,
                        listen="tcp://127.0.0.1:*",
                        largest_message=LARGEST,
                        banned=lambda key: key in banned,
                        **more,
                    )
                )
            )
            for who in whos
        ]


def events(who, *others, count=1, seconds=PATIENCE_S):
    found, deadline = [], time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        for one in (who, *others):
            found += [event for event in one.wait(0.01) if one is who]
    return found


def eventually(true):
    deadline = time.monotonic() + PATIENCE_S
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return true()


def children(pid):
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(status.parent.name))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def the_process_line(pid, name):
    (line,) = [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if line.startswith(name)]
    return line.removeprefix(name).split()


class Attacked:
    """Two real nodes of one network; the first runs, the second joins when it is told to."""

    def __init__(self, folder, *, files=None):
        self.plan = arrange(
            folder, invent_people(2, seed=4), epsilon=a_network().epsilon, period_s=0.5, epoch_length_s=10**6
        )
        self.handles = [NodeHandle.open(home) for home in self.plan.folders]
        self.address = split_address(self.handles[0].address)
        self.curve = self.handles[0].identity.curve
        self.network = self.handles[0].network
        self.processes, self.said = [], b""
        self._start(0, files)

    def __enter__(self):
        eventually(self._reachable)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        said = [process.communicate(timeout=30)[1] for process in self.processes]
        self.said = said[0].decode()
        self.codes = [process.returncode for process in self.processes]
        for handle in self.handles:
            handle.close()

    def _start(self, number, files=None):
        limit = f"ulimit -n {files}; " if files else ""
        command = f'{limit}exec "$0" -m hetdp.node "$1"'
        self.processes.append(
            subprocess.Popen(
                ["/bin/sh", "-c", command, sys.executable, str(self.plan.folders[number])],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        )

    def _reachable(self):
        try:
            socket.create_connection(self.address).close()
        except OSError:
            return False
        return True

    def caller(self, who=None, **more):
        return RawCaller(self.address, self.curve, who or Identity.generate(), **more)

    def opening(self, who, address):
        fields = (who.key, who.curve, address, int(1000 * time.time()), b"")
        record = Record(*fields, who.sign(Record(*fields, b"").text(self.network.id)))
        return encode(self.network.id, Opening(os.urandom(8), record, (), ()))

    def honest_nodes_find_each_other(self):
        self._start(1)
        return eventually(lambda: all(handle.store.peers.sketch_count() == 1 for handle in self.handles))


def test_a_peer_that_makes_libzmq_abort_costs_a_moment_and_its_key(tmp_path):
    """The key of a WELCOME is zero: libzmq's assertion ends the process that called."""
    bad = Identity.generate()
    with Poisoner(bad) as poisoner, Attacked(tmp_path) as node:
        caller = node.caller(bad)
        caller.send(node.opening(bad, f"tcp://127.0.0.1:{poisoner.port}"))
        assert eventually(lambda: poisoner.calls)
        assert node.honest_nodes_find_each_other()
        assert eventually(lambda: bad.curve in node.handles[0].store.peers.bans())
        with pytest.raises((EOFError, OSError)):
            node.caller(bad).receive()
        caller.end.close()
    assert node.codes == [0, 0]
    assert node.said.count("was ended by signal 6; peers suspected: 1") == 1
    assert len(node.said.splitlines()) == 1


def test_a_message_that_never_ends_is_cut_off(tmp_path):
    """Every frame is small enough, but the message goes on and on; libzmq would keep all of it."""
    with Attacked(tmp_path) as node:
        part, sent = bytes(node.network.largest_message - 100), 0
        caller = node.caller()
        with pytest.raises(OSError, match=r"reset|pipe|abort"):  # noqa: PT012  (which frame it is depends on buffers)
            while sent < 20_000_000:
                caller.send(part, more=True)
                sent += len(part)
        caller.end.close()
        assert node.honest_nodes_find_each_other()
    assert node.codes == [0, 0]
    assert node.said == ""


@LINUX
def test_idle_connections_do_not_crowd_out_others(tmp_path):
    with Attacked(tmp_path, files=128) as node, ExitStack() as held:
        (child,) = children(node.processes[0].pid)
        for _ in range(100):
            held.enter_context(closing(node.caller().end))
        assert node.honest_nodes_find_each_other()
        assert children(node.processes[0].pid) == [child]
        assert len(list(Path(f"/proc/{child}/fd").iterdir())) < 128
    assert node.codes == [0, 0]
    assert node.said == ""


def test_who_talks_over_the_wire_proves_its_key():
    """The handshake by hand agrees with libzmq, or the tests above would test nothing."""
    with transports(SERVER) as (server,):
        result = []

        def call():
            caller = RawCaller(split_address(server.address), SERVER.curve, CLIENT)
            caller.send(b"hello")
            result.append(caller.receive())
            caller.end.close()

        thread = threading.Thread(target=call)
        thread.start()
        (asked,) = events(server)
        assert (asked.curve, asked.raw) == (CLIENT.curve, b"hello")
        server.perform(Reply(asked.link, b"welcome"))
        thread.join()
        assert result == [b"welcome"]


@LINUX
def test_every_message_comes_with_the_host_of_its_connection():
    """Many callers, few places: each place is taken again and again, by callers from other hosts."""
    hosts = [f"127.0.0.{2 + number % 5}" for number in range(40)]
    with transports(SERVER) as (server,):
        address = split_address(server.address)

        def call():
            for begin in range(0, 40, 8):
                callers = [
                    RawCaller(address, SERVER.curve, Identity.generate(), host=host) for host in hosts[begin:][:8]
                ]
                for caller, host in zip(callers, hosts[begin:], strict=False):
                    caller.send(host.encode())
                for caller in callers:
                    caller.receive()
                    caller.end.close()

        thread = threading.Thread(target=call)
        thread.start()
        found = []
        while thread.is_alive():
            for event in server.wait(0.01):
                found.append((event.host, event.raw.decode()))
                server.perform(Reply(event.link, b"well"))
        assert [host for host, _ in found] == [said for _, said in found]
        assert sorted(host for host, _ in found) == sorted(hosts)


@LINUX
def test_a_flood_from_one_host_is_cut_and_others_are_served(tmp_path):
    """127.0.0.2 calls as often as it can, under fresh keys; the node's own host and 127.0.0.3 are others."""
    with Attacked(tmp_path) as node:
        cut = 0
        for _ in range(400):
            with closing(socket.create_connection(node.address, source_address=("127.0.0.2", 0))) as end:
                end.settimeout(PATIENCE_S)
                try:
                    cut += not end.recv(100)
                except OSError:
                    cut += 1
        assert cut > 200  # 50 come in at once, and five per second more
        who = Identity.generate()
        caller = node.caller(who, host="127.0.0.3")
        caller.send(node.opening(who, "tcp://127.0.0.3:7"))
        assert caller.receive()
        caller.end.close()
        assert node.honest_nodes_find_each_other()
        assert eventually(lambda: node.handles[0].store.events.newest("flood"))
        assert node.handles[0].store.events.newest("flood").detail == {"host": "127.0.0.2"}
    assert node.codes == [0, 0]
    assert node.said == ""


def crashed(number, *, answered):
    with transports(SERVER, CLIENT) as (server, client):
        client.perform(Call(1, server.address, SERVER.curve, b"hello"))
        (asked,) = events(server, client)
        if answered:
            server.perform(Reply(asked.link, b"welcome"))
            assert isinstance(events(client, server)[0], Arrived)
        os.kill(client.process_id, number)
        (lost,) = events(client)
        # The next process works as the first did, also for callers, at the same address.
        client.perform(Call(2, server.address, SERVER.curve, b"again"))
        again = [event for event in events(client, count=1, seconds=0.1) if isinstance(event, Lost)]
        if again:  # it had not started yet
            assert again == [Lost(2, SERVER.curve, suspect=False)]
            events(client, seconds=0.3)
            client.perform(Call(3, server.address, SERVER.curve, b"again"))
        assert [event.raw for event in events(server, client)] == [b"again"]
        server.perform(Call(4, client.address, CLIENT.curve, b"and back"))
        assert [event.raw for event in events(client, server)] == [b"and back"]
        return lost


def test_only_a_silent_peer_is_suspected_and_only_of_a_crash(caplog):
    assert crashed(signal.SIGABRT, answered=False) == Lost(1, SERVER.curve, suspect=True)
    assert crashed(signal.SIGABRT, answered=True) == Lost(1, SERVER.curve, suspect=False)
    assert crashed(signal.SIGKILL, answered=False) == Lost(1, SERVER.curve, suspect=False)
    assert len(caplog.messages) == 3
    assert SERVER.curve.hex() not in caplog.text


def test_failures_that_nobody_is_to_blame_for_make_it_wait_longer(caplog, monkeypatch):
    monkeypatch.setattr("hetdp.node.wire.transport._SOON_S", 0.01)
    with transports(SERVER) as (server,):
        for _ in range(4):
            os.kill(server.process_id, signal.SIGKILL)
            assert events(server, seconds=0.5) == []
            assert eventually(lambda: list(server.wait(0.01)) or server.process_id)
    assert [record.args[-1] for record in caplog.records] == [0.01, 0.02, 0.04, 0.08]


def test_connections_end_after_their_time():
    with transports(SERVER, lifetime_s=0.5) as (server,):
        with closing(socket.create_connection(split_address(server.address))) as idle:
            idle.settimeout(PATIENCE_S)
            assert idle.recv(1000)  # libzmq's greeting
            idle.sendall(b"\xff")
            assert hung_up(idle)
        assert events(server, seconds=0.1) == []


@LINUX
def test_the_process_is_small_bounded_and_holds_no_secret_in_sight():
    with transports(SERVER, CLIENT) as (server, client):
        client.perform(Call(1, server.address, SERVER.curve, b"hello"))
        assert events(server, client)
        pid = server.process_id
        about = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
        for secret in (SERVER.curve_secret, SERVER.curve_secret.hex().encode()):
            assert secret not in about
        loaded = Path(f"/proc/{pid}/maps").read_text()
        assert "zmq" in loaded
        assert "numpy" not in loaded
        assert "cryptography" not in loaded
        assert the_process_line(pid, "Max core file size")[:2] == ["0", "0"]
        assert int(the_process_line(pid, "Max address space")[0]) < 1 << 30
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        assert int(the_process_line(pid, "Max open files")[0]) >= min(hard, 4096)


@LINUX
def test_the_process_ends_with_the_node_however_that_ends():
    code = f"""
import time
from hetdp.node.protocol.identity import Identity
from hetdp.node.wire.transport import Transport
who = Identity.generate()
transport = Transport(who, listen="tcp://127.0.0.1:*", largest_message={LARGEST}, banned=lambda _: False)
print(transport.process_id, transport._folder.name, flush=True)
while True:
    list(transport.wait(1.0))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as node:
        pid, folder = node.stdout.readline().split()
        assert eventually(Path(folder).exists)
        assert alive(int(pid))
        node.kill()
    assert eventually(lambda: not alive(int(pid)))
    assert not Path(folder).exists()


def test_a_slow_name_server_holds_up_nobody_else(monkeypatch):
    """Names are looked up beside the loop; addresses need no looking up."""
    answer, real = threading.Event(), socket.getaddrinfo

    def slow(host, port, **more):
        if host == "slow.example":
            if more.get("flags"):
                raise socket.gaierror
            answer.wait(PATIENCE_S)
            host = "127.0.0.1"
        return real(host, port, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    poll, found, before = Poll(), {}, set(threading.enumerate())
    connector = Connector(poll)
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        for number in range(6):
            connector.connect(f"tcp://slow.example:{port}", lambda end, number=number: found.update({number: end}))
        connector.connect(f"tcp://127.0.0.1:{port}", lambda end: found.update(literal=end))
        connector.connect("tcp://nowhere", lambda end: found.update(nowhere=end))
        # More lookups than there are threads for are given up at once.
        assert set(found) == {4, 5, "literal", "nowhere"}
        assert found["literal"] is not None
        assert found[4] is found[5] is found["nowhere"] is None
        answer.set()
        while not {0, 1, 2, 3} <= set(found):
            poll.wait(1000)
        for number in (0, 1, 2, 3, "literal"):
            assert found[number].getpeername()[1] == port
            found[number].close()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)  # the last one may still be about to ring
    for end in (connector._bell, connector._ringer):
        end.close()


def test_the_pipe_is_bounded_both_ways():
    ours, theirs = socket.socketpair()
    with closing(Pipe(ours, largest=50_000, most_waiting=300_000)) as one, closing(theirs):
        assert not one.send(Kind.TO_CALLER, bytes(200_000))
        while one.send(Kind.TO_CALLER, bytes(50_000)):
            pass
        assert 250_000 < one.waiting <= 300_000
        assert one.send(Kind.VERDICT, b"\1", droppable=False)
        theirs.sendall(b"\7\0\0\0\2")
        assert one.receive() == []
        theirs.sendall(b"ab\7\0")
        assert one.receive() == [(7, b"ab")]
        theirs.sendall(b"\xff\0\0")
        with pytest.raises(Broken):
            one.receive()


def test_frames_arrive_whole_and_the_other_end_learns_of_the_end():
    one, other = (Pipe(end, largest=100) for end in socket.socketpair())
    with closing(other):
        assert one.send(Kind.ASK, b"who")
        assert other.receive() == [(9, b"who")]
        one.close()
        with pytest.raises(Broken):
            other.receive()
