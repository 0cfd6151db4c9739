"""The tables of a node's store, and connections to it: SQLite in WAL mode, a file that only its owner can read."""

import os
import sqlite3
from pathlib import Path

from hetdp.core.errors import DataError

__all__ = ["connect", "create", "unusable"]

_VERSION = 2
_BUSY_S = 30.0

_SCHEMA = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- Public.
CREATE TABLE catalogue (place INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
                        link TEXT NOT NULL, category TEXT NOT NULL);
-- Private: dials, losses and limits in hundredths, as arrays as long as the catalogue (hetdp.node.storage.ledger).
CREATE TABLE arrays (name TEXT PRIMARY KEY, value BLOB NOT NULL);
-- Private: limits as their owner has typed them, how to take an edit back, what was dismissed.
CREATE TABLE limits (place INTEGER PRIMARY KEY REFERENCES catalogue, epsilon REAL NOT NULL CHECK (epsilon >= 0));
CREATE TABLE edits (step INTEGER NOT NULL, place INTEGER NOT NULL, dial INTEGER NOT NULL,
                    PRIMARY KEY (step, place)) WITHOUT ROWID;
CREATE TABLE dismissed (place INTEGER PRIMARY KEY REFERENCES catalogue);
-- Own sketches, one per epoch and never another: public once published. The dials that counted in it are private: each
-- is a loss of epsilon * dial / 100, made before the sketch it pays for left the node.
CREATE TABLE publications (epoch INTEGER PRIMARY KEY, published_s REAL NOT NULL, ones INTEGER NOT NULL,
                           sketch BLOB NOT NULL, dials BLOB NOT NULL);
-- Public: what others published, and how to reach them.
CREATE TABLE sketches (key BLOB PRIMARY KEY, epoch INTEGER NOT NULL, sketch BLOB NOT NULL);
CREATE TABLE peers (key BLOB PRIMARY KEY, curve BLOB NOT NULL, address TEXT NOT NULL, seen_s REAL NOT NULL);
CREATE TABLE bans (key BLOB PRIMARY KEY, until_s REAL NOT NULL);
CREATE TABLE traffic (time_s REAL PRIMARY KEY, sent_bytes INTEGER NOT NULL, received_bytes INTEGER NOT NULL);
"""


def create(path: Path) -> None:
    """Make an empty store that only its owner can read; an existing file is refused.

    Privacy
    -------
    The log files that SQLite puts beside it get the same permissions.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise DataError(f"the store {path} must be a new file in a writable folder. Got: {error.strerror}.") from None
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_SCHEMA)
    except sqlite3.Error as error:
        raise unusable(path, error) from None
    finally:
        connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing store.

    Privacy
    -------
    A file that is not a store is refused and left as it is.
    """
    if not path.is_file():
        raise DataError(f"there must be a node in {path.parent}. Got no {path.name} there; see `hetdp node init`.")
    connection = None
    try:
        # Other threads only ever close it, at the end.
        connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise unusable(path, error) from None
    if version != _VERSION:
        connection.close()
        raise DataError(f"{path} must be a store of version {_VERSION}. Got version {version} instead.")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -2000")
    return connection


def unusable(path: Path, error: sqlite3.Error) -> DataError:
    """Return what to tell about a store that SQLite cannot use: another file, or a file or disk that will not do."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return DataError(f"{path} must be the store of a node. Got another file instead.")
    return DataError(
        f"{path} must be a sound file that this user may read and write, in a folder like that, on a disk with room. "
        f"Got: {error}."
    )
