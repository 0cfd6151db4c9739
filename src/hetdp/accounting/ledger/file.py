"""A ledger in one SQLite file, without any policy: what may be spent is decided in `ledger.py`.

One row holds the present state: the per-item vectors as little-endian blobs under one SHA-256 checksum. A table holds
the history of charges, chained by hashes into that checksum. A charge is one transaction in WAL mode: on disk before
it returns, and its cost does not depend on earlier charges. The file is readable by its owner only. Putting back an
old copy of it forgets the losses since; nothing can detect that.

A file is inspected, through SQLite's `immutable` mode, before anything that could write may touch it: what is not a
whole ledger is refused and left as it is, so that nothing that could be restored is lost. Reading the header with
`open` would be shorter, but closing that descriptor drops every POSIX lock that this process holds on the file, and
another process could then discard the log of a ledger that is in use here.
"""

import hashlib
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np

from hetdp.accounting.ledger.state import Change, Entry, State
from hetdp.core import sqlite
from hetdp.core.errors import InvalidInput, LedgerError

__all__ = ["LedgerFile", "is_there", "resolved"]

_VERSION = 2
#: Where the chain of charges begins.
_NO_CHARGES = bytes(32)
#: How often a file that other processes are changing is looked at again.
_INSPECTIONS = 10
#: Version 1 had no column for it: the description of a charge that drops items ended in these words.
_DROPPING_MARK = " (dropping)"


class LedgerFile:
    """The file of a durable ledger; its `Ledger` holds the lock for threads.

    What exists and is no ledger is refused and left untouched. What does not exist is made with the first update,
    complete, or never, and begins with the state `make`.
    """

    def __init__(self, path: Path, make: State | None = None) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._unmade = make
        if make is None:
            self._open()

    def _open(self) -> None:
        self._identity = _identity(self.path)
        # SQLite would open a read-only file and fail at the first charge; the log needs its folder writable.
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise _read_only(self.path)
        with self._errors_explained():
            self._cached = _inspected(self.path)
            _FORMAT.bring_forward(self._connected())
            with sqlite.transaction(self._connected(), durable=True):
                pass  # The write lock can be had.

    @staticmethod
    def create(path: Path, state: State, entries: list[Entry]) -> bool:
        """Make a new file, whole and on disk under its name or not at all.

        False if another process has made one meanwhile; that one is left alone.
        """
        for leftover in (_beside(path, "-wal"), _beside(path, "-journal")):
            # SQLite would replay it into the new file. If there is a file now, another process made both.
            if leftover.exists() and not is_there(path):
                raise LedgerError(
                    f"The ledger file {path} is gone but its log {leftover.name} is still there. "
                    "Restore the file, or delete the log if its losses may be forgotten."
                )
        made = False
        try:
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".hetdp-", suffix=".new")
            os.close(descriptor)
            try:
                with closing(sqlite.connect(Path(temporary))) as connection:
                    _FORMAT.create(connection)
                    _write_state(connection, _write_history(connection, _NO_CHARGES, entries), state)
                    # Last, so that the log of the unnamed file stays empty.
                    connection.execute("PRAGMA journal_mode = WAL")
                _sync(Path(temporary))
                with suppress(FileExistsError):
                    os.link(temporary, path)
                    made = True
            finally:
                Path(temporary).unlink()
            _sync(path.parent)
        except sqlite3.Error as error:
            raise _explained(path, error) from error
        except OSError as error:
            raise LedgerError(f"The ledger file {path} cannot be created: {error.strerror}.") from error
        return made

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        connection, self._connection = getattr(self, "_connection", None), None
        if connection is not None:
            connection.close()

    def abandon(self) -> None:
        """Forget a connection inherited by a fork, without closing it.

        Closing it in the child could discard the log that the parent still writes to.
        """
        if self._connection is not None:
            import ctypes

            # One reference too many, so that not even the end of the interpreter closes it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None

    def read(self) -> State:
        """Return the present state, with what other processes have charged."""
        unmade = self._still_unmade()
        if unmade is not None:
            return unmade
        with self._errors_explained():
            return self._load(self._connected())[1]

    def history(self) -> tuple[Entry, ...]:
        """Return every charge so far, oldest first."""
        if self._still_unmade() is not None:
            return ()
        with self._errors_explained():
            connection = self._connected()
            connection.execute("BEGIN")
            try:
                return _read_history(connection, self._load(connection)[0])
            finally:
                connection.execute("ROLLBACK")

    def update(self, change: Change) -> None:
        """Replace the state by `change(state)` and append to the history, in one transaction.

        Returns after the commit. An exception before it spends nothing; a death of the process during it spends all or
        nothing, and the caller has released nothing yet.
        """
        unmade = self._still_unmade()
        if unmade is not None:
            self._make(unmade, change)
            return
        callers: BaseException | None = None
        try:
            with sqlite.transaction(self._connected(), durable=True) as connection:
                chain, state = self._load(connection)
                try:
                    state, entries = change(state)
                except BaseException as error:
                    callers = error
                    raise
                if self._connection is not connection:
                    raise LedgerError(f"The ledger file {self.path} was closed or forked during a charge.")
                chain = _write_history(connection, chain, entries)
                checksum = _write_state(connection, chain, state)
        except _ERRORS as error:
            if error is callers:
                raise  # what the caller's charges raise is not the ledger's
            raise _explained(self.path, error) from error
        self._cached = (checksum, state)

    def _make(self, fresh: State, change: Change) -> None:
        state, entries = change(fresh)
        if not self.create(self.path, state, entries):
            raise self._made_elsewhere()
        self._unmade = None
        self._open()

    def _still_unmade(self) -> State | None:
        """Return the state to begin with, as long as nobody has made the file: what others have charged counts."""
        if self._unmade is not None and is_there(self.path):
            raise self._made_elsewhere()
        return self._unmade

    def _made_elsewhere(self) -> LedgerError:
        return LedgerError(
            f"The ledger file {self.path} was made by another process meanwhile. Nothing was charged. "
            "Try again, or open it with Ledger.open(path)."
        )

    def _connected(self) -> sqlite3.Connection:
        if self._identity is None or _identity(self.path) != self._identity:
            raise LedgerError(f"The ledger file {self.path} was moved, deleted or replaced while in use.")
        if self._connection is None:
            self._connection = sqlite.connect(self.path)
        return self._connection

    def _load(self, connection: sqlite3.Connection) -> tuple[bytes, State]:
        row = connection.execute("SELECT checksum, chain FROM state").fetchone()
        if row is None or row[0] != self._cached[0]:
            checksum, chain, state = _read_state(connection)
            self._cached = (checksum, state)
            return chain, state
        return row[1], self._cached[1]

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except _ERRORS as error:
            raise _explained(self.path, error) from error


# --- Contents ---------------------------------------------------------------------------------------------


class _Damaged(Exception):
    """Contents that are not as they were written. A ledger is never mended by guessing: that could forget losses."""


def _write_state(connection: sqlite3.Connection, chain: bytes, state: State, version: int = _VERSION) -> bytes:
    """Replace the state and return its checksum."""
    head = (chain, state.unit, json.dumps(state.items), state.charges, state.weights_spent, int(state.dropping))
    vectors = (state.limits.astype("<f8"), state.epsilon.astype("<f8"), state.rho.astype("<f8"), state.active)
    blobs = [vector.tobytes() for vector in vectors]
    checksum = _checksum(version, *head, *blobs)
    connection.execute(
        "INSERT OR REPLACE INTO state (id, checksum, chain, unit, items, charges, weights_spent, dropping, "
        "limits, epsilon, rho, active) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (checksum, *head, *blobs),
    )
    return checksum


def _write_history(connection: sqlite3.Connection, chain: bytes, entries: list[Entry]) -> bytes:
    """Append charges to the history and return the new end of the chain."""
    connection.executemany(
        "INSERT INTO history (time, description, unit, amount, weights_loss, dropping) VALUES (?, ?, ?, ?, ?, ?)",
        map(astuple, entries),
    )
    for entry in entries:
        chain = _link(chain, *astuple(entry))
    return chain


def _read_state(connection: sqlite3.Connection, version: int = _VERSION) -> tuple[bytes, bytes, State]:
    """Return the checksum, the end of the chain of charges, and the state as today's version sees it.

    A state that is not as it was written is refused, for it may have forgotten losses.
    """
    dropping = () if version == 1 else ("dropping",)
    columns = ("chain", "unit", "items", "charges", "weights_spent", *dropping, "limits", "epsilon", "rho", "active")
    rows = connection.execute(f"SELECT checksum, {', '.join(columns)} FROM state").fetchall()  # noqa: S608  (constants)
    try:
        ((checksum, *cells),) = rows
        if checksum != _checksum(version, *cells):
            raise _Damaged("its checksum does not match")
        stored = dict(zip(columns, cells, strict=True))
        labels = json.loads(stored["items"])
        limits, epsilon, rho = (
            np.frombuffer(stored[name], "<f8").astype(np.float64, copy=False) for name in ("limits", "epsilon", "rho")
        )
        state = State(
            unit=stored["unit"],
            items=None if labels is None else tuple(labels),
            limits=limits,
            epsilon=epsilon,
            rho=rho,
            active=np.frombuffer(stored["active"], np.bool_),
            weights_spent=stored["weights_spent"],
            charges=stored["charges"],
            dropping=bool(stored.get("dropping")),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise _Damaged("its state is unreadable") from error
    return checksum, stored["chain"], state


def _read_history(connection: sqlite3.Connection, chain: bytes, version: int = _VERSION) -> tuple[Entry, ...]:
    """Return every charge, oldest first, if they are the ones chained into `chain`.

    A charge that was changed, removed or added breaks the chain.
    """
    column = "" if version == 1 else ", dropping"
    rows = connection.execute(f"SELECT time, description, unit, amount, weights_loss{column} FROM history ORDER BY id")  # noqa: S608
    found, entries = _NO_CHARGES, []
    try:
        for time, description, unit, amount, weights_loss, *rest in rows:
            dropping = bool(rest[0]) if rest else description.endswith(_DROPPING_MARK)
            entry = Entry(time, description, unit, amount, weights_loss, dropping)
            entries.append(entry)
            found = _link(found, *astuple(entry)[: 5 + len(rest)])
    except (AttributeError, TypeError) as error:
        raise _Damaged("its history is unreadable") from error
    if found != chain:
        raise _Damaged("its history does not match")
    return tuple(entries)


def _checksum(version: int, chain: bytes, *columns: bytes | str | float) -> bytes:
    blobs = [column for column in columns if isinstance(column, bytes)]
    others = [column for column in columns if not isinstance(column, bytes)]
    digest = hashlib.sha256(json.dumps([version, chain.hex(), others, list(map(len, blobs))]).encode())
    for blob in blobs:
        digest.update(blob)
    return digest.digest()


def _link(chain: bytes, *entry: str | float | None) -> bytes:
    return hashlib.sha256(chain + json.dumps(entry).encode()).digest()


def _dropping_becomes_a_column(connection: sqlite3.Connection) -> None:
    """From version 1 to 2. Descriptions stay, and those with the old mark count as dropping: that is the safe side."""
    _, chain, state = _read_state(connection, version=1)
    entries = _read_history(connection, chain, version=1)
    for table in ("state", "history"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN dropping INTEGER NOT NULL DEFAULT 0")
    connection.execute("DELETE FROM history")
    chain = _write_history(connection, _NO_CHARGES, list(entries))
    dropping = any(entry.dropping for entry in entries)
    _write_state(connection, chain, replace(state, dropping=dropping), version=2)


_FORMAT = sqlite.Format(
    name="a ledger",
    version=_VERSION,
    schema="""
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            checksum BLOB NOT NULL, chain BLOB NOT NULL,
            unit TEXT NOT NULL, items TEXT NOT NULL, charges INTEGER NOT NULL, weights_spent REAL NOT NULL,
            limits BLOB NOT NULL, epsilon BLOB NOT NULL, rho BLOB NOT NULL, active BLOB NOT NULL,
            dropping INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE history (
            id INTEGER PRIMARY KEY,
            time TEXT NOT NULL, description TEXT NOT NULL, unit TEXT NOT NULL, amount REAL,
            weights_loss REAL NOT NULL, dropping INTEGER NOT NULL DEFAULT 0
        );
    """,
    steps={1: _dropping_becomes_a_column},
    application_id=0x68644450,
)


# --- Inspection -------------------------------------------------------------------------------------------


def _inspected(path: Path) -> tuple[bytes, State]:
    """Return the checksum and the state of a file, checked through connections that cannot write to it."""
    for _ in range(_INSPECTIONS):
        before = _fingerprint(path)
        try:
            return _inspected_once(path)
        except (LedgerError, *_ERRORS):
            # An immutable reader takes no locks, so it may trip over another process at work: look again.
            if _fingerprint(path) == before:
                raise
    raise LedgerError(f"The ledger file {path} is changed by other processes all the time.")


def _inspected_once(path: Path) -> tuple[bytes, State]:
    if path.stat().st_size == 0:
        raise LedgerError(f"The ledger file {path} is not a ledger: it is empty. It was left untouched.")
    has_log = _beside(path, "-wal").exists()
    with closing(sqlite.connect(path, "ro&immutable=1")) as connection:
        try:
            _FORMAT.version_of(connection)
        except sqlite3.DatabaseError as error:
            # A checkpoint cut short by a kill leaves a page count ahead of the file; the log will mend that.
            if not has_log or error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT:
                raise
        if not has_log:
            _refuse_short(path, connection)
            return _checked(connection)
    with closing(sqlite.connect(path, "ro")) as connection:
        return _checked(connection)


def _refuse_short(path: Path, connection: sqlite3.Connection) -> None:
    """SQLite itself overlooks a last page that is cut off and takes the rest of it for zeros."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size < pages * page_size:
        raise _Damaged("it is cut off")


def _checked(connection: sqlite3.Connection) -> tuple[bytes, State]:
    connection.execute("BEGIN")
    version = _FORMAT.version_of(connection)
    if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise _Damaged("its pages are inconsistent")
    checksum, chain, state = _read_state(connection, version)
    _read_history(connection, chain, version)
    return checksum, state


def _fingerprint(path: Path) -> list[tuple[int, int, int] | None]:
    def one(file: Path) -> tuple[int, int, int] | None:
        try:
            status = file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    return [one(path), one(_beside(path, "-wal"))]


# --- Names, places and errors -----------------------------------------------------------------------------


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a file, with links followed, so that a ledger stays with its file."""
    try:
        return Path(os.path.realpath(os.fsdecode(path)))
    except (TypeError, ValueError):
        raise InvalidInput(f"path must be the name of a file. Got {type(path).__name__} instead.") from None


def is_there(path: Path) -> bool:
    """Return whether there is a file under this name; anything else than a file is an error."""
    return _identity(path) is not None


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another under the same name: one that was swapped must not be charged instead."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LedgerError(f"The ledger file {path} cannot be reached: {error}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(f"The ledger file {path} is not a regular file.")
    return status.st_dev, status.st_ino


def _beside(path: Path, suffix: str) -> Path:
    """Return the name that SQLite gives to the log of a file, which belongs to the ledger as much as the file."""
    return path.with_name(path.name + suffix)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


#: SQLite reports a damaged schema in words that hold the damaged bytes, which need not be text.
_ERRORS = (sqlite3.Error, UnicodeDecodeError, sqlite.WrongFormat, _Damaged)


def _explained(path: Path, error: Exception) -> LedgerError:
    """Return what an error means for the ledger, whether the charge was recorded, and what can be done about it."""
    if isinstance(error, sqlite.WrongFormat):
        return LedgerError(f"The ledger file {path} {error}. It was left untouched.")
    code = getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            problem = f"is locked by another process for more than {sqlite.BUSY_S:g} s. Nothing was charged."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return _read_only(path)
        case sqlite3.SQLITE_NOTADB:
            problem = "is not a ledger: it is not an SQLite file. It was left untouched."
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            problem = f"cannot be written: {error}. The charge may or may not have been recorded."
        case _:
            problem = (
                f"is damaged: {error}. It was left untouched. "
                "Restore a copy and count what was released since, or start a new ledger."
            )
    return LedgerError(f"The ledger file {path} {problem}")


def _read_only(path: Path) -> LedgerError:
    return LedgerError(
        f"The ledger file {path} cannot be opened for writing. Nothing was charged. "
        "Make the file and its folder readable and writable."
    )
