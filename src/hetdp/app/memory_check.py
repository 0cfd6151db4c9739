"""Does a file fit in memory? A rough answer before anything is read, so that no work is lost."""

from pathlib import Path

import click

from hetdp.errors import DataError

__all__ = ["available_bytes", "gigabytes", "reading_bytes", "require_memory"]

#: Memory of a pair while a file is read (docs of `Profiles.read`), with weights; batches and libraries come on top.
_PAIR_BYTES = 50
_FIXED_BYTES = 400 * 2**20
#: How much text a compressed byte stands for: pairs of ids repeat themselves.
_EXPANSION = 5
_COMPRESSED = (".gz", ".bz2", ".zst")
_SAMPLE = 2**16


def available_bytes() -> int | None:
    """Return how much memory may be had without swapping, or None where the system does not tell.

    Privacy
    -------
    Reads nothing private.

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


def reading_bytes(path: Path) -> int:
    """Return roughly how much memory reading a file of pairs takes, from its size and its first lines.

    Privacy
    -------
    The number follows from the size of the file and the length of its first lines; for whoever holds the file.
    """
    return _FIXED_BYTES + _PAIR_BYTES * _pairs(path)


def _pairs(path: Path) -> int:
    """Return about how many rows a file has; 0 if it cannot be read, which whoever reads it will explain."""
    try:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            return int(parquet.read_metadata(path).num_rows)
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_SAMPLE)
    except (OSError, ValueError):
        return 0
    if path.suffix.lower() in _COMPRESSED:
        head = _decompressed(path)
        size *= _EXPANSION
    return size * head.count(b"\n") // max(1, len(head))


def _decompressed(path: Path) -> bytes:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            head: bytes = stream.read(_SAMPLE)
    except (OSError, ValueError):
        return b""
    return head


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
    text = f"{what} must fit in the memory available ({gigabytes(available)}). Got about {gigabytes(needed)} instead."
    if check:
        raise DataError(
            f"{text} {way_through} --no-memory-check goes on all the same. See docs/neighbors.md, Large data."
        )
    click.echo(f"Going on as told: {text}", err=True)


def gigabytes(size: int) -> str:
    """Return a size in words.

    Privacy
    -------
    None needed.

    Examples
    --------
    >>> gigabytes(3 * 2**29), gigabytes(5 * 2**20)
    ('1.5 GiB', '5 MiB')
    """
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{max(1, round(size / 2**20))} MiB"
