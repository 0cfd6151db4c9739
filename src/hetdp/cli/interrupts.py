"""Ctrl-C and SIGTERM end a long command: at once where Python can, and a moment later where compiled code goes on.

Python sees a signal between two steps of its main thread. While that waits for a compiled loop, a linear system or a
thread, nothing happens, and an exception that some library swallows is lost. So a thread looks, too: it is woken by the
signal itself, and ends the process if the command has not ended by then.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

INTERRUPTED, TERMINATED = 130, 143
#: How long a command has to put things in order.
GRACE_S = 2.0
_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on SIGINT and `SystemExit` on SIGTERM, and end the process if that does not end it.

    Outside the main thread, where signals do not arrive, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    inside, outside = socket.socketpair()
    outside.settimeout(0.0)  # a signal never waits
    threading.Thread(target=_watch, args=(inside,), name="signals", daemon=True).start()
    handlers = {number: signal.getsignal(number) for number in _CODES}
    wakeup = signal.set_wakeup_fd(outside.fileno(), warn_on_full_buffer=False)
    try:
        for number in _CODES:
            if handlers[number] is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, _stop)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        outside.close()  # ends the thread, unless a signal came: then it goes on while everything is put in order


def _stop(number: int, _: object) -> None:
    threading.excepthook = _say_nothing  # threads of libraries lose their workers now, and would say so in tracebacks
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.stderr.write("Terminated. No file is half written. What was kept or recorded before stays.\n")
    raise SystemExit(TERMINATED)


def _say_nothing(_: threading.ExceptHookArgs) -> None:
    """Let a thread end silently."""


def _watch(inside: socket.socket) -> None:
    with inside:
        while (seen := inside.recv(1)) and seen[0] not in _CODES:
            pass  # another signal, which is not ours
    if seen:
        threading.Event().wait(GRACE_S)
        os._exit(_CODES[signal.Signals(seen[0])])
