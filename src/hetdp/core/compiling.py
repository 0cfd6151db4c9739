"""What of the kernels is still to be compiled, and where they are kept: it happens at their first use on a machine.

Answered by looking for files, without loading the compiler, so that a command can say how long it will take.
"""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from hetdp.core.text import listed, rough_duration

__all__ = ["PARTS", "compiled", "kept_in", "seconds_to_compile", "words_about_compiling"]

#: What can be compiled by itself: a file that holds a kernel of it, and seconds of CPU; measured, on a slow machine.
PARTS = {
    "exact": ("neighbors/_kernels/selecting.py", 6.0),
    "gossip": ("neighbors/_kernels/vicinity.py", 9.0),
    "sketch": ("neighbors/_kernels/sketch_search.py", 8.0),
    "model": ("recommender/_kernels.py", 5.0),
}
_PACKAGE = Path(__file__).parents[1]


def kept_in(part: str = "exact") -> Path:
    """Return the folder in which numba keeps the compiled kernels of a part.

    Examples
    --------
    >>> kept_in("exact").name.startswith(("_kernels", "__pycache__"))
    True
    """
    folder = (_PACKAGE / PARTS[part][0]).parent
    chosen = os.environ.get("NUMBA_CACHE_DIR", "")
    beside = folder / "__pycache__"
    if not chosen and os.access(beside if beside.exists() else folder, os.W_OK):
        return beside
    # Numba's own name for the folder of a package: the last part of its path, and a hash of all of it.
    name = f"{folder.name}_{hashlib.sha1(str(folder).encode(), usedforsecurity=False).hexdigest()}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    return (Path(chosen) if chosen else home) / name


def compiled(part: str) -> bool:
    """Return whether the kernels of a part are on disk, and not older than their sources."""
    source = _PACKAGE / PARTS[part][0]
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    written = [path.stat().st_mtime for path in kept_in(part).glob(f"{source.stem}.*{python}*.nbi")]
    return bool(written) and max(written) >= source.stat().st_mtime


def seconds_to_compile(parts: Iterable[str]) -> float:
    """Return about how much CPU time the kernels of some parts still take; 0 if all are on disk."""
    return sum(PARTS[part][1] for part in parts if not compiled(part))


def words_about_compiling(parts: Iterable[str]) -> str:
    """Return what is to be compiled before a command can do its work, and how long that takes; "" for nothing."""
    missing = [part for part in parts if not compiled(part)]
    if not missing:
        return ""
    return (
        f"Compiling first, once on this machine: {listed(missing)}, about "
        f"{rough_duration(seconds_to_compile(missing))} of CPU (hetdp warm-up does it ahead of time) ..."
    )
