"""From addresses to connections, without ever waiting: names are looked up by threads. Standard library only."""

import errno
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from hetdp.node.wire.guard import READ, Watch

__all__ = ["Names"]

_LOOKUPS = 4


class Names:
    """Opens connections without waiting: numeric addresses at once, names after a thread has looked them up.

    A slow name server delays nothing but its own names.

    Parameters
    ----------
    watch
        Calls back when something is ready.

    Privacy
    -------
    Asks the name server for addresses of peers in the network file, at moments independent of the profile.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._found: deque[tuple[Callable[[socket.socket | None], None], list[tuple[int, str, int]]]] = deque()
        self._busy = 0
        self._bell, self._ringer = socket.socketpair()
        self._bell.settimeout(0)
        watch.set(self._bell.fileno(), READ, self._looked_up)

    def dial(self, address: str, then: Callable[[socket.socket | None], None]) -> None:
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
