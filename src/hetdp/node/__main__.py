"""`python -m hetdp.node FOLDER`: run a node without a page and without a word, until it is told to stop."""

import signal
import sys
from pathlib import Path

from hetdp.core.errors import HetdpError
from hetdp.node.daemon import Daemon
from hetdp.node.handle import NodeHandle
from hetdp.node.leaving import erase_if_wanted


def main(folder: str) -> int:
    """Run the node in a folder; return the exit code."""
    try:
        handle = NodeHandle.open(Path(folder))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: handle.stopping.set())
        try:
            Daemon(handle).run()
        finally:
            handle.close()
        erase_if_wanted(Path(folder))
    except HetdpError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
