"""`python -m hetdp.node.demo.leash MODULE ARGUMENTS...`: run a module, and stop when whoever started it is gone.

Standard input is a pipe that the parent holds open. It closes when the parent ends, in whatever way, `kill -9`
included; then the process tells itself to stop, as if with SIGTERM.
"""

import os
import runpy
import signal
import sys
import threading
from collections.abc import Sequence

__all__ = ["leashed", "main"]


def leashed(command: Sequence[str]) -> list[str]:
    """Return a command "python -m MODULE ..." that stops with its parent.

    Examples
    --------
    >>> leashed(["python", "-m", "hetdp.node", "folder"])
    ['python', '-m', 'hetdp.node.demo.leash', 'hetdp.node', 'folder']
    """
    python, option, *rest = command
    return [python, option, "hetdp.node.demo.leash", *rest]


def main(module: str, arguments: Sequence[str]) -> None:
    """Run a module as a program until it ends or standard input does.

    Privacy
    -------
    Reads and drops whatever comes on standard input; nothing should.
    """
    threading.Thread(target=_watch, name="leash", daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _watch() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
