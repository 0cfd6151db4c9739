"""The shelf of sketches: what to announce, what to ask for, what to keep. Blind: it never sees the owner's profile.

What is announced is half what came last (so news spread fast) and half chance. When the shelf is full, a secret hash of
the peer's key decides who stays: a uniform selection that no crowd of new keys can aim at.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from hetdp.core.randomness import Stream
from hetdp.node.protocol.messages import SignedSketch, Slip
from hetdp.node.protocol.random_choice import choose_some

__all__ = ["SketchShelf"]


class SketchShelf:
    """The newest sketch of each of at most `most` peers, and the node's own, of which others' copies are not kept."""

    def __init__(self, own_key: bytes, *, most: int, stream: Stream) -> None:
        self.own: SignedSketch | None = None
        self._own_key = own_key
        self._most = most
        self._stream = stream
        self._salt = stream.words(4).tobytes()
        self._held: dict[bytes, SignedSketch] = {}
        self._ranks: dict[bytes, bytes] = {}
        self._news: dict[bytes, None] = {}  # keys in `_held`, in the order in which their sketches came
        self._last: bytes | None = None  # the key that would have to go first; None where it must be looked for

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[SignedSketch]:
        return iter(self._held.values())

    def announce(self, count: int) -> tuple[Slip, ...]:
        """Return up to `count` sketches to tell a peer about; the own one always is among them."""
        own = [self.own] if self.own is not None else []
        room = count - len(own)
        newest = list(islice(reversed(self._held.values()), room - room // 2))
        taken = {sketch.key for sketch in newest}
        rest = [sketch for key, sketch in self._held.items() if key not in taken]
        chosen = own + newest + choose_some(rest, room - len(newest), self._stream)
        return tuple(Slip(sketch.key, sketch.epoch) for sketch in chosen)

    def lacking(
        self,
        have: Iterable[Slip],
        *,
        epochs: range,
        count: int,
        also: Callable[[bytes, int], bool] = lambda _key, _epoch: False,
    ) -> tuple[bytes, ...]:
        """Return up to `count` announced keys whose sketches would be kept, and then some that are `also` of use."""
        recent = [slip for slip in have if slip.epoch in epochs]
        wanted = {slip.key: None for slip in recent if self._wants(slip.key, slip.epoch)}
        others = {slip.key: None for slip in recent if slip.key not in wanted and also(slip.key, slip.epoch)}
        chosen = choose_some(list(wanted), count, self._stream)
        return (*chosen, *choose_some(list(others), count - len(chosen), self._stream))

    def serve(self, keys: Sequence[bytes], *, offered: Iterable[Slip], count: int) -> tuple[SignedSketch, ...]:
        """Return the sketches asked for, if they had been announced to that peer."""
        announced = {slip.key for slip in offered}
        found = [self.find(key) for key in dict.fromkeys(keys[:count]) if key in announced]
        return tuple(sketch for sketch in found if sketch is not None)

    def keep(self, sketch: SignedSketch) -> bool:
        """Keep a checked sketch if it is newer than what is held and there is room for its peer.

        Of two sketches of the same peer and epoch, the first stays.
        """
        if not self._wants(sketch.key, sketch.epoch):
            return False
        if self._held.pop(sketch.key, None) is None:
            if len(self._held) >= self._most:
                self._drop(self._first_to_go())
            rank = self._ranks[sketch.key] = self._rank(sketch.key)
            if self._last is not None and rank > self._ranks[self._last]:
                self._last = sketch.key
        self._held[sketch.key] = sketch  # at the end: the newest arrival
        self._news[sketch.key] = None
        return True

    def take_news(self) -> list[SignedSketch]:
        """Return the sketches held that came since the last call, to be written to disk.

        Whatever else arrives, none of them gets lost before: what is held is all that could be.
        """
        news, self._news = [self._held[key] for key in self._news], {}
        return news

    def expire(self, epochs: range) -> None:
        """Forget sketches of other epochs: too old, or taken while the clock was ahead."""
        for key in [key for key, sketch in self._held.items() if sketch.epoch not in epochs]:
            self._drop(key)

    def _wants(self, key: bytes, epoch: int) -> bool:
        if key == self._own_key:
            return False
        held = self._held.get(key)
        if held is not None:
            return epoch > held.epoch
        return len(self._held) < self._most or self._rank(key) < self._ranks[self._first_to_go()]

    def find(self, key: bytes) -> SignedSketch | None:
        """Return the sketch of a peer, or the own one; None if there is none."""
        return self.own if key == self._own_key else self._held.get(key)

    def _drop(self, key: bytes) -> None:
        del self._held[key], self._ranks[key]
        self._news.pop(key, None)
        if key == self._last:
            self._last = None

    def _first_to_go(self) -> bytes:
        if self._last is None:
            self._last = max(self._ranks, key=self._ranks.__getitem__)
        return self._last

    def _rank(self, key: bytes) -> bytes:
        return hashlib.blake2b(key, key=self._salt, digest_size=8).digest()
