"""Leaving a network: first the node is closed for good, then it stops, then its folder is erased if its owner says so.

Each step is on disk before the next, so that whatever breaks it off, the node draws nothing any more and leaving again
goes on where it ended. It works on a node that runs: that one sees that it is closed, and stops.
"""

import time
from pathlib import Path
from typing import Any

from hetdp.core.errors import DataError
from hetdp.core.text import counted, duration
from hetdp.node.handle import NodeHandle
from hetdp.node.moving import ParcelFile, begin_move, move
from hetdp.node.storage.folder import IDENTITY, STORE, erase_folder, is_running
from hetdp.node.storage.parcels import open_origin
from hetdp.node.storage.store import NodeStore

#: A node that runs sees within a second that it is closed, and takes a few to say goodbye.
_STOPS_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.1


def what_leaving_means(handle: NodeHandle) -> tuple[list[str], list[str]]:
    """Return what can be taken back by leaving, and what cannot, in sentences: public parameters and counts only."""
    network, published = handle.network, len(handle.store.publications.all())
    forgotten = duration(handle.settings.keep_epochs * network.epoch_length_s)
    sketches = counted(published, "sketch", "sketches")
    can = [
        (
            "Everything at home: your list, dials, limits, losses, keys, what was learned. Erase the folder, and it is "
            "gone from here. Copies that you have made (backups, exports) are yours to delete; a disk may keep traces."
        ),
        "What is to come: no sketch is drawn any more, and nothing more is lost.",
    ]
    cannot = [
        (
            f"What was published ({sketches}). Nodes that keep to the rules forget the last one after {forgotten}; "
            "anybody may have kept them all."
        ),
        (
            "What items have lost by it. If you take part in another network, take the losses with you (`hetdp node "
            "leave --keep FILE`, or `hetdp node move`): without them its ledger starts at 0, and limits of a "
            "lifetime hold for that network alone."
        ),
    ]
    return can, cannot


def finish_leaving(folder: Path, *, patience_s: float = _STOPS_WITHIN_S) -> list[str]:
    """Erase the folder of a node that was closed, once it has stopped; return the names of files that are not its own.

    Goes on where an earlier attempt was broken off, and takes what is gone already for done: a node that runs erases
    its folder, too.
    """
    if (folder / IDENTITY).exists() and _fact_of(folder, "mode") not in ("closed", None):
        raise DataError("a node must be closed before it is erased (got one that is not)")
    _wait_until_stopped(folder, patience_s)
    return erase_folder(folder)


def leave_into_file(folder: Path, file: Path, *, now_s: float) -> None:
    """Leave the network with everything the node knows in a file, for `hetdp node receive` into another network.

    The losses are in it, so that they count there. Goes on where an earlier attempt was broken off.
    """
    target = ParcelFile(file)
    with open_origin(folder, lock=False) as origin:
        begin_move(origin, target, now_s=now_s)
    _wait_until_stopped(folder, _STOPS_WITHIN_S)
    with open_origin(folder) as origin:
        move(origin, target, now_s=now_s)
        with origin.store.database.transaction(durable=True):
            origin.store.events.note_once("left", now_s=now_s)


def _wait_until_stopped(folder: Path, patience_s: float) -> None:
    """Return once no node runs in a folder whose node is closed."""
    waited_s = 0.0
    while is_running(folder):
        if waited_s >= patience_s:
            raise DataError(
                f"the node must have stopped. Got one in {str(folder)!r} that still runs: it is closed and draws "
                "nothing any more. Stop it, and give the same command again."
            )
        time.sleep(_LOOK_EVERY_S)
        waited_s += _LOOK_EVERY_S


def erase_if_wanted(folder: Path) -> bool:
    """Erase the folder of a node that has stopped, if its owner said so on the page; return whether it was."""
    wanted = bool(_fact_of(folder, "mode") == "closed" and _fact_of(folder, "erase") == 1)
    if wanted:
        finish_leaving(folder)
    return wanted


def _fact_of(folder: Path, name: str) -> Any:  # noqa: ANN401  (a cell of SQLite)
    """Return what a store says; None if it is gone, perhaps just now: the other one erases it."""
    try:
        with NodeStore(folder / STORE) as store:
            return store.mode.get() if name == "mode" else store.database.fact(name)
    except DataError:
        if (folder / IDENTITY).exists():  # it goes before the store does
            raise
        return None
