"""Does a file fit in memory? A rough answer before anything is read, so that no work is lost."""

from pathlib import Path
from typing import Literal

import click

from hetdp.core.errors import DataError
from hetdp.core.words import byte_size

__all__ = ["available_bytes", "reading_bytes", "require_memory"]

#: Memory of a pair while a file is read (see `Profiles.read`), and of its weight; batches and libraries come on top.
_PAIR_BYTES = 35
_WEIGHT_BYTES = 15
_FIXED_BYTES = 400 * 2**20
#: How much text a compressed byte stands for: pairs of ids repeat themselves.
_EXPANSION = 5
_COMPRESSED = (".gz", ".bz2", ".zst")
_SAMPLE = 2**16


def available_bytes() -> int | None:
    """Return how much memory may be had without swapping, or None where the system does not tell.

    Examples
    --------
    >>> available = available_bytes()
    >>> available is None or available > 0
    True
    """
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


def reading_bytes(path: Path, weight: str | Literal[False] | None = None) -> int:
    """Return roughly how much memory reading a file of pairs takes, from its size and its first lines.

    Parameters
    ----------
    path
        The file; one that cannot be read counts as empty, and whoever reads it will explain what is wrong.
    weight
        Name of the column of weights; None for the usual one if it is there; False if weights are not read.

    Privacy
    -------
    The number follows from the size of the file and the length of its first lines; for whoever holds the file.
    """
    usual = weight or "weight"
    try:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            described = parquet.read_metadata(path)
            pairs, weighted = int(described.num_rows), usual in described.schema.to_arrow_schema().names
        else:
            head, size = _head(path)
            pairs, weighted = size * head.count(b"\n") // max(1, len(head)), usual.encode() in head.partition(b"\n")[0]
    except (OSError, ValueError):
        return 0
    return _FIXED_BYTES + pairs * (_PAIR_BYTES + _WEIGHT_BYTES * (weighted and weight is not False))


def _head(path: Path) -> tuple[bytes, int]:
    """Return the first bytes of a text file, and about how many there are when it is not compressed."""
    import pyarrow as pa

    size = path.stat().st_size * (_EXPANSION if path.suffix.lower() in _COMPRESSED else 1)
    with pa.input_stream(str(path), compression="detect") as stream:
        return stream.read(_SAMPLE), size


def require_memory(what: str, needed: int, *, check: bool, way_through: str) -> None:
    """Refuse work that needs more memory than there is, unless told not to.

    Parameters
    ----------
    what
        What needs it, as the subject of a sentence.
    needed
        Bytes, roughly.
    check
        False to go on with a remark.
    way_through
        What to do instead.

    Privacy
    -------
    Tells the size of the work, to whoever holds the data.
    """
    available = available_bytes()
    if available is None or needed <= available:
        return
    text = f"{what} must fit in the memory available ({byte_size(available)}). Got about {byte_size(needed)} instead."
    if check:
        raise DataError(
            f"{text} {way_through} --no-memory-check goes on all the same. See docs/neighbors.md, Large data."
        )
    click.echo(f"Going on as told: {text}", err=True)
