"""A ledger in one SQLite file, without any policy: what may be spent is decided in `state.py`.

One row holds the public totals. The accounts are vectors in chunks of 65,536; beside each chunk are its checksum and
the smallest total at which somebody in it ends, so that a charge of everybody reads heads only and writes no account.
A table holds the history of charges, chained by hashes. The row of totals carries a SHA-256 checksum over itself, the
end of the chain and all heads. A charge is one transaction in WAL mode: on disk before it returns, and its cost does
not depend on earlier charges. The file is readable by its owner only. Putting back an old copy of it forgets the losses
since; nothing can detect that.

A file is inspected, through SQLite's `immutable` mode, before anything that could write may touch it: what is not a
whole ledger is refused and left as it is, so that nothing that could be restored is lost. Of a large file the heads are
inspected then, and each chunk when it is read. Reading the header with `open` would be shorter, but closing that
descriptor drops every POSIX lock that this process holds on the file, and another process could then discard the log of
a ledger that is in use here.
"""

import hashlib
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.ledger.accounts import VECTORS, Accounts, Totals, same_bits
from hetdp.accounting.ledger.identity import Ids
from hetdp.accounting.ledger.state import Change, Entry, State
from hetdp.core import sqlite
from hetdp.core.errors import InvalidInput, LedgerError
from hetdp.core.files import settle

_Seen = TypeVar("_Seen")

_VERSION = 1
#: How many accounts are stored together.
_CHUNK = 65_536
#: Where the chain of charges begins.
_NO_CHARGES = bytes(32)
#: How often a file that other processes are changing is looked at again.
_INSPECTIONS = 10
#: Up to this size a file is inspected to the last byte when it is opened.
_SMALL_BYTES = 2**26


class LedgerFile:
    """The file of a durable ledger; its `Ledger` holds the lock for threads.

    What exists and is no ledger is refused and left untouched. What does not exist is made with the first update,
    complete, or never, and begins with the state `make`.
    """

    def __init__(self, path: Path, make: State | None = None) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._cached: tuple[bytes, Totals, _StoredAccounts] | None = None
        self._unmade = make
        if make is None:
            self._open()

    def _open(self) -> None:
        self._identity = _identity(self.path)
        # SQLite would open a read-only file and fail at the first charge; the log needs its folder writable.
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise _read_only(self.path)
        with self._errors_explained():
            self._cached = None
            _inspected(self.path)
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
                    with sqlite.transaction(connection, durable=True):
                        heads = _write_accounts(connection, state.accounts, state.unit)
                        _write_state(connection, _write_history(connection, _NO_CHARGES, entries), state.totals, heads)
                    # Last, so that the log of the unnamed file stays empty.
                    connection.execute("PRAGMA journal_mode = WAL")
                settle(Path(temporary))
                with suppress(FileExistsError):
                    os.link(temporary, path)
                    made = True
            finally:
                Path(temporary).unlink()
            settle(path.parent)
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

    def look(self, see: Callable[[State], _Seen]) -> _Seen:
        """Return what is seen of the present state, with what other processes have charged, all at one moment."""
        unmade = self._still_unmade()
        if unmade is not None:
            return see(unmade)
        with self._errors_explained(), self._looking() as connection:
            return see(self._load(connection)[1])

    def history(self) -> tuple[Entry, ...]:
        """Return every charge so far, oldest first."""
        if self._still_unmade() is not None:
            return ()
        with self._errors_explained(), self._looking() as connection:
            return _read_history(connection, self._load(connection)[0])

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
                chain, before, stored = self._load(connection)
                try:
                    state, entries = change(before)
                except BaseException as error:
                    callers = error
                    raise
                if self._connection is not connection:
                    raise LedgerError(f"The ledger file {self.path} was closed or forked during a charge.")
                if state.roll is not stored:
                    heads = _write_accounts(connection, state.accounts, state.unit, stored)
                    stored = _StoredAccounts(self.path, heads, state.accounts)
                chain = _write_history(connection, chain, entries)
                checksum = _write_state(connection, chain, state.totals, stored.heads)
        except _ERRORS as error:
            if error is callers:
                raise  # what the caller's charges raise is not the ledger's
            raise _explained(self.path, error) from error
        self._cached = (checksum, state.totals, stored)

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

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one moment of the file."""
        connection = self._connected()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")

    def _load(self, connection: sqlite3.Connection) -> tuple[bytes, State, "_StoredAccounts"]:
        """Return the end of the chain of charges, the state and its accounts; those that nobody changed are kept."""
        row = connection.execute("SELECT checksum, chain FROM state").fetchone()
        if self._cached is None or row is None or row[0] != self._cached[0]:
            checksum, chain, totals, heads = _read_state(connection)
            known = None if self._cached is None else self._cached[2]
            stored = known if known is not None and known.heads == heads else _StoredAccounts(self.path, heads)
            self._cached = (checksum, totals, stored)
        else:
            chain = row[1]
        _, totals, stored = self._cached
        stored.connection = connection
        return chain, State(totals, stored), stored

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except _ERRORS as error:
            raise _explained(self.path, error) from error


# --- Contents ---------------------------------------------------------------------------------------------


class _Damaged(Exception):
    """Contents that are not as they were written. A ledger is never mended by guessing: that could forget losses."""


@dataclass(frozen=True)
class _Heads:
    """What is known of the chunks without reading them: size, smallest end, checksum of each."""

    labelled: bool
    chunks: tuple[tuple[int, int, bytes], ...]

    def digest(self) -> bytes:
        told = [[size, end, checksum.hex()] for size, end, checksum in self.chunks]
        return hashlib.sha256(json.dumps([self.labelled, told]).encode()).digest()


class _StoredAccounts:
    """The accounts in a file, read when they are needed and as far as they are, inside a transaction."""

    def __init__(self, path: Path, heads: _Heads, whole: Accounts | None = None) -> None:
        self.heads = heads
        self.size = sum(size for size, _, _ in heads.chunks)
        self.labelled = heads.labelled
        self.connection: sqlite3.Connection | None = None  # that of the present transaction
        self._path = path
        self._whole = whole

    def whole(self) -> Accounts:
        if self._whole is None:
            self._whole = self._read(range(len(self.heads.chunks)))
        return self._whole

    def ending_before(self, total: int, unit: str) -> Accounts:
        ending = [number for number, (_, end, _) in enumerate(self.heads.chunks) if end < total]
        some = self._whole if self._whole is not None and ending else self._read(ending)
        return some.ending_before(total, unit)

    def _read(self, numbers: Iterable[int]) -> Accounts:
        nobody = Accounts.fresh(Ids.none() if self.heads.labelled else None, np.empty(0, dtype=np.int64))
        if self.connection is None:
            raise LedgerError(f"The ledger file {self._path} is not open.")
        try:
            return Accounts.joined([nobody, *(_read_chunk(self.connection, number, self.heads) for number in numbers)])
        except _ERRORS as error:
            raise _explained(self._path, error) from error


#: Quicker than dataclasses.asdict and astuple, which make deep copies.
_TOTALS = tuple(field.name for field in fields(Totals))
_told = attrgetter(*(field.name for field in fields(Entry)))
#: How each column of a chunk is stored.
_COLUMNS = {
    "keys": "<i8", "lengths": "<i8", "texts": "u1",
    "limits": "<i8", "epsilon": "<i8", "rho": "<i8", "active": "?",
    "dials": "<f8", "epsilon_then": "<i8", "rho_then": "<i8",
}  # fmt: skip


def _write_accounts(
    connection: sqlite3.Connection, accounts: Accounts, unit: str, stored: _StoredAccounts | None = None
) -> _Heads:
    """Write the chunks that differ from what is stored and return the heads of all."""
    heads = list(stored.heads.chunks) if stored is not None else []
    old = stored.whole() if stored is not None else None
    touched = [name for name in VECTORS if old is None or getattr(old, name) is not getattr(accounts, name)]
    for number, begin in enumerate(range(0, accounts.size, _CHUNK)):
        part = accounts.part(begin, begin + _CHUNK)
        if old is not None and number < len(heads) and part.size == heads[number][0]:
            same = old.part(begin, begin + _CHUNK)
            if all(same_bits(getattr(part, name), getattr(same, name)) for name in touched):
                continue
        blobs = _packed(part)
        head = (part.size, int(part.ends(unit).min()))
        checksum = _chunk_checksum(number, *head, blobs)
        connection.execute(_WRITE_CHUNK, (number, *head, checksum, *blobs))
        heads[number : number + 1] = [(*head, checksum)]
    return _Heads(accounts.ids is not None, tuple(heads))


def _read_chunk(connection: sqlite3.Connection, number: int, heads: _Heads) -> Accounts:
    """Return the accounts of a chunk, if they are as they were written."""
    row = connection.execute(_READ_CHUNK, (number,)).fetchone()
    size, end, checksum = heads.chunks[number]
    try:
        if _chunk_checksum(number, size, end, row) != checksum:
            raise _Damaged("the checksum of its accounts does not match")
        return _unpacked(row, size, labelled=heads.labelled)
    except (TypeError, ValueError) as error:
        raise _Damaged("its accounts are unreadable") from error


def _packed(accounts: Accounts) -> list[bytes]:
    """Return accounts as little-endian blobs, one for each column; a constant vector is stored as one number."""
    vectors = {name: getattr(accounts, name) for name in VECTORS}
    if accounts.ids is not None:
        vectors |= {"keys": accounts.ids.keys, "lengths": accounts.ids.lengths}
    blobs = {name: _one_if_constant(vector).astype(_COLUMNS[name]).tobytes() for name, vector in vectors.items()}
    if accounts.ids is not None:
        blobs["texts"] = accounts.ids.data.tobytes()
    return [blobs.get(name, b"") for name in _COLUMNS]


def _one_if_constant(vector: NDArray[Any]) -> NDArray[Any]:
    constant = vector.strides == (0,) or vector.tobytes() == vector[:1].tobytes() * vector.size
    return vector[:1] if constant else vector


def _unpacked(row: Sequence[bytes], size: int, *, labelled: bool) -> Accounts:
    vectors = {}
    for (name, kind), blob in zip(_COLUMNS.items(), row, strict=True):
        vector = np.frombuffer(blob, kind)
        if name != "texts" and (labelled or name in VECTORS):
            vector = np.broadcast_to(vector[0], size) if vector.size == 1 else vector
            if vector.size != size:
                raise ValueError
        vectors[name] = vector.astype(vector.dtype.newbyteorder("="), copy=False)
    keys, lengths, texts = (vectors.pop(name) for name in ("keys", "lengths", "texts"))
    return Accounts(Ids(keys, lengths, texts) if labelled else None, **vectors)


def _write_state(connection: sqlite3.Connection, chain: bytes, totals: Totals, heads: _Heads) -> bytes:
    """Replace the totals and return the checksum over everything."""
    told = json.dumps({name: getattr(totals, name) for name in _TOTALS} | {"labelled": heads.labelled})
    checksum = _checksum(chain, told, heads)
    connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?)", (checksum, chain, told))
    return checksum


def _write_history(connection: sqlite3.Connection, chain: bytes, entries: list[Entry]) -> bytes:
    """Append charges to the history and return the new end of the chain."""
    connection.executemany(
        "INSERT INTO history (time, description, unit, amount, weights_loss, dropping, delta) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        map(_told, entries),
    )
    for entry in entries:
        chain = _link(chain, *_told(entry))
    return chain


def _read_state(connection: sqlite3.Connection) -> tuple[bytes, bytes, Totals, _Heads]:
    """Return the checksum, the end of the chain of charges, the totals, and the heads of the accounts.

    What is not as it was written is refused, for it may have forgotten losses.
    """
    rows = connection.execute("SELECT checksum, chain, totals FROM state").fetchall()
    chunks = connection.execute("SELECT id, size, ends, checksum FROM chunks ORDER BY id").fetchall()
    try:
        ((checksum, chain, told),) = rows
        fields = json.loads(told)
        heads = _Heads(fields.pop("labelled"), tuple((size, end, sum_) for _, size, end, sum_ in chunks))
        if [number for number, *_ in chunks] != list(range(len(chunks))) or checksum != _checksum(chain, told, heads):
            raise _Damaged("its checksum does not match")
        totals = Totals(**fields)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _Damaged("its state is unreadable") from error
    return checksum, chain, totals, heads


def _read_history(connection: sqlite3.Connection, chain: bytes) -> tuple[Entry, ...]:
    """Return every charge, oldest first, if they are the ones chained into `chain`.

    A charge that was changed, removed or added breaks the chain.
    """
    rows = connection.execute(
        "SELECT time, description, unit, amount, weights_loss, dropping, delta FROM history ORDER BY id"
    )
    found, entries = _NO_CHARGES, []
    try:
        for time, description, unit, amount, weights_loss, dropping, delta in rows:
            entries.append(Entry(time, description, unit, amount, weights_loss, bool(dropping), delta))
            found = _link(found, *_told(entries[-1]))
    except TypeError as error:
        raise _Damaged("its history is unreadable") from error
    if found != chain:
        raise _Damaged("its history does not match")
    return tuple(entries)


def _checksum(chain: bytes, told: str, heads: _Heads) -> bytes:
    return hashlib.sha256(json.dumps([_VERSION, chain.hex(), told, heads.digest().hex()]).encode()).digest()


def _chunk_checksum(number: int, size: int, end: int, blobs: Sequence[bytes]) -> bytes:
    digest = hashlib.sha256(json.dumps([_VERSION, number, size, end, list(map(len, blobs))]).encode())
    for blob in blobs:
        digest.update(blob)
    return digest.digest()


def _link(chain: bytes, *entry: str | float | None) -> bytes:
    """Return the end of a chain of charges with one more at its end."""
    return hashlib.sha256(chain + json.dumps(entry).encode()).digest()


_SCHEMA = """
    CREATE TABLE state (
        id INTEGER PRIMARY KEY CHECK (id = 1), checksum BLOB NOT NULL, chain BLOB NOT NULL, totals TEXT NOT NULL
    );
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY, size INTEGER NOT NULL, ends INTEGER NOT NULL, checksum BLOB NOT NULL,
        keys BLOB NOT NULL, lengths BLOB NOT NULL, texts BLOB NOT NULL,
        limits BLOB NOT NULL, epsilon BLOB NOT NULL, rho BLOB NOT NULL, active BLOB NOT NULL,
        dials BLOB NOT NULL, epsilon_then BLOB NOT NULL, rho_then BLOB NOT NULL
    );
    CREATE TABLE history (
        id INTEGER PRIMARY KEY,
        time TEXT NOT NULL, description TEXT NOT NULL, unit TEXT NOT NULL, amount REAL,
        weights_loss REAL NOT NULL, dropping INTEGER NOT NULL, delta REAL NOT NULL
    )
"""
_WRITE_CHUNK = f"INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?{', ?' * len(_COLUMNS)})"  # noqa: S608  (constants)
_READ_CHUNK = f"SELECT {', '.join(_COLUMNS)} FROM chunks WHERE id = ?"  # noqa: S608  (constants)
_FORMAT = sqlite.Format(
    name="a ledger",
    version=_VERSION,
    schema=_SCHEMA,
    application_id=0x68644450,
)


# --- Inspection -------------------------------------------------------------------------------------------


def _inspected(path: Path) -> None:
    """Check a file through connections that cannot write to it."""
    for _ in range(_INSPECTIONS):
        before = _fingerprint(path)
        try:
            _inspected_once(path)
            return  # noqa: TRY300  (an else would stand far away)
        except (LedgerError, *_ERRORS):
            # An immutable reader takes no locks, so it may trip over another process at work: look again.
            if _fingerprint(path) == before:
                raise
    raise LedgerError(f"The ledger file {path} is changed by other processes all the time.")


def _inspected_once(path: Path) -> None:
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
            _check(connection)
            return
    with closing(sqlite.connect(path, "ro")) as connection:
        _check(connection)


def _refuse_short(path: Path, connection: sqlite3.Connection) -> None:
    """SQLite itself overlooks a last page that is cut off and takes the rest of it for zeros."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size < pages * page_size:
        raise _Damaged("it is cut off")


def _check(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    _FORMAT.version_of(connection)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    small = pages * page_size <= _SMALL_BYTES
    if small and connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise _Damaged("its pages are inconsistent")
    _, chain, _, heads = _read_state(connection)
    _read_history(connection, chain)
    for number in range(len(heads.chunks) if small else 0):
        _read_chunk(connection, number, heads)


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
        raise InvalidInput("must be the name of a file", parameter="path", got=type(path)) from None


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
