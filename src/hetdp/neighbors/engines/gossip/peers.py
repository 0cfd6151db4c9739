"""The random peers of every node (Cyclon), one cycle after the other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream

__all__ = ["RandomPeers", "RandomViews"]

_CHUNK_NODES = 65_536


@dataclass(frozen=True, repr=False, eq=False)
class RandomViews:
    """The random views of one cycle: peers (-1 for none), and the cycle in which each entry was made."""

    view: NDArray[np.int32]
    born: NDArray[np.int16]


class RandomPeers:
    """Cyclon: random views that change all the time.

    Parameters
    ----------
    n
        Nodes.
    width
        Entries of a view; all others where there are fewer.
    exchange
        Entries that two nodes exchange at most.
    stream
        Chance. Nothing else decides here.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> peers = RandomPeers(50, width=10, exchange=5, stream=seeded_stream(1))
    >>> peers.next_cycle().view.shape
    (50, 10)
    """

    def __init__(self, n: int, *, width: int, exchange: int, stream: Stream) -> None:
        from hetdp.neighbors._kernels.cyclon import choices_per_word, first_views

        self._exchange = exchange
        self._stream = stream
        self._cycle = 0
        self._words_each = -(-(2 * exchange - 1) // choices_per_word)
        width = min(width, max(0, n - 1))
        self._views = RandomViews(np.empty((n, width), dtype=np.int32), np.zeros((n, width), dtype=np.int16))
        for begin in range(0, n, _CHUNK_NODES):
            end = min(begin + _CHUNK_NODES, n)
            first_views(stream.words((end - begin) * width), begin, end, self._views.view)

    def next_cycle(self) -> RandomViews:
        """Let every node make one exchange; return the views after it. Earlier ones stay as they were."""
        from hetdp.neighbors._kernels.cyclon import exchange_views

        self._cycle += 1
        view, born = self._views.view.copy(), self._views.born.copy()
        words = self._stream.words(view.shape[0] * self._words_each)
        exchange_views(view, born, self._cycle, self._exchange, words, self._words_each)
        self._views = RandomViews(view, born)
        return self._views
