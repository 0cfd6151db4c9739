"""The clock that nobody sets, as the system tells it: time since this boot, suspended or not, and which boot it is."""

import secrets
import time
from pathlib import Path

from hetdp.node.protocol.draw_schedule import Uptime

__all__ = ["read_uptime"]

#: Linux draws one at random at each boot.
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: Where the system does not say which boot it is, all that is certain is how long this process has run.
_THIS_PROCESS, _STARTED_S = f"process {secrets.token_hex(8)}", time.monotonic()


def read_uptime() -> Uptime:
    """Return how long this machine has been up, and since which boot.

    Where that is not to be had (systems other than Linux), it is how long this process has run: less than has passed,
    so that a node may draw later than it could, and never sooner.

    Examples
    --------
    >>> first, second = read_uptime(), read_uptime()
    >>> first.boot == second.boot and first.seconds <= second.seconds
    True
    """
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, ValueError, AttributeError):
        boot, seconds = "", 0.0
    if not boot:
        return Uptime(_THIS_PROCESS, time.monotonic() - _STARTED_S, machine=False)
    return Uptime(boot, seconds)
