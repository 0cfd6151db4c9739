"""The file of a node's store: its tables, a connection per thread, and changes that are all or nothing."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core import sqlite
from hetdp.core.errors import DataError
from hetdp.core.sqlite import Format, WrongFormat
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.network import NetworkParameters

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- Public: the version of the catalogue that brought an item, and the one that took it out of use.
CREATE TABLE catalogue (place INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
                        link TEXT NOT NULL, category TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
                        retired INTEGER);
CREATE INDEX retired ON catalogue (place) WHERE retired IS NOT NULL;
-- Public: the signed versions of the catalogue after the first.
CREATE TABLE versions (number INTEGER PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL, raw BLOB);
-- Private: dials, losses and limits in hundredths, as arrays as long as the catalogue (hetdp.node.storage.ledger).
CREATE TABLE arrays (name TEXT PRIMARY KEY, value BLOB NOT NULL);
-- Private: limits as their owner has typed them, how to take an edit back, what was dismissed.
CREATE TABLE limits (place INTEGER PRIMARY KEY REFERENCES catalogue, epsilon REAL NOT NULL CHECK (epsilon >= 0));
CREATE TABLE edits (step INTEGER NOT NULL, place INTEGER NOT NULL, dial INTEGER NOT NULL,
                    PRIMARY KEY (step, place)) WITHOUT ROWID;
CREATE TABLE dismissed (place INTEGER PRIMARY KEY REFERENCES catalogue);
-- Private: limits of groups, and those before each step of edits (NULL: none), to take it back.
CREATE TABLE group_limits (name TEXT PRIMARY KEY, epsilon REAL NOT NULL CHECK (epsilon >= 0));
CREATE TABLE limit_edits (step INTEGER, name TEXT, epsilon REAL, PRIMARY KEY (step, name)) WITHOUT ROWID;
-- The node's own sketches, one per epoch and never another: public once published. The dials that counted in it are
-- private: each is a loss of epsilon * dial / 100, charged before the sketch left the node. `draw` is the order in
-- which sketches were drawn; a clock that was wrong makes it another than that of epochs.
CREATE TABLE publications (epoch INTEGER PRIMARY KEY, published_s REAL NOT NULL, ones INTEGER NOT NULL,
                           sketch BLOB NOT NULL, dials BLOB NOT NULL, draw INTEGER NOT NULL DEFAULT 0);
-- Public: epochs that must not be drawn, or not again, and why.
CREATE TABLE drawn (epoch INTEGER PRIMARY KEY, why TEXT NOT NULL);
-- Private: what was charged for other reasons than a sketch of this store, each once: to every item, also to those
-- that the catalogue does not have yet, and to each by itself, in an array like `lost` (or shorter).
CREATE TABLE other_charges (mark TEXT PRIMARY KEY, why TEXT NOT NULL, every INTEGER NOT NULL, lost BLOB NOT NULL);
-- Private: what the owner has brought along and the catalogue does not have, or not yet; which neighbours are hidden.
CREATE TABLE unknown (name TEXT PRIMARY KEY, dial INTEGER, lost INTEGER NOT NULL DEFAULT 0, lifetime REAL,
                      canonical TEXT NOT NULL UNIQUE);
CREATE TABLE hidden (key BLOB PRIMARY KEY);
-- What befell the node, for its owner; names no item.
CREATE TABLE events (number INTEGER PRIMARY KEY, time_s REAL NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL);
-- Public: what others published, whether it is on the shelf for being like the node's own published sketch and not by
-- chance, how to reach peers, and whether the node has reached them there.
CREATE TABLE sketches (key BLOB PRIMARY KEY, epoch INTEGER NOT NULL, sketch BLOB NOT NULL,
                       liked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE peers (key BLOB PRIMARY KEY, curve BLOB NOT NULL, address TEXT NOT NULL, seen_s REAL NOT NULL,
                    reached INTEGER NOT NULL DEFAULT 0);
CREATE TABLE bans (key BLOB PRIMARY KEY, until_s REAL NOT NULL);
-- Public: what the model is learned from, one sketch per key and epoch: the bits of the head, and how many they are (a
-- sketch for a shorter catalogue has fewer).
CREATE TABLE crowd (key BLOB NOT NULL, epoch INTEGER NOT NULL, host TEXT NOT NULL, reached INTEGER NOT NULL,
                    bits BLOB NOT NULL, items INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (key, epoch)) WITHOUT ROWID;
"""

FORMAT = Format("the store of a node", 1, _SCHEMA)
#: Stands in the array of dials where an item is not on the list.
ABSENT = 255

#: Each array and what it is made of: dials, hundredths of epsilon lost so far and at most (below 0: the default), the
#: places of the catalogue in the order of the owner's list, the number of each item's group.
_KINDS: dict[str, Any] = {"dials": np.uint8, "lost": np.int32, "limits": np.int32, "page": np.int32, "groups": np.int32}


#: What SQLite says of a file that is not what it was: foreign, torn, without a table, or shorter than it should be.
_DAMAGE = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_SHORT = {sqlite3.SQLITE_IOERR_SHORT_READ}


class Database:
    """A node's store as SQLite sees it; what its tables mean is up to the parts of `NodeStore`.

    The file was made by `Database.create`; any other is refused.

    Privacy
    -------
    A file for its owner only, in WAL mode; the log files that SQLite puts beside it get the same permissions.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._connection()  # refuses a foreign file right away

    @staticmethod
    def create(path: Path) -> None:
        """Make an empty store that only its owner can read; an existing file is refused."""
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise DataError(
                f"the store {path} must be a new file in a writable folder. Got: {error.strerror}."
            ) from None
        connection = sqlite.connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            FORMAT.create(connection)
        except sqlite3.Error as error:
            raise _unusable(path, error) from None
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """Write all or nothing; everything that this thread asks of the database meanwhile is part of it.

        Within a transaction of the same thread it is a part of that one.
        """
        if self._connection().in_transaction:
            yield self._connection()
            return
        with self._damage_told(), sqlite.transaction(self._connection(), durable=durable) as connection:
            yield connection

    def copy_to(self, path: Path) -> None:
        """Copy everything, as it is at one moment, to a file, and have it on disk; a node may run meanwhile."""
        with self._damage_told(), closing(sqlite3.connect(path)) as copy:
            self._connection().backup(copy)
        with path.open("rb") as file:
            os.fsync(file.fileno())

    def execute(self, sql: str, *arguments: object) -> None:
        """Change something, within a transaction."""
        with self._damage_told():
            self._connection().execute(sql, arguments)

    def execute_many(self, sql: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Change something for each of some rows, within a transaction."""
        with self._damage_told():
            self._connection().executemany(sql, rows)

    def rows(self, sql: str, *arguments: object) -> list[Any]:
        """Return the rows of a query."""
        with self._damage_told():
            return self._connection().execute(sql, arguments).fetchall()

    def one(self, sql: str, *arguments: object) -> Any:  # noqa: ANN401  (a cell of SQLite)
        """Return the first cell of the first row; None if there is no row."""
        with self._damage_told():
            row = self._connection().execute(sql, arguments).fetchone()
        return None if row is None else row[0]

    def fact(self, name: str) -> Any:  # noqa: ANN401  (a cell of SQLite)
        """Return a named value; None if there is none."""
        return self.one("SELECT value FROM facts WHERE name = ?", name)

    def set_fact(self, name: str, value: object) -> None:
        """Write a named value."""
        self._connection().execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def array(self, name: str) -> NDArray[Any]:
        """Return an array as long as the catalogue."""
        raw = self.one("SELECT value FROM arrays WHERE name = ?", name)
        if not isinstance(raw, bytes) or len(raw) % np.dtype(_KINDS[name]).itemsize:
            raise self.damaged()
        return np.frombuffer(raw, dtype=np.dtype(_KINDS[name]).newbyteorder("<")).astype(_KINDS[name])

    def set_array(self, name: str, values: NDArray[Any]) -> None:
        """Write an array."""
        raw = values.astype(np.dtype(_KINDS[name]).newbyteorder("<")).tobytes()
        self._connection().execute("INSERT OR REPLACE INTO arrays VALUES (?, ?)", (name, raw))

    def count_edit(self) -> None:
        """Let the version of the profile grow: the page looks at it to see whether it is out of date."""
        self.set_fact("profile_version", int(self.fact("profile_version") or 0) + 1)

    def damaged(self) -> DataError:
        """Return what to tell about a file that does not hold what it must."""
        return DataError(
            f"{self.path} must be a sound file. Got one that is damaged: look at the disk, and restore a backup with "
            "`hetdp node restore`."
        )

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        """Call damage by its name; a disk that is full, or a file that is locked, is not damage."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", None)
            torn = str(error).startswith("Could not decode") if code is None else code & 0xFF in _DAMAGE
            if torn or code in _SHORT:
                raise self.damaged() from None
            raise

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connected()
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _connected(self) -> sqlite3.Connection:
        path = self.path
        if not path.is_file():
            raise DataError(f"there must be a node in {path.parent}. Got no {path.name} there; see `hetdp node init`.")
        connection = None
        try:
            connection = sqlite.connect(path)
            FORMAT.version_of(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA cache_size = -2000")
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error):
                raise _unusable(path, error) from None
            if isinstance(error, WrongFormat):
                raise DataError(f"{path} {error}.") from None
            raise
        return connection


def _unusable(path: Path, error: sqlite3.Error) -> DataError:
    """Return what to tell about a store that SQLite cannot use: another file, or a file or disk that will not do."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return DataError(f"{path} must be the store of a node (got another file)")
    return DataError(
        f"{path} must be a sound file that this user may read and write, in a folder like that, on a disk with room. "
        f"Got: {error}."
    )


# Whether a store holds what every store must: looked at when it is opened, so that damage is called by its name.
# SQLite notices torn pages, not a value that has become another. What can be computed again, or comes again by
# gossip, is not looked at here; losses are compared with what was published (`other_charges`).


_ARRAYS = ("dials", "lost", "limits", "page", "groups")


def check_sound(database: Database, network: NetworkParameters) -> None:
    """Refuse a store whose facts, arrays and draws do not fit its catalogue and network."""
    try:
        sound = _facts_fit(database, network) and _arrays_fit(database) and _draws_fit(database)
    except (ValueError, TypeError, ArithmeticError):
        sound = False
    if not sound:
        raise database.damaged()


def _facts_fit(database: Database, network: NetworkParameters) -> bool:
    numbers = [database.fact(name) for name in ("items", "most_items", "default_limit", "profile_version")]
    return (
        Fraction(database.fact("epsilon")) == network.epsilon
        and int(numbers[1]) == network.most_items
        and all(isinstance(number, int | float) and number >= 0 for number in numbers)
    )


def _arrays_fit(database: Database) -> bool:
    arrays = {name: database.array(name) for name in _ARRAYS}
    counted = database.rows("SELECT count(*), min(place), max(place) FROM catalogue")
    (size, first, last) = counted[0]
    names = json.loads(database.fact("group_names"))
    return (
        (first, last) == (0, size - 1)
        and all(array.size == size for array in arrays.values())
        and bool(np.array_equal(np.sort(arrays["page"]), np.arange(size)))
        and bool(((arrays["dials"] <= FULL_DIAL) | (arrays["dials"] == ABSENT)).all())
        and int(arrays["groups"].min()) >= 0
        and int(arrays["groups"].max()) < len(names)
    )


def _draws_fit(database: Database) -> bool:
    """Return whether each draw says the dials that counted in it: SQLite reads a damaged row as empty cells."""
    (unread,) = database.rows("SELECT count(*) FROM publications WHERE typeof(dials) != 'blob'")[0]
    return bool(unread == 0)
