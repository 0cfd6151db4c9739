"""The page's server: one socket on loopback, in a thread of the node, until the node stops."""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import uvicorn

from hetdp.core.errors import InvalidInput
from hetdp.node.handle import NodeHandle
from hetdp.node.page.application import make_application
from hetdp.node.page.connection import hasty_protocol
from hetdp.node.page.guard import Guard
from hetdp.node.page.session import Session

__all__ = ["serve"]

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

    Parameters
    ----------
    node
        The node whose owner is served.
    host, port
        A loopback address; port 0 takes any free one.
    announce
        Called once with the address to open, which holds a token that works once. Show it to the owner, log it nowhere.

    Privacy
    -------
    Reachable from this machine only, and only with the cookie that the token buys. Sends nothing elsewhere, keeps no
    access log, and installs no signal handlers.
    """
    with _listen(host, port) as listening, ThreadPoolExecutor(1, thread_name_prefix="page") as worker:
        port = listening.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        session = Session()
        app = Guard(
            make_application(node, session, worker),
            session=session,
            hosts=(f"{name}:{port}", f"localhost:{port}"),
            cookie=f"hetdp_{port}",
        )
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=hasty_protocol(headers_s=_HEADERS_S, most_waiting=_MOST_WAITING),
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
        server = _Server(config, node, lambda: announce(f"http://{name}:{port}/?token={session.token}"))
        asyncio.run(server.serve(sockets=[listening]))


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
        raise InvalidInput(f"host must be a loopback address such as 127.0.0.1. Got {host!r} instead.")
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004  (IP version 4)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.setblocking(False)  # noqa: FBT003  (its only parameter)
    except OSError as error:
        listening.close()
        raise InvalidInput(f"port must be free on {host}. Got {port} instead: {error.strerror}.") from None
    return listening
