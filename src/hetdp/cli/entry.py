"""Where the `hetdp` command begins: commands are imported here, so that Ctrl-C has its exit code even then."""

import sys
from collections.abc import Sequence

from hetdp.cli.interrupts import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        from hetdp.cli.main import main as run
    except KeyboardInterrupt:  # nothing has begun
        sys.exit(INTERRUPTED)
    run(arguments)
