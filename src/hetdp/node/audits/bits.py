"""What a node publishes, on the examination table: cases for the battery, and mutants that it must catch.

The subject is a profile of six catalogue items, each with a dial; what is looked at are the bits, as they are read from
the bytes that travel. Bits are drawn independently, so many copies of the six items in one sketch are as many runs.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import Mutant, by_replay, by_statistics
from hetdp.auditing.registry import Case, replay_case, statistical_case
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.node.dials import FULL_DIAL, draw_bits
from hetdp.sketching.bits import pack, unpack

__all__ = ["DIALS", "MUTANTS", "audit_cases", "pairs"]

Dials: TypeAlias = NDArray[np.uint8]
#: Draws the bits of as many dials; the last argument tells which items are on the list.
Draw: TypeAlias = Callable[[Dials, Stream, NDArray[np.bool_]], NDArray[np.bool_]]
Node: TypeAlias = Callable[[Sequence[float], int, RandomState], NDArray[np.float64]]

#: From "never counts" to normal; 29 is none of the steps of 1/255.
DIALS = (80, 0, 29, FULL_DIAL, 50, 1)
_EPSILON = Fraction(1)
_CLAIMS = [float(_EPSILON) * dial / FULL_DIAL for dial in DIALS]
_FULL = [1.0] * len(DIALS)
_SAMPLES = {"quick": 20_000, "full": 60_000}


def audit_cases(size: str) -> list[Case]:
    """Return the cases of the node's sketch, for the battery."""
    name, everyone = "node, one published sketch", pairs(range(len(DIALS)))
    return [
        statistical_case(name, published_bits, adjacent=everyone, claimed=_CLAIMS, samples=_SAMPLES[size]),
        # The item of dial 0 must leave every bit as it was.
        replay_case(name, published_bits, adjacent=pairs([1]), limits={1: 0.0}),
    ]


def pairs(items: Sequence[int]) -> list[Pair]:
    """Return the full list against the one without an item, for each of some items."""
    return [(_FULL, [float(place != item) for place in range(len(DIALS))]) for item in items]


def published_bits(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return `size` sketches of a list of items with their dials, as others read them."""
    return _node_that_draws(_as_published)(profile, size, random_state)


def _as_published(dials: Dials, stream: Stream, _listed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return draw_bits(dials, epsilon=_EPSILON, stream=stream)


def _node_that_draws(draw: Draw) -> Node:
    def publish(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
        listed = np.array(profile) >= 0.5  # noqa: PLR2004  (indicators)
        dials = np.where(listed, DIALS, 0).astype(np.uint8)
        bits = draw(np.tile(dials, size), as_stream(random_state), np.tile(listed, size))
        return unpack(pack(bits), bits.size).reshape(size, -1).astype(np.float64)

    return publish


def _broken_by(draw: Draw) -> Callable[[bool], Node]:
    def build(broken: bool) -> Node:  # noqa: FBT001  (every build has this shape)
        return _node_that_draws(draw if broken else _as_published)

    return build


def _rounded_up(dials: Dials, stream: Stream, _listed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Dials rounded up to whole halves."""
    half = FULL_DIAL // 2
    return draw_bits((-(-dials.astype(np.int64) // half) * half).astype(np.uint8), epsilon=_EPSILON, stream=stream)


def _absent_never_drawn(dials: Dials, stream: Stream, listed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """No noise for what is not on the list."""
    return draw_bits(dials, epsilon=_EPSILON, stream=stream) & listed


def _words_for_listed(dials: Dials, stream: Stream, listed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Random words are drawn for listed items first: an item of dial 0 shifts everybody else's."""
    order = np.argsort(~listed, kind="stable")
    bits = np.empty(dials.size, dtype=np.bool_)
    bits[order] = draw_bits(dials[order], epsilon=_EPSILON, stream=stream)
    return bits


#: The node's sketch, broken on purpose.
MUTANTS: Sequence[Mutant] = (
    Mutant("dials rounded up", by_statistics(_broken_by(_rounded_up), pairs([2]), _CLAIMS)),
    Mutant("sketch without absent items", by_statistics(_broken_by(_absent_never_drawn), pairs([3]), _CLAIMS)),
    Mutant(
        "coins for listed items first",
        by_replay(_broken_by(_words_for_listed), pairs([1]), {1: 0.0}, odd_values=False),
    ),
)
