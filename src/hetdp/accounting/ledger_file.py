"""Storage of a ledger in one SQLite file, without any policy: what may be spent is decided in `ledger.py`.

One row holds the present state: the per-item vectors as little-endian blobs under one SHA-256 checksum. A
table holds the history of charges, chained by hashes into that checksum. A charge is one transaction in WAL
mode with synchronous=FULL: on disk before it returns, and its cost does not depend on earlier charges.

A file is inspected through SQLite's `immutable` mode before anything that could write may touch it. Reading
the header with `open` would be shorter, but closing that descriptor drops every POSIX lock that this process
holds on the file, and another process could then discard the log of a ledger that is in use here.
"""

import hashlib
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from hetdp.accounting.composition import State
from hetdp.errors import LedgerError

__all__ = ["Entry", "LedgerFile", "identity"]

_APPLICATION_ID = 0x68644450
_VERSION = 1
_BUSY_TIMEOUT_S = 30.0
_INSPECTIONS = 10
#: SQLite reports a damaged schema in words that hold the damaged bytes, which need not be text.
_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
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
_READ_STATE = "SELECT * FROM state"
_WRITE_STATE = "INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_READ_HISTORY = "SELECT time, description, unit, amount, weights_loss FROM history ORDER BY id"
_WRITE_HISTORY = "INSERT INTO history VALUES (NULL, ?, ?, ?, ?, ?)"


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
            raise _read_only(path)
        self._cached = _inspected(path)
        with self._transaction():
            pass  # The write lock can be had.

    @staticmethod
    def create(path: Path, state: State) -> None:
        """Make a new file that holds `state`, or leave alone the one that another process has made meanwhile.

        Privacy
        -------
        The file appears under its name complete and on disk, or not at all.
        """
        for leftover in (_beside(path, "-wal"), _beside(path, "-journal")):
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
                with closing(_connect(Path(temporary), "rw")) as connection:
                    connection.executescript(_SCHEMA)
                    _write_state(connection, bytes(32), state)
                    # Last, so that the log of the unnamed file stays empty.
                    connection.execute("PRAGMA journal_mode = WAL")
                _sync(Path(temporary))
                with suppress(FileExistsError):
                    os.link(temporary, path)
            finally:
                Path(temporary).unlink()
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
        Every charge is on disk already.
        """
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
            import ctypes  # noqa: PLC0415  (only a forked child with an open ledger needs it)

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
        """Return every charge so far, oldest first.

        Privacy
        -------
        Holds nothing about any single item.
        """
        with self._errors_explained():
            connection = self._connected()
            connection.execute("BEGIN")
            try:
                return _checked_history(self.path, connection, self._load(connection)[0])
            finally:
                connection.execute("ROLLBACK")

    def update(self, change: Callable[[State], tuple[State, list[Entry]]]) -> None:
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
            for entry in entries:
                chain = _link(chain, entry)
            with self._errors_explained():
                connection.executemany(_WRITE_HISTORY, map(astuple, entries))
                checksum = _write_state(connection, chain, state)
        self._cached = (checksum, state)

    def _connected(self) -> sqlite3.Connection:
        if self._identity is None or identity(self.path) != self._identity:
            raise LedgerError(f"The ledger file {self.path} was moved, deleted or replaced while in use.")
        if self._connection is None:
            self._connection = _connect(self.path, "rw")
        return self._connection

    def _load(self, connection: sqlite3.Connection) -> tuple[bytes, State]:
        row = connection.execute("SELECT checksum, chain FROM state").fetchone()
        if row is None or row[0] != self._cached[0]:
            checksum, chain, state = _checked_state(self.path, connection)
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
        except _SQLITE_ERRORS as error:
            raise _explained(self.path, error) from error


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


def _inspected(path: Path) -> tuple[bytes, State]:
    """Return the checked content of a file, through connections that cannot write to it."""
    for _ in range(_INSPECTIONS):
        before = _fingerprint(path)
        try:
            return _inspected_once(path)
        except (LedgerError, *_SQLITE_ERRORS) as error:
            # An immutable reader takes no locks, so it may trip over another process at work: look again.
            if _fingerprint(path) == before:
                raise (error if isinstance(error, LedgerError) else _explained(path, error)) from error
    raise LedgerError(f"The ledger file {path} is changed by other processes all the time.")


def _inspected_once(path: Path) -> tuple[bytes, State]:
    has_log = _beside(path, "-wal").exists()
    with closing(_connect(path, "ro&immutable=1")) as connection:
        try:
            _refuse_foreign(path, connection)
        except sqlite3.DatabaseError as error:
            # A checkpoint cut short by a kill leaves a page count ahead of the file; the log will mend that.
            if not has_log or error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT:
                raise
        if not has_log:
            _refuse_short(path, connection)
            return _checked(path, connection)
    with closing(_connect(path, "ro")) as connection:
        _refuse_foreign(path, connection)
        return _checked(path, connection)


def _refuse_foreign(path: Path, connection: sqlite3.Connection) -> None:
    if path.stat().st_size == 0:
        raise LedgerError(f"The ledger file {path} is not a ledger: it is empty. It was left untouched.")
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id != _APPLICATION_ID:
        raise LedgerError(
            f"The ledger file {path} is not a ledger: it is a database of another application. It was left untouched."
        )
    if version != _VERSION:
        raise LedgerError(
            f"The ledger file {path} has format version {version}, but this hetdp reads {_VERSION} only. "
            "It was left untouched. Use the version of hetdp that wrote it."
        )


def _refuse_short(path: Path, connection: sqlite3.Connection) -> None:
    """SQLite itself overlooks a last page that is cut off and takes the rest of it for zeros."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size < pages * page_size:
        raise _damaged(path, "it is cut off")


def _checked(path: Path, connection: sqlite3.Connection) -> tuple[bytes, State]:
    connection.execute("BEGIN")
    if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise _damaged(path, "its pages are inconsistent")
    checksum, chain, state = _checked_state(path, connection)
    _checked_history(path, connection, chain)
    return checksum, state


def _checked_state(path: Path, connection: sqlite3.Connection) -> tuple[bytes, bytes, State]:
    rows = connection.execute(_READ_STATE).fetchall()
    try:
        ((_, checksum, chain, unit, items, charges, weights_spent, *blobs),) = rows
        if checksum != _checksum(chain, unit, items, charges, weights_spent, *blobs):
            raise _damaged(path, "its checksum does not match")
        labels = json.loads(items)
        limits, epsilon, rho = (np.frombuffer(blob, "<f8").astype(np.float64, copy=False) for blob in blobs[:3])
        state = State(
            unit=unit,
            items=None if labels is None else tuple(labels),
            limits=limits,
            epsilon=epsilon,
            rho=rho,
            active=np.frombuffer(blobs[3], np.bool_),
            weights_spent=weights_spent,
            charges=charges,
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise _damaged(path, "its state is unreadable") from error
    return checksum, chain, state


def _checked_history(path: Path, connection: sqlite3.Connection, chain: bytes) -> tuple[Entry, ...]:
    entries = tuple(Entry(*row) for row in connection.execute(_READ_HISTORY))
    found = bytes(32)
    try:
        for entry in entries:
            found = _link(found, entry)
    except TypeError as error:
        raise _damaged(path, "its history is unreadable") from error
    if found != chain:
        raise _damaged(path, "its history does not match")
    return entries


def _write_state(connection: sqlite3.Connection, chain: bytes, state: State) -> bytes:
    head = (chain, state.unit, json.dumps(state.items), state.charges, state.weights_spent)
    vectors = (state.limits.astype("<f8"), state.epsilon.astype("<f8"), state.rho.astype("<f8"), state.active)
    blobs = [vector.tobytes() for vector in vectors]
    checksum = _checksum(*head, *blobs)
    connection.execute(_WRITE_STATE, (checksum, *head, *blobs))
    return checksum


def _checksum(chain: bytes, *columns: bytes | str | float) -> bytes:
    blobs = [column for column in columns if isinstance(column, bytes)]
    others = [column for column in columns if not isinstance(column, bytes)]
    digest = hashlib.sha256(json.dumps([_VERSION, chain.hex(), others, list(map(len, blobs))]).encode())
    for blob in blobs:
        digest.update(blob)
    return digest.digest()


def _link(chain: bytes, entry: Entry) -> bytes:
    return hashlib.sha256(chain + json.dumps(astuple(entry)).encode()).digest()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    if mode == "rw":
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def _explained(path: Path, error: Exception) -> LedgerError:
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    match primary:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            problem = f"is locked by another process for more than {_BUSY_TIMEOUT_S:g} s. Nothing was charged."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return _read_only(path)
        case sqlite3.SQLITE_NOTADB:
            problem = "is not a ledger: it is not an SQLite file. It was left untouched."
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            problem = f"cannot be written: {error}. The charge may or may not have been recorded."
        case _:
            return _damaged(path, str(error))
    return LedgerError(f"The ledger file {path} {problem}")


def _read_only(path: Path) -> LedgerError:
    return LedgerError(
        f"The ledger file {path} cannot be opened for writing. Nothing was charged. "
        "Make the file and its folder readable and writable."
    )


def _damaged(path: Path, what: str) -> LedgerError:
    return LedgerError(
        f"The ledger file {path} is damaged: {what}. It was left untouched. "
        "Restore a copy and count what was released since, or start a new ledger."
    )


def _fingerprint(path: Path) -> list[tuple[int, int, int] | None]:
    def one(file: Path) -> tuple[int, int, int] | None:
        try:
            status = file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    return [one(path), one(_beside(path, "-wal"))]


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
