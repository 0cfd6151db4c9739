"""The raw connections of the transport process: who may hold how many, for how long, and how many bytes each may send.

ZeroMQ bounds the size of a frame, not of a message of many frames, and not the number of connections. So others never
reach it directly: this guard takes their connections, counts bytes, and passes them on to ZeroMQ over a local
socket. It sees encrypted bytes only. Standard library only; no thread.
"""

import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

__all__ = ["READ", "WRITE", "ConnectionGuard", "Relay", "Watch", "nothing"]

READ, WRITE = 1, 2
_CHUNK = 1 << 16
_ACCEPTS = 32
_ROUNDS = 4
_IPV6_NETWORK = 8


class Watch(Protocol):
    """Calls back when something is ready."""

    def set(self, what: Any, flags: int, then: Callable[[], None]) -> None:  # noqa: ANN401  (socket or descriptor)
        """Watch a ZeroMQ socket or a descriptor for these events, or no longer when there are none."""


class Relay:
    """One connection: bytes from a socket outside to one inside and back, one chunk at a time each way.

    Outside is the peer, inside ZeroMQ. `host` is who it is counted for, None where this node has opened it; `allowance`
    is how many bytes the peer may send in all.
    """

    __slots__ = ("_ended", "_left", "_to_inner", "_to_outer", "born_s", "host", "inner", "outer")

    def __init__(self, outer: socket.socket, inner: socket.socket, *, host: bytes | None, allowance: int) -> None:
        for end in (outer, inner):
            end.settimeout(0)
        self.outer, self.inner, self.host = outer, inner, host
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

    When all places are taken, the host with most connections loses its oldest: whoever fills the places, pays. ZeroMQ
    waits for callers on the local socket `inner_path`; `most` is how many of them there may be at once, and `allowance`
    how many bytes a peer may send over one connection.
    """

    def __init__(
        self, listener: socket.socket, watch: Watch, *, inner_path: str, most: int, allowance: int, lifetime_s: float
    ) -> None:
        listener.settimeout(0)
        self._listener, self._watch, self._inner_path = listener, watch, inner_path
        self._most, self._allowance, self._lifetime_s = most, allowance, lifetime_s
        self._relays: dict[Relay, None] = {}
        self._hosts: Counter[bytes] = Counter()
        watch.set(listener.fileno(), READ, self._accept)

    def __len__(self) -> int:
        return len(self._relays)

    def join(self, outer: socket.socket, inner: socket.socket, *, host: bytes | None = None) -> Relay:
        """Connect two sockets until one of them ends; the guard closes both."""
        with suppress(OSError):  # small messages must not wait for more
            outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        relay = Relay(outer, inner, host=host, allowance=self._allowance)
        self._relays[relay] = None
        if host is not None:
            self._hosts[host] += 1
        self._pump(relay)
        return relay

    def end(self, relay: Relay) -> None:
        """End a connection."""
        if relay not in self._relays:
            return
        del self._relays[relay]
        if relay.host is not None:
            self._hosts[relay.host] -= 1
            if not self._hosts[relay.host]:
                del self._hosts[relay.host]
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
            if sum(self._hosts.values()) >= self._most:
                self._make_room()
            inner = socket.socket(socket.AF_UNIX)
            inner.settimeout(0)
            try:
                inner.connect(self._inner_path)
            except OSError:
                outer.close()
                inner.close()
                continue
            self.join(outer, inner, host=_network(host))

    def _make_room(self) -> None:
        if self._hosts:
            (host, _), *_ = self._hosts.most_common(1)
            self.end(next(relay for relay in self._relays if relay.host == host))

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


def _network(host: str) -> bytes:
    """Return what a host is counted as: its address, or in IPv6 the network that one customer usually has."""
    try:
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    except OSError:
        return host.encode()
    return packed if packed.startswith(bytes(10) + b"\xff\xff") else packed[:_IPV6_NETWORK]


def nothing() -> None:
    """Stand in for a callback that is never called."""
