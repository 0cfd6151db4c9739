"""SQLite as every store here uses it: how a file is opened, and how a change is all or nothing.

A store declares its `Format` once. A file of another application or version is refused and left unchanged.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

#: How long to wait for another process that writes.
BUSY_S = 30.0


class WrongFormat(Exception):
    """A file that this version cannot use. Stores turn it into an error of their own."""


@dataclass(frozen=True)
class Format:
    """What a kind of file looks like."""

    name: str  # in words, such as "a ledger"
    version: int  # of today's tables; kept in `PRAGMA user_version`
    schema: str  # makes today's tables in an empty file
    application_id: int = 0  # the mark in the header of the file; 0 for none

    def create(self, connection: sqlite3.Connection) -> None:
        """Make the tables in an empty file: all of them or, after a kill, none."""
        marks = f"PRAGMA application_id = {self.application_id}; PRAGMA user_version = {self.version};"
        connection.executescript(f"BEGIN IMMEDIATE; {marks} {self.schema}; COMMIT;")

    def version_of(self, connection: sqlite3.Connection) -> int:
        """Return the version of a file; refuse a file of another kind or of an unknown version."""
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if mark != self.application_id:
            raise WrongFormat(f"is not {self.name}: it is a database of another application")
        if version != self.version:
            raise WrongFormat(f"has the unknown file version {version}; this hetdp reads version {self.version}")
        return int(version)


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """Open an existing file in one of SQLite's modes: "rw", "ro", or "ro&immutable=1", which takes no locks.

    Transactions are the caller's (`transaction`), and threads take turns. What is committed is on disk.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    if mode == "rw":
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool) -> Iterator[sqlite3.Connection]:
    """Write all or nothing; a process that is forked in the middle leaves the transaction to its parent.

    `durable` is for what must survive a power failure the moment this returns. A killed process loses nothing either
    way.
    """
    process = os.getpid()
    if not durable:
        connection.execute("PRAGMA synchronous = NORMAL")
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if os.getpid() == process:
            with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        raise
    finally:
        if not durable and os.getpid() == process:
            with suppress(sqlite3.ProgrammingError):
                connection.execute("PRAGMA synchronous = FULL")
