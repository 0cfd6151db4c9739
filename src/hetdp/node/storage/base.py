"""Access to the store: one SQLite connection per thread, and transactions that are on disk when they end."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from hetdp.core.errors import InvalidInput
from hetdp.node.storage.schema import connect

__all__ = ["StoreBase"]


class StoreBase:
    """Connections and transactions; what is stored is up to the classes built on it.

    Parameters
    ----------
    path
        The file, made by `store_schema.create`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._connection()  # refuses a foreign file right away

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """Write all or nothing.

        Parameters
        ----------
        durable
            True for what must survive a power failure the moment this returns. A killed process loses nothing
            either way.
        """
        connection = self._connection()
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _rows(self, sql: str, *arguments: object) -> list[Any]:
        return self._connection().execute(sql, arguments).fetchall()

    def _one(self, sql: str, *arguments: object) -> Any:  # noqa: ANN401  (a cell of SQLite)
        row = self._connection().execute(sql, arguments).fetchone()
        return None if row is None else row[0]

    def _fact(self, name: str) -> Any:  # noqa: ANN401  (a cell of SQLite)
        return self._one("SELECT value FROM facts WHERE name = ?", name)

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.path)
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection


def set_fact(connection: sqlite3.Connection, name: str, value: object) -> None:
    """Write one named value."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def checked_place(connection: sqlite3.Connection, place: object) -> int:
    """Return a place if the catalogue has it."""
    if isinstance(place, int) and not isinstance(place, bool):
        found = connection.execute("SELECT place FROM catalogue WHERE place = ?", (place,)).fetchone()
        if found is not None:
            return place
    raise InvalidInput("place must be a position in the catalogue. Got another instead.")
