"""When a node asks next: once per period while there is news, and more and more seldom while there is none.

The schedule is public: it depends on time, on chance and on what others send, never on a profile. Whoever is new, gets
news, publishes, or sees an epoch begin asks once per period; after a few exchanges without news the time between two
doubles with each, up to `SLOWEST` periods. Who does not answer says nothing about news, so the next is asked a period
later. To be called costs no waiting: callers are answered at once, and what they bring is news too.
"""

from hetdp.core.randomness import Stream

__all__ = ["SLOWEST", "Pace"]

#: Periods between two exchanges of a node that has had no news for long.
SLOWEST = 32
#: So many exchanges without news change nothing: gossip is chance. A node that has just started waits for more, so that
#: it knows more than those it was told of first.
_PATIENCE, _YOUNG = 4, 30
#: Longer times vary by chance, by this share to each side, so that nodes do not go in step.
_JITTER = 0.25


class Pace:
    """The time of a node's next exchange, `next_s`; the first is within one period of `now_s`."""

    def __init__(self, *, period_s: float, stream: Stream, now_s: float) -> None:
        self._period_s, self._stream = period_s, stream
        self._quiet = -_YOUNG  # exchanges without news since the last
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
        self._started_s = now_s
        self.next_s = now_s + self._period_s

    def end(self, *, news: bool) -> None:
        """Note that the exchange that was started last has been answered."""
        self._quiet = min(self._quiet, 0) if news else self._quiet + 1
        if self._quiet > _PATIENCE:
            periods = min(SLOWEST, 2 ** (self._quiet - _PATIENCE)) * (1 - _JITTER + 2 * _JITTER * self._chance())
            self.next_s = self._started_s + periods * self._period_s

    def hurry(self, now_s: float) -> None:
        """Note that there is news, or that there soon will be: ask within a period, though not twice in one."""
        self._quiet = min(self._quiet, 0)
        soon_s = max(now_s + self._period_s * self._chance(), min(self._started_s, now_s) + self._period_s)
        self.next_s = min(self.next_s, soon_s)

    def _chance(self) -> float:
        return float(self._stream.uniforms(1)[0])
