"""Backups, and nodes made of them.

A backup does not know what its node has published since. So whoever restores pays for the worst case: for every epoch
from the last sketch in the backup to now, each item of the catalogue at full weight, on the list or not; and draws none
of them. A node that was paused or off before its backup pays too much: that it drew nothing is something only the clock
said, and clocks may be wrong.
"""

import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hetdp.core.errors import DataError
from hetdp.core.files import settle
from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.database import check_sound
from hetdp.node.storage.folder import NETWORK, STORE
from hetdp.node.storage.network_file import read_network
from hetdp.node.storage.other_charges import RESTORED_THROUGH
from hetdp.node.storage.parcels import Origin, open_origin, unpack, write_parcel
from hetdp.node.storage.passage import Passage
from hetdp.node.storage.store import NodeStore


@dataclass(frozen=True, slots=True)
class Restored:
    """The epochs that a restored node pays for, all of them public."""

    first: int
    last: int
    charged: int


def back_up(folder: Path, file: Path, *, now_s: float) -> None:
    """Write a node, running or not, into a new file for its owner only: profile, ledger, keys and settings.

    Privacy
    -------
    The file is as private as the folder.
    """
    if file.exists():
        raise DataError(f"the file of a backup must be new (got {str(file)!r}, which exists,)")
    if file.absolute().is_relative_to(folder.absolute()):
        raise DataError("a backup must be outside of the node's folder (got a file inside it)")
    with open_origin(folder, lock=False) as origin:
        before = origin.store.passage.get()
        if before is not None and before.done:
            raise DataError(f"a backup must be of a node that is in use. The one in {origin.words}: {before.words()}.")
        # `now_s` is from before the copy: an epoch that is drawn meanwhile is in it, or will be paid for again.
        passage = Passage(
            id=secrets.token_hex(16),
            kind="backup",
            at_s=now_s,
            where=origin.words,
            was=origin.store.passage.mode_before(),
        )
        write_parcel(origin, file, passage)


def restore(source: Path, folder: Path, *, settings: dict[str, str], now_s: float, dry_run: bool = False) -> Restored:
    """Make a node of a backup, of a file or folder that a move has left, or of a copy of a folder.

    A folder that is given is closed first, so that it does not run beside the new one.

    Privacy
    -------
    Every item loses epsilon for each epoch that the lost node may have published in since; limits apply as ever.
    """
    if folder.exists():
        raise DataError(f"the folder of a restored node must not exist yet. Got {str(folder)!r}, which does.")
    with _room_beside(folder) as room, _origin(source, room) as origin:
        made = room / "node"
        made.mkdir(mode=0o700)
        unpack(origin, made, settings=settings)
        network, passage = read_network(made / NETWORK), origin.store.passage.get()
        _refuse_gone(origin, passage)
        with closing(NodeStore(made / STORE)) as store:
            store.check_network(network)
            check_sound(store.database, network)
            if passage is not None and passage.at_s > now_s:
                raise DataError(
                    "the clock must be later than the backup. Got an earlier time instead: put the clock right, or use "
                    "an earlier backup if the clock was wrong when this one was made."
                )
            last = network.epoch_at(now_s)
            first = _first_unknown(store, passage, network, last)
            charged = _charge(store, first, last, now_s=now_s)
            # Killed before the new folder has its name, this one is restored again, from the same epoch on.
            since_s = float(network.starts(first))
            gone = Passage(
                id=secrets.token_hex(16), kind="moved", at_s=since_s, where=f"the folder {folder.absolute()}"
            )
            mode = origin.store.passage.mode_before()
            with store.database.transaction(durable=True):
                store.passage.open(passage or gone, mode="open" if mode == "closed" else mode)
        if not dry_run:
            if source.is_dir() and passage is None:
                with origin.store.database.transaction(durable=True):
                    origin.store.passage.close(msgspec.structs.replace(gone, was=mode, done=True))
            settle(made)
            made.rename(folder)
            settle(folder.absolute().parent)
    return Restored(first, last, charged)


def _first_unknown(store: NodeStore, passage: Passage | None, network: NetworkParameters, last: int) -> int:
    """Return the first epoch of which the copy cannot know whether it was drawn.

    A file says when it was written, and a folder that has moved when it was closed: by a clock that may have been
    ahead, or of a copy that was old by then. What is certain is that the copy is as new as the last sketch in it that
    was not drawn ahead of its time; one is known to be if a later draw was of an earlier epoch.
    """
    newest = store.database.one(
        "SELECT max(epoch) FROM drawn WHERE epoch <= ? AND epoch NOT IN (SELECT epoch FROM (SELECT epoch, min(epoch) "
        "OVER (ORDER BY draw DESC ROWS UNBOUNDED PRECEDING) AS later FROM publications) WHERE later < epoch)",
        last,
    )
    if newest is None:  # it has drawn nothing since it was made
        made_s = store.database.fact("made_s")
        proven = 0 if made_s is None else network.epoch_at(made_s)
    else:
        proven = int(newest) + 1
    return proven if passage is None else max(0, min(proven, network.epoch_at(passage.at_s)))


def _refuse_gone(origin: Origin, passage: Passage | None) -> None:
    """Refuse what has a ledger elsewhere that epochs of this network do not bound, or may have one soon."""
    if passage is None or passage.kind != "moved":
        return
    if not passage.done:
        raise DataError(f"a node on its way cannot be restored. The one in {origin.words}: {passage.words()}.")
    if passage.onward:
        raise DataError(
            f"a node must be restored from its last ledger. The one in {origin.words} is not: {passage.words()}."
        )


def _charge(store: NodeStore, first: int, last: int, *, now_s: float) -> int:
    """Charge for every epoch that may have been drawn, and mark it as drawn; return how many there are."""
    with store.database.transaction(durable=True):
        epochs = store.draws.forbid_undrawn(first, last, "restored")
        store.database.set_fact(RESTORED_THROUGH, last)
        store.other_charges.add(f"restored-{secrets.token_hex(8)}", "restored", every=FULL_DIAL * epochs)
        store.draws.begin_again(now_s)
        store.events.note("restored", now_s=now_s, epochs=epochs)
    return epochs


@contextmanager
def _room_beside(folder: Path) -> Iterator[Path]:
    """Give a folder for its owner only, beside another, that is gone afterwards."""
    room = None
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(dir=folder.absolute().parent, prefix=f".{folder.name}."))
        yield room
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"{str(folder)!r} must be in a writable place with room for it. Got: {error}.") from None
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)


@contextmanager
def _origin(source: Path, room: Path) -> Iterator[Origin]:
    """Open what is restored; a file is copied first, as it may lie where nothing can be written."""
    if source.is_file():
        shutil.copyfile(source, room / source.name)
        (room / source.name).chmod(0o600)
        with open_origin(room / source.name) as origin:
            yield origin
    else:
        with open_origin(source) as origin:
            yield origin
