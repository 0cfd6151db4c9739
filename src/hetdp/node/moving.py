"""Moving a node: to another folder, network or machine, with everything that its owner has and has spent.

See `storage.passage` for the order of steps. A move is one function for all targets, each of which knows how it is
made and how it is opened.
"""

import secrets
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from hetdp.core.errors import DataError
from hetdp.core.files import settle
from hetdp.node.handle import NodeHandle
from hetdp.node.settings import NodeSettings
from hetdp.node.storage.bringing_along import take_over
from hetdp.node.storage.folder import IDENTITY, STORE, default_limit, init_node, locked
from hetdp.node.storage.network_file import read_network
from hetdp.node.storage.parcels import Origin, changed_settings, open_origin, unpack, write_parcel
from hetdp.node.storage.passage import Passage
from hetdp.node.storage.store import NodeStore


class MoveTarget(Protocol):
    """Where a node can move to."""

    @property
    def words(self) -> str:
        """Where it is."""

    def is_onward(self, origin: Origin) -> bool:
        """Return whether the ledger goes on in another network, or in another node."""

    def check(self, origin: Origin) -> None:
        """Refuse before anything has changed."""

    def prepare(self, origin: Origin, passage: Passage) -> None:
        """Make the target, closed; if it is there from an earlier try, leave it."""

    def finish(self, origin: Origin, passage: Passage, *, now_s: float) -> None:
        """Open the target, unless it was opened before."""


def move(origin: Origin, target: MoveTarget, *, now_s: float) -> None:
    """Move a node, or go on with a move that was interrupted.

    Privacy
    -------
    The source is closed, on disk, before the target opens: at no time can both draw a sketch. Losses come along, so
    that nothing is spent twice; a move that was killed anywhere loses nothing and is ended by the same call.
    """
    store, passage = origin.store, begin_move(origin, target, now_s=now_s)
    if not passage.done:
        target.prepare(origin, passage)
        passage = msgspec.structs.replace(passage, done=True)
        _close(store, passage)
    target.finish(origin, passage, now_s=now_s)


def begin_move(origin: Origin, target: MoveTarget, *, now_s: float) -> Passage:
    """Close the source for a move, unless that was done before: a node that runs there stops. `move` does the rest."""
    store, settings = origin.store, changed_settings(origin, {})
    store.ledger.settings_limit = default_limit(store.ledger.epsilon, settings)  # a limit that comes along
    passage = store.passage.get()
    if passage is None or passage.kind == "parcel":
        if passage is None and store.mode.get() == "closed":
            raise DataError(f"a node must be open to move (got one in {origin.words} that has left its network)")
        target.check(origin)
        store.other_charges.repair(store.events, now_s=now_s)
        passage = Passage(
            id=secrets.token_hex(16) if passage is None else passage.id,
            kind="moved",
            at_s=now_s if passage is None else passage.at_s,
            where=target.words,
            was=store.passage.mode_before(),
            onward=target.is_onward(origin),
        )
        _close(store, passage)
    elif passage.kind != "moved":
        raise DataError(f"the node in {origin.words} cannot move: {passage.words()}.")
    elif passage.where != target.words:
        if passage.done:
            raise DataError(f"a node moves to one place only. The one in {origin.words} is closed: {passage.words()}.")
        target.check(origin)
        passage = msgspec.structs.replace(passage, where=target.words, onward=target.is_onward(origin))
        _close(store, passage)
    return passage


def cancel(origin: Origin) -> None:
    """Open a node again whose move has not ended: nothing at the other end can be open yet."""
    passage = origin.store.passage.get()
    if passage is None or passage.kind != "moved" or passage.done:
        got = "one that has not been moved" if passage is None else "another"
        raise DataError("a move that can be cancelled must have begun and not ended", got=got)
    with origin.store.database.transaction(durable=True):
        origin.store.passage.open(passage)


@dataclass(frozen=True)
class NewNode:
    """A folder that does not exist yet: in the same network with the same key, else in another with a new one."""

    folder: Path
    network_path: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)  # `listen` and `advertise`, where they change

    @property
    def words(self) -> str:
        """Where it is."""
        return f"the folder {self.folder.absolute()}"

    def is_onward(self, origin: Origin) -> bool:
        """Return whether it is in another network."""
        return not self._same_network(origin)

    def check(self, origin: Origin) -> None:
        """Refuse a folder that exists, a network that cannot be read, an address that nobody reaches."""
        if self.folder.exists():
            raise DataError(f"the folder of a new node must not exist yet. Got {str(self.folder)!r}, which does.")
        if origin.path.is_dir() and self.folder.absolute().is_relative_to(origin.path.absolute()):
            raise DataError("the new folder must be outside of the old one", got=str(self.folder))
        if self.network_path is not None:
            read_network(self.network_path)
        changed_settings(origin, self.settings)

    def prepare(self, origin: Origin, passage: Passage) -> None:
        """Make the folder beside its place, and rename it when it is whole."""
        if self.folder.exists():
            self._refuse_another(passage)
            return
        temporary = self.folder.absolute().parent / f".{self.folder.name}.{passage.id}"
        for left in temporary.parent.glob(f".*{passage.id}*"):  # by a try that was killed
            shutil.rmtree(left, ignore_errors=True)
        try:
            temporary.parent.mkdir(parents=True, exist_ok=True)
            if self._same_network(origin):
                temporary.mkdir(mode=0o700)
                unpack(origin, temporary, settings=self.settings)
            elif self.network_path is not None:
                chosen = msgspec.convert({"listen": "tcp://127.0.0.1:0", **self.settings}, NodeSettings)
                init_node(temporary, network_path=self.network_path, settings=chosen)
            with closing(NodeStore(temporary / STORE)) as store, store.database.transaction(durable=True):
                if not self._same_network(origin):
                    take_over(origin.store, store, mark=passage.id, new=True)
                store.passage.close(msgspec.structs.replace(passage, kind="arriving", where=origin.words))
            settle(temporary)
            temporary.rename(self.folder)
            settle(temporary.parent)
        except (OSError, sqlite3.Error) as error:
            raise DataError(f"{self.words} must be in a writable place with room for it. Got: {error}.") from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def finish(self, origin: Origin, passage: Passage, *, now_s: float) -> None:
        """Open the folder."""
        if not (self.folder / STORE).is_file():
            raise DataError(f"{self.words} must be there. Got none; the node in {origin.words}: {passage.words()}.")
        with closing(NodeStore(self.folder / STORE)) as store:
            if store.passage.came_with(passage):
                return
            self._refuse_another(passage)
            with store.database.transaction(durable=True):
                store.passage.open(passage)
                store.draws.begin_again()
                store.events.note("moved_here", now_s=now_s, where=origin.words)

    def _same_network(self, origin: Origin) -> bool:
        ours: str = origin.store.database.fact("network_id")
        return self.network_path is None or read_network(self.network_path).id.hex() == ours

    def _refuse_another(self, passage: Passage) -> None:
        with closing(NodeStore(self.folder / STORE)) as store:
            found = store.passage.get()
        if found is None or (found.id, found.kind) != (passage.id, "arriving"):
            raise DataError(f"{self.words} must be the one that this move has made")


@dataclass(frozen=True)
class IntoNode:
    """A node that exists, of any network: it keeps its key, and losses of both add up."""

    folder: Path

    @property
    def words(self) -> str:
        """Where it is."""
        return f"the node in {self.folder.absolute()}"

    def is_onward(self, origin: Origin) -> bool:
        """Return that the ledger goes on in another node."""
        del origin
        return True

    def check(self, origin: Origin) -> None:
        """Refuse a running or closed node, and a copy of the same one."""
        with closing(NodeHandle.open(self.folder)) as handle, locked(self.folder):
            handle.check_open()
            if (self.folder / IDENTITY).read_bytes() == origin.files[IDENTITY]:
                raise DataError("a node must move to another node (got a copy of the same)")

    def prepare(self, origin: Origin, passage: Passage) -> None:
        """Look once more; all of it is one transaction, once the source is done."""
        del passage
        self.check(origin)

    def finish(self, origin: Origin, passage: Passage, *, now_s: float) -> None:
        """Take over what the source has, in one transaction."""
        with closing(NodeHandle.open(self.folder)) as handle, locked(self.folder):
            store = handle.store
            with store.database.transaction(durable=True):
                if not store.other_charges.has(passage.id):
                    handle.check_open()
                    take_over(origin.store, store, mark=passage.id, new=False)
                    store.events.note("moved_in", now_s=now_s, where=origin.words)


@dataclass(frozen=True)
class ParcelFile:
    """A file to be carried to another machine."""

    path: Path

    @property
    def words(self) -> str:
        """Where it is."""
        return f"the file {self.path.absolute()}"

    def is_onward(self, origin: Origin) -> bool:
        """Return that the file is of the same node; where it is received, nobody knows here."""
        del origin
        return False

    def check(self, origin: Origin) -> None:
        """Refuse a file that exists, and one in the folder of the node."""
        if self.path.exists():
            raise DataError(f"the file must be new (got {str(self.path)!r}, which exists,)")
        if self.path.absolute().is_relative_to(origin.path.absolute()):
            raise DataError("the file must be outside of the node's folder (got one inside it)")
        if not self.path.absolute().parent.is_dir():
            raise DataError("the file must be in a folder that exists", got=str(self.path))

    def prepare(self, origin: Origin, passage: Passage) -> None:
        """Write the file, which cannot be received yet."""
        if self.path.exists():
            with open_origin(self.path) as found:
                before = found.store.passage.get()
            if before is None or before.id != passage.id:
                raise DataError(f"{self.words} must be the one that this move has written")
            return
        for left in self.path.absolute().parent.glob(f".{self.path.name}.*.tmp*"):  # by a try that was killed
            left.unlink()
        write_parcel(origin, self.path, msgspec.structs.replace(passage, kind="arriving", where=origin.words))

    def finish(self, origin: Origin, passage: Passage, *, now_s: float) -> None:
        """Let the file be received."""
        del now_s
        if not self.path.exists():
            raise DataError(f"{self.words} must be there. Got none; the node in {origin.words}: {passage.words()}.")
        with open_origin(self.path) as parcel:
            found = parcel.store.passage.get()
            if found is None or found.id != passage.id:
                raise DataError(f"{self.words} must be the one that this move has written")
            if found.kind == "arriving":
                _close(parcel.store, msgspec.structs.replace(found, kind="parcel"))


def target_of(
    origin: Origin, folder: Path, *, network_path: Path | None = None, settings: dict[str, str] | None = None
) -> NewNode | IntoNode:
    """Return how a folder is moved to: as a new node, or into the one that is there."""
    passage = origin.store.passage.get()
    if (folder / STORE).is_file():
        with closing(NodeStore(folder / STORE)) as store:
            found = store.passage.get()
            ours = passage is not None and (
                store.passage.came_with(passage) or (found is not None and found.id == passage.id)
            )
        if not ours:
            if network_path is not None or settings:
                raise DataError("the network and addresses must be those of the node that is there. Got others.")
            return IntoNode(folder)
    return NewNode(folder, network_path, settings or {})


def _close(store: NodeStore, passage: Passage) -> None:
    with store.database.transaction(durable=True):
        store.passage.close(passage)
