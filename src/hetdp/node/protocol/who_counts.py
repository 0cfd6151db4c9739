"""Which sketches the node's model may learn from: once per key and epoch, few of a host, no copies. Knows no profile.

Keys cost nothing, hosts do. So a sketch counts when the signed record of its owner is known, and few owners at one host
count in an epoch. A record says what its owner likes, though: what counts is whether this node has reached the owner
there. Those it has not reached yet, or cannot reach, count as well, but all together never for more than those it has
reached, and whoever has been reached takes the place of a mere claim at the same host.

Sketches that hardly differ count once, the first seen, under whatever keys and in whatever epochs they come
(`node/protocol/seen_sketches.py`). A copy takes a place at its host and adds nothing: anyone who sends copies gains no
time either.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from hetdp.node.protocol.addresses import host_of, most_at_host
from hetdp.node.protocol.messages import Record, SignedSketch
from hetdp.node.protocol.seen_sketches import Name, SeenSketches

#: Of so many keys it is remembered where they say they are; of more, those heard of last.
_MOST_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class Counted:
    """One sketch that counts: whose, of which epoch, from which host, and whether its owner was reached there."""

    key: bytes
    epoch: int
    host: str
    reached: bool


#: What counts, with its sketch unless that was told before.
CrowdNews = tuple[Counted, SignedSketch | None]


@dataclass(slots=True)
class _Epoch:
    counted: dict[bytes, Counted] = field(default_factory=dict)
    reached: Counter[str] = field(default_factory=Counter)
    claims: dict[str, list[bytes]] = field(default_factory=dict)
    n_claims: int = 0
    copies: dict[bytes, Name] = field(default_factory=dict)  # of those counted, and what they copy: they add nothing

    def add(self, one: Counted) -> None:
        self.counted[one.key] = one
        if one.reached:
            self.reached[one.host] += 1
        else:
            self.claims.setdefault(one.host, []).append(one.key)
            self.n_claims += 1

    def remove(self, key: bytes) -> None:
        one = self.counted.pop(key)
        if one.reached:
            self.reached[one.host] -= 1
        else:
            self.claims[one.host].remove(key)
            self.n_claims -= 1


class CrowdCount:
    """Decides which sketches count, and remembers those of the epochs that are still accepted.

    Parameters
    ----------
    own_key, own_address
        Of this node; its own sketch does not count.
    most
        Sketches that count in one epoch.
    most_per_host
        Of them, those of one host; as in `most_at_host`.
    reached
        Tells whether the owner of a key has answered at an address.
    seen
        What finds copies; empty.
    n_head
        Items that the model is about, at most: the first of the catalogue. Sketches are compared there.
    size_of
        Tells how many items a version of the catalogue has, by its digest.
    learn_epochs
        So many epochs add up to a model, so copies of sketches of so many are told.
    """

    def __init__(
        self,
        own_key: bytes,
        own_address: str,
        *,
        most: int,
        most_per_host: int,
        reached: Callable[[bytes, str], bool],
        seen: SeenSketches,
        n_head: int,
        size_of: Callable[[bytes], int | None],
        learn_epochs: int,
    ) -> None:
        self._own_key, self._own_address = own_key, own_address
        self._seen, self._n_head, self._size_of, self._learn_epochs = seen, n_head, size_of, learn_epochs
        self._most, self._most_per_host, self._reached = most, most_per_host, reached
        self._accepted: range | None = None
        self._places: OrderedDict[bytes, tuple[int, str]] = OrderedDict()
        self._epochs: dict[int, _Epoch] = {}
        self._news: dict[tuple[bytes, int], SignedSketch] = {}
        self._changed: dict[tuple[bytes, int], Counted] = {}
        self._gone: dict[tuple[bytes, int], None] = {}

    def __len__(self) -> int:
        return sum(len(epoch.counted) - len(epoch.copies) for epoch in self._epochs.values())

    def locate(self, record: Record) -> None:
        """Remember where the owner of a checked record says it is: the newest word counts."""
        known = self._places.get(record.key)
        if known is None or known[0] < record.issued_ms:
            self._places[record.key] = record.issued_ms, record.address
            while len(self._places) > _MOST_PLACES:
                self._places.popitem(last=False)
        self._places.move_to_end(record.key)

    def address_of(self, key: bytes) -> str:
        """Return where the owner of a key says it is; empty where nothing is known."""
        place = self._places.get(key)
        return "" if place is None else place[1]

    def wants(self, key: bytes, epoch: int) -> bool:
        """Return whether the sketch of a key would count, and does not yet."""
        place = self._places.get(key)
        if place is None or key == self._own_key:
            return False
        address, known = place[1], self._epochs.get(epoch)
        return known is None or (key not in known.counted and self._has_room(known, key, address))

    def count(self, sketch: SignedSketch) -> bool:
        """Let a checked sketch count if it may; of two of the same key and epoch, or nearly alike, the first does."""
        if not self.wants(sketch.key, sketch.epoch):
            return False
        address = self._places[sketch.key][1]
        host, reached = host_of(address), self._reached(sketch.key, address)
        epoch = self._epochs.setdefault(sketch.epoch, _Epoch())
        claims = epoch.claims.get(host, [])
        if claims and epoch.reached[host] + len(claims) >= self._room_at(address):
            self._drop(epoch, Counted(claims[0], sketch.epoch, host, reached=False))
        epoch.add(Counted(sketch.key, sketch.epoch, host, reached))
        alike = self._seen.alike(sketch.bits, self._compared(sketch))
        if alike:
            epoch.copies[sketch.key] = alike[0]
            return False
        self.remember(sketch)
        self._news[sketch.key, sketch.epoch] = sketch
        self._changed[sketch.key, sketch.epoch] = epoch.counted[sketch.key]
        self._gone.pop((sketch.key, sketch.epoch), None)
        return True

    def remember(self, sketch: SignedSketch) -> None:
        """Take a sketch for one that was there before its copies, such as an own one."""
        self._seen.add({(sketch.key, sketch.epoch): sketch.bits}, self._compared(sketch))

    def confirm(self, key: bytes) -> None:
        """Take note that the owner of a key was reached where it says it is: its sketches are no mere claims."""
        place = self._places.get(key)
        if place is None or not self._reached(key, place[1]):
            return
        host = host_of(place[1])
        for number, epoch in self._epochs.items():
            known = epoch.counted.get(key)
            if known is not None and not known.reached and known.host == host:
                epoch.remove(key)
                epoch.add(Counted(key, number, host, reached=True))
                if key not in epoch.copies:
                    self._changed[key, number] = epoch.counted[key]

    def restore(self, counted: Iterable[Counted], heads: Mapping[int, Mapping[Name, bytes]]) -> None:
        """Remember what counted before a restart, and what it looked like: bits of the head, by how many they are."""
        for size, sketches in heads.items():
            self._seen.add(sketches, min(size, self._n_head))
        for one in counted:
            epoch = self._epochs.setdefault(one.epoch, _Epoch())
            if one.key not in epoch.counted:
                epoch.add(one)

    def take_news(self) -> tuple[list[CrowdNews], list[tuple[bytes, int]]]:
        """Return what counts since the last call, with its sketch where that is new, and what does not any more."""
        news = [(one, self._news.get(name)) for name, one in self._changed.items()]
        gone = list(self._gone)
        self._news, self._changed, self._gone = {}, {}, {}
        return news, gone

    def expire(self, epochs: range) -> None:
        """Forget who counted in other epochs: their sketches are accepted no more, or not yet if the clock was ahead.

        What they looked like is known for as long as it adds to the model, so that nobody can send it again.
        """
        if epochs != self._accepted:
            self._accepted = epochs
            for number in [number for number in self._epochs if number not in epochs]:
                del self._epochs[number]
            known = range(epochs.start - self._learn_epochs, epochs.stop)
            self._seen.discard([name for name in self._seen if name[1] not in known])

    def _has_room(self, epoch: _Epoch, key: bytes, address: str) -> bool:
        host, room = host_of(address), self._room_at(address)
        claims = len(epoch.claims.get(host, ()))
        if self._reached(key, address):
            takes_a_place = bool(claims) and epoch.reached[host] + claims >= room
            return epoch.reached[host] < room and (takes_a_place or len(epoch.counted) < self._most)
        # Where a host may have any number of nodes, it says nothing that this node has reached one of them.
        most_claims = max(room, len(epoch.counted) - epoch.n_claims)
        full = epoch.n_claims >= most_claims or len(epoch.counted) >= self._most
        return not full and epoch.reached[host] + claims < room

    def _room_at(self, address: str) -> float:
        return most_at_host(address, self._own_address, self._most_per_host)

    def _compared(self, sketch: SignedSketch) -> int:
        """Return how many bits of a sketch the model is about."""
        return min(self._n_head, self._size_of(sketch.catalogue) or 0)

    def _drop(self, epoch: _Epoch, one: Counted) -> None:
        epoch.remove(one.key)
        name = (one.key, one.epoch)
        self._news.pop(name, None)
        self._changed.pop(name, None)
        if epoch.copies.pop(one.key, None) is None:
            self._gone[name] = None
            self._seen.discard([name])
            for other in self._epochs.values():  # the turn of its copies comes again
                for key in [key for key, first in other.copies.items() if first == name]:
                    other.remove(key)
                    del other.copies[key]
