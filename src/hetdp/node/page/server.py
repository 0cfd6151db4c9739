"""The page's server: one socket on loopback, in a thread of the node, until the node stops.

Everybody on this machine can open a connection, also who may not use the page. A request must have arrived up to the
end of its headers within a few seconds, and of the connections that are still waiting for one, only so many stay: the
oldest goes. So nobody can take all places and lock the owner out.
"""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hetdp.core.errors import InvalidInput
from hetdp.node.handle import NodeHandle
from hetdp.node.page.application import make_application
from hetdp.node.page.owner_guard import OwnerGuard, Session
from hetdp.node.storage.page_door import PageDoor

#: How often the server looks whether the node stops; a page at rest wakes up no more often.
_LOOK_EVERY_S = 0.5
#: Everybody on this machine can connect. Who has not sent a request after so long, or is one of too many, has to go.
_HEADERS_S = 5.0
_MOST_WAITING = 64
#: Requests of strangers are answered and their connections closed at once, so there are never that many.
_MOST_CONNECTIONS = 512


def serve(
    node: NodeHandle, *, host: str = "127.0.0.1", port: int = 0, announce: Callable[[str], None] = lambda _address: None
) -> None:
    """Serve the page of a node until `node.stopping` is set.

    `host` must be a loopback address; port 0 takes any free one. `announce` is called once with the address to open,
    which holds a token that works once: show it to the owner, log it nowhere. For another one see `PageDoor`.

    Privacy
    -------
    Reachable from this machine only, and only with the cookie that the token buys. Sends nothing elsewhere, keeps no
    access log, and installs no signal handlers.
    """
    with _listen(host, port) as listening, ThreadPoolExecutor(1, thread_name_prefix="page") as worker:
        port = listening.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        door = PageDoor(node.folder)
        session = Session(admits=door.admits)
        app = OwnerGuard(
            make_application(node, session, worker),
            session=session,
            hosts=(f"{name}:{port}", f"localhost:{port}"),
            cookie=f"hetdp_{port}",
        )
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=_hasty_protocol(headers_s=_HEADERS_S, most_waiting=_MOST_WAITING),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,  # nobody stands between the browser and us
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=16 * 1024,
            timeout_graceful_shutdown=2,
        )

        def listens() -> None:
            door.open_at(f"http://{name}:{port}/")
            announce(f"http://{name}:{port}/?token={session.token}")

        try:
            asyncio.run(_Server(config, node, listens).serve(sockets=[listening]))
        finally:
            door.close()


class _Server(uvicorn.Server):
    """A server that leaves signals to the node, says when it listens, and stops with the node."""

    def __init__(self, config: uvicorn.Config, node: NodeHandle, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._node, self._listens = node, listens

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: they are the node's."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self._listens()

    async def main_loop(self) -> None:
        """Wait until the node stops."""
        while not (self._node.stopping.is_set() or self.should_exit):  # noqa: ASYNC110  (an event of threads)
            await asyncio.sleep(_LOOK_EVERY_S)


def _listen(host: str, port: int) -> socket.socket:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise InvalidInput("must be a loopback address such as 127.0.0.1", parameter="host", got=host)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004  (IP version 4)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.setblocking(False)  # noqa: FBT003  (its only parameter)
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot be used on {host}: {error.strerror}", parameter="port", got=port) from None
    return listening


class _Room:
    """The connections of one server that wait for a request, oldest first."""

    def __init__(self, *, headers_s: float, most: int) -> None:
        self._headers_s, self._most = headers_s, most
        self._timers: dict[H11Protocol, asyncio.TimerHandle] = {}

    def enter(self, connection: H11Protocol) -> None:
        """Let a connection wait, and the oldest go if there are too many."""
        if connection not in self._timers:
            self._timers[connection] = connection.loop.call_later(self._headers_s, self._send_away, connection)
        if len(self._timers) > self._most:
            self._send_away(next(iter(self._timers)))

    def leave(self, connection: H11Protocol) -> None:
        """Let a connection wait no longer."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _send_away(self, connection: H11Protocol) -> None:
        self.leave(connection)
        connection.transport.close()


class _Hasty(H11Protocol):
    """One connection."""

    room: ClassVar[_Room]

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  (uvicorn narrows asyncio's type)
        super().connection_made(transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Start the clock where a request is waited for, and stop it where one has come."""
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.room.enter(self)
        else:
            self.room.leave(self)


def _hasty_protocol(*, headers_s: float, most_waiting: int) -> type[H11Protocol]:
    """Return a protocol for one server: seconds to the end of a request's headers, and how many may wait for one."""
    return type("Hasty", (_Hasty,), {"room": _Room(headers_s=headers_s, most=most_waiting)})
