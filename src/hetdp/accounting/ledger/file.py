"""Storage of a ledger in one SQLite file, without any policy: what may be spent is decided in `ledger.py`.

A charge is one transaction in WAL mode with synchronous=FULL: on disk before it returns, and its cost does
not depend on earlier charges.
"""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from hetdp.accounting.ledger.format import (
    NO_CHARGES,
    SCHEMA,
    SQLITE_ERRORS,
    checked_history,
    checked_state,
    connect,
    explained,
    read_only,
    write_history,
    write_state,
)
from hetdp.accounting.ledger.inspection import beside, inspected
from hetdp.accounting.ledger.state import Change, Entry, State
from hetdp.core.errors import LedgerError

__all__ = ["LedgerFile", "identity"]


class LedgerFile:
    """The file of a durable ledger, open for reading and charging; its `Ledger` holds the lock for threads.

    Parameters
    ----------
    path
        An existing ledger file. Anything else is refused and left untouched.

    Privacy
    -------
    The file is readable by its owner only. Putting back an old copy of it forgets the losses since.

    Examples
    --------
    >>> import dataclasses, numpy as np, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ledger.db")
    ...     LedgerFile.create(path, State.fresh("epsilon", None, np.array([1.0])))
    ...     file = LedgerFile(path)
    ...     file.update(lambda state: (dataclasses.replace(state, weights_spent=0.5), []))
    ...     file.read().weights_spent, file.history()
    ...     file.close()
    (0.5, ())
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._identity = identity(path)
        # SQLite would open a read-only file and fail at the first charge; the log needs its folder writable.
        if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            raise read_only(path)
        self._cached = inspected(path)
        with self._transaction():
            pass  # The write lock can be had.

    @staticmethod
    def create(path: Path, state: State) -> None:
        """Make a new file that holds `state`, or leave alone the one that another process has made meanwhile.

        Privacy
        -------
        The file appears under its name complete and on disk, or not at all.
        """
        for leftover in (beside(path, "-wal"), beside(path, "-journal")):
            # SQLite would replay it into the new file. If there is a file now, another process made both.
            if leftover.exists() and identity(path) is None:
                raise LedgerError(
                    f"The ledger file {path} is gone but its log {leftover.name} is still there. "
                    "Restore the file, or delete the log if its losses may be forgotten."
                )
        try:
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".hetdp-", suffix=".new")
            os.close(descriptor)
            try:
                with closing(connect(Path(temporary), "rw")) as connection:
                    connection.executescript(SCHEMA)
                    write_state(connection, NO_CHARGES, state)
                    # Last, so that the log of the unnamed file stays empty.
                    connection.execute("PRAGMA journal_mode = WAL")
                _sync(Path(temporary))
                with suppress(FileExistsError):
                    os.link(temporary, path)
            finally:
                Path(temporary).unlink()
            _sync(path.parent)
        except sqlite3.Error as error:
            raise explained(path, error) from error
        except OSError as error:
            raise LedgerError(f"The ledger file {path} cannot be created: {error.strerror}.") from error

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        connection, self._connection = getattr(self, "_connection", None), None
        if connection is not None:
            connection.close()

    def abandon(self) -> None:
        """Forget a connection inherited by a fork, without closing it.

        Privacy
        -------
        Closing it in the child could discard the log that the parent still writes to.
        """
        if self._connection is not None:
            import ctypes

            # One reference too many, so that not even the end of the interpreter closes it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None

    def read(self) -> State:
        """Return the present state, with what other processes have charged.

        Privacy
        -------
        Spends nothing.
        """
        with self._errors_explained():
            return self._load(self._connected())[1]

    def history(self) -> tuple[Entry, ...]:
        """Return every charge so far, oldest first."""
        with self._errors_explained():
            connection = self._connected()
            connection.execute("BEGIN")
            try:
                return checked_history(self.path, connection, self._load(connection)[0])
            finally:
                connection.execute("ROLLBACK")

    def update(self, change: Change) -> None:
        """Replace the state by `change(state)` and append to the history, in one transaction.

        Privacy
        -------
        Returns after the commit. An exception before it spends nothing; a death of the process during it
        spends all or nothing, and the caller has released nothing yet.
        """
        with self._transaction() as connection:
            with self._errors_explained():
                chain, state = self._load(connection)
            # Not explained: what the caller's charges raise is the caller's.
            state, entries = change(state)
            if self._connection is not connection:
                raise LedgerError(f"The ledger file {self.path} was closed or forked during a charge.")
            with self._errors_explained():
                chain = write_history(connection, chain, entries)
                checksum = write_state(connection, chain, state)
        self._cached = (checksum, state)

    def _connected(self) -> sqlite3.Connection:
        if self._identity is None or identity(self.path) != self._identity:
            raise LedgerError(f"The ledger file {self.path} was moved, deleted or replaced while in use.")
        if self._connection is None:
            self._connection = connect(self.path, "rw")
        return self._connection

    def _load(self, connection: sqlite3.Connection) -> tuple[bytes, State]:
        row = connection.execute("SELECT checksum, chain FROM state").fetchone()
        if row is None or row[0] != self._cached[0]:
            checksum, chain, state = checked_state(self.path, connection)
            self._cached = (checksum, state)
            return chain, state
        return row[1], self._cached[1]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors_explained():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            with self._errors_explained():
                connection.execute("COMMIT")
        except BaseException:
            if self._connection is connection and connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except SQLITE_ERRORS as error:
            raise explained(self.path, error) from error


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another under the same name; None if there is none.

    Privacy
    -------
    A ledger that was swapped for another must not be charged in its place.

    Examples
    --------
    >>> identity(Path("no such file")) is None
    True
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LedgerError(f"The ledger file {path} cannot be reached: {error}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(f"The ledger file {path} is not a regular file.")
    return status.st_dev, status.st_ino


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
