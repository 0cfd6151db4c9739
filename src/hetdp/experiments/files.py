"""Files that are either whole or not there."""

import os
import tempfile
from pathlib import Path

from hetdp.errors import DataError

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
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise DataError(f"{str(path)!r} could not be written ({error.strerror}).") from error
        raise
