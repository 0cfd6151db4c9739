"""Neighbours that the owner does not want to see. Only the list at home changes: nobody is refused anything for it."""

from hetdp.core.errors import InvalidInput
from hetdp.node.storage.database import Database

__all__ = ["HiddenNeighbors"]

_KEY_BYTES = 32


class HiddenNeighbors:
    """Keys of hidden neighbours.

    Privacy
    -------
    Private, and read by what is shown at home alone: whoever is hidden is asked, answered and passed on like anybody.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def hide(self, key_hex: str) -> None:
        """Do not show somebody among neighbours, nor let them vote."""
        key = _key(key_hex)
        with self._database.transaction(durable=True):
            self._database.execute("INSERT OR IGNORE INTO hidden VALUES (?)", key)

    def unhide(self, key_hex: str) -> None:
        """Show somebody again."""
        key = _key(key_hex)
        with self._database.transaction(durable=True):
            self._database.execute("DELETE FROM hidden WHERE key = ?", key)

    def all(self) -> frozenset[bytes]:
        """Return who is hidden."""
        return frozenset(key for (key,) in self._database.rows("SELECT key FROM hidden"))


def _key(key_hex: str) -> bytes:
    try:
        key = bytes.fromhex(key_hex)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidInput(
            "must be 64 hexadecimal digits (see hetdp node export), or the name of one neighbour alone", parameter="key"
        )
    return key
