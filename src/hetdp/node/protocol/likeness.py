"""How like one published sketch others are: a function of published sketches alone, so it costs nobody anything.

Two sketches are alike where both have ones, and a one that few others have counts for more: log(1 / share of ones). The
shares come from sketches that chance has chosen. Sketches of different lengths are compared on what they share; on the
rest, the shorter one counts as average.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hetdp.node.protocol.addresses import endpoint_of, host_of, most_at_host
from hetdp.node.protocol.messages import Record


class SharesOfOnes:
    """How many of some sketches have a one at each place.

    >>> shares = SharesOfOnes()
    >>> shares.add(bytes([0b01])), shares.add(bytes([0b11]))
    (None, None)
    >>> shares.at(np.array([0, 1])).tolist()
    [0.75, 0.5]
    """

    def __init__(self) -> None:
        self._ones, self._bits = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.sketches = 0

    def add(self, packed: bytes) -> None:
        """Count one more sketch."""
        self._count(packed, 1)

    def remove(self, packed: bytes) -> None:
        """Count a sketch no longer."""
        self._count(packed, -1)

    def at(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the share of ones at some places, as if two more sketches had been seen, one of them with ones."""
        known = places < self._ones.size
        ones, bits = np.ones(places.size), np.full(places.size, 2.0)
        ones[known] += self._ones[places[known]]
        bits[known] += self._bits[places[known]]
        shares: NDArray[np.float64] = ones / bits
        return shares

    def _count(self, packed: bytes, sign: int) -> None:
        row = _unpacked(packed)
        if row.size > self._ones.size:
            more = row.size - self._ones.size
            self._ones, self._bits = np.pad(self._ones, (0, more)), np.pad(self._bits, (0, more))
        self._ones[: row.size] += sign * row.astype(np.int64)
        self._bits[: row.size] += sign
        self.sketches += sign


class Likeness:
    """How like a given sketch others are.

    >>> Likeness(bytes([0b11]), SharesOfOnes()).scores([bytes([0b11]), bytes([0b10]), bytes([0b100])]).round(2).tolist()
    [0.69, 0.0, -0.69]
    """

    def __init__(self, packed: bytes, shares: SharesOfOnes) -> None:
        self._ones = np.flatnonzero(_unpacked(packed))
        expected = shares.at(self._ones)
        self._weights = -np.log(expected)
        self._by_chance = np.concatenate([[0.0], np.cumsum(self._weights * expected)])

    def scores(self, sketches: Sequence[bytes]) -> NDArray[np.float64]:
        """Return one number per packed sketch; about 0 for sketches that have nothing to do with the given one."""
        length = max((len(packed) for packed in sketches), default=0)
        rows = b"".join(packed.ljust(length, b"\0") for packed in sketches)
        matrix = np.frombuffer(rows, dtype=np.uint8).reshape(len(sketches), length)
        n_shared = np.searchsorted(self._ones, 8 * np.array([len(packed) for packed in sketches], dtype=np.intp))
        ones = self._ones[: np.searchsorted(self._ones, 8 * length)]
        bits = np.take(matrix, ones >> 3, axis=1) >> (ones & 7).astype(np.uint8) & np.uint8(1)
        scores: NDArray[np.float64] = bits.astype(np.float64) @ self._weights[: ones.size] - self._by_chance[n_shared]
        return scores


def _unpacked(packed: bytes) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")


# The second view, after Vicinity: records of peers whose published sketches are like the own one. No I/O.
# Blind gossip goes on beneath it, unchanged: nothing from here gets into the random view, and no sketch that came
# this way into the random half of the shelf or into the model. Once the shelf is full, every other exchange asks the
# peer of this view not heard of for longest, which tells who and what it knows that is most like the asker's
# published sketch.
# Records come from the answers of peers that this node has asked, never from callers, so claims have no part in it;
# at most half of the view was named by the same peer, and few are at one host.


#: How like some sketches on the shelf, by key, the own one is.
Liking = Callable[[Sequence[bytes]], list[float]]


class LikeView:
    """At most `size` peers, those whose sketches are most like the own; `most_per_host` is as in `most_at_host`."""

    def __init__(self, own_key: bytes, own_address: str, *, size: int, most_per_host: int) -> None:
        self._own_key, self._own_address = own_key, own_address
        self._size, self._most_per_host = size, most_per_host
        self._records: dict[bytes, Record] = {}
        self._sources: dict[bytes, bytes] = {}
        self._asked_ms: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self._records)

    def records(self) -> list[Record]:
        """Return the records in the view."""
        return list(self._records.values())

    def offer(
        self, records: Iterable[Record], *, source: bytes, holds: Callable[[bytes], bool], liking: Liking
    ) -> None:
        """Take in checked records that a peer has answered with; of peers whose sketches this node `holds`.

        A known peer's transport key or address changes on its own word only.
        """
        for record in records:
            known = self._records.get(record.key)
            if known is None and holds(record.key) and record.key != self._own_key:
                self._records[record.key], self._sources[record.key] = record, source
            elif known is not None and known.issued_ms < record.issued_ms:
                same = (known.curve, known.address) == (record.curve, record.address)
                if same or record.key == source:
                    self._records[record.key] = record
        self._trim(holds, liking)

    def oldest(self, banned: Callable[[bytes, bytes], bool]) -> Record | None:
        """Return the record of the peer neither heard of nor asked for longest; who is banned leaves the view."""
        for record in self.records():
            if banned(record.key, record.curve):
                self.remove(record.key)
        return min(
            self._records.values(),
            key=lambda one: (max(one.issued_ms, self._asked_ms.get(one.key, 0.0)), one.key),
            default=None,
        )

    def note_asked(self, key: bytes, now_ms: float) -> None:
        """Remember that a peer is being asked now."""
        if key in self._records:
            self._asked_ms[key] = now_ms

    def remove(self, key: bytes) -> None:
        """Forget a peer."""
        for memory in (self._records, self._sources, self._asked_ms):
            memory.pop(key, None)

    def forget_outside(self, first_ms: float, last_ms: float, *, now_ms: float) -> None:
        """Forget peers whose records are too old to be believed, and what a clock that was ahead has let in."""
        for record in self.records():
            if not first_ms <= record.issued_ms <= last_ms:
                self.remove(record.key)
        for key, asked_ms in self._asked_ms.items():
            self._asked_ms[key] = min(asked_ms, now_ms)

    def nearest(self, count: int, *, without: bytes, holds: Callable[[bytes], bool], liking: Liking) -> list[Record]:
        """Return up to `count` records, of those most to a peer's liking first."""
        keys = [key for key in self._records if key != without and holds(key)]
        ranked = sorted(zip(liking(keys), keys, strict=True), reverse=True)
        return [self._records[key] for _, key in ranked[:count]]

    def _trim(self, holds: Callable[[bytes], bool], liking: Liking) -> None:
        """Keep the best; whose sketch is not on the shelf any more goes, and so do surplus ones of a host or source."""
        for key in [key for key in self._records if not holds(key)]:
            self.remove(key)
        keys = list(self._records)
        hosts, sources, endpoints, kept = Counter[str](), Counter[bytes](), set[tuple[str, int]](), 0
        for _, key in sorted(zip(liking(keys), keys, strict=True), reverse=True):
            address, source = self._records[key].address, self._sources[key]
            host, endpoint = host_of(address), endpoint_of(address)
            full = kept >= self._size or endpoint in endpoints or 2 * sources[source] >= self._size
            if full or hosts[host] >= most_at_host(address, self._own_address, self._most_per_host):
                self.remove(key)
                continue
            kept, hosts[host], sources[source] = kept + 1, hosts[host] + 1, sources[source] + 1
            endpoints.add(endpoint)
