"""Why no sketch looks at limits of groups: a node that scales dials when it draws, on the examination table.

Ten items at full dial and one at 10 share a group whose limit is ten full dials. Scaled to it, the ten are at 100
without the last one and at 99 with it: one item moves every bit, and loses 4.92 at epsilon 3 where 0.30 is promised. A
node that lowers dials when their owner edits keeps its promise: what it draws with is what the owner has stored.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.mutants.base import Mutant, by_statistics, patched
from hetdp.auditing.registry import Case, statistical_case
from hetdp.core.randomness import RandomState
from hetdp.node import publication
from hetdp.node.audits.front_door import seen
from hetdp.node.dials import FULL_DIAL

__all__ = ["MUTANTS", "audit_cases"]

_EPSILON = Fraction(3)
_FULL, _LOW = 10, 10
_DIALS = (FULL_DIAL,) * _FULL + (_LOW,)
_MOST = FULL_DIAL * _FULL
_CLAIMS = [float(_EPSILON) * dial / FULL_DIAL for dial in _DIALS]
#: The whole group against the group without the item of the low dial.
_PAIR = ([1.0] * len(_DIALS), [*[1.0] * _FULL, 0.0])


def audit_cases(size: str) -> list[Case]:
    """Return the case of a node whose owner has a group of many items, for the battery."""
    if size == "quick":
        return []
    return [statistical_case("node, one item of a group", _seen, adjacent=[_PAIR], claimed=_CLAIMS, samples=30_000)]


def _seen(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return sketches of the group, as others read them."""
    return seen(profile, size, random_state, dials=_DIALS, epsilon=_EPSILON)


def _scaled(real: Callable[..., Any]) -> Callable[..., Any]:
    """Scale the dials of each group to its limit, when the sketch is drawn."""

    def draw(dials: NDArray[np.uint8], **given: object) -> NDArray[np.bool_]:
        groups = dials.reshape(-1, len(_DIALS)).astype(np.int64)
        totals = np.maximum(groups.sum(axis=1, keepdims=True), _MOST)
        bits: NDArray[np.bool_] = real((groups * _MOST // totals).astype(np.uint8).ravel(), **given)
        return bits

    return draw


def _build(broken: bool) -> Callable[..., Any]:  # noqa: FBT001  (every build has this shape)
    return patched(_seen, publication, draw_bits=_scaled) if broken else _seen


#: A node that recomputes dials from which other items are there.
MUTANTS: Sequence[Mutant] = (
    Mutant("dials scaled to a group's limit when a sketch is drawn", by_statistics(_build, [_PAIR], _CLAIMS)),
)
