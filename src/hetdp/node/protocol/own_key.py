"""Sketches that others hold under this node's own key: one that it has not drawn means that a copy runs elsewhere.

What is asked for depends on what others announce and on chance alone: not on the profile, and not on whether the node
was moved or restored.
"""

import hashlib
from collections.abc import Iterable

from hetdp.core.randomness import Stream
from hetdp.node.protocol.messages import SignedSketch, Slip

__all__ = ["OwnKeyWatch"]

#: Of announcements of an epoch that was looked at before, one in so many is looked at again: others may hold another.
_ONE_IN = 8
#: So many different ones are handed on at once; a node that holds the key could sign any number.
_MOST_FOUND = 16


class OwnKeyWatch:
    """Looks at what others hold under the own key; checked sketches only."""

    def __init__(self, own_key: bytes, *, stream: Stream) -> None:
        self._own_key, self._stream = own_key, stream
        self._seen: set[int] = set()
        self._found: dict[bytes, SignedSketch] = {}

    def wants(self, have: Iterable[Slip], *, epochs: range) -> tuple[bytes, ...]:
        """Return the own key if it is announced and worth a look, else nothing."""
        announced = [slip.epoch for slip in have if slip.key == self._own_key and slip.epoch in epochs]
        new = any(epoch not in self._seen for epoch in announced)
        if announced and (new or int(self._stream.words(1)[0]) % _ONE_IN == 0):
            return (self._own_key,)
        return ()

    def look_at(self, sketch: SignedSketch, *, shown: SignedSketch | None) -> None:
        """Remember a checked sketch under the own key, unless it is the one that this node shows itself."""
        self._seen = {epoch for epoch in self._seen if epoch > sketch.epoch - 1000} | {sketch.epoch}
        if sketch != shown and len(self._found) < _MOST_FOUND:
            self._found[hashlib.blake2b(sketch.signature).digest()] = sketch

    def take_found(self) -> list[SignedSketch]:
        """Return what was found since the last call: sketches of earlier epochs, or another's."""
        found, self._found = list(self._found.values()), {}
        return found
