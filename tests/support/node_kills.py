"""Processes that die at any given line of some modules, as a power failure would have it."""

import os
import signal
import sys
from types import FrameType, ModuleType


def lines_of(action, modules):
    """Return how many lines of some modules an action runs, in a process of its own."""
    reader, writer = os.pipe()
    status = _in_a_child(action, modules, lambda count: os.write(writer, str(count).encode()), kill_at=None)
    os.close(writer)
    with os.fdopen(reader) as end:
        assert status == 0, "the action must succeed"
        return int(end.read())


def killed_at(line, action, modules):
    """Run an action in a process that is killed before the given line; return whether it came so far."""
    return _in_a_child(action, modules, lambda _count: None, kill_at=line) == signal.SIGKILL


def _in_a_child(action, modules: list[ModuleType], tell, *, kill_at):
    watched, count = {module.__file__ for module in modules}, 0

    def trace(frame: FrameType, event, _argument):
        nonlocal count
        if frame.f_code.co_filename not in watched:
            return None
        if event == "line":
            count += 1
            if count == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    if (child := os.fork()) == 0:
        code = 1
        try:
            sys.settrace(trace)
            action()
            sys.settrace(None)
            tell(count)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
