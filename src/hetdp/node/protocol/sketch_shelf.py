"""The shelf of sketches: what to announce, what to ask for, what to keep. Blind: it never sees the owner's profile.

One half is chance: a secret hash of the peer's key decides who stays, a uniform selection that no crowd of new keys can
aim at. It takes part in blind gossip only: what is announced blindly is half what came last (so news spread fast) and
half chance, all from this half, and only what was so announced gets into it. So it stays a fair sample, and the model
may learn from what comes that way.

The other half holds the sketches most like the own *published* one (`likeness`), near-identical ones once and copies of
the own not at all (`counted_once`), few of a host, and where those whose owners were not reached are not more than the
others; as long as there is room, anything. What is kept, asked for and
announced is a function of published sketches, of what others say, of chance and time.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hetdp.core.randomness import Stream
from hetdp.node.protocol.likeness import Likeness, SharesOfOnes
from hetdp.node.protocol.messages import SignedSketch, Slip, name_of
from hetdp.node.protocol.peer_view import choose_some
from hetdp.node.protocol.seen_sketches import Name, SeenSketches


class CountedOnce:
    """Sketches of different keys; of those that are near-identical (`seen_sketches`), the first counts.

    One of them, the own, counts as there before all others. Where `seen` is None, nothing is told from anything.
    """

    def __init__(self, seen: SeenSketches | None) -> None:
        self._seen = seen
        self._lead: Name | None = None
        self._copies: dict[bytes, tuple[Name, SignedSketch]] = {}  # with the first of its kind

    def __len__(self) -> int:
        """Return how many do not count."""
        return len(self._copies)

    def __contains__(self, key: object) -> bool:
        """Return whether the sketch of a key does not count."""
        return key in self._copies

    def add(self, sketch: SignedSketch) -> None:
        """Take in a sketch of a key that has none here."""
        if self._seen is None:
            return
        alike = self._seen.alike(sketch.bits, _size(sketch))
        if alike:
            # The own one may have come later than one that is like it and like this one.
            first = self._lead if self._lead is not None and self._lead in alike else alike[0]
            self._copies[sketch.key] = first, sketch
        else:
            self._seen.add({_name(sketch): sketch.bits}, _size(sketch))

    def remove(self, sketch: SignedSketch) -> None:
        """Forget a sketch; if it was the first of its kind, the next one is."""
        if self._copies.pop(sketch.key, None) is None:
            self._forget(_name(sketch))

    def lead(self, sketch: SignedSketch, others: dict[bytes, SignedSketch]) -> None:
        """Let a sketch, the own, be there before all `others`, in the place of the one before it."""
        if self._seen is None:
            return
        last, self._lead = self._lead, _name(sketch)
        if last is not None:
            self._forget(last)
        alike = self._seen.alike(sketch.bits, _size(sketch))
        self._seen.add({self._lead: sketch.bits}, _size(sketch))
        for name in alike:
            self._forget(name)
            self._copies[name[0]] = self._lead, others[name[0]]

    def _forget(self, name: Name) -> None:
        if self._seen is None:
            return
        self._seen.discard([name])
        for copy in [copy for first, copy in self._copies.values() if first == name]:
            del self._copies[copy.key]
            self.add(copy)


def _name(sketch: SignedSketch) -> Name:
    return sketch.key, sketch.epoch


def _size(sketch: SignedSketch) -> int:
    """Return how many bits are compared: the last byte may be filled up with zeros that all sketches have."""
    return 8 * (len(sketch.bits) - 1) if sketch.bits else 0


#: So many sketches that were not alike enough are remembered, so that they are not asked for again.
_MOST_JUDGED = 4096
#: Half of what a peer is told about are the sketches most like its own; the others are among so many times as many.
_NEXT_BEST = 4
#: What is like the own sketch is worked out anew when the sample that tells which ones are rare has grown so much.
_GROWN = 1.5


@dataclass(frozen=True, slots=True)
class Place:
    """Where the owner of a sketch says it is, how many of that host may be chosen, and whether it was reached there."""

    host: str = ""
    room: float = float("inf")
    reached: bool = False


@dataclass(slots=True)
class _Liked:
    score: float
    rank: bytes
    place: Place

    @property
    def order(self) -> tuple[float, bytes]:
        """Who has the largest goes first."""
        return -self.score, self.rank


class SketchShelf:
    """The newest sketch of each of at most `most` peers, and the node's own, of which others' copies are not kept.

    `place_of` tells where the owner of a key is, and `seen`, empty, what is near-identical.
    The `salt` of the secret hash is made where none is given.
    """

    def __init__(
        self,
        own_key: bytes,
        *,
        most: int,
        stream: Stream,
        salt: bytes = b"",
        place_of: Callable[[bytes], Place] = lambda _key: Place(),
        seen: SeenSketches | None = None,
    ) -> None:
        self._own: SignedSketch | None = None
        self._own_key = own_key
        self._most_random, self._most_liked = most - most // 2, most // 2
        self._stream, self._place_of = stream, place_of
        self.salt = salt or stream.words(4).tobytes()
        self._held: dict[bytes, SignedSketch] = {}
        self._by_name: dict[bytes, bytes] = {}  # keys in `_held`; of two with the same name, the first
        self._ranks: dict[bytes, bytes] = {}  # of the random half
        self._liked: dict[bytes, _Liked] = {}  # the other half
        self._once = CountedOnce(seen)  # of the other half
        self._news: dict[bytes, None] = {}  # keys in `_held`, in the order in which their sketches came
        self._last: bytes | None = None  # the key that would have to go first; None where it must be looked for
        self._judged: OrderedDict[tuple[bytes, int], None] = OrderedDict()
        self._shares = SharesOfOnes()
        self._taste: Likeness | None = None
        self._judged_by = 0  # sketches behind `_taste`

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[SignedSketch]:
        return iter(self._held.values())

    @property
    def own(self) -> SignedSketch | None:
        """The own sketch that was published last."""
        return self._own

    @own.setter
    def own(self, sketch: SignedSketch) -> None:
        self._own = sketch
        self._once.lead(sketch, self._held)
        self._judged.clear()
        self._judge_anew()

    @property
    def liked(self) -> set[bytes]:
        """The keys whose sketches are held because they are like the own one, or because there is room."""
        return set(self._liked)

    @property
    def full(self) -> bool:
        """Whether sketches are chosen: as long as there is room, or copies would make some, all are kept."""
        return len(self._liked) - len(self._once) >= self._most_liked

    def population(self) -> int:
        """Return of how many peers there seem to be sketches: so many, chance being chance, leave so small hashes."""
        if len(self._ranks) < self._most_random:
            return len(self._held)
        share = (int.from_bytes(self._ranks[self._first_to_go()], "big") + 1) / 2**64
        return max(len(self._held), round((len(self._ranks) - 1) / share))

    def digest(self) -> bytes:
        """Return what stands for the own sketch and those held by chance: the same for nodes with nothing to tell.

        Where that is all there are, those held for likeness are none; where it is not, no two nodes choose the same.
        """
        own = [] if self.own is None else [self.own]
        held = sorted((one.key, one.signature) for one in (*own, *(self._held[key] for key in self._ranks)))
        return hashlib.blake2b(b"".join(key + signature for key, signature in held), digest_size=16).digest()

    def announce(self, count: int) -> tuple[Slip, ...]:
        """Return up to `count` sketches to tell anybody about; the own one always is among them."""
        own = [self.own] if self.own is not None else []
        room = count - len(own)
        newest = list(
            islice((one for key, one in reversed(self._held.items()) if key in self._ranks), room - room // 2)
        )
        taken = {sketch.key for sketch in newest}
        rest = [self._held[key] for key in self._ranks if key not in taken]
        chosen = own + newest + choose_some(rest, room - len(newest), self._stream)
        return tuple(Slip(sketch.key, sketch.epoch) for sketch in chosen)

    def announce_alike(self, key: bytes, count: int) -> tuple[Slip, ...]:
        """Return up to `count` sketches most like the published one of a peer, best first; and the own one.

        Where its sketch is not known, they are those most like the own: who asks has found that alike.
        """
        own, peer = [self.own] if self.own is not None else [], self.find(key) or self.own
        others = [sketch for sketch in self._held.values() if sketch.key != key]
        if peer is None or not others:
            return tuple(Slip(sketch.key, sketch.epoch) for sketch in own)
        scores = Likeness(peer.bits, self._shares).scores([sketch.bits for sketch in others])
        ranked = [others[place] for place in (-scores).argsort(kind="stable").tolist()]
        room = count - len(own)
        best, next_best = ranked[: room - room // 2], ranked[room - room // 2 : _NEXT_BEST * room]
        chosen = own + best + choose_some(next_best, room - len(best), self._stream)
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

    def lacking_alike(self, have: Iterable[Slip], *, epochs: range, count: int) -> tuple[bytes, ...]:
        """Return the first `count` keys of those that a peer found like the own sketch, and that may be kept."""
        recent = [slip for slip in have if slip.epoch in epochs]
        wanted = {slip.key: None for slip in recent if self._may_like(slip.key, slip.epoch)}
        return tuple(islice(wanted, count))

    def serve(self, keys: Sequence[bytes], *, offered: Iterable[Slip], count: int) -> tuple[SignedSketch, ...]:
        """Return the sketches asked for, if they had been announced to that peer."""
        announced = {slip.key for slip in offered}
        found = [self.find(key) for key in dict.fromkeys(keys[:count]) if key in announced]
        return tuple(sketch for sketch in found if sketch is not None)

    def keep(self, sketch: SignedSketch, *, blind: bool = True) -> bool:
        """Keep a checked sketch if it is newer than what is held and there is room for its peer.

        Of two sketches of the same peer and epoch, the first stays. What did not come by `blind` gossip may stay for
        being like the own only.
        """
        key, held = sketch.key, self._held.get(sketch.key)
        if key == self._own_key or (held is not None and sketch.epoch <= held.epoch):
            return False
        self._news[key] = None
        if held is not None:
            del self._held[key]  # or it would not be the newest arrival
            self._held[key] = sketch
            if key in self._ranks:
                self._shares.remove(held.bits)
                self._shares.add(sketch.bits)
            else:
                self._once.remove(held)
                self._once.add(sketch)
                self._liked[key].score = self._scores([sketch])[0]
        else:
            self._held[key] = sketch
            self._by_name.setdefault(name_of(key), key)
            self._like(sketch)
        if blind:
            self._draw(key)
        self._make_room()
        return key in self._held

    def notice(self, slip: Slip) -> SignedSketch | None:
        """Take note that a sketch was announced blindly, and return it if it is held: it has its chance like others."""
        held = self._held.get(slip.key)
        if held is None or held.epoch != slip.epoch:
            return None
        self._draw(slip.key)
        self._make_room()
        return held

    def locate(self, key: bytes) -> None:
        """Take note that there is news of where a peer is."""
        if key in self._liked:
            self._liked[key].place = self._place_of(key)

    def take_news(self) -> list[SignedSketch]:
        """Return the sketches held that came since the last call, to be written to disk.

        Whatever else arrives, none of them gets lost before: what is held is all that could be.
        """
        news, self._news = [self._held[key] for key in self._news], {}
        return news

    def expire(self, epochs: range) -> None:
        """Forget sketches of other epochs: too old, or taken while the clock was ahead."""
        for key in [key for key, sketch in self._held.items() if sketch.epoch not in epochs]:
            if key in self._ranks:
                self._take_out(key)
            self._drop(key)

    def find(self, key: bytes) -> SignedSketch | None:
        """Return the sketch of a peer, or the own one; None if there is none."""
        return self.own if key == self._own_key else self._held.get(key)

    def holds(self, key: bytes) -> bool:
        """Return whether there is a sketch of another peer."""
        return key in self._held

    def key_of(self, name: bytes) -> bytes | None:
        """Return the key of another peer whose sketch is held, by its name."""
        return self._by_name.get(name)

    def holds_by_chance(self, key: bytes) -> bool:
        """Return whether the sketch of another peer is in the random half."""
        return key in self._ranks

    def likeness(self, keys: Sequence[bytes], *, to: bytes | None = None) -> list[float]:
        """Return how like the own sketch, or that of another peer, the sketches of some peers are that are held."""
        reference = None if to is None else self.find(to)
        sketches = [self._held[key] for key in keys]
        if reference is None:
            return self._scores(sketches)
        scores: list[float] = Likeness(reference.bits, self._shares).scores([one.bits for one in sketches]).tolist()
        return scores

    def _wants(self, key: bytes, epoch: int) -> bool:
        if key == self._own_key:
            return False
        held = self._held.get(key)
        if held is not None:
            return epoch > held.epoch
        # Where copies make room, those that were let go are not asked for again.
        has_room = not self.full and (len(self._liked) < self._most_liked or (name_of(key), epoch) not in self._judged)
        return has_room or self._is_drawn(key)

    def _may_like(self, key: bytes, epoch: int) -> bool:
        held = self._held.get(key)
        new = epoch > held.epoch if held is not None else (name_of(key), epoch) not in self._judged
        return new and key != self._own_key

    def _is_drawn(self, key: bytes) -> bool:
        """Return whether chance would have a peer in the random half."""
        return len(self._ranks) < self._most_random or self._rank(key) < self._ranks[self._first_to_go()]

    def _draw(self, key: bytes) -> None:
        """Move a sketch into the random half if chance would have it there; whoever makes way may be liked."""
        if key in self._ranks or not self._is_drawn(key):
            return
        if len(self._ranks) >= self._most_random:
            out = self._first_to_go()
            self._take_out(out)
        rank = self._ranks[key] = self._liked.pop(key).rank
        self._once.remove(self._held[key])
        self._shares.add(self._held[key].bits)
        if self._last is not None and rank > self._ranks[self._last]:
            self._last = key
        if self._own is not None and self._shares.sketches >= _GROWN * self._judged_by:
            self._judge_anew()

    def _take_out(self, key: bytes) -> None:
        """Move a sketch from the random half to the other."""
        del self._ranks[key]
        self._shares.remove(self._held[key].bits)
        if key == self._last:
            self._last = None
        self._like(self._held[key])

    def _like(self, sketch: SignedSketch) -> None:
        self._once.add(sketch)
        self._liked[sketch.key] = _Liked(self._scores([sketch])[0], self._rank(sketch.key), self._place_of(sketch.key))

    def _make_room(self) -> None:
        """Let go who is liked least once there are too many: copies first, then of a host or of those never reached."""
        while len(self._liked) > self._most_liked:
            liked = self._liked
            hosts = Counter(one.place.host for one in liked.values())
            copies = [key for key in liked if key in self._once]
            never_reached = [key for key, one in liked.items() if not one.place.reached]
            crowded = [key for key, one in liked.items() if hosts[one.place.host] > one.place.room]
            if not crowded and 2 * len(never_reached) > self._most_liked:
                crowded = never_reached
            key = max(copies or crowded or liked, key=lambda key: liked[key].order)
            self._judged[name_of(key), self._held[key].epoch] = None
            while len(self._judged) > _MOST_JUDGED:
                self._judged.popitem(last=False)
            self._drop(key)

    def _judge_anew(self) -> None:
        if self._own is None:
            return
        self._taste, self._judged_by = Likeness(self._own.bits, self._shares), max(1, self._shares.sketches)
        scores = self._scores([self._held[key] for key in self._liked])
        for one, score in zip(self._liked.values(), scores, strict=True):
            one.score = score

    def _scores(self, sketches: Sequence[SignedSketch]) -> list[float]:
        if self._taste is None:
            return [0.0] * len(sketches)
        scores: list[float] = self._taste.scores([sketch.bits for sketch in sketches]).tolist()
        return scores

    def _drop(self, key: bytes) -> None:
        self._once.remove(self._held[key])
        del self._held[key], self._liked[key]
        if self._by_name.get(name_of(key)) == key:
            del self._by_name[name_of(key)]
        self._news.pop(key, None)

    def _first_to_go(self) -> bytes:
        if self._last is None:
            self._last = max(self._ranks, key=self._ranks.__getitem__)
        return self._last

    def _rank(self, key: bytes) -> bytes:
        return hashlib.blake2b(name_of(key), key=self.salt, digest_size=8).digest()
