"""Blind choices of the protocol: uniform, from the node's stream, never from its profile."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from hetdp.core.randomness import Stream

__all__ = ["pick", "some"]

_Thing = TypeVar("_Thing")


def some(things: Sequence[_Thing], count: int, stream: Stream) -> list[_Thing]:
    """Return up to `count` of the things, uniformly, in random order.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> sorted(some("abc", 5, seeded_stream(1)))
    ['a', 'b', 'c']
    """
    order = np.argsort(stream.words(len(things)), kind="stable")[:count]
    return [things[place] for place in order.tolist()]


def pick(things: Sequence[_Thing], stream: Stream) -> _Thing:
    """Return one of the things, uniformly.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> pick(["tea"], seeded_stream(1))
    'tea'
    """
    return things[
        int(stream.words(1)[0]) % len(things)
    ]  # off by less than len / 2**64, and nothing private hangs on it
