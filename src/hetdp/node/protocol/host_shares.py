"""How much one host may send: a bucket per host, before what all peers share. Standard library only.

Keys cost nothing, hosts do. What one host sends beyond its share is dropped before it costs others anything; the
transport process counts connections that way, the node messages.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass

#: A bucket holds so many seconds' worth.
BURST_S = 10.0
#: Hosts whose buckets are remembered; beyond it, those not heard of for longest are forgotten.
_MOST_HOSTS = 4096
#: A host that had so much refused between two looks is flooding.
_FLOOD = 100


@dataclass(slots=True)
class Bucket:
    """Tokens that come together with time; each message takes one."""

    tokens: float
    since_s: float

    def take(self, now_s: float, *, rate: float, burst: float) -> bool:
        """Take a token out if there is one, after putting in what has come together since the last time."""
        elapsed_s = max(0.0, now_s - self.since_s)
        self.tokens, self.since_s = min(burst, self.tokens + elapsed_s * rate), now_s
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class HostShares:
    """What each host may send: `rate` per second, ten seconds' worth at once.

    `near` is a host without a limit: that of a node on loopback, where all nodes of a machine are one host. A rate of 0
    limits nobody.
    """

    def __init__(self, *, rate: float, near: str = "") -> None:
        self._rate, self._near = rate, near
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._refused: Counter[str] = Counter()

    def lets_through(self, host: str, *, now_s: float) -> bool:
        """Count something against the share of a host; return whether it is within it."""
        if not self._rate or not host or host == self._near:
            return True
        burst = max(1.0, BURST_S * self._rate)
        bucket = self._buckets.setdefault(host, Bucket(burst, now_s))
        self._buckets.move_to_end(host)
        if len(self._buckets) > _MOST_HOSTS:
            forgotten, _ = self._buckets.popitem(last=False)
            self._refused.pop(forgotten, None)
        if bucket.take(now_s, rate=self._rate, burst=burst):
            return True
        self._refused[host] += 1
        return False

    def take_flood(self) -> str | None:
        """Return the host that sent most beyond its share since the last look, if that was a flood."""
        worst = self._refused.most_common(1)
        self._refused.clear()
        return worst[0][0] if worst and worst[0][1] >= _FLOOD else None
