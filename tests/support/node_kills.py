"""Processes that die at a given moment: before each change of what is on disk, or before each line of some modules."""

import os
import signal
import sqlite3
import sys
from types import FrameType, ModuleType

from hetdp.core import sqlite as core_sqlite

#: Calls that change what a process leaves behind. What is written into a file shows at the next of them.
_CHANGES = {os.fsync, os.link, os.mkdir, os.remove, os.rename, os.replace, os.rmdir, os.unlink}


def changes(step):
    """Call `step` before every commit, fsync, rename and unlink, and before every folder that is made or removed."""

    def profile(frame: FrameType, event, called):
        if event == "c_call" and (called in _CHANGES or _is_commit(frame, called)):
            step()

    sys.setprofile(profile)


def lines_of(modules: list[ModuleType]):
    """Return what calls a `step` before every line of some modules."""
    watched = {module.__file__ for module in modules}

    def watch(step):
        def trace(frame: FrameType, event, _argument):
            if frame.f_code.co_filename not in watched:
                return None
            if event == "line":
                step()
            return trace

        sys.settrace(trace)

    return watch


def moments_of(action, watch):
    """Return how many moments an action has, in a process of its own."""
    reader, writer = os.pipe()
    status = _in_a_child(action, watch, lambda count: os.write(writer, str(count).encode()), kill_at=None)
    os.close(writer)
    with os.fdopen(reader) as end:
        assert status == 0, "the action must succeed"
        return int(end.read())


def killed_at(moment, action, watch):
    """Run an action in a process that is killed at the given moment; return whether it came so far."""
    return _in_a_child(action, watch, lambda _count: None, kill_at=moment) == signal.SIGKILL


def _is_commit(frame, called):
    """Whether the end of a transaction is called."""
    if frame.f_code is not core_sqlite.transaction.__wrapped__.__code__ or called.__name__ != "execute":
        return False
    connection: sqlite3.Connection = frame.f_locals["connection"]
    return connection.in_transaction


def _in_a_child(action, watch, tell, *, kill_at):
    count = 0

    def step():
        nonlocal count
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    if (child := os.fork()) == 0:
        code = 1
        try:
            watch(step)
            action()
            step()  # all is done, and nobody has heard of it
            sys.settrace(None)
            sys.setprofile(None)
            tell(count)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
