"""When a node asks next: once per period while there is news, and more and more seldom while there is none.

The schedule is public: it depends on time, on chance and on what others send, never on a profile. Whoever is new, gets
news, publishes, or sees an epoch begin asks once per period; after a few exchanges without news the time between two
doubles with each, up to `SLOWEST` periods. Who does not answer says nothing about news, so the next is asked a period
later. To be called costs no waiting: callers are answered at once, and what they bring is news too.

News of others is anybody's to make, with a key to throw away. So it makes up for as many exchanges without news as
a budget allows: full at the start and in each epoch, enough for what an epoch brings, and filled up slowly. An endless
trickle of news has a node ask every `_REFILL` periods, and not in each.
"""

from hetdp.core.randomness import Stream

#: Periods between two exchanges of a node that has had no news for long.
SLOWEST = 32
#: So many exchanges without news change nothing: gossip is chance. A node that has just started waits for more, so that
#: it knows more than those it was told of first.
_PATIENCE, _YOUNG = 4, 30
#: So many exchanges that others' news is good for: twice what fills a shelf; and periods until there is one more.
_BUDGET, _REFILL = 256, 16
#: Longer times vary by chance, by this share to each side, so that nodes do not go in step.
_JITTER = 0.25


class Pace:
    """The time of a node's next exchange, `next_s`; the first is within one period of `now_s`."""

    #: More exchanges without news change nothing.
    _STILL = _PATIENCE + SLOWEST.bit_length() - 1

    def __init__(self, *, period_s: float, stream: Stream, now_s: float) -> None:
        self._period_s, self._stream = period_s, stream
        self._quiet = -_YOUNG  # exchanges without news since the last
        self._budget, self._filled_s = float(_BUDGET), now_s
        self._started_s = now_s
        self.next_s = now_s + period_s * self._chance()

    @property
    def slow(self) -> bool:
        """Whether there was no news in so many exchanges that the next is put off."""
        return self._quiet > _PATIENCE

    def is_due(self, now_s: float) -> bool:
        """Return whether it is time to ask; a clock that was set back does not silence the node until it catches up."""
        self.next_s = min(self.next_s, now_s + SLOWEST * (1 + _JITTER) * self._period_s)
        return now_s >= self.next_s

    def start(self, now_s: float) -> None:
        """Note that an exchange starts; if it comes to nothing, the next is a period later."""
        self._fill(now_s)
        self._started_s = now_s
        self.next_s = now_s + self._period_s

    def end(self, *, news: bool) -> None:
        """Note that the exchange that was started last has been answered."""
        before, self._quiet = self._quiet, min(self._quiet + 1, self._STILL)
        if news:
            self._make_up(min(before, 0))
        if self.slow:
            self.next_s = self._started_s + self._wait_s()

    def hear(self, now_s: float) -> None:
        """Note that a caller has brought news: ask as soon as the budget allows."""
        self._fill(now_s)
        self._make_up(min(self._quiet, 0))
        if self.slow:
            self.next_s = min(self.next_s, max(now_s, min(self._started_s, now_s) + self._wait_s()))
        else:
            self._ask_soon(now_s)

    def hurry(self, now_s: float) -> None:
        """Note that there will be much news, of this node or of a new epoch: ask within a period, not twice in one."""
        self._budget, self._filled_s = float(_BUDGET), now_s
        self._quiet = min(self._quiet, 0)
        self._ask_soon(now_s)

    def _ask_soon(self, now_s: float) -> None:
        soon_s = max(now_s + self._period_s * self._chance(), min(self._started_s, now_s) + self._period_s)
        self.next_s = min(self.next_s, soon_s)

    def _fill(self, now_s: float) -> None:
        more = max(0.0, now_s - self._filled_s) / (_REFILL * self._period_s)
        self._budget, self._filled_s = min(float(_BUDGET), self._budget + more), now_s

    def _make_up(self, least: int) -> None:
        """Take back exchanges without news down to `least`, as far as the budget allows."""
        paid = min(self._quiet - least, int(self._budget))
        self._quiet, self._budget = self._quiet - paid, self._budget - paid

    def _wait_s(self) -> float:
        """Return the time between two exchanges of a node that is slow."""
        periods: float = 2 ** (self._quiet - _PATIENCE) * (1 - _JITTER + 2 * _JITTER * self._chance())
        return periods * self._period_s

    def _chance(self) -> float:
        return float(self._stream.uniforms(1)[0])
