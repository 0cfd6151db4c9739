"""The folder of a node: settings, network, keys and store, readable by their owner only, made whole or not at all."""

import fcntl
import os
import shutil
import socket
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import msgspec

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.files import settle, write_whole
from hetdp.node.lists import list_file
from hetdp.node.protocol.addresses import check_own_address, split_address
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.network import Bootstrap
from hetdp.node.settings import NodeSettings, settings_toml
from hetdp.node.storage.importing import Imported, import_list
from hetdp.node.storage.network_file import read_network, whole_catalogue
from hetdp.node.storage.store import NodeStore

SETTINGS_FILE, NETWORK, IDENTITY, STORE, LOCK = "node.toml", "network.toml", "identity.key", "node.db", "lock"
#: Not there before enough sketches have come.
MODEL = "model.npz"
_LOCK_TRIES = 5
#: Of a page that runs (`storage.page_door`).
PAGE_FILES = ("page.address", "page.token")
#: However many epochs the settings say, an item does not lose more than this unless its owner says so.
_MOST_DEFAULT_LIMIT = 30.0


@dataclass(frozen=True, slots=True, repr=False)
class MadeNode:
    """How others can reach a new node, and what became of the list that it was made with."""

    contact: Bootstrap
    imported: Imported


def init_node(
    folder: Path,
    *,
    network_path: Path,
    profile_path: Path | None = None,
    settings: NodeSettings | None = None,
    identity: Identity | None = None,
) -> MadeNode:
    """Make the folder of a new node, which must not exist yet.

    The profile is a list as `import_list` takes it, such as a CSV with the columns `item` and, optionally, `weight`;
    without it the list is empty. Rows that cannot be used are told and left out. Port 0 in `listen` is replaced by a
    free one. Profile and keys are copied into the folder, which only its owner can enter, and nothing is sent. Errors
    about the profile name rows, not items.
    """
    network = read_network(network_path)
    items, history = whole_catalogue(network_path, network)
    chosen = with_own_addresses(settings or NodeSettings())
    own, kind = (b"", "csv") if profile_path is None else list_file(profile_path)
    if folder.exists():
        raise DataError(f"the folder of a new node must not exist yet (got {str(folder)!r}, which does,)")
    who = identity or Identity.generate()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))  # for its owner only
    except OSError as error:
        raise DataError(f"the folder {str(folder)!r} must be in a writable place. Got: {error.strerror}.") from None
    try:
        who.save(temporary / IDENTITY)
        write_whole(temporary / NETWORK, network.to_toml())
        write_whole(temporary / SETTINGS_FILE, settings_toml(chosen))
        write_whole(temporary / LOCK, "")
        limit = default_limit(network.epsilon, chosen)
        with NodeStore.make(temporary / STORE, network, items, default_limit=limit) as store:
            for version in history.versions:
                store.grow(version, now_s=time.time())
            imported = import_list(store, own or b"item", kind=kind)
        temporary.rename(folder)
    except (OSError, sqlite3.Error) as error:  # a full disk, above all
        shutil.rmtree(temporary, ignore_errors=True)
        raise DataError(f"the folder {str(folder)!r} must be in a place with room for it. Got: {error}.") from None
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    contact = Bootstrap(chosen.advertise or chosen.listen, who.key.hex(), who.curve.hex())
    return MadeNode(contact, imported)


def with_own_addresses(settings: NodeSettings) -> NodeSettings:
    """Return settings with a free port in the place of port 0; refuse an address under which nobody could reach it."""
    listen = _listen(settings.listen)
    advertise = settings.advertise or listen
    if split_address(advertise)[0] in ("0.0.0.0", "[::]"):  # noqa: S104  (refused, not bound)
        raise InvalidInput(
            "advertise must be given with listen on all interfaces. Got none, and nobody could reach it."
        )
    check_own_address(advertise)
    return msgspec.structs.replace(settings, listen=listen)


def default_limit(epsilon: Fraction, settings: NodeSettings) -> float:
    """Return the lifetime limit of items where their owner has set none.

    Public parameters only. At a loss of 30 the promise says next to nothing; at least it ends there.
    """
    return min(_MOST_DEFAULT_LIMIT, float(epsilon) * settings.lifetime_epochs)


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the folder for one running node; with `wait`, as soon as nobody else does.

    Two nodes on one store would be safe (an epoch is drawn once), but they would confuse peers.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(f"{folder / LOCK} must be a file that this user may write. Got: {error.strerror}.") from None
    with os.fdopen(descriptor, "r+") as file:
        if wait:
            fcntl.flock(file, fcntl.LOCK_EX)
        for left in reversed(range(_LOCK_TRIES)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if not left:
                    raise DataError(
                        f"only one node may run in {str(folder)!r}. Got another that is already running there: use "
                        "that one, or stop it first."
                    ) from None
                time.sleep(0.05)  # `is_running` may hold it for a moment
        yield


def is_running(folder: Path) -> bool:
    """Return whether a node runs in the folder at present."""
    try:
        with (folder / LOCK).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def erase_folder(folder: Path) -> list[str]:
    """Erase the folder of a closed node, and return the names of what is left in it, which is not the node's.

    The key goes first: whatever happens then, nothing can be drawn or signed under it any more, and erasing again goes
    on where this ended. Two may erase at once, the node that stops and the command that closed it: gone is done.
    """
    try:
        return _erased(folder)
    except (FileNotFoundError, DataError):
        if folder.exists():
            raise
        return []


def _erased(folder: Path) -> list[str]:
    log = [f"{STORE}-wal", f"{STORE}-shm", f"{STORE}-journal"]
    lock = folder / LOCK
    with locked(folder, wait=True) if lock.exists() else nullcontext():
        _remove(folder, IDENTITY)
        for name in (*PAGE_FILES, MODEL, STORE, *log, SETTINGS_FILE, NETWORK):
            _remove(folder, name)
        for path in folder.glob(".*.tmp"):  # of a file that was being written when the node was killed
            _remove(folder, path.name)
        _remove(folder, LOCK)
    left = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
    if not left:
        with suppress(OSError):  # the other one is about to
            folder.rmdir()
    return left


def _remove(folder: Path, name: str) -> None:
    """Remove a file, for good before anything else happens."""
    (folder / name).unlink(missing_ok=True)
    settle(folder)


def free_ports(count: int) -> list[int]:
    """Return different ports of the loopback interface that are free at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _listen(address: str) -> str:
    host, _, port = address.rpartition(":")
    if port == "0":
        address = f"{host}:{free_ports(1)[0]}"
    split_address(address)
    return address
