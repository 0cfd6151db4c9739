"""The transport process: all of ZeroMQ, and nothing else of the node.

A peer can make libzmq end the process it runs in (an assertion that fails in the CURVE handshake cannot be caught), so
it runs in one of its own that is cheap to lose. It knows the transport keys but neither profile, store nor signing
key; its memory, descriptors and connections are bounded, and it ends when the node does.

One ROUTER socket takes the connections of others, through one door for each place that callers may take; one DEALER
socket per exchange that this node starts, closed afterwards. Both are reached through `connection_guard` only.
ZeroMQ's authentication protocol shows the key of every caller before its first message, and through which door it came
(every door has a domain of its own), so which host it is; the node says whether it may come in. Key and host come with
every message of that connection, on nobody else's word. Started by `hetdp.node.wire.transport`.
"""

import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import zmq

from hetdp.node.protocol.host_shares import HostShares
from hetdp.node.wire.connection_guard import READ, WRITE, ConnectionGuard
from hetdp.node.wire.frames import Broken, Kind, Pipe, Setup
from hetdp.node.wire.outgoing import OVERHEAD, OutgoingCalls, bound, put

_ZAP = "inproc://zeromq.zap.01"
_BATCH = 64
_BACKLOG = 512
_LOOK_MS = 500
_DOMAIN = b"hetdp-%d"
_KEY_BYTES = 32
#: What a handshake takes, and more.
_HANDSHAKE = 4096
#: An exchange is two messages each way; one more for good measure.
_MESSAGES = 3
_MOST_CONNECTIONS, _FEW_CONNECTIONS = 256, 32
_MOST_FILES, _FILES_PER_CONNECTION, _OTHER_FILES = 4096, 4, 128
_MEMORY = 1 << 28
#: ZeroMQ needs at most about three bytes of memory for a byte on the wire (many tiny frames).
_MEMORY_PER_BYTE = 4
_STACK = 1 << 18
_FULL = 1 << 20
_PATIENCE_S = 60.0
_REPORT_S = 10.0


class Poll:
    """ZeroMQ's poller with a callback for everything that is watched."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._calls: dict[Any, tuple[int, Callable[[], None]]] = {}

    def set(self, what: Any, flags: int, then: Callable[[], None]) -> None:  # noqa: ANN401  (socket or descriptor)
        """Watch a ZeroMQ socket or a descriptor, or no longer when there are no flags."""
        before, _ = self._calls.get(what, (0, None))
        if flags:
            self._calls[what] = (flags, then)
        else:
            self._calls.pop(what, None)
        if flags != before:
            self._poller.register(what, flags)

    def wait(self, timeout_ms: int | None) -> None:
        """Wait until something is ready and call back."""
        for what, _ in self._poller.poll(timeout_ms):
            if what in self._calls:  # an earlier callback may have ended it
                self._calls[what][1]()


class Child:
    """The transport process. The node keeps the listener open when it ends."""

    def __init__(self, pipe: Pipe, listener: socket.socket, setup: Setup) -> None:
        self._pipe, self._setup = pipe, setup
        self._folder = Path(setup.folder)
        self._poll = Poll()
        self._asked: list[bytes] = []
        self._report_s = 0.0
        self._context = zmq.Context(io_threads=1)
        self._gatekeeper = self._context.socket(zmq.REP)
        self._gatekeeper.bind(_ZAP)
        self._router = self._context.socket(zmq.ROUTER)
        bound(self._router, setup)
        self._router.setsockopt(zmq.CURVE_SERVER, 1)
        self._router.setsockopt(zmq.BACKLOG, _BACKLOG)
        self._doors: dict[int, str] = {}
        allowance = _MESSAGES * (setup.largest + OVERHEAD) + _HANDSHAKE
        most = connections(allowance)
        self._shares = HostShares(rate=setup.calls_per_s, near=setup.near)
        self._guard = ConnectionGuard(
            listener,
            self._poll,
            door=self._door,
            most=most,
            allowance=allowance,
            lifetime_s=setup.lifetime_s,
            shares=self._shares,
        )
        self._outgoing = OutgoingCalls(self._context, self._poll, self._guard, pipe, setup)
        limit_memory(max(_MEMORY, _MEMORY_PER_BYTE * most * allowance))

    def run(self) -> None:
        """Work until the node closes its end of the pipe."""
        while True:
            full = self._pipe.waiting > _FULL  # then ZeroMQ's queues fill, and peers have to wait
            self._poll.set(self._pipe.fileno(), READ | WRITE * (self._pipe.waiting > 0), self._orders)
            self._poll.set(self._router, zmq.POLLIN * (not full), self._received)
            self._poll.set(self._gatekeeper, zmq.POLLIN * (not self._asked), self._ask)
            self._outgoing.listen(full=full)
            self._poll.wait(_LOOK_MS if len(self._guard) else None)
            self._guard.expire()
            self._report()

    def _door(self, place: int) -> str:
        """Open the door of a place, if it has not been used before; return its path."""
        if place not in self._doors:
            path = str(self._folder / f"caller-{place}")
            try:
                self._router.setsockopt(zmq.ZAP_DOMAIN, _DOMAIN % place)
                self._router.bind(f"ipc://{path}")
            except zmq.ZMQError as error:
                raise OSError(error.errno, "no door") from None
            self._doors[place] = path
        return self._doors[place]

    def _report(self) -> None:
        """Tell the node now and then which host calls far too often."""
        if time.monotonic() >= self._report_s:
            self._report_s = time.monotonic() + _REPORT_S
            host = self._shares.take_flood()
            if host is not None:
                self._pipe.send(Kind.FLOOD, host.encode())

    def clean(self) -> None:
        """Remove the folder of local sockets: the node may have ended without doing so."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()
            self._folder.rmdir()

    def _orders(self) -> None:
        self._pipe.flush()
        self.follow(self._pipe.receive())

    def follow(self, orders: list[tuple[int, bytes]]) -> None:
        """Do what the node asks for."""
        for kind, body in orders:
            if kind == Kind.CALL:
                self._outgoing.call(body)
            elif kind == Kind.TO_CALLEE:
                self._outgoing.send(Kind.LINK.unpack_from(body)[0], body[Kind.LINK.size :])
            elif kind == Kind.TO_CALLER:
                start = Kind.CALLER.size + Kind.CALLER.unpack_from(body)[0]
                put(self._router, [body[Kind.CALLER.size : start], body[start:]])
            elif kind == Kind.HANG_UP:
                self._outgoing.hang_up(Kind.LINK.unpack(body)[0])
            elif kind == Kind.VERDICT:
                self._admit(welcome=body == b"\1")

    def _received(self) -> None:
        for _ in range(_BATCH):
            if self._pipe.waiting > _FULL:
                return
            try:
                frames = self._router.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.ZMQError:
                return
            if len(frames) == 2:  # noqa: PLR2004  (who, what)
                who, what = frames
                try:
                    user = bytes.fromhex(str(what.get("User-Id")))
                except (zmq.ZMQError, ValueError):
                    continue
                curve, host, link = user[:_KEY_BYTES], user[_KEY_BYTES:], who.bytes
                head = Kind.FROM.pack(curve, len(link), len(host))
                self._pipe.send(Kind.FROM_CALLER, head, link, host, what.bytes)

    def _ask(self) -> None:
        """Pass ZeroMQ's question whether a key may connect on to the node; one at a time."""
        try:
            frames = self._gatekeeper.recv_multipart(zmq.NOBLOCK)
        except zmq.ZMQError:
            return
        key = frames[6] if len(frames) == 7 and frames[5] == b"CURVE" else b""  # noqa: PLR2004  (ZAP 1.0)
        place = frames[2].removeprefix(_DOMAIN.removesuffix(b"%d")) if key else b""
        host = self._guard.host_at(int(place)) if place.isdigit() else ""
        self._asked = [frames[1], key + host.encode()]
        if len(key) == _KEY_BYTES:
            self._pipe.send(Kind.ASK, key, droppable=False)
        else:
            self._admit(welcome=False)

    def _admit(self, *, welcome: bool) -> None:
        if self._asked:
            number, user = self._asked
            self._asked = []
            status = [b"200", b"OK"] if welcome else [b"400", b"refused"]
            put(self._gatekeeper, [b"1.0", number, *status, user.hex().encode(), b""])


def connections(allowance: int) -> int:
    """Return how many connections of others fit into memory and descriptors, after raising the latter's soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    by_files = max(1, (wanted - min(_OTHER_FILES, wanted // 2)) // _FILES_PER_CONNECTION)
    by_memory = max(_FEW_CONNECTIONS, _MEMORY // _MEMORY_PER_BYTE // allowance)
    return min(_MOST_CONNECTIONS, by_files, by_memory)


def limit_memory(more: int) -> None:
    """Let this process take so many bytes of address space beyond what it has now, where the system tells."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(listener: int, largest: int) -> None:
    """Run until the node is gone. The pipe is standard input, the listening socket is given by number.

    The keys come over the pipe, never as arguments, which every user of the machine can read.
    """
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the node decides when to stop
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the keys
        threading.stack_size(_STACK)
        pipe = Pipe(socket.socket(fileno=os.dup(0)), largest=largest)
        (_, setup), *orders = _first(pipe)
        child = Child(pipe, socket.socket(fileno=listener), Setup.decode(setup))
        try:
            child.follow(orders)
            child.run()
        except Broken:
            child.clean()
            code = 0
    finally:
        os._exit(code)  # without waiting for lookups or for ZeroMQ


def _first(pipe: Pipe) -> list[tuple[int, bytes]]:
    frames: list[tuple[int, bytes]] = []
    while not frames:
        pipe.wait(_PATIENCE_S)
        frames = pipe.receive()
    return frames
