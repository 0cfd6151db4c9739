"""The exchanges a node has open, those it started and those its peers started, and when each is given up. No I/O."""

from collections.abc import Hashable
from dataclasses import dataclass

from hetdp.node.protocol.messages import Record, Slip

__all__ = ["Exchanges", "Joined", "Started"]

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
