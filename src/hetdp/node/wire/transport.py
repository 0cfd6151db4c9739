"""The wire, as the node sees it: messages in and out, by way of a process of their own.

Everything that peers can reach with bytes of theirs runs in `child`, which libzmq may end at any moment. This
end keeps the listening socket, so that callers only wait while the process starts again; it tells which exchanges were
lost and whom to suspect. Used from one thread only.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.core.optional import place_of
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.node import Action, Call, HangUp
from hetdp.node.wire.frames import Broken, Kind, Pipe, Setup

_log = logging.getLogger(__name__)

_LIFETIME_S = 30.0
_SOON_S, _LATEST_S = 0.1, 60.0
#: A process that has lived so long did not fail for the same reason as the one before.
_WELL_S = 60.0
_END_S = 2.0
#: How a process ends that an assertion or broken memory has ended; being killed or told to stop is nobody's fault.
_CRASHES = frozenset(
    -number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
)
#: Without `hetdp/__init__.py` and all that it imports, the process is small and starts at once.
_BOOTSTRAP = """\
import sys, types
for name, place in (("hetdp", sys.argv[1]), ("hetdp.node", sys.argv[2])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [place]
sys.path.append(sys.argv[3])
from hetdp.node.wire.child import main
main(int(sys.argv[4]), int(sys.argv[5]))
"""
_BACKLOG = 512
#: A local socket's whole path has room for 103 bytes on macOS and 107 on Linux; its name in the folder takes up to 20.
_LONGEST_FOLDER = 80
#: Where folders of sockets go if the usual place for temporary files has too long a name.
_SHORT_PLACES = ("/tmp", "/var/tmp")  # noqa: S108  (mkdtemp makes a folder for its owner only)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message and whom it is from, as the connection has proved it, and which host if it came from a caller."""

    link: Hashable
    curve: bytes
    raw: bytes
    host: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """An exchange that this node started and that ended with the transport process."""

    link: int
    curve: bytes
    suspect: bool  # the peer may have ended the process: it crashed while the peer had not said a word yet


@dataclass(frozen=True, slots=True)
class Flooded:
    """A host has tried to call far more often than it may."""

    host: str


class Transport:
    """Sends and receives for one node, at "tcp://host:port", where port 0 or "*" takes any free one.

    The connection of who sends more than `largest_message` bytes is cut; `banned` says whether a transport key is
    refused; a connection may last `lifetime_s`, which must be more than an exchange takes; a host, except `near`, may
    call `calls_per_s` times per second (0: any number).

    Privacy
    -------
    Lengths of messages are visible on the wire; contents are not. The secret transport key goes to the process over a
    local socket; it is in no argument, no environment and no file.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        listen: str,
        largest_message: int,
        banned: Callable[[bytes], bool],
        lifetime_s: float = _LIFETIME_S,
        calls_per_s: float = 0.0,
        near: str = "",
    ) -> None:
        self._identity, self._largest, self._banned = identity, largest_message, banned
        self._lifetime_s, self._calls_per_s, self._near = lifetime_s, calls_per_s, near
        self._listener = _listening(listen)
        try:
            self._folder = _socket_folder()
        except BaseException:
            self._listener.close()
            raise
        self._pipe: Pipe | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._called: dict[int, bytes] = {}
        self._silent: set[int] = set()
        self._lost: list[Lost] = []
        self._generation = self._failures = 0
        self._started_s = self._restart_s = 0.0
        self._start()

    @property
    def address(self) -> str:
        """Where the node listens, with the port that was taken."""
        host, port = self._listener.getsockname()[:2]
        return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"

    @property
    def process_id(self) -> int | None:
        """The number of the transport process, while there is one."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """Close every connection at once, and end the process."""
        self._end()
        self._listener.close()
        self._folder.cleanup()

    def perform(self, action: Action) -> None:
        """Do what the protocol asks for. A peer whose queue is full or gone simply gets nothing."""
        link = action.link
        if isinstance(action, Call) and isinstance(link, int):
            place = action.address.encode()
            self._send(Kind.CALL, Kind.CALLEE.pack(link, action.curve, len(place)), place, action.raw)
            if self._pipe is None:  # it was gone before, so this peer has no part in that
                self._lost.append(Lost(link, action.curve, suspect=False))
            else:
                self._called[link] = action.curve
                self._silent.add(link)
        elif isinstance(action, HangUp):
            if isinstance(link, int) and self._called.pop(link, None) is not None:
                self._silent.discard(link)
                self._send(Kind.HANG_UP, Kind.LINK.pack(link), droppable=False)
        elif isinstance(link, int) and link in self._called:
            self._send(Kind.TO_CALLEE, Kind.LINK.pack(link), action.raw)
        elif isinstance(link, tuple) and link[0] == self._generation:
            self._send(Kind.TO_CALLER, Kind.CALLER.pack(len(link[1])), link[1], action.raw)

    def wait(self, timeout_s: float) -> Iterator[Arrived | Flooded | Lost]:
        """Wait for messages and yield those that have come; start the process again when it is time."""
        if self._pipe is None and time.monotonic() >= self._restart_s:
            self._start()
        if self._pipe is None:
            time.sleep(max(0.0, min(timeout_s, self._restart_s - time.monotonic())))
        else:
            yield from self._heard(self._pipe, 0.0 if self._lost else timeout_s)
        while self._lost:
            yield self._lost.pop(0)

    def _heard(self, pipe: Pipe, timeout_s: float) -> Iterator[Arrived | Flooded]:
        try:
            pipe.wait(timeout_s)
            frames = pipe.receive()
        except Broken:
            self._died()
            return
        for kind, body in frames:
            if kind == Kind.ASK:
                self._send(Kind.VERDICT, b"\0" if self._banned(body) else b"\1", droppable=False)
            elif kind == Kind.FROM_CALLER:
                curve, length, more = Kind.FROM.unpack_from(body)
                link, rest = body[Kind.FROM.size :][:length], body[Kind.FROM.size + length :]
                yield Arrived((self._generation, link), curve, rest[more:], rest[:more].decode())
            elif kind == Kind.FLOOD:
                yield Flooded(body.decode())
            elif kind == Kind.FROM_CALLEE:
                (link,) = Kind.LINK.unpack_from(body)
                if link in self._called:  # else it was given up meanwhile
                    self._silent.discard(link)
                    yield Arrived(link, self._called[link], body[Kind.LINK.size :])

    def _send(self, kind: int, *parts: bytes, droppable: bool = True) -> None:
        if self._pipe is not None:
            try:
                self._pipe.send(kind, *parts, droppable=droppable)
            except Broken:
                self._died()

    def _start(self) -> None:
        self._started_s = time.monotonic()
        self._generation += 1
        try:
            self._process, self._pipe = _start_process(self._listener, largest=self._largest)
        except OSError:  # too many processes or descriptors; try again later
            self._later(suspects=0, how="could not start")
            return
        setup = Setup(
            secret=self._identity.curve_secret,
            public=self._identity.curve,
            largest=self._largest,
            lifetime_s=self._lifetime_s,
            folder=self._folder.name,
            calls_per_s=self._calls_per_s,
            near=self._near,
        )
        self._send(Kind.SETUP, setup.encode(), droppable=False)

    def _died(self) -> None:
        """Take stock after the process has gone: what is lost, who is suspect, when to start again."""
        code = self._end()
        crashed = code in _CRASHES
        lost = [self._forgotten(link, suspect=crashed and link in self._silent) for link in list(self._called)]
        self._lost += lost
        how = "ended" if code is None else f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        self._later(suspects=sum(one.suspect for one in lost), how=how)

    def _later(self, *, suspects: int, how: str) -> None:
        """Choose when to start again: soon if it cost a peer its key, later and later if nobody can be blamed."""
        if suspects or time.monotonic() - self._started_s >= _WELL_S:
            self._failures = 0
        delay_s = min(_LATEST_S, _SOON_S * 2**self._failures)
        self._failures += not suspects
        self._restart_s = time.monotonic() + delay_s
        _log.warning("The transport process %s; peers suspected: %d; next start in %.1f s.", how, suspects, delay_s)

    def _forgotten(self, link: int, *, suspect: bool) -> Lost:
        self._silent.discard(link)
        return Lost(link, self._called.pop(link), suspect)

    def _end(self) -> int | None:
        """End the process and return how it ended."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            return process.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _start_process(listener: socket.socket, *, largest: int) -> tuple["subprocess.Popen[bytes]", Pipe]:
    """Start a transport process; return it and the pipe to it. It waits for its keys, which come over the pipe."""
    library = place_of("zmq", extra="node", purpose="A node")
    here, number = Path(__file__).parent, listener.fileno()
    places = [str(here.parents[1]), str(here.parent), str(library.parent.parent)]
    ours, theirs = socket.socketpair()
    try:
        # -I and -S: neither the environment nor other packages decide what it loads.
        process = subprocess.Popen(  # noqa: S603  (our own)
            [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, *places, str(number), str(largest)],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(number,),
            env={**os.environ, "MALLOC_ARENA_MAX": "2"},
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, Pipe(ours, largest=largest)


def _socket_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a new folder for local sockets, for its owner only, with a name that is short enough for them."""
    tried, reason = tempfile.gettempdir(), ""
    for place in (tried, *_SHORT_PLACES):
        try:
            folder = tempfile.TemporaryDirectory(prefix="hetdp-", dir=place, ignore_cleanup_errors=True)
        except OSError as error:
            reason = reason or f": {error.strerror}"
            continue
        if len(os.fsencode(folder.name)) <= _LONGEST_FOLDER:
            return folder
        folder.cleanup()
    raise DataError(
        "TMPDIR must be a writable folder whose path is short, for local sockets (with what is put there, at "
        f"most {_LONGEST_FOLDER} bytes) (got {tried!r}{reason})"
    )


def _listening(listen: str) -> socket.socket:
    """Return a socket that listens at "tcp://host:port"."""
    host, _, port = listen.removeprefix("tcp://").rpartition(":")
    host = {"*": "0.0.0.0"}.get(host, host.strip("[]"))  # noqa: S104  (what the owner asks for)
    listener = None
    try:
        family, _, _, _, place = socket.getaddrinfo(host, 0 if port == "*" else int(port), type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(place)
        listener.listen(_BACKLOG)
    except (OSError, ValueError) as error:
        if listener is not None:
            listener.close()
        raise DataError(f"listen must be a free address of this machine. Got {listen!r}: {error}.") from None
    return listener
