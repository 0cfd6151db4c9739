"""How the node starts its transport process, and where that listens: on a socket that outlives it."""

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.node.wire.frames import Pipe

__all__ = ["listening", "socket_folder", "start_process"]

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


def start_process(listener: socket.socket, *, largest: int) -> tuple["subprocess.Popen[bytes]", Pipe]:
    """Start a transport process; return it and the pipe to it. It waits for its keys, which come over the pipe.

    Parameters
    ----------
    listener
        Where others connect.
    largest
        Longest message, in bytes.
    """
    library = importlib.util.find_spec("zmq")
    if library is None or library.origin is None:
        raise DataError("a node must have pyzmq. Got none; `pip install 'hetdp[node]'` brings it.")
    here, number = Path(__file__).parent, listener.fileno()
    places = [str(here.parents[1]), str(here.parent), str(Path(library.origin).parent.parent)]
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


def socket_folder() -> "tempfile.TemporaryDirectory[str]":
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
        f"TMPDIR must be a writable folder whose path is short, for local sockets (with what is put there, at most "
        f"{_LONGEST_FOLDER} bytes). Got {tried!r}{reason} instead."
    )


def listening(listen: str) -> socket.socket:
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
