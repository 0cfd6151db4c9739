"""How much memory there is, so that work that cannot fit is refused before anything is charged."""

from pathlib import Path


def available_bytes() -> int | None:
    """Return how much memory may be had without swapping, or None where the system does not tell."""
    found = [size for size in (_of_machine(), _of_container()) if size is not None]
    return max(1, min(found)) if found else None


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _of_container() -> int | None:
    """Return what a container still allows: files that were read count as used until the room is needed."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit - used + int(kept["inactive_file"])
    except (OSError, ValueError, KeyError):  # no container, or no limit
        return None
