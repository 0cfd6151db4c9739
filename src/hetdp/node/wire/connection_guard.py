"""The raw connections of the transport process: who may hold how many, for how long, and how many bytes each may send.

ZeroMQ bounds the size of a frame, not of a message of many frames, and not the number of connections. So others never
reach it directly: this guard takes their connections, counts bytes, and passes them on to ZeroMQ over local sockets,
one door per place, so that who came through which is known (ZeroMQ knows only the door). It sees encrypted bytes only.
Standard library only; no thread.
"""

import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from hetdp.node.protocol.host_shares import HostShares

READ, WRITE = 1, 2
_CHUNK = 1 << 16
_ACCEPTS = 32
_ROUNDS = 4
_IPV6_NETWORK, _IPV6_REST = 8, bytes(8)
_MAPPED = bytes(10) + b"\xff\xff"


class Watch(Protocol):
    """Calls back when something is ready."""

    def set(self, what: Any, flags: int, then: Callable[[], None]) -> None:  # noqa: ANN401  (socket or descriptor)
        """Watch a ZeroMQ socket or a descriptor for these events, or no longer when there are none."""


class Relay:
    """One connection: bytes from a socket outside to one inside and back, one chunk at a time each way.

    Outside is the peer, inside ZeroMQ. `host` is who it is counted for, and `place` which of the places for callers it
    takes, None where this node has opened it; `allowance` is how many bytes the peer may send in all.
    """

    __slots__ = ("_ended", "_left", "_to_inner", "_to_outer", "born_s", "host", "inner", "outer", "place")

    def __init__(
        self, outer: socket.socket, inner: socket.socket, *, host: str = "", place: int | None = None, allowance: int
    ) -> None:
        for end in (outer, inner):
            end.settimeout(0)
        self.outer, self.inner, self.host, self.place = outer, inner, host, place
        self.born_s = time.monotonic()
        self._left = allowance
        self._to_inner = self._to_outer = b""
        self._ended: socket.socket | None = None

    def pump(self) -> bool:
        """Move what can be moved; return False when the connection is over."""
        try:
            for _ in range(_ROUNDS):
                if not self._to_inner:
                    self._to_inner = self._taken(self.outer)
                    self._left -= len(self._to_inner)
                if self._left < 0:
                    return False
                if not self._to_outer:
                    self._to_outer = self._taken(self.inner)
                before = len(self._to_inner), len(self._to_outer)
                self._to_inner = _given(self.inner, self._to_inner)
                self._to_outer = _given(self.outer, self._to_outer)
                if before == (len(self._to_inner), len(self._to_outer)):
                    break
        except OSError:
            return False
        # What one side has sent before it left still reaches the other.
        return self._ended is None or bool(self._to_inner if self._ended is self.outer else self._to_outer)

    def flags(self) -> tuple[int, int]:
        """Return what to watch outside and inside."""
        reading = self._ended is None
        outer = READ * (reading and not self._to_inner) | WRITE * bool(self._to_outer)
        inner = READ * (reading and not self._to_outer) | WRITE * bool(self._to_inner)
        return outer * (self._ended is not self.outer), inner * (self._ended is not self.inner)

    def _taken(self, end: socket.socket) -> bytes:
        if self._ended is not None:
            return b""
        try:
            data = end.recv(_CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._ended = end
        return data


class ConnectionGuard:
    """All connections: takes those of others up to a limit, and ends those that are over, too long or too much.

    When all places are taken, the host with most connections loses its oldest: whoever fills the places, pays. `door`
    opens the local socket where ZeroMQ waits for the caller in a place, and returns its path; `most` is how many places
    there are, `allowance` how many bytes a peer may send over one connection, and `shares` how often a host may call.
    """

    def __init__(
        self,
        listener: socket.socket,
        watch: Watch,
        *,
        door: Callable[[int], str],
        most: int,
        allowance: int,
        lifetime_s: float,
        shares: HostShares,
    ) -> None:
        listener.settimeout(0)
        self._listener, self._watch, self._door = listener, watch, door
        self._allowance, self._lifetime_s, self._shares = allowance, lifetime_s, shares
        self._relays: dict[Relay, None] = {}
        self._places: dict[int, str] = {}  # which are taken, and by which host
        self._free = list(range(most))[::-1]
        watch.set(listener.fileno(), READ, self._accept)

    def __len__(self) -> int:
        return len(self._relays)

    def host_at(self, place: int) -> str:
        """Return the host of the caller in a place; nothing if it has left."""
        return self._places.get(place, "")

    def join(self, outer: socket.socket, inner: socket.socket, *, host: str = "", place: int | None = None) -> Relay:
        """Connect two sockets until one of them ends; the guard closes both."""
        with suppress(OSError):  # small messages must not wait for more
            outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        relay = Relay(outer, inner, host=host, place=place, allowance=self._allowance)
        self._relays[relay] = None
        if place is not None:
            self._places[place] = host
        self._pump(relay)
        return relay

    def end(self, relay: Relay) -> None:
        """End a connection."""
        if relay not in self._relays:
            return
        del self._relays[relay]
        if relay.place is not None:
            del self._places[relay.place]
            self._free.append(relay.place)
        for end in (relay.outer, relay.inner):
            self._watch.set(end.fileno(), 0, nothing)
            end.close()

    def expire(self) -> None:
        """End what has lasted too long."""
        oldest_s = time.monotonic() - self._lifetime_s
        for relay in [relay for relay in self._relays if relay.born_s < oldest_s]:
            self.end(relay)

    def _accept(self) -> None:
        for _ in range(_ACCEPTS):
            try:
                outer, (host, *_) = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:  # no descriptors left; the next event tries again
                self._make_room()
                return
            host = _network(host)
            if not self._shares.lets_through(host, now_s=time.monotonic()):
                outer.close()
                continue
            if not self._free:
                self._make_room()
            place = self._free.pop()
            inner = socket.socket(socket.AF_UNIX)
            inner.settimeout(0)
            try:
                inner.connect(self._door(place))
            except OSError:
                self._free.append(place)
                outer.close()
                inner.close()
                continue
            self.join(outer, inner, host=host, place=place)

    def _make_room(self) -> None:
        if self._places:
            (host, _), *_ = Counter(self._places.values()).most_common(1)
            self.end(next(one for one in self._relays if one.place is not None and one.host == host))

    def _pump(self, relay: Relay) -> None:
        if relay not in self._relays:
            return
        if not relay.pump():
            self.end(relay)
            return
        for end, flags in zip((relay.outer, relay.inner), relay.flags(), strict=True):
            self._watch.set(end.fileno(), flags, lambda: self._pump(relay))


def _given(end: socket.socket, data: bytes) -> bytes:
    """Send what goes; return the rest."""
    if not data:
        return data
    try:
        return data[end.send(data) :]
    except BlockingIOError:
        return data


def _network(host: str) -> str:
    """Return what a host is counted as: its address, or in IPv6 the network that one customer usually has."""
    try:
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    except OSError:
        return host
    if packed.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, packed[len(_MAPPED) :])
    return socket.inet_ntop(socket.AF_INET6, packed[:_IPV6_NETWORK] + _IPV6_REST) + "/64"


def nothing() -> None:
    """Stand in for a callback that is never called."""
