"""A whole node in one file: its store, and in it the other files of its folder. Backups are such files, and parcels.

The store inside is closed, so that the file is of no use as the store of a running node.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hetdp.core import sqlite
from hetdp.core.errors import DataError
from hetdp.core.files import settle, whole_file, write_whole
from hetdp.node.settings import NodeSettings, parsed_settings, settings_toml
from hetdp.node.storage.database import Database
from hetdp.node.storage.folder import IDENTITY, LOCK, NETWORK, SETTINGS_FILE, STORE, locked, with_own_addresses
from hetdp.node.storage.passage import Passage, PassageLog
from hetdp.node.storage.store import NodeStore

_CARRIED = (NETWORK, SETTINGS_FILE, IDENTITY)
_TABLE = "CREATE TABLE carried (name TEXT PRIMARY KEY, value BLOB NOT NULL)"


@dataclass(frozen=True, repr=False)
class Origin:
    """A node as it was left: a folder or a file. The files hold its keys, so `repr` shows nothing."""

    path: Path
    store: NodeStore
    files: Mapping[str, bytes]

    @property
    def words(self) -> str:
        """Where it is."""
        return f"{'the folder' if self.path.is_dir() else 'the file'} {self.path.absolute()}"


@contextmanager
def open_origin(path: Path, *, lock: bool = True) -> Iterator[Origin]:
    """Open the folder of a node, or a file that holds one; a running node is refused unless `lock` is off."""
    if (path / STORE).is_file():
        with closing(NodeStore(path / STORE)) as store, locked(path) if lock else nullcontext():
            yield Origin(path, store, {name: _read(path / name) for name in _CARRIED})
        return
    if not path.is_file():
        raise DataError(f"there must be a node in {str(path)!r}, or a file that holds one")
    with _sole_user(path.absolute().parent), closing(NodeStore(path)) as store:
        if store.database.one("SELECT 1 FROM sqlite_master WHERE name = 'carried'") is None:
            raise DataError(f"{path} must be written by `hetdp node backup` or `hetdp node move` (got another file)")
        files = {name: bytes(value) for name, value in store.database.rows("SELECT name, value FROM carried")}
        if set(files) != set(_CARRIED):
            raise DataError(f"{path} must hold settings, network and keys of a node. Got less instead: it is damaged.")
        yield Origin(path, store, files)


def write_parcel(origin: Origin, path: Path, passage: Passage) -> None:
    """Write a node into one file for its owner only, whole or not at all; on disk when this returns.

    Privacy
    -------
    The file holds the profile, the ledger and the keys: it is as private as the folder of the node.
    """
    try:
        with whole_file(path) as temporary:
            origin.store.database.copy_to(temporary)
            with closing(Database(temporary)) as copy:
                log = PassageLog(copy)
                with copy.transaction(durable=True) as connection:
                    connection.execute("DROP TABLE IF EXISTS carried")
                    connection.execute(_TABLE)
                    connection.executemany("INSERT INTO carried VALUES (?, ?)", list(origin.files.items()))
                    log.close(passage)
                copy.one("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        settle(path.absolute().parent)
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"{path} must be in a writable folder with room for it. Got: {error}.") from None


def unpack(origin: Origin, folder: Path, *, settings: Mapping[str, str]) -> None:
    """Put a node into a folder that exists, with some settings changed; its store stays as it is."""
    for name, contents in origin.files.items():
        write_whole(folder / name, contents)
    if settings:
        write_whole(folder / SETTINGS_FILE, settings_toml(changed_settings(origin, settings)))
    write_whole(folder / LOCK, "")
    (folder / STORE).touch(mode=0o600)
    origin.store.database.copy_to(folder / STORE)
    with closing(sqlite.connect(folder / STORE)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("DROP TABLE IF EXISTS carried")


def changed_settings(origin: Origin, changes: Mapping[str, str]) -> NodeSettings:
    """Return the settings of a node with others in their place, such as where to listen on another machine."""
    settings = parsed_settings(origin.files[SETTINGS_FILE], SETTINGS_FILE)
    return with_own_addresses(msgspec.structs.replace(settings, **changes)) if changes else settings


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} must be readable. Got: {error.strerror}.") from None


@contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    """Let one process at a time open files that hold nodes in a folder; a lock on the file itself would be SQLite's."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
