"""The content of a ledger file: its tables, rows and checksums, and what it means when they cannot be read.

One row holds the present state: the per-item vectors as little-endian blobs under one SHA-256 checksum. A
table holds the history of charges, chained by hashes into that checksum.
"""

import hashlib
import json
import sqlite3
from dataclasses import astuple
from pathlib import Path

import numpy as np

from hetdp.accounting.ledger.state import Entry, State
from hetdp.core.errors import LedgerError

__all__ = [
    "APPLICATION_ID",
    "NO_CHARGES",
    "SCHEMA",
    "SQLITE_ERRORS",
    "VERSION",
    "checked_history",
    "checked_state",
    "connect",
    "damaged",
    "explained",
    "read_only",
    "write_history",
    "write_state",
]

APPLICATION_ID = 0x68644450
VERSION = 1
_BUSY_TIMEOUT_S = 30.0
#: Where the chain of charges begins.
NO_CHARGES = bytes(32)
#: SQLite reports a damaged schema in words that hold the damaged bytes, which need not be text.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
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


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open the file in SQLite's "rw" or "ro" mode; the caller begins and ends transactions.

    Privacy
    -------
    What is committed in "rw" mode is on disk before the commit returns.
    """
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


def write_state(connection: sqlite3.Connection, chain: bytes, state: State) -> bytes:
    """Replace the state and return its checksum.

    Privacy
    -------
    The labels and the losses of all items: the file is for the owner's eyes.
    """
    head = (chain, state.unit, json.dumps(state.items), state.charges, state.weights_spent)
    vectors = (state.limits.astype("<f8"), state.epsilon.astype("<f8"), state.rho.astype("<f8"), state.active)
    blobs = [vector.tobytes() for vector in vectors]
    checksum = _checksum(*head, *blobs)
    connection.execute(_WRITE_STATE, (checksum, *head, *blobs))
    return checksum


def write_history(connection: sqlite3.Connection, chain: bytes, entries: list[Entry]) -> bytes:
    """Append charges to the history and return the new end of the chain."""
    for entry in entries:
        chain = _link(chain, entry)
    connection.executemany(_WRITE_HISTORY, map(astuple, entries))
    return chain


def checked_state(path: Path, connection: sqlite3.Connection) -> tuple[bytes, bytes, State]:
    """Return the checksum, the end of the chain of charges, and the state.

    Privacy
    -------
    A state that is not as it was written is refused, for it may have forgotten losses.

    Examples
    --------
    >>> from contextlib import closing
    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     _ = connection.executescript(SCHEMA)
    ...     _ = write_state(connection, NO_CHARGES, State.fresh("rho", None, np.array([0.5])))
    ...     checked_state(Path("ledger.db"), connection)[2].limits
    array([0.5])
    """
    rows = connection.execute(_READ_STATE).fetchall()
    try:
        ((_, checksum, chain, unit, items, charges, weights_spent, *blobs),) = rows
        if checksum != _checksum(chain, unit, items, charges, weights_spent, *blobs):
            raise damaged(path, "its checksum does not match")
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
        raise damaged(path, "its state is unreadable") from error
    return checksum, chain, state


def checked_history(path: Path, connection: sqlite3.Connection, chain: bytes) -> tuple[Entry, ...]:
    """Return every charge, oldest first, if they are the ones chained into `chain`.

    Privacy
    -------
    A charge that was changed, removed or added breaks the chain.
    """
    entries = tuple(Entry(*row) for row in connection.execute(_READ_HISTORY))
    found = NO_CHARGES
    try:
        for entry in entries:
            found = _link(found, entry)
    except TypeError as error:
        raise damaged(path, "its history is unreadable") from error
    if found != chain:
        raise damaged(path, "its history does not match")
    return entries


def explained(path: Path, error: Exception) -> LedgerError:
    """Return what an error of SQLite means for the ledger and what can be done about it.

    Privacy
    -------
    Says whether the charge was recorded wherever that is known.

    Examples
    --------
    >>> str(explained(Path("ledger.db"), sqlite3.DatabaseError("malformed")))
    'The ledger file ledger.db is damaged: malformed. It was left untouched. ...'
    """
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    match primary:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            problem = f"is locked by another process for more than {_BUSY_TIMEOUT_S:g} s. Nothing was charged."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return read_only(path)
        case sqlite3.SQLITE_NOTADB:
            problem = "is not a ledger: it is not an SQLite file. It was left untouched."
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            problem = f"cannot be written: {error}. The charge may or may not have been recorded."
        case _:
            return damaged(path, str(error))
    return LedgerError(f"The ledger file {path} {problem}")


def read_only(path: Path) -> LedgerError:
    """Return the error about a file, or a folder, without permission to write.

    Privacy
    -------
    A ledger that cannot be charged must not be opened.
    """
    return LedgerError(
        f"The ledger file {path} cannot be opened for writing. Nothing was charged. "
        "Make the file and its folder readable and writable."
    )


def damaged(path: Path, what: str) -> LedgerError:
    """Return the error about a file that is not as it was written.

    Privacy
    -------
    A damaged ledger is never mended by guessing: that could forget losses.
    """
    return LedgerError(
        f"The ledger file {path} is damaged: {what}. It was left untouched. "
        "Restore a copy and count what was released since, or start a new ledger."
    )


def _checksum(chain: bytes, *columns: bytes | str | float) -> bytes:
    blobs = [column for column in columns if isinstance(column, bytes)]
    others = [column for column in columns if not isinstance(column, bytes)]
    digest = hashlib.sha256(json.dumps([VERSION, chain.hex(), others, list(map(len, blobs))]).encode())
    for blob in blobs:
        digest.update(blob)
    return digest.digest()


def _link(chain: bytes, entry: Entry) -> bytes:
    return hashlib.sha256(chain + json.dumps(astuple(entry)).encode()).digest()
