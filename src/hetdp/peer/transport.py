"""The wire: pyzmq ROUTER and DEALER sockets with CURVE. Every connection is encrypted and both ends prove their keys.

One ROUTER socket takes connections of others; one DEALER socket per exchange that this node starts, closed afterwards.
A handler for ZeroMQ's authentication protocol sees the key of every peer before its first message, refuses banned ones,
and hands the proven key on with each message. Sizes and queues are bounded. Used from one thread only.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import zmq

from hetdp.errors import DataError
from hetdp.peer.identity import Identity
from hetdp.peer.node import Action, Dial, HangUp

__all__ = ["Arrived", "Transport"]

_ZAP = "inproc://zeromq.zap.01"
_QUEUE = 64
_CONNECTIONS = 512
_BATCH = 256
_HANDSHAKE_MS = 5000
#: What encryption adds to a message, and a little more.
_OVERHEAD = 64


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message and whom it is from, as the connection has proved it.

    Privacy
    -------
    As `hetdp.peer.messages`.
    """

    link: Hashable
    curve: bytes
    raw: bytes


class Transport:
    """Sends and receives for one node.

    Parameters
    ----------
    identity
        Whose transport keys to use.
    listen
        Address to bind, "tcp://host:port"; port 0 or "*" takes any free one.
    largest_message
        In bytes; ZeroMQ drops the connection of whoever sends more.
    banned
        Says whether a transport key is refused.

    Privacy
    -------
    Lengths of messages are visible on the wire; contents are not.
    """

    def __init__(
        self, identity: Identity, *, listen: str, largest_message: int, banned: Callable[[bytes], bool]
    ) -> None:
        self._identity, self._largest, self._banned = identity, largest_message, banned
        self._context = zmq.Context(io_threads=1)
        self._poller = zmq.Poller()
        self._dealers: dict[Hashable, tuple[zmq.Socket[bytes], bytes]] = {}
        self._by_socket: dict[zmq.Socket[bytes], Hashable] = {}
        self._gatekeeper = self._context.socket(zmq.REP)
        self._gatekeeper.bind(_ZAP)
        self._router = self._context.socket(zmq.ROUTER)
        self._bound(self._router)
        self._router.setsockopt(zmq.CURVE_SERVER, 1)
        self._router.setsockopt(zmq.CURVE_SECRETKEY, identity.curve_secret)
        self._router.setsockopt(zmq.ZAP_DOMAIN, b"hetdp")
        self._router.setsockopt(zmq.BACKLOG, _CONNECTIONS)
        self._router.setsockopt(zmq.IPV6, int("[" in listen))
        try:
            self._router.bind(listen)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise DataError(f"listen must be a free address of this machine. Got {listen!r}: {error}.") from None
        for socket in (self._gatekeeper, self._router):
            self._poller.register(socket, zmq.POLLIN)

    @property
    def address(self) -> str:
        """Where the node listens, with the port that was taken."""
        return bytes(self._router.getsockopt(zmq.LAST_ENDPOINT)).rstrip(b"\0").decode()

    def close(self) -> None:
        """Close every connection at once.

        Privacy
        -------
        Nothing more is sent.
        """
        self._context.destroy(linger=0)

    def perform(self, action: Action) -> None:
        """Do what the protocol asks for. A peer whose queue is full or gone simply gets nothing.

        Privacy
        -------
        Sends what it is given, when it is given.
        """
        if isinstance(action, Dial):
            self._dial(action)
        elif isinstance(action, HangUp):
            self._hang_up(action.link)
        elif action.link in self._dealers:
            _send(self._dealers[action.link][0], [action.raw])
        elif isinstance(action.link, bytes):
            _send(self._router, [action.link, action.raw])

    def wait(self, timeout_s: float) -> Iterator[Arrived]:
        """Wait for messages and yield those that have come.

        Privacy
        -------
        Reads only.
        """
        for socket, _ in self._poller.poll(max(0, round(1000 * timeout_s))):
            if socket is self._gatekeeper:
                self._admit()
            elif socket is self._router:
                yield from self._received()
            else:
                yield from self._answered(socket)

    def _dial(self, action: Dial) -> None:
        socket = self._context.socket(zmq.DEALER)
        self._bound(socket)
        socket.setsockopt(zmq.IPV6, 1)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self._identity.curve_secret)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self._identity.curve)
        socket.setsockopt(zmq.CURVE_SERVERKEY, action.curve)
        try:
            socket.connect(action.address)
        except zmq.ZMQError:  # a host name that does not exist; the exchange times out
            socket.close(linger=0)
            return
        self._dealers[action.link] = (socket, action.curve)
        self._by_socket[socket] = action.link
        self._poller.register(socket, zmq.POLLIN)
        _send(socket, [action.raw])

    def _hang_up(self, link: Hashable) -> None:
        found = self._dealers.pop(link, None)
        if found is not None:
            self._poller.unregister(found[0])
            del self._by_socket[found[0]]
            found[0].close(linger=0)

    def _received(self) -> Iterator[Arrived]:
        for _ in range(_BATCH):
            try:
                frames = self._router.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.ZMQError:
                return
            if len(frames) == 2:  # noqa: PLR2004  (who, what)
                try:
                    curve = bytes.fromhex(str(frames[1].get("User-Id")))
                except zmq.ZMQError:
                    continue
                yield Arrived(frames[0].bytes, curve, frames[1].bytes)

    def _answered(self, socket: "zmq.Socket[bytes]") -> Iterator[Arrived]:
        link = self._by_socket.get(socket)
        while link is not None and link in self._dealers:
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.ZMQError:
                return
            if len(frames) == 1:
                yield Arrived(link, self._dealers[link][1], frames[0])

    def _admit(self) -> None:
        """Answer ZeroMQ's question whether a key may connect."""
        while True:
            try:
                frames = self._gatekeeper.recv_multipart(zmq.NOBLOCK)
            except zmq.ZMQError:
                return
            key = frames[6] if len(frames) == 7 and frames[5] == b"CURVE" else b""  # noqa: PLR2004  (ZAP 1.0)
            welcome = len(key) == 32 and not self._banned(key)  # noqa: PLR2004  (bytes of a key)
            status = [b"200", b"OK"] if welcome else [b"400", b"refused"]
            self._gatekeeper.send_multipart([b"1.0", frames[1], *status, key.hex().encode(), b""])

    def _bound(self, socket: "zmq.Socket[bytes]") -> None:
        socket.setsockopt(zmq.MAXMSGSIZE, self._largest + _OVERHEAD)
        socket.setsockopt(zmq.SNDHWM, _QUEUE)
        socket.setsockopt(zmq.RCVHWM, _QUEUE)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)


def _send(socket: "zmq.Socket[bytes]", frames: list[bytes]) -> None:
    try:
        socket.send_multipart(frames, zmq.NOBLOCK)
    except zmq.ZMQError:  # a full queue or a peer that has gone
        return
