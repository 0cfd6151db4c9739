"""Blind choices of the protocol: uniform, from the node's stream, never from its profile."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from hetdp.core.randomness import Stream

__all__ = ["choose_one", "choose_some"]

_Thing = TypeVar("_Thing")


def choose_some(things: Sequence[_Thing], count: int, stream: Stream) -> list[_Thing]:
    """Return up to `count` of the things, uniformly, in random order."""
    order = np.argsort(stream.words(len(things)), kind="stable")[:count]
    return [things[place] for place in order.tolist()]


def choose_one(things: Sequence[_Thing], stream: Stream) -> _Thing:
    """Return one of the things, uniformly."""
    # Off by less than len / 2**64, and nothing private hangs on it.
    return things[int(stream.words(1)[0]) % len(things)]
