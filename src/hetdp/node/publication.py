"""Publishing once per epoch, whatever happens: charge, draw and store in one transaction, and only then let it out.

Why not `hetdp.Ledger`: its file and the store are two files, and a crash between the two would leave an epoch that was
paid for and has no sketch, so a second draw. Here the charge is in the very transaction that stores the sketch. Losses
are whole numbers of hundredths of epsilon, so their sums are exact.

Everything is read and written as arrays as long as the catalogue. Items of dial 0, items that are not on the list and
items that count cost the same, so the time of a draw does not tell how many there are; what may is in
docs/guide/protocol.md.
"""

from hetdp.core.errors import SimulatedResult
from hetdp.core.randomness import Stream, secure_stream
from hetdp.node.dials import FULL_DIAL, draw_bits
from hetdp.node.protocol.draw_schedule import Uptime
from hetdp.node.protocol.identity import Identity
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.protocol.sketches import sign_sketch
from hetdp.node.storage.other_charges import RESTORED_THROUGH
from hetdp.node.storage.store import NodeStore


def publish(
    store: NodeStore,
    *,
    identity: Identity,
    network: NetworkParameters,
    now_s: float,
    uptime: Uptime,
    invitation: bytes = b"",
    stream: Stream | None = None,
    simulation: bool = False,
) -> SignedSketch | None:
    """Return the sketch to show to the network now: drawn if one is due, the last drawn one otherwise.

    None before the first. `protocol.draw_schedule` says when one is due, from the clock on the wall, `now_s`, and the
    one that nobody sets, `uptime`. A seeded stream is refused unless `simulation` says that nobody's privacy is at
    stake.

    Privacy
    -------
    Item i loses epsilon * dial_i / 100, recorded before the sketch exists outside the transaction, and at most its
    lifetime limit in total: an item that cannot pay counts as dial 0 and pays nothing. A crash before the commit
    leaves neither a charge nor a sketch; after it, both.
    """
    source = secure_stream() if stream is None else stream
    if source.simulated and not simulation:
        raise SimulatedResult(
            "a sketch drawn with a seed must not be published; its noise can be recomputed by anyone."
        )
    store.check_network(network)
    if store.draws.turn(network, now_s=now_s, uptime=uptime).draws:
        shown = invitation if network.admission == "invite" else b""
        _draw(store, identity=identity, network=network, now_s=now_s, uptime=uptime, invitation=shown, stream=source)
    return store.publications.newest_signed()


def _draw(
    store: NodeStore,
    *,
    identity: Identity,
    network: NetworkParameters,
    now_s: float,
    uptime: Uptime,
    invitation: bytes,
    stream: Stream,
) -> None:
    with store.database.transaction(durable=True):
        turn = store.draws.turn(network, now_s=now_s, uptime=uptime)
        if not turn.draws or store.mode.get() != "open":  # another process was quicker; or the owner does not want it
            return
        _pay_since_restored(store, turn.epoch)
        dials = store.ledger.standing().effective
        store.ledger.charge(dials)
        bits = draw_bits(dials, epsilon=network.epsilon, tuned_for=network.tuned_for, stream=stream)
        sketch = sign_sketch(
            bits,
            epoch=turn.epoch,
            identity=identity,
            network=network,
            invitation=invitation,
            catalogue=store.catalogue.digest(),
        )
        store.publications.add(sketch, ones=int(bits.sum()), dials=dials, now_s=now_s)
        store.draws.note(turn, now_s=now_s, uptime=uptime)


def _pay_since_restored(store: NodeStore, epoch: int) -> None:
    """Pay, before the first draw after a restore, for every epoch between the two.

    The clock may have been behind when the node was restored: then the lost node may have published in these epochs,
    too, and nobody holds its sketches any more. One epoch after the other, as usual, leaves none between.
    """
    through = store.database.fact(RESTORED_THROUGH)
    if through is None:
        return
    between = store.draws.forbid_undrawn(int(through) + 1, epoch - 1, "restored")
    store.other_charges.add(f"restored-before-{epoch}", "restored", every=FULL_DIAL * between)
    store.database.execute("DELETE FROM facts WHERE name = ?", RESTORED_THROUGH)
