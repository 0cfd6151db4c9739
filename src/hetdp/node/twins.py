"""What a node does about sketches under its own key that it has not drawn: pay for them, and publish no more.

A copy of a node draws from the same profile and has a ledger of its own, so neither knows what the other spends.
"""

import hashlib
from collections.abc import Iterable

from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.storage.store import NodeStore

__all__ = ["meet"]


def meet(store: NodeStore, sketches: Iterable[SignedSketch], *, now_s: float) -> bool:
    """Take in checked sketches under the own key; return whether one of them was drawn elsewhere.

    Privacy
    -------
    A sketch that this store has not drawn, nor paid for when it was restored, is charged at full weight to every item,
    and so is every epoch between the last one drawn before it and it: the copy may have published in each. Then the
    node stops, on disk before it draws again. What happens depends on published sketches alone.
    """
    stopped = False
    for sketch in sketches:
        with store.database.transaction(durable=True):
            charged = _charge(store, sketch)
            if charged:
                if store.mode.get() != "closed":  # who has left or moved stays so
                    store.mode.set("stopped")
                store.events.note("twin", now_s=now_s, epoch=sketch.epoch, charged=charged)
                stopped = True
    return stopped


def _charge(store: NodeStore, sketch: SignedSketch) -> int:
    """Charge for a sketch and return for how many epochs: for none if it is this store's own, or paid for."""
    database, epoch = store.database, sketch.epoch
    why = database.one("SELECT why FROM drawn WHERE epoch = ?", epoch)
    if why == "published":
        own = store.publications.of_epoch(epoch)
        if own is not None and (own.bits, own.catalogue) == (sketch.bits, sketch.catalogue):
            return 0
        epochs = [epoch]
    elif why is not None:
        return 0
    else:
        before = database.one("SELECT max(epoch) FROM drawn WHERE epoch < ?", epoch)
        epochs = list(range(epoch if before is None else int(before) + 1, epoch + 1))
        database.execute_many("INSERT INTO drawn VALUES (?, 'met')", [(one,) for one in epochs])
    mark = f"met-{epoch}-{hashlib.blake2b(sketch.signature, digest_size=16).hexdigest()}"
    done = store.other_charges.add(mark, "met", every=FULL_DIAL * len(epochs))
    return len(epochs) if done else 0
