"""The random view of the network: Cyclon shuffles, hardened. Time and records in, records out; no I/O.

A view holds signed records of a few peers. Once per period the node asks the peer with the oldest record, gives it some
records and gets some back, which fill free slots first and then the slots of those it gave away. So the view stays a
random sample of the network, and dead peers fall out.

Hardening: a record's age comes from its own signature, so nobody else can make it look young or old; one identity and
one address hold one slot; one host holds few; at most half of the view was introduced by the same peer; one shuffle
changes at most `shuffle_size` slots.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hetdp.peer.chance import some
from hetdp.peer.messages import Record
from hetdp.peer.network import split_address
from hetdp.randomness import Stream

__all__ = ["View"]


@dataclass(slots=True)
class _Entry:
    record: Record
    source: bytes
    host: str


class View:
    """The peers a node knows.

    Parameters
    ----------
    own_key, own_address
        Never enter the view.
    size, shuffle_size
        Slots, and how many of them a shuffle may change.
    most_per_host
        Slots that one host may hold; 0 for any number. Loopback hosts are free.
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
        self._own_key, self._own_address = own_key, own_address
        self._size, self._shuffle_size, self._most_per_host = size, shuffle_size, most_per_host
        self._stream = stream
        self._entries: dict[bytes, _Entry] = {}

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
        """Return the record issued first; None if the view is empty.

        Privacy
        -------
        Whom a node asks next depends on ages only.
        """
        return min(self.records(), key=lambda record: (record.issued_ms, record.key), default=None)

    def remove(self, key: bytes) -> None:
        """Forget a peer.

        Privacy
        -------
        Done when it is asked, when it fails and when it is banned.
        """
        self._entries.pop(key, None)

    def forget_before(self, issued_ms: float) -> None:
        """Forget peers whose records are too old to be believed.

        Privacy
        -------
        Depends on ages only.
        """
        for key in [key for key, entry in self._entries.items() if entry.record.issued_ms < issued_ms]:
            del self._entries[key]

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
            Key of that peer.

        Privacy
        -------
        Depends on public records only.
        """
        replaceable = [record.key for record in sent]
        for record in received[: self._shuffle_size]:
            known = self._entries.get(record.key)
            if known is not None:
                if record.issued_ms > known.record.issued_ms:
                    known.record, known.host = record, split_address(record.address)[0]
                continue
            if not self._welcome(record, source):
                continue
            if len(self._entries) >= self._size:
                gone = next((key for key in replaceable if key in self._entries), None)
                if gone is None:
                    return
                del self._entries[gone]
            self._entries[record.key] = _Entry(record, source, split_address(record.address)[0])

    def _welcome(self, record: Record, source: bytes) -> bool:
        if record.key == self._own_key or record.address == self._own_address:
            return False
        host = split_address(record.address)[0]
        introduced = same_host = 0
        for entry in self._entries.values():
            if entry.record.address == record.address:
                return False
            introduced += entry.source == source
            same_host += entry.host == host
        if record.key != source and introduced >= max(1, self._size // 2):
            return False
        return not self._most_per_host or same_host < self._most_per_host or _loopback(host)


def _loopback(host: str) -> bool:
    return host in ("localhost", "[::1]") or host.startswith("127.")
