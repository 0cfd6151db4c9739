"""Processes that are stopped together, whatever ends the program that started them.

`python -m hetdp.node.demo.processes MODULE ARGUMENTS...` runs a module and stops when whoever started it is gone:
standard input is a pipe that the parent holds open. It closes when the parent ends, in whatever way, `kill -9`
included; then the process tells itself to stop, as if with SIGTERM.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO

_STOP_S = 20.0


@contextmanager
def running(
    commands: Sequence[Sequence[str]], *, heard: Callable[[str], None] | None = None
) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Run processes, and stop them all at the end, gently if they let us.

    Standard input of each is a pipe that closes when this process ends: see `stopping_with_parent`. `heard` gets the
    lines that the first process prints, from a thread.
    """
    processes: list[subprocess.Popen[bytes]] = []
    read_end, write_end = os.pipe()
    try:
        for number, command in enumerate(commands):
            told = subprocess.PIPE if heard is not None and number == 0 else None
            processes.append(subprocess.Popen(command, stdin=read_end, stdout=told))  # noqa: S603  (our own)
        if heard is not None and processes[0].stdout is not None:
            threading.Thread(target=_hear, args=(processes[0].stdout, heard), daemon=True).start()
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        for process in processes:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(read_end)
        os.close(write_end)


def _hear(stream: IO[bytes], heard: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            heard(line.decode(errors="replace").rstrip("\n"))


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does, once: a second one must not break off the cleaning up."""
    if threading.current_thread() is not threading.main_thread():  # only there can signals be handled
        yield
        return
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopping_with_parent(command: Sequence[str]) -> list[str]:
    """Return a command "python -m MODULE ..." that stops with its parent."""
    python, option, *rest = command
    return [python, option, "hetdp.node.demo.processes", *rest]


def _run(module: str, arguments: Sequence[str]) -> None:
    """Run a module as a program until it ends or standard input does."""
    threading.Thread(target=_stop_when_input_ends, name="parent", daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _stop_when_input_ends() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    _run(sys.argv[1], sys.argv[2:])
