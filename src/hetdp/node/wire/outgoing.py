"""The exchanges that a node starts, inside the transport process: a DEALER socket each, its bytes passing the guard."""

import errno
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import zmq

from hetdp.node.wire.connection_guard import READ, WRITE, ConnectionGuard, Relay, Watch, nothing
from hetdp.node.wire.frames import Kind, Pipe, Setup

#: What encryption adds to a frame, and a little more.
OVERHEAD = 64
_QUEUE = 4
_MOST = 16
_BATCH = 16
_HANDSHAKE_MS = 5000
_LOOKUPS = 4


class Connector:
    """Opens connections without waiting: numeric addresses at once, names after a thread has looked them up.

    A slow name server delays nothing but its own names. Only the network file holds names.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._found: deque[tuple[Callable[[socket.socket | None], None], list[tuple[int, str, int]]]] = deque()
        self._busy = 0
        self._bell, self._ringer = socket.socketpair()
        self._bell.settimeout(0)
        watch.set(self._bell.fileno(), READ, self._looked_up)

    def connect(self, address: str, then: Callable[[socket.socket | None], None]) -> None:
        """Connect to "tcp://host:port"; `then` gets a socket that is connecting, or None."""
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        host = host.strip("[]")
        try:
            places = _lookup(host, int(port), socket.AI_NUMERICHOST)
        except (OSError, ValueError):
            places = []
        if places or not port.isdecimal() or self._busy >= _LOOKUPS:
            then(_connecting(places))
            return
        self._busy += 1
        try:
            threading.Thread(target=self._look_up, args=(host, int(port), then), daemon=True).start()
        except RuntimeError:  # no memory for a thread at the moment
            self._busy -= 1
            then(None)

    def _look_up(self, host: str, port: int, then: Callable[[socket.socket | None], None]) -> None:
        places: list[tuple[int, str, int]] = []
        with suppress(OSError, UnicodeError):
            places = _lookup(host, port, 0)
        self._found.append((then, places))
        self._ringer.send(b"\0")

    def _looked_up(self) -> None:
        self._bell.recv(_LOOKUPS)
        while self._found:
            then, places = self._found.popleft()
            self._busy -= 1
            then(_connecting(places))


class _OutgoingCall:
    """From the connection to the answer."""

    def __init__(self, curve: bytes, raw: bytes) -> None:
        self.curve, self.raw = curve, raw
        self.outer: socket.socket | None = None
        self.door: socket.socket | None = None
        self.path = ""
        self.dealer: zmq.Socket[bytes] | None = None
        self.relay: Relay | None = None


class OutgoingCalls:
    """Opens connections to peers, proves that they hold the key expected of them, and passes messages to the node."""

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", watch: Watch, guard: ConnectionGuard, pipe: Pipe, setup: Setup
    ) -> None:
        self._context, self._watch, self._guard, self._pipe, self._setup = context, watch, guard, pipe, setup
        self._connector = Connector(watch)
        self._calls: dict[int, _OutgoingCall] = {}

    def call(self, body: bytes) -> None:
        """Begin an exchange: a CALL frame says with whom and with what."""
        link, curve, length = Kind.CALLEE.unpack_from(body)
        start = Kind.CALLEE.size + length
        while len(self._calls) >= _MOST:
            self.hang_up(next(iter(self._calls)))
        self._calls[link] = _OutgoingCall(curve, body[start:])
        address = body[Kind.CALLEE.size : start].decode(errors="replace")
        self._connector.connect(address, lambda outer: self._connecting(link, outer))

    def send(self, link: int, raw: bytes) -> None:
        """Send a message to a peer that was called."""
        one = self._calls.get(link)
        if one is not None and one.dealer is not None:
            put(one.dealer, [raw])

    def listen(self, *, full: bool) -> None:
        """Watch for answers, unless the node has enough to read."""
        for link, one in self._calls.items():
            if one.dealer is not None:
                self._watch.set(one.dealer, READ * (not full), partial(self._answered, link))

    def hang_up(self, link: int) -> None:
        """End an exchange, however far it has come."""
        one = self._calls.pop(link, None)
        if one is None:
            return
        self._close_door(one)
        if one.dealer is not None:
            self._watch.set(one.dealer, 0, nothing)
            one.dealer.close(linger=0)
        if one.relay is not None:
            self._guard.end(one.relay)
        if one.outer is not None:
            self._watch.set(one.outer.fileno(), 0, nothing)
            one.outer.close()

    def _connecting(self, link: int, outer: socket.socket | None) -> None:
        one = self._calls.get(link)
        if outer is None:
            return
        if one is None:  # given up meanwhile
            outer.close()
            return
        one.outer = outer
        self._watch.set(outer.fileno(), WRITE, lambda: self._connected(link, one, outer))

    def _connected(self, link: int, one: _OutgoingCall, outer: socket.socket) -> None:
        """Open a door for ZeroMQ's socket, so that it connects to the guard and not to the peer."""
        self._watch.set(outer.fileno(), 0, nothing)
        if outer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.hang_up(link)
            return
        one.path = str(Path(self._setup.folder) / f"call-{link}")
        try:
            one.door = socket.socket(socket.AF_UNIX)
            one.door.settimeout(0)
            one.door.bind(one.path)
            one.door.listen(1)
            one.dealer = self._context.socket(zmq.DEALER)
            bound(one.dealer, self._setup)
            one.dealer.setsockopt(zmq.RECONNECT_IVL, -1)
            one.dealer.setsockopt(zmq.CURVE_PUBLICKEY, self._setup.public)
            one.dealer.setsockopt(zmq.CURVE_SERVERKEY, one.curve)
            one.dealer.connect(f"ipc://{one.path}")
        except (OSError, zmq.ZMQError):  # no descriptors left; the exchange times out
            self.hang_up(link)
            return
        put(one.dealer, [one.raw])
        self._watch.set(one.door.fileno(), READ, lambda: self._entered(link, one, outer))

    def _entered(self, link: int, one: _OutgoingCall, outer: socket.socket) -> None:
        try:
            inner, _ = one.door.accept() if one.door is not None else (None, None)
        except OSError:
            inner = None
        if inner is None:
            self.hang_up(link)
            return
        self._close_door(one)
        one.outer, one.relay = None, self._guard.join(outer, inner)

    def _close_door(self, one: _OutgoingCall) -> None:
        if one.door is not None:
            self._watch.set(one.door.fileno(), 0, nothing)
            one.door.close()
            one.door = None
            Path(one.path).unlink(missing_ok=True)

    def _answered(self, link: int) -> None:
        one = self._calls.get(link)
        if one is None or one.dealer is None:
            return
        with suppress(zmq.ZMQError):  # nothing more has come
            for _ in range(_BATCH):
                frames = one.dealer.recv_multipart(zmq.NOBLOCK)
                if len(frames) == 1:
                    self._pipe.send(Kind.FROM_CALLEE, Kind.LINK.pack(link), frames[0])


def bound(end: "zmq.Socket[bytes]", setup: Setup) -> None:
    """Give a socket its secret key, and bound its messages and queues."""
    end.setsockopt(zmq.CURVE_SECRETKEY, setup.secret)
    end.setsockopt(zmq.MAXMSGSIZE, setup.largest + OVERHEAD)
    end.setsockopt(zmq.SNDHWM, _QUEUE)
    end.setsockopt(zmq.RCVHWM, _QUEUE)
    end.setsockopt(zmq.LINGER, 0)
    end.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)


def put(end: "zmq.Socket[bytes]", frames: list[bytes]) -> None:
    """Queue a message; a peer whose queue is full or who has gone gets nothing."""
    with suppress(zmq.ZMQError):
        end.send_multipart(frames, zmq.NOBLOCK)


def _lookup(host: str, port: int, flags: int) -> list[tuple[int, str, int]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, str(place[0]), int(place[1])) for family, _, _, _, place in found]


def _connecting(places: list[tuple[int, str, int]]) -> socket.socket | None:
    """Begin to connect to the first place with a route from here; IPv4 first, because most nodes listen there."""
    for family, host, port in sorted(places, key=lambda place: place[0] != socket.AF_INET):
        with suppress(OSError):
            end = socket.socket(family, socket.SOCK_STREAM)
            end.settimeout(0)
            if end.connect_ex((host, port)) in (0, errno.EINPROGRESS):
                return end
            end.close()
    return None
