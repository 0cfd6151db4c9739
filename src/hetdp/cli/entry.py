"""Where the `hetdp` command begins: commands are imported here, so that Ctrl-C has its exit code even then."""

import gc
import sys
from collections.abc import Sequence

from hetdp.cli.interrupts import INTERRUPTED

#: Objects made between two searches for garbage. Imports and the compiler make many that stay, and looking through
#: them again and again takes a tenth of a first use.
_BETWEEN_SEARCHES = 50_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    gc.set_threshold(_BETWEEN_SEARCHES)
    try:
        from hetdp.cli.main import main as run
    except KeyboardInterrupt:  # nothing has begun
        sys.exit(INTERRUPTED)
    run(arguments)
