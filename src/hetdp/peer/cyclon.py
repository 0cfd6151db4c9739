"""The random view of the network: Cyclon shuffles, hardened. Time and records in, records out; no I/O.

A view holds signed records of a few peers. Once per period the node asks the peer with the oldest record, gives it some
records and gets some back, which fill free slots first and then the slots of those it gave away. So the view stays a
random sample of the network, and dead peers fall out.

Hardening: a record's age comes from its own signature, so nobody else can make it look young or old, and whoever was
asked counts as young from then on, so nobody can be asked out of turn by looking old either; one identity and one
address hold one slot, also when a record is renewed; a known peer's transport key changes only on its own word; one
host holds few slots; at most half of the view was introduced by the same peer; one shuffle changes at most
`shuffle_size` slots.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from hetdp.peer.addresses import address_kind, endpoint_of, host_of
from hetdp.peer.chance import some
from hetdp.peer.messages import Record
from hetdp.randomness import Stream

__all__ = ["View"]

#: So many peers are remembered as asked; one is asked per period.
_MOST_ASKED = 1024


@dataclass(slots=True)
class _Entry:
    record: Record
    source: bytes

    @property
    def host(self) -> str:
        return host_of(self.record.address)

    @property
    def endpoint(self) -> tuple[str, int]:
        return endpoint_of(self.record.address)


class View:
    """The peers a node knows.

    Parameters
    ----------
    own_key, own_address
        Never enter the view.
    size, shuffle_size
        Slots, and how many of them a shuffle may change.
    most_per_host
        Slots that one host may hold; 0 for any number. On loopback any number may, if the own address is there too.
    stream
        For blind choices.

    Privacy
    -------
    Knows no profile.

    Examples
    --------
    >>> from hetdp.randomness import seeded_stream
    >>> view = View(bytes(32), "", size=4, shuffle_size=2, most_per_host=0, stream=seeded_stream(1))
    >>> view.oldest() is None, len(view)
    (True, 0)
    """

    def __init__(
        self, own_key: bytes, own_address: str, *, size: int, shuffle_size: int, most_per_host: int, stream: Stream
    ) -> None:
        self._own_key, self._own_endpoint = own_key, endpoint_of(own_address) if own_address else None
        self._size, self._shuffle_size, self._most_per_host = size, shuffle_size, most_per_host
        self._stream = stream
        self._entries: dict[bytes, _Entry] = {}
        self._asked_ms: OrderedDict[bytes, float] = OrderedDict()
        self._on_loopback = bool(own_address) and address_kind(own_address) == "loopback"

    def __len__(self) -> int:
        return len(self._entries)

    def records(self) -> list[Record]:
        """Return the records in the view.

        Privacy
        -------
        A random sample of the network.
        """
        return [entry.record for entry in self._entries.values()]

    def oldest(self) -> Record | None:
        """Return the record of the peer not heard of for longest: neither signed nor asked. None if there is none.

        Privacy
        -------
        Whom a node asks next depends on ages only.
        """
        return min(self.records(), key=self._heard_of, default=None)

    def note_asked(self, key: bytes, now_ms: float) -> None:
        """Remember that a peer is being asked now, whether it is in the view or not.

        Privacy
        -------
        As for `oldest`.
        """
        self._asked_ms[key] = now_ms
        self._asked_ms.move_to_end(key)
        while len(self._asked_ms) > _MOST_ASKED:
            self._asked_ms.popitem(last=False)

    def remove(self, key: bytes) -> None:
        """Forget a peer.

        Privacy
        -------
        Done when it is asked, when it fails and when it is banned.
        """
        self._entries.pop(key, None)

    def forget_outside(self, first_ms: float, last_ms: float, *, now_ms: float) -> None:
        """Forget peers whose records are too old to be believed, and what a clock that was ahead has let in.

        Privacy
        -------
        Depends on ages only.
        """
        for key in [key for key, entry in self._entries.items() if not first_ms <= entry.record.issued_ms <= last_ms]:
            del self._entries[key]
        for key, asked_ms in self._asked_ms.items():
            self._asked_ms[key] = min(asked_ms, now_ms)  # or its peer would count as young until that moment comes

    def sample(self, count: int, *, without: bytes) -> list[Record]:
        """Return up to `count` random records, but not the one of the peer they are meant for.

        Privacy
        -------
        Uniform.
        """
        others = [entry.record for key, entry in self._entries.items() if key != without]
        return some(others, count, self._stream)

    def merge(self, received: Sequence[Record], *, sent: Sequence[Record], source: bytes) -> None:
        """Take in what a peer gave: newer records of known peers, then free slots, then the slots of `sent`.

        Parameters
        ----------
        received
            Checked records; those beyond `shuffle_size` are ignored.
        sent
            What the peer was given, and so can be let go.
        source
            Key of that peer. A record of this very key must be the one that it sent over its own connection.

        Privacy
        -------
        Depends on public records only.
        """
        replaceable = [record.key for record in sent]
        for record in received[: self._shuffle_size]:
            known = self._entries.get(record.key)
            if known is not None:
                if record.issued_ms > known.record.issued_ms and self._renews(record, known.record, source):
                    known.record = record
                continue
            if not self._news(record, source) or not self._fits(record) or not self._room_for(record, source):
                continue
            if len(self._entries) >= self._size:
                gone = next((key for key in replaceable if key in self._entries), None)
                if gone is None:
                    return
                del self._entries[gone]
            self._entries[record.key] = _Entry(record, source)

    def _heard_of(self, record: Record) -> tuple[float, bytes]:
        return max(record.issued_ms, self._asked_ms.get(record.key, 0.0)), record.key

    def _renews(self, record: Record, known: Record, source: bytes) -> bool:
        """Return whether a newer record of a known peer may take the place of the known one."""
        if record.curve != known.curve and record.key != source:
            return False
        return record.address == known.address or self._fits(record)

    def _news(self, record: Record, source: bytes) -> bool:
        """Return whether a record is younger than the last time its peer was asked, or its peer brings it itself."""
        return record.key == source or record.issued_ms > self._asked_ms.get(record.key, 0.0)

    def _fits(self, record: Record) -> bool:
        """Return whether a record's address is nobody else's, and its host has room for one more."""
        endpoint, host, same_host = endpoint_of(record.address), host_of(record.address), 0
        if record.key == self._own_key or endpoint == self._own_endpoint:
            return False
        for key, entry in self._entries.items():
            if key != record.key:
                if entry.endpoint == endpoint:
                    return False
                same_host += entry.host == host
        free = not self._most_per_host or (self._on_loopback and address_kind(record.address) == "loopback")
        return free or same_host < self._most_per_host

    def _room_for(self, record: Record, source: bytes) -> bool:
        """Return whether a peer may introduce one more; everybody may introduce itself."""
        introduced = sum(entry.source == source for entry in self._entries.values())
        return record.key == source or introduced < max(1, self._size // 2)
