"""Processes that are stopped together, whatever ends the program that started them."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO

__all__ = ["interrupted_by_signals", "running"]

_STOP_S = 20.0


@contextmanager
def running(
    commands: Sequence[Sequence[str]], *, heard: Callable[[str], None] | None = None
) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Run processes, and stop them all at the end, gently if they let us.

    Parameters
    ----------
    commands
        Command lines. Standard input of each is a pipe that closes when this process ends: see `hetdp.node.demo.leash`.
    heard
        Gets the lines that the first process prints, from a thread.
    """
    processes: list[subprocess.Popen[bytes]] = []
    leash, held = os.pipe()
    try:
        for number, command in enumerate(commands):
            told = subprocess.PIPE if heard is not None and number == 0 else None
            processes.append(subprocess.Popen(command, stdin=leash, stdout=told))  # noqa: S603  (our own)
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
        os.close(leash)
        os.close(held)


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
