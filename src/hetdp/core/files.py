"""How results leave: as files that are either whole or not there, and as data frames."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600) -> Iterator[Path]:
    """Give a temporary name beside a file; rename it when all went well, else leave nothing behind."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        os.fchmod(handle, mode)
        os.close(handle)
        yield temporary
        settle(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def settle(path: Path) -> None:
    """Return when a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, contents: str | bytes, *, mode: int = 0o600) -> None:
    """Write a file under a temporary name, then rename it."""
    with whole_file(path, mode=mode) as temporary:
        temporary.write_bytes(contents.encode() if isinstance(contents, str) else contents)


def as_frame(columns: Mapping[str, object]) -> Any:  # noqa: ANN401  (pandas is optional)
    """Return a pandas data frame if pandas is installed, else an arrow table.

    Examples
    --------
    >>> as_frame({"user": ["ann"], "score": [1.0]}).shape
    (1, 2)
    """
    try:
        import pandas as pd
    except ImportError:
        import pyarrow as pa

        return pa.table(dict(columns))
    return pd.DataFrame(dict(columns))
