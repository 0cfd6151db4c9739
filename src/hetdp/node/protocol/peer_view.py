"""The random view of the network: Cyclon shuffles, hardened. Time and records in, records out; no I/O.

A view holds signed records of a few peers. Once per period the node asks the peer with the oldest record, gives it some
records and gets some back, which fill free slots first and then the slots of those it gave away. So the view stays a
random sample of the network, and dead peers fall out.

Hardening: a record's age comes from its own signature, so nobody else can make it look young or old, and whoever was
asked counts as young from then on, so nobody can be asked out of turn by looking old either; one identity and one
address hold one slot, also when a record is renewed; a known peer's transport key changes only on its own word; one
host holds few slots; at most half of the view was introduced by the same peer; one shuffle changes at most
`shuffle_size` slots.

Who calls proves its key and nothing else, and one machine has as many keys as it likes. So what callers say of
themselves and of others is a mere claim, unless this node has reached that peer at that address. Claims hold a quarter
of the view; they are not passed on, except by who knows next to nobody else; now and then one is asked, and if it
answers, it is a claim no longer. Where two say that they are at one address, the one that answered there counts; a
claim gives way; else chance decides.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hetdp.core.randomness import Stream
from hetdp.node.protocol.addresses import endpoint_of, host_of, most_at_host
from hetdp.node.protocol.messages import Record
from hetdp.node.protocol.network import Bootstrap

# Blind choices of the protocol: uniform, from the node's stream, never from its profile.


_Thing = TypeVar("_Thing")


def choose_some(things: Sequence[_Thing], count: int, stream: Stream) -> list[_Thing]:
    """Return up to `count` of the things, uniformly, in random order."""
    order = np.argsort(stream.words(len(things)), kind="stable")[:count]
    return [things[place] for place in order.tolist()]


def choose_one(things: Sequence[_Thing], stream: Stream) -> _Thing:
    """Return one of the things, uniformly."""
    # Off by less than len / 2**64, and nothing private hangs on it.
    return things[int(stream.words(1)[0]) % len(things)]


#: So many peers are remembered as asked; one is asked per period.
_MOST_ASKED = 1024
#: So many addresses are remembered, those tried last; one is tried per period.
_MOST_ENDPOINTS = 1024
#: Every so many exchanges, one who only claims to be somewhere is asked: that is how newcomers get into views. More
#: often by who knows few, so that a young network does not hang on the peers that were reached first.
_CLAIM_EVERY, _CLAIM_EVERY_IF_FEW = 4, 2
#: A shuffle fills free slots, and replaces so many of those that were given away. Who is called takes nothing over from
#: a stranger, so what the caller takes over is a copy; where copies are few, no peer becomes famous by chance.
_MOST_GIVEN_UP = 1


class Reachability:
    """Who answered at which address when asked there last, and who did not: all of it this node's own experience.

    An answer over a connection that this node has opened proves that whoever holds the key is at the address. A call
    proves the key only, and a record says what its owner likes.
    """

    def __init__(self) -> None:
        self._answered: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._silent: OrderedDict[tuple[tuple[str, int], bytes], None] = OrderedDict()

    def note(self, key: bytes, address: str, *, answered: bool) -> None:
        """Remember how it went with a peer that was asked at an address."""
        endpoint = endpoint_of(address)
        if answered:
            self._silent.pop((endpoint, key), None)
            self._answered[endpoint] = key
            self._answered.move_to_end(endpoint)
        else:
            if self._answered.get(endpoint) == key:  # the address may be somebody else's by now
                del self._answered[endpoint]
            self._silent[endpoint, key] = None
            self._silent.move_to_end((endpoint, key))
        for memory in (self._answered, self._silent):
            while len(memory) > _MOST_ENDPOINTS:
                memory.popitem(last=False)

    def at(self, key: bytes, address: str) -> bool:
        """Return whether a peer has answered at an address, and nobody else since."""
        return self._answered.get(endpoint_of(address)) == key

    def rank(self, key: bytes, address: str) -> int:
        """Return how credible it is that a peer is at an address: 1 if it answered, -1 if not, 0 if untried."""
        if self.at(key, address):
            return 1
        return -((endpoint_of(address), key) in self._silent)


@dataclass(slots=True)
class _Entry:
    record: Record
    source: bytes
    claimed: bool

    @property
    def host(self) -> str:
        return host_of(self.record.address)

    @property
    def endpoint(self) -> tuple[str, int]:
        return endpoint_of(self.record.address)


class PeerView:
    """The peers a node knows, itself never among them.

    A shuffle may change `shuffle_size` of the `size` slots. `most_per_host` is as in `most_at_host`.
    """

    def __init__(
        self, own_key: bytes, own_address: str, *, size: int, shuffle_size: int, most_per_host: int, stream: Stream
    ) -> None:
        self._own_key, self._own_endpoint = own_key, endpoint_of(own_address) if own_address else None
        self._size, self._shuffle_size, self._most_per_host = size, shuffle_size, most_per_host
        self._stream = stream
        self._entries: dict[bytes, _Entry] = {}
        self._asked_ms: OrderedDict[bytes, float] = OrderedDict()
        self._own_address = own_address
        self._most_claims = max(1, size // 4)
        self.reached = Reachability()

    def __len__(self) -> int:
        return len(self._entries)

    def records(self) -> list[Record]:
        """Return the records in the view."""
        return [entry.record for entry in self._entries.values()]

    def oldest(self) -> Record | None:
        """Return the record of the peer not heard of for longest: neither signed nor asked. None if there is none.

        Claims have no part in it: they are as young as their owners say.
        """
        sure = [entry.record for entry in self._entries.values() if not entry.claimed]
        return min(sure, key=self._heard_of, default=None)

    def knows_few(self) -> bool:
        """Return whether there are fewer peers than a shuffle takes that more than claim to be somewhere."""
        return sum(not entry.claimed for entry in self._entries.values()) < self._shuffle_size

    def claims(self, key: bytes) -> bool:
        """Return whether a peer is in the view and only claims to be where its record says."""
        return key in self._entries and self._entries[key].claimed

    def claim(self) -> Record | None:
        """Return the record of one of those who only claim to be somewhere, by chance; None if there is none."""
        claims = [entry.record for entry in self._entries.values() if entry.claimed]
        return choose_one(claims, self._stream) if claims else None

    def whom_to_ask(
        self,
        contacts: Sequence[Bootstrap],
        *,
        banned: Callable[[bytes, bytes], bool],
        contact_every: int,
    ) -> tuple[bytes, bytes, str] | None:
        """Return key, transport key and address of the peer to ask now; None if there is nobody.

        It is the oldest peer of the view, a claim on trial, or one of the `contacts` (bootstrap peers and old
        acquaintances), every `contact_every` times by chance and when the view holds nobody but those who claim to be
        somewhere. Peers that are `banned`, by key and transport key, leave the view.
        """
        for record in self.records():
            if banned(record.key, record.curve):
                self.remove(record.key)
        trial, turn = (int(word) for word in self._stream.words(2))  # by chance, so that not all go at once
        known = [(bytes.fromhex(peer.key), bytes.fromhex(peer.curve), peer.address) for peer in contacts]
        allowed = [peer for peer in known if not banned(peer[0], peer[1])]
        every = _CLAIM_EVERY_IF_FEW if self.knows_few() else _CLAIM_EVERY
        asked = (self.claim() if trial % every == 0 else None) or self.oldest()
        if allowed and (asked is None or turn % contact_every == 0):
            return choose_one(allowed, self._stream)
        asked = asked or self.claim()
        return None if asked is None else (asked.key, asked.curve, asked.address)

    def note_asked(self, key: bytes, now_ms: float) -> None:
        """Remember that a peer is being asked now, whether it is in the view or not."""
        self._asked_ms[key] = now_ms
        self._asked_ms.move_to_end(key)
        while len(self._asked_ms) > _MOST_ASKED:
            self._asked_ms.popitem(last=False)

    def remove(self, key: bytes) -> None:
        """Forget a peer."""
        self._entries.pop(key, None)

    def forget_outside(self, first_ms: float, last_ms: float, *, now_ms: float) -> None:
        """Forget peers whose records are too old to be believed, and what a clock that was ahead has let in."""
        for key in [key for key, entry in self._entries.items() if not first_ms <= entry.record.issued_ms <= last_ms]:
            del self._entries[key]
        for key, asked_ms in self._asked_ms.items():
            self._asked_ms[key] = min(asked_ms, now_ms)  # or its peer would count as young until that moment comes

    def sample(self, count: int, *, without: bytes) -> list[Record]:
        """Return up to `count` random records, but not the one of the peer they are meant for. Hardly any claims."""
        others = [entry for key, entry in self._entries.items() if key != without]
        sure = choose_some([entry.record for entry in others if not entry.claimed], count, self._stream)
        # A network of strangers begins somewhere: who knows next to nobody passes on claims, so that not everybody
        # depends on the same few.
        claims = [entry.record for entry in others if entry.claimed]
        return sure + choose_some(claims, max(0, max(1, count // 2) - len(sure)), self._stream)

    def merge(self, received: Sequence[Record], *, sent: Sequence[Record], source: bytes, called: bool = False) -> None:
        """Take in what a peer gave: newer records of known peers, then free slots, then the slots of `sent`.

        The records were checked; those beyond `shuffle_size` are ignored. `source` is the key of that peer, and a
        record of this very key must be the one that it sent over its own connection. Where that peer has not `called`,
        this node has asked it: others whom it names are taken at its word, itself where it was reached.
        """
        replaceable = [record.key for record in sent][:_MOST_GIVEN_UP]
        for record in received[: self._shuffle_size]:
            known = self._entries.get(record.key)
            claimed = (called or record.key == source) and not self.reached.at(record.key, record.address)
            if known is not None:
                self._renew(known, record, source, claimed=claimed)
            elif (
                self._news(record, source)
                and self._room_for(record, source)
                and self._makes_way(record, claimed=claimed)
                and self._frees_a_slot(replaceable, claimed=claimed, himself=record.key == source)
            ):
                self._entries[record.key] = _Entry(record, source, claimed)

    def _frees_a_slot(self, replaceable: Sequence[bytes], *, claimed: bool, himself: bool) -> bool:
        """Return whether there is a slot for one more, after giving one up if need be."""
        claims = [key for key, entry in self._entries.items() if entry.claimed]
        full, given = len(self._entries) >= self._size, next((key for key in replaceable if key in self._entries), None)
        if claimed and not himself:  # whom callers name gets what is free and no more
            return not full and len(claims) < self._most_claims
        if claimed and len(claims) >= self._most_claims:
            given = choose_one(claims, self._stream)
        elif not full:
            return True
        if given is not None:
            del self._entries[given]
        return given is not None

    def _heard_of(self, record: Record) -> tuple[float, bytes]:
        return max(record.issued_ms, self._asked_ms.get(record.key, 0.0)), record.key

    def _renew(self, known: _Entry, record: Record, source: bytes, *, claimed: bool) -> None:
        """Put a newer record of a known peer in the place of the known one, if it may say what it says."""
        if record.key == source and not claimed:
            known.claimed = False
        if record.issued_ms <= known.record.issued_ms or (record.curve != known.record.curve and record.key != source):
            return
        if record.address != known.record.address:
            if not self._makes_way(record, claimed=claimed):
                return
            if claimed and not known.claimed:  # wherever it was reached before, it was not here
                del self._entries[record.key]
                if self._frees_a_slot((), claimed=True, himself=True):
                    self._entries[record.key] = _Entry(record, source, claimed)
                return
            known.claimed = claimed
        known.record = record

    def _news(self, record: Record, source: bytes) -> bool:
        """Return whether a record is younger than the last time its peer was asked, or its peer brings it itself."""
        return record.key == source or record.issued_ms > self._asked_ms.get(record.key, 0.0)

    def _makes_way(self, record: Record, *, claimed: bool) -> bool:
        """Return whether a record may have its address, after removing what is in its way and counts less."""
        endpoint, host = endpoint_of(record.address), host_of(record.address)
        if record.key == self._own_key or endpoint == self._own_endpoint:
            return False
        others = [entry for key, entry in self._entries.items() if key != record.key and entry.host == host]
        leaving = [entry for entry in others if entry.endpoint == endpoint]
        if any(not self._beats(record, rival, claimed=claimed) for rival in leaving):
            return False
        if len(others) - len(leaving) >= most_at_host(record.address, self._own_address, self._most_per_host):
            weak = [entry for entry in others if entry.claimed and entry not in leaving]
            if not weak or (claimed and not self._coin()):
                return False  # a host that is full of claims is full for other claims half the time only
            leaving.append(choose_one(weak, self._stream))
        for entry in leaving:
            del self._entries[entry.record.key]
        return True

    def _beats(self, record: Record, rival: _Entry, *, claimed: bool) -> bool:
        """Return whether a record counts more than an entry that says it is at the same address."""
        mine = (self.reached.rank(record.key, record.address), not claimed)
        theirs = (self.reached.rank(rival.record.key, rival.record.address), not rival.claimed)
        return mine > theirs or (mine == theirs and self._coin())

    def _coin(self) -> bool:
        return bool(int(self._stream.words(1)[0]) & 1)

    def _room_for(self, record: Record, source: bytes) -> bool:
        """Return whether a peer may introduce one more; everybody may introduce itself."""
        introduced = sum(entry.source == source for entry in self._entries.values())
        return record.key == source or introduced < max(1, self._size // 2)
