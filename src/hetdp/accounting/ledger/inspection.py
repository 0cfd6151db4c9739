"""Inspection of an existing file before anything that could write may touch it.

A file is inspected through SQLite's `immutable` mode. Reading the header with `open` would be shorter, but
closing that descriptor drops every POSIX lock that this process holds on the file, and another process could
then discard the log of a ledger that is in use here.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from hetdp.accounting.ledger.format import (
    APPLICATION_ID,
    SQLITE_ERRORS,
    VERSION,
    checked_history,
    checked_state,
    connect,
    damaged,
    explained,
)
from hetdp.accounting.ledger.state import State
from hetdp.core.errors import LedgerError

__all__ = ["beside", "inspected"]

_INSPECTIONS = 10


def inspected(path: Path) -> tuple[bytes, State]:
    """Return the checksum and the state of a file, checked through connections that cannot write to it.

    Privacy
    -------
    What is not a whole ledger is refused and left untouched, so that nothing that could be restored is lost.
    """
    for _ in range(_INSPECTIONS):
        before = _fingerprint(path)
        try:
            return _inspected_once(path)
        except (LedgerError, *SQLITE_ERRORS) as error:
            # An immutable reader takes no locks, so it may trip over another process at work: look again.
            if _fingerprint(path) == before:
                raise (error if isinstance(error, LedgerError) else explained(path, error)) from error
    raise LedgerError(f"The ledger file {path} is changed by other processes all the time.")


def beside(path: Path, suffix: str) -> Path:
    """Return the name that SQLite gives to the "-wal" or "-journal" of a file.

    Privacy
    -------
    Charges may still be in the log: it belongs to the ledger as much as the file.

    Examples
    --------
    >>> beside(Path("ledger.db"), "-wal").name
    'ledger.db-wal'
    """
    return path.with_name(path.name + suffix)


def _inspected_once(path: Path) -> tuple[bytes, State]:
    has_log = beside(path, "-wal").exists()
    with closing(connect(path, "ro&immutable=1")) as connection:
        try:
            _refuse_foreign(path, connection)
        except sqlite3.DatabaseError as error:
            # A checkpoint cut short by a kill leaves a page count ahead of the file; the log will mend that.
            if not has_log or error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT:
                raise
        if not has_log:
            _refuse_short(path, connection)
            return _checked(path, connection)
    with closing(connect(path, "ro")) as connection:
        _refuse_foreign(path, connection)
        return _checked(path, connection)


def _refuse_foreign(path: Path, connection: sqlite3.Connection) -> None:
    if path.stat().st_size == 0:
        raise LedgerError(f"The ledger file {path} is not a ledger: it is empty. It was left untouched.")
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id != APPLICATION_ID:
        raise LedgerError(
            f"The ledger file {path} is not a ledger: it is a database of another application. It was left untouched."
        )
    if version != VERSION:
        raise LedgerError(
            f"The ledger file {path} has format version {version}, but this hetdp reads {VERSION} only. "
            "It was left untouched. Use the version of hetdp that wrote it."
        )


def _refuse_short(path: Path, connection: sqlite3.Connection) -> None:
    """SQLite itself overlooks a last page that is cut off and takes the rest of it for zeros."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size < pages * page_size:
        raise damaged(path, "it is cut off")


def _checked(path: Path, connection: sqlite3.Connection) -> tuple[bytes, State]:
    connection.execute("BEGIN")
    if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise damaged(path, "its pages are inconsistent")
    checksum, chain, state = checked_state(path, connection)
    checked_history(path, connection, chain)
    return checksum, state


def _fingerprint(path: Path) -> list[tuple[int, int, int] | None]:
    def one(file: Path) -> tuple[int, int, int] | None:
        try:
            status = file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    return [one(path), one(beside(path, "-wal"))]
