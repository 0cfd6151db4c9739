"""Files that are either whole or not there."""

import os
import tempfile
from pathlib import Path

__all__ = ["write_file"]


def write_file(path: Path, contents: str | bytes) -> None:
    """Write a file under a temporary name, then rename it.

    Privacy
    -------
    Readable by its owner only: results are as private as the data.
    """
    data = contents.encode() if isinstance(contents, str) else contents
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise
