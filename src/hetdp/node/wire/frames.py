"""What the node and its transport process say to each other: frames with a kind and a length over a local socket.

Both ends use the same small class. Sizes are bounded, nothing is unpickled, and only the standard library is needed,
because the transport process imports nothing else of hetdp.
"""

import math
import select
import socket
import struct

_HEADER = struct.Struct(">BI")
_SETUP = struct.Struct(">32s32sIddB")
#: What a frame holds beside a message: link, key, address.
_AROUND = 1024
_READ = 1 << 18
_WAITING, _FEW = 1 << 22, 4


class Broken(Exception):
    """The other end is gone, or sends what it must not."""


class Kind:
    """What a frame is about. The node sends the first six, the transport process the others."""

    SETUP = 1
    CALL = 2
    TO_CALLEE = 3
    TO_CALLER = 4
    HANG_UP = 5
    VERDICT = 6
    FROM_CALLEE = 7
    FROM_CALLER = 8
    ASK = 9
    FLOOD = 10

    LINK = struct.Struct(">Q")
    CALLEE = struct.Struct(">Q32sH")
    CALLER = struct.Struct(">H")
    #: Transport key, how long the name of the connection is, and how long that of the host.
    FROM = struct.Struct(">32sHB")


class Setup:
    """The first frame: with which keys, for messages how large, for how long, and where local sockets may lie.

    One host may open `calls_per_s` connections per second (0: any number), except `near`. Holds the secret transport
    key, so it has no useful `repr`.
    """

    __slots__ = ("calls_per_s", "folder", "largest", "lifetime_s", "near", "public", "secret")

    def __init__(
        self,
        *,
        secret: bytes,
        public: bytes,
        largest: int,
        lifetime_s: float,
        folder: str,
        calls_per_s: float = 0.0,
        near: str = "",
    ) -> None:
        self.secret, self.public, self.folder = secret, public, folder
        self.largest, self.lifetime_s = largest, lifetime_s
        self.calls_per_s, self.near = calls_per_s, near

    def encode(self) -> bytes:
        """Return it as the body of a frame."""
        near = self.near.encode()
        numbers = (self.largest, self.lifetime_s, self.calls_per_s, len(near))
        return _SETUP.pack(self.secret, self.public, *numbers) + near + self.folder.encode()

    @classmethod
    def decode(cls, body: bytes) -> "Setup":
        """Return what a frame holds."""
        secret, public, largest, lifetime_s, calls_per_s, length = _SETUP.unpack_from(body)
        start = _SETUP.size + length
        return cls(
            secret=secret,
            public=public,
            largest=largest,
            lifetime_s=lifetime_s,
            folder=body[start:].decode(),
            calls_per_s=calls_per_s,
            near=body[_SETUP.size : start].decode(),
        )


class Pipe:
    """One end of the local socket, without blocking.

    A frame whose message is longer than `largest` breaks the pipe. What comes when `most_waiting` bytes wait to be
    sent, if those are not a few messages, is dropped, as by a full queue.
    """

    def __init__(self, end: socket.socket, *, largest: int, most_waiting: int = _WAITING) -> None:
        end.settimeout(0)
        self._end, self._largest, self._most_waiting = end, largest, max(most_waiting, _FEW * largest)
        self._out, self._in = bytearray(), bytearray()

    def fileno(self) -> int:
        """Return the descriptor, for polling."""
        return self._end.fileno()

    @property
    def waiting(self) -> int:
        """Bytes that could not be sent yet."""
        return len(self._out)

    def send(self, kind: int, *parts: bytes, droppable: bool = True) -> bool:
        """Send a frame, or as much of it as goes; return whether it was taken."""
        length = sum(map(len, parts))
        if length > self._largest + _AROUND or (droppable and len(self._out) + length > self._most_waiting):
            return False
        self._out += _HEADER.pack(kind, length)
        for part in parts:
            self._out += part
        self.flush()
        return True

    def flush(self) -> None:
        """Send what waits, as far as it goes."""
        while self._out:
            try:
                sent = self._end.send(memoryview(self._out)[:_READ])
            except BlockingIOError:
                return
            except OSError:
                raise Broken from None
            del self._out[:sent]

    def wait(self, timeout_s: float) -> None:
        """Wait until something has come or the time is over; send meanwhile what waits."""
        poll = select.poll()
        poll.register(self._end, select.POLLIN | (select.POLLOUT if self._out else 0))
        poll.poll(max(0, math.ceil(1000 * timeout_s)))
        self.flush()

    def receive(self) -> list[tuple[int, bytes]]:
        """Return the whole frames that have come, each a kind and a body."""
        try:
            data = self._end.recv(_READ)
        except BlockingIOError:
            return []
        except OSError:
            raise Broken from None
        if not data:
            raise Broken
        self._in += data
        frames, place = [], 0
        while len(self._in) - place >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._in, place)
            if length > self._largest + _AROUND:
                raise Broken
            if len(self._in) - place < _HEADER.size + length:
                break
            place += _HEADER.size
            frames.append((kind, bytes(self._in[place : place + length])))
            place += length
        del self._in[:place]
        return frames

    def close(self) -> None:
        """Close this end; the other learns of it."""
        self._end.close()
