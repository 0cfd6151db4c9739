"""Where the page of a running node is, and addresses of it that work once, for whoever may write into its folder.

The node writes where its page listens. Whoever wants an address makes up a token, leaves the SHA-256 of it in the
folder, and gets in with the token once, within ten minutes. Nothing secret is on the disk or in a log, and only who can
write into the folder, its owner, can do so.
"""

import base64
import hashlib
import hmac
import os
import time
from pathlib import Path

from hetdp.core.errors import DataError
from hetdp.core.files import write_whole
from hetdp.core.randomness import secure_stream
from hetdp.node.storage.folder import PAGE_FILES, is_running

_ADDRESS, _TOKEN = PAGE_FILES
#: An address that was not used for so long does not work any more.
_FRESH_S = 600.0


def new_secret() -> str:
    """Return 256 random bits as a text that may stand in an address."""
    return base64.urlsafe_b64encode(secure_stream().key()).decode().rstrip("=")


class PageDoor:
    """The door of one node's page.

    Privacy
    -------
    Files for their owner only, in a folder for its owner only. An address works once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open_at(self, address: str) -> None:
        """Write where the page listens."""
        (self._folder / _TOKEN).unlink(missing_ok=True)
        write_whole(self._folder / _ADDRESS, address)

    def close(self) -> None:
        """Forget where the page was, also after a node that was killed."""
        for name in (_ADDRESS, _TOKEN):
            (self._folder / name).unlink(missing_ok=True)

    def fresh_address(self) -> str:
        """Return an address of the page that works once; the one before it does not any more."""
        if not is_running(self._folder):
            raise DataError(
                f"a node must run in {str(self._folder)!r} to have a page. Got none that runs: `hetdp node run` starts "
                "it, and prints an address itself."
            )
        try:
            address = (self._folder / _ADDRESS).read_text()
        except FileNotFoundError:
            raise DataError(
                "the node must run with its page. Got one without instead: stop it and start it with "
                "`hetdp node run --page`."
            ) from None
        except OSError as error:
            raise DataError(f"the folder of the node must be yours to read. Got: {error.strerror}.") from None
        token = new_secret()
        try:
            write_whole(self._folder / _TOKEN, _digest(token))
        except OSError as error:
            raise DataError(f"the folder of the node must be yours to write. Got: {error.strerror}.") from None
        return f"{address}?token={token}"

    def admits(self, token: str) -> bool:
        """Return whether a token is the one that was asked for last: once, and not too long after."""
        path = self._folder / _TOKEN
        try:
            with path.open("rb") as file:
                left = os.fstat(file.fileno())
                expected = file.read(100)
            if left.st_uid != os.getuid() or not hmac.compare_digest(expected, _digest(token)):
                return False
            path.unlink()
        except OSError:  # there is none, or another request was quicker
            return False
        return abs(time.time() - left.st_mtime) <= _FRESH_S


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
