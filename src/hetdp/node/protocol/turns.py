"""Whose turn it is to be asked: the oldest peer of the view, a claim on trial, or somebody known from elsewhere."""

from collections.abc import Sequence

from hetdp.core.randomness import Stream
from hetdp.node.protocol.admission import Gate
from hetdp.node.protocol.chance import pick
from hetdp.node.protocol.cyclon import View
from hetdp.node.protocol.network import Bootstrap

__all__ = ["whom_to_ask"]

#: Every so many exchanges, one who only claims to be somewhere is asked: that is how newcomers get into views. More
#: often by who knows few, so that a young network does not hang on the peers that were reached first.
_CLAIM_EVERY, _CLAIM_EVERY_IF_FEW = 4, 2


def whom_to_ask(
    view: View, contacts: Sequence[Bootstrap], *, gate: Gate, stream: Stream, contact_every: int, now_s: float
) -> tuple[bytes, bytes, str] | None:
    """Return key, transport key and address of the peer to ask now; None if there is nobody.

    Parameters
    ----------
    view
        Banned peers leave it.
    contacts
        Bootstrap peers and old acquaintances: asked every `contact_every` times by chance, and when the view holds
        nobody but those who claim to be somewhere.
    gate
        Knows who is banned.
    stream
        For blind choices.
    contact_every, now_s
        As in the settings; Unix seconds.

    Privacy
    -------
    Depends on chance, on ages and on who is banned, never on a profile.
    """
    for record in view.records():
        if gate.banned(record.key, record.curve, now_s=now_s):
            view.remove(record.key)
    trial, turn = (int(word) for word in stream.words(2))  # by chance, so that not all go at once
    allowed = [
        (bytes.fromhex(peer.key), bytes.fromhex(peer.curve), peer.address)
        for peer in contacts
        if not gate.banned(bytes.fromhex(peer.key), bytes.fromhex(peer.curve), now_s=now_s)
    ]
    every = _CLAIM_EVERY_IF_FEW if view.knows_few() else _CLAIM_EVERY
    asked = (view.claim() if trial % every == 0 else None) or view.oldest()
    if allowed and (asked is None or turn % contact_every == 0):
        return pick(allowed, stream)
    asked = asked or view.claim()
    return None if asked is None else (asked.key, asked.curve, asked.address)
