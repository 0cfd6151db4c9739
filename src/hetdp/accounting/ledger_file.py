"""Storage of a ledger in one SQLite file. It knows nothing of limits being reached: that is `ledger.py`.

One row holds the current state: the per-item vectors as little-endian blobs under one SHA-256 checksum. A table holds
the history of charges, chained by hashes to the same checksum. A charge is one transaction, on disk before it returns.

A file is inspected through SQLite's own `immutable` mode before anything else may touch it. Reading its bytes with
`open` would be shorter, but closing that descriptor drops every POSIX lock this process holds on the file, and another
process could then discard the log of a ledger in use here.
"""

import hashlib
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hetdp.errors import LedgerError

__all__ = ["Entry", "LedgerFile", "State"]

_APPLICATION_ID = 0x68644450  # "hdDP"
_VERSION = 1
_BUSY_TIMEOUT_S = 30.0
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    checksum BLOB NOT NULL, chain BLOB NOT NULL,
    unit TEXT NOT NULL, items TEXT NOT NULL, charges INTEGER NOT NULL, weights_spent REAL NOT NULL,
    limits BLOB NOT NULL, epsilon BLOB NOT NULL, rho BLOB NOT NULL, active BLOB NOT NULL
);
CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    time TEXT NOT NULL, description TEXT NOT NULL, unit TEXT NOT NULL, amount REAL, weights_loss REAL NOT NULL
);
"""
_READ_STATE = """SELECT checksum, chain, unit, items, charges, weights_spent, limits, epsilon, rho, active FROM state"""
_WRITE_STATE = "INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_READ_HISTORY = "SELECT time, description, unit, amount, weights_loss FROM history ORDER BY id"
_WRITE_HISTORY = (
    "INSERT INTO history (time, description, unit, amount, weights_loss) "
    "VALUES (:time, :description, :unit, :amount, :weights_loss)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge in the history of a ledger.

    Attributes
    ----------
    time
        When, in UTC, as ISO 8601.
    description, unit, amount, weights_loss
        As they were given to `Ledger.charge`.

    Privacy
    -------
    Holds nothing about any single item.

    Examples
    --------
    >>> Entry("2026-01-01T00:00:00+00:00", "mean", "epsilon", 0.5, 0.5).amount
    0.5
    """

    time: str
    description: str
    unit: str
    amount: float | None
    weights_loss: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class State:
    """Everything a ledger knows but its history; the vectors are never written to.

    Privacy
    -------
    The owner's eyes only, so it has no readable form.

    Examples
    --------
    >>> import numpy as np
    >>> State.fresh("epsilon", None, np.array([1.0, 1.0])).active
    array([ True,  True])
    """

    unit: str
    items: tuple[str | int, ...] | None
    limits: NDArray[np.float64]
    epsilon: NDArray[np.float64]
    rho: NDArray[np.float64]
    active: NDArray[np.bool_]
    weights_spent: float
    charges: int

    @classmethod
    def fresh(cls, unit: str, items: tuple[str | int, ...] | None, limits: NDArray[np.float64]) -> "State":
        """Return the state of a ledger that was never charged.

        Privacy
        -------
        Nothing is spent.

        Examples
        --------
        >>> import numpy as np
        >>> State.fresh("rho", ("diary",), np.array([1.0])).rho
        array([0.])
        """
        nothing = np.zeros(limits.size)
        return cls(unit, items, limits, nothing, nothing, np.ones(limits.size, dtype=np.bool_), 0.0, 0)


class LedgerFile:
    """The file of a durable ledger, open for reading and charging.

    Parameters
    ----------
    path
        An existing ledger file. Anything else is refused and left untouched.

    Privacy
    -------
    Created readable by its owner only. Whoever puts back an old copy of the file forgets the losses since.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ledger.db")
    ...     LedgerFile.create(path, State.fresh("epsilon", None, np.array([1.0])))
    ...     file = LedgerFile(path)
    ...     file.read().limits
    ...     file.close()
    array([1.])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._cached: tuple[bytes, State] = (b"", _inspect(path))
        self._identity = _identity(path)
        with self._transaction():
            pass  # Takes the write lock and lets it go: a read-only file or folder shows now, not at a charge.

    @staticmethod
    def create(path: Path, state: State) -> None:
        """Make a new file that holds `state`, or leave the one that another process has made meanwhile.

        Privacy
        -------
        The file appears under its name complete and on disk, or not at all.

        Examples
        --------
        See the class.
        """
        _refuse_leftovers(path)
        try:
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".hetdp-", suffix=".new")
            os.close(descriptor)
            try:
                with closing(_connect(Path(temporary), "mode=rw")) as connection:
                    connection.executescript(_SCHEMA)
                    _write(connection, state, bytes(32))
                    connection.execute("PRAGMA journal_mode = WAL")
                _sync(temporary)
                with suppress(FileExistsError):
                    os.link(temporary, path)
            finally:
                os.unlink(temporary)
            _sync(path.parent)
        except sqlite3.Error as error:
            raise _explained(path, error) from error
        except OSError as error:
            raise LedgerError(f"The ledger file {path} cannot be created: {error.strerror}.") from error

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is harmless.

        Privacy
        -------
        Spends nothing; every charge is on disk already.

        Examples
        --------
        See the class.
        """
        connection, self._connection = getattr(self, "_connection", None), None
        if connection is not None:
            connection.close()

    def abandon(self) -> None:
        """Forget the connection without closing it, in a child process that has inherited it by a fork.

        Privacy
        -------
        Closing it here could discard the log that the parent still writes to.
        """
        if self._connection is not None:
            import ctypes  # noqa: PLC0415  (a forked child with an open ledger is the only one who needs it)

            # One reference too many, so that not even the end of the interpreter closes it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None

    def read(self) -> State:
        """Return the present state, with what other processes have charged.

        Privacy
        -------
        Spends nothing.

        Examples
        --------
        See the class.
        """
        with self._errors_explained():
            return self._load(self._connected())[1]

    def history(self) -> tuple[Entry, ...]:
        """Return every charge so far, oldest first.

        Privacy
        -------
        Holds nothing about any single item.

        Examples
        --------
        See `Ledger.history`.
        """
        with self._errors_explained():
            connection = self._connected()
            connection.execute("BEGIN")
            try:
                return tuple(_checked_history(connection))
            finally:
                connection.execute("ROLLBACK")

    def update(self, change: Callable[[State], tuple[State, list[Entry]]]) -> None:
        """Replace the state by `change(state)` and append to the history, in one transaction.

        Privacy
        -------
        Returns after the commit. If anything fails before, nothing is spent; if the process dies during the
        commit, either nothing or all of it is.

        Examples
        --------
        See `Ledger.charge`.
        """
        with self._transaction() as connection:
            chain, state = self._load(connection)
            state, entries = change(state)
            if self._connection is not connection:
                raise LedgerError(f"The ledger file {self.path} cannot be charged from a process forked meanwhile.")
            for entry in entries:
                chain = _link(chain, entry)
            connection.executemany(_WRITE_HISTORY, map(_columns, entries))
            checksum = _write(connection, state, chain)
        self._cached = (checksum, state)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors_explained():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if self._connection is connection and connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explained(self.path, error) from error

    def _connected(self) -> sqlite3.Connection:
        if _identity(self.path) != self._identity:
            raise LedgerError(f"The ledger file {self.path} was moved, deleted or replaced while in use.")
        if self._connection is None:
            self._connection = _connect(self.path, "mode=rw")
        return self._connection

    def _load(self, connection: sqlite3.Connection) -> tuple[bytes, State]:
        checksum, chain = connection.execute("SELECT checksum, chain FROM state").fetchone()
        if checksum != self._cached[0]:
            checksum, chain, state = _checked_state(self.path, connection)
            self._cached = (checksum, state)
        return chain, self._cached[1]
