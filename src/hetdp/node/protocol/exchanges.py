"""The exchanges a node has open, those it started and those its peers started, and when each is given up. No I/O."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from hetdp.core.randomness import Stream
from hetdp.node.protocol.messages import Record, SignedSketch, Slip, name_of

#: Exchanges that one key may have open at once; honest peers have one.
_MOST_OPEN = 2


@dataclass(slots=True)
class Started:
    """An exchange that this node started; `wanted` is known once the peer has answered.

    One on trial is to find out whether the peer is where it claims to be; one `alike` is not blind, but about what is
    like the sketches of both.
    """

    link: int
    key: bytes
    curve: bytes
    address: str
    sent: list[Record]
    offered: tuple[Slip, ...]
    deadline_s: float
    trial: bool = False
    alike: bool = False
    wanted: tuple[bytes, ...] | None = None


@dataclass(slots=True)
class Joined:
    """An exchange that a peer started."""

    key: bytes
    curve: bytes
    offered: tuple[Slip, ...]
    wanted: tuple[bytes, ...]
    catalogue: int  # the newest version that the peer has
    deadline_s: float
    alike: bool = False


class Exchanges:
    """What is under way: peers may have `most` exchanges open at once, and take `patience_s` for an answer."""

    def __init__(self, *, most: int, patience_s: float) -> None:
        self._most, self._patience_s = most, patience_s
        self._started: dict[int, Started] = {}
        self._joined: dict[tuple[Hashable, bytes], Joined] = {}
        self._links = 0

    def next_deadline_s(self) -> float:
        """Return when the first exchange that this node started is given up."""
        return min((exchange.deadline_s for exchange in self._started.values()), default=float("inf"))

    def overdue(self, now_s: float) -> list[int]:
        """Return the links of started exchanges whose time is up; joined ones are forgotten silently."""
        latest_s = now_s + self._patience_s
        noted: list[Joined | Started] = [*self._joined.values(), *self._started.values()]
        for one in noted:
            one.deadline_s = min(one.deadline_s, latest_s)  # the clock was ahead when it was noted
        for place in [place for place, exchange in self._joined.items() if exchange.deadline_s <= now_s]:
            del self._joined[place]
        return [link for link, exchange in self._started.items() if exchange.deadline_s <= now_s]

    def start(
        self,
        key: bytes,
        curve: bytes,
        address: str,
        sent: list[Record],
        offered: tuple[Slip, ...],
        *,
        now_s: float,
        trial: bool = False,
        alike: bool = False,
    ) -> Started:
        """Note an exchange that this node starts, under a new link."""
        self._links += 1
        exchange = Started(self._links, key, curve, address, sent, offered, now_s + self._patience_s, trial, alike)
        self._started[exchange.link] = exchange
        return exchange

    def started(self, link: Hashable) -> Started | None:
        """Return the exchange that this node started over a link, if it is still open."""
        return self._started.get(link) if isinstance(link, int) else None

    def end(self, link: Hashable) -> Started | None:
        """Forget an exchange that this node started, and return it."""
        return self._started.pop(link, None) if isinstance(link, int) else None

    def join(
        self,
        link: Hashable,
        nonce: bytes,
        *,
        key: bytes,
        curve: bytes,
        offered: tuple[Slip, ...],
        wanted: tuple[bytes, ...],
        catalogue: int,
        now_s: float,
        alike: bool = False,
    ) -> None:
        """Note an exchange that a peer starts, at the cost of its own oldest beyond its share, then of anybody's."""
        same = [place for place, joined in self._joined.items() if joined.key == key or joined.curve == curve]
        for place in same[: max(0, len(same) - _MOST_OPEN + 1)]:
            del self._joined[place]
        while len(self._joined) >= self._most:
            del self._joined[next(iter(self._joined))]
        self._joined[link, nonce] = Joined(key, curve, offered, wanted, catalogue, now_s + self._patience_s, alike)

    def leave(self, link: Hashable, nonce: bytes) -> Joined | None:
        """Forget an exchange that a peer started, and return it."""
        return self._joined.pop((link, nonce), None)

    def joined(self) -> list[bytes]:
        """Return the nonces of the exchanges that peers have open, oldest first."""
        return [nonce for _, nonce in self._joined]


# Short names of keys, for slips: eight bytes stand for 32, and whoever knows the key knows whom they mean. No I/O.


#: More keys than a node knows places of and holds sketches of, all together.
_MOST_NAMES = 20_000


class NameBook:
    """The keys that a node has met, by name; beyond what it remembers, those met longest ago are forgotten.

    Those whose sketches are `held` are never forgotten, however many others are met: it tells their keys by name. What
    a name means that was never met is the name itself: to the shelf it is somebody new.
    """

    def __init__(self, own_key: bytes, *, held: Callable[[bytes], bytes | None]) -> None:
        self._own = {name_of(own_key): own_key}
        self._held = held
        self._keys: OrderedDict[bytes, bytes] = OrderedDict()

    def add(self, key: bytes) -> None:
        """Remember a key. Of two with the same name, the first: nobody takes another's name."""
        name = name_of(key)
        self._keys.setdefault(name, key)
        self._keys.move_to_end(name)
        if len(self._keys) > _MOST_NAMES:
            self._keys.popitem(last=False)

    def whole(self, slips: Iterable[Slip]) -> list[Slip]:
        """Return slips with keys in the place of names."""
        return [Slip(self._key(slip.key), slip.epoch) for slip in slips]

    def _key(self, name: bytes) -> bytes:
        return self._own.get(name) or self._held(name) or self._keys.get(name, name)


def short(slips: Iterable[Slip]) -> tuple[Slip, ...]:
    """Return slips with names in the place of keys, as they are sent."""
    return tuple(Slip(name_of(slip.key), slip.epoch) for slip in slips)


# Sketches that others hold under this node's own key: one that it has not drawn means that a copy runs elsewhere.
# What is asked for depends on what others announce and on chance alone: not on the profile, and not on whether the
# node was moved or restored.


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
