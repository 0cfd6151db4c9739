"""What a node does about sketches under its own key that it has not drawn: pay for them, and publish no more.

A copy of a node draws from the same profile and has a ledger of its own, so neither knows what the other spends.
"""

import hashlib
from collections.abc import Iterable

from hetdp.node.dials import FULL_DIAL
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.storage.store import NodeStore

__all__ = ["meet"]

#: The last draw of this store that a copy was paid for as well.
_PAID = "copy_paid"


def meet(store: NodeStore, sketches: Iterable[SignedSketch], *, now_s: float) -> bool:
    """Take in checked sketches under the own key; return whether one of them was drawn elsewhere.

    Privacy
    -------
    A sketch that this store has not drawn, nor paid for, shows that there is a copy, and not since when: it may have
    published in every epoch since this store's first, also in those that this store drew itself. So each of them up to
    the newest is charged at full weight to every item, once: an upper bound. What was paid for by a restore, or when a
    copy was met before, is not charged again. Then the node stops, on disk before it draws again. What happens depends
    on published sketches alone.
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
    """Charge for a copy that drew a sketch, and return for how many epochs: none if it is the own one, or paid for."""
    database, epoch = store.database, sketch.epoch
    why = database.one("SELECT why FROM drawn WHERE epoch = ?", epoch)
    if why not in {None, "published"}:
        return 0
    own = store.publications.of_epoch(epoch)
    if own is not None and (own.bits, own.catalogue) == (sketch.bits, sketch.catalogue):
        return 0
    met = f"met-{epoch}-"
    mark = met + hashlib.blake2b(sketch.signature, digest_size=16).hexdigest()
    if store.other_charges.has(mark):
        return 0
    draw = database.one("SELECT draw FROM publications WHERE epoch = ?", epoch)
    if draw is not None and draw <= _paid(store):  # by a copy; if another was met in this epoch, there are two
        epochs = int(database.one("SELECT 1 FROM other_charges WHERE mark GLOB ?", f"{met}*") is not None)
    else:
        epochs = _since_the_first(store, epoch)
    store.other_charges.add(mark, "met", every=FULL_DIAL * epochs)
    return epochs


def _paid(store: NodeStore) -> int:
    return int(store.database.fact(_PAID) or 0)


def _since_the_first(store: NodeStore, epoch: int) -> int:
    """Mark all epochs up to one as met, and return how many a copy may have drawn that were not paid for."""
    database = store.database
    first = database.one("SELECT min(epoch) FROM drawn")
    missed = store.draws.forbid_undrawn(epoch if first is None else min(first, epoch), epoch, "met")
    both = int(database.one("SELECT count(*) FROM publications WHERE draw > ?", _paid(store)))
    database.set_fact(_PAID, int(database.one("SELECT coalesce(max(draw), 0) FROM publications")))
    return missed + both
