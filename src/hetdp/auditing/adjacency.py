"""Adjacent profiles: which item two profiles differ in, and which pair shows an item's influence most."""

from collections.abc import Callable, Hashable, Mapping, Sequence, Set as AbstractSet, Sized
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.mechanisms.queries.base import Floats, Query
from hetdp.profiles import Box

__all__ = ["Pair", "checked_pairs", "differing_item", "formerly_neighbors", "search_pair", "worst_pair"]

#: Two adjacent profiles: they differ in one item.
Pair: TypeAlias = tuple[Any, Any]

_STARTS = 6
_MOVERS = 48

_P = ParamSpec("_P")
_R = TypeVar("_R")


def formerly_neighbors(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function take `neighbors`, the former name of its keyword `adjacent`."""

    @wraps(function)
    def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        if "neighbors" in keywords:
            if keywords.get("adjacent") is not None:
                raise InvalidInput("must be given once; neighbors is its former name (got both)", parameter="adjacent")
            keywords["adjacent"] = keywords.pop("neighbors")
        return function(*arguments, **keywords)

    return call


def differing_item(one: object, two: object) -> Hashable:
    """Return the one item in which two profiles differ: a position, a key, or a member of a set."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        missing = object()
        keys = dict.fromkeys([*one, *two])
        items: list[Hashable] = [key for key in keys if not _same(one.get(key, missing), two.get(key, missing))]
    elif isinstance(one, AbstractSet) and isinstance(two, AbstractSet):
        items = list(one ^ two)
    elif _is_sequence(one) and _is_sequence(two):
        first, second = list(one), list(two)  # type: ignore[call-overload]
        if len(first) != len(second):
            raise InvalidInput(
                f"adjacent profiles must be of the same length (got {len(first)} and {len(second)} items)"
            )
        items = [place for place in range(len(first)) if not _same(first[place], second[place])]
    elif any(isinstance(profile, Sized) and not isinstance(profile, str | bytes) for profile in (one, two)):
        kinds = " and ".join(sorted({type(profile).__name__ for profile in (one, two)}))
        raise InvalidInput("adjacent profiles must be two sequences, two columns, two dicts or two sets", got=kinds)
    else:
        items = [] if _same(one, two) else [0]
    if len(items) != 1:
        raise InvalidInput("adjacent profiles must differ in exactly one item", got=len(items))
    return items[0]


def checked_pairs(adjacent: Sequence[Pair]) -> list[tuple[Hashable, Pair]]:
    """Return given pairs of profiles, each with the one item in which they differ."""
    listed = list(adjacent) if isinstance(adjacent, Sequence) else []
    if not listed or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in listed):  # noqa: PLR2004
        raise InvalidInput("must be a list of pairs of profiles", parameter="adjacent")
    return [(differing_item(one, two), (one, two)) for one, two in listed]


def worst_pair(query: Query, item: int, shrinkage: Floats) -> tuple[Floats, Floats]:
    """Return two vertices that differ in one item and (nearly) attain its sensitivity S_i(w).

    Greedy: from several starting vertices, flip one other item at a time while that moves the answers apart. It may
    miss the worst pair; an audit that finds nothing proves nothing.

    Parameters
    ----------
    query
        What is asked.
    item
        The item that differs.
    shrinkage
        How much each item is shrunk.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> one, two = worst_pair(queries.scalar_product(Box.uniform(0, 1, size=4)), 0, np.ones(4))
    >>> float(one[2]), sorted({float(one[0]), float(two[0])})
    (1.0, [0.0, 1.0])
    """

    def apart(one: Floats, two: Floats) -> float:
        first, second = query.stretched(one, shrinkage), query.stretched(two, shrinkage)
        return float(np.abs(np.asarray(first) - np.asarray(second)).sum())

    return search_pair(query.domain, item, apart, movers=_MOVERS)


def search_pair(
    domain: Box, item: int, apart: Callable[[Floats, Floats], float], *, movers: int
) -> tuple[Floats, Floats]:
    """Return the pair of vertices that differ in one item and are furthest apart by a measure of the caller's."""
    low, middle, high = float(domain.lower[item]), float(domain.center[item]), float(domain.upper[item])
    # A norm is largest from the centre to an end; most other queries from end to end.
    ends = dict.fromkeys((one, two) for one, two in ((low, high), (middle, high), (low, middle)) if one != two)
    best, distance = (domain.center, domain.center), -1.0
    for start in _starts(domain, item):
        for one, two in ends:
            point, found = start, apart(*_pair(start, item, one, two))
            for mover in _others(domain.size, item, movers):
                flipped = point.copy()
                flipped[mover] = domain.lower[mover] if point[mover] != domain.lower[mover] else domain.upper[mover]
                gained = apart(*_pair(flipped, item, one, two))
                if gained > found:
                    point, found = flipped, gained
            if found > distance:
                best, distance = _pair(point, item, one, two), found
    return best


def _pair(point: Floats, item: int, first: float, second: float) -> tuple[Floats, Floats]:
    one, two = point.copy(), point.copy()
    one[item], two[item] = first, second
    return one, two


def _starts(domain: Box, item: int) -> list[Floats]:
    corners = _bits(item, _STARTS - 3, domain.size)
    random = [np.where(row, domain.upper, domain.lower) for row in corners]
    return [domain.center.copy(), domain.lower.copy(), domain.upper.copy(), *random]


def _others(size: int, item: int, movers: int) -> list[int]:
    """Return the items that may be flipped: all others, or a sample of them, twice over."""
    others = [place for place in range(size) if place != item]
    if len(others) > movers:
        chosen = seeded_stream(item, 1).words(movers) % np.uint64(len(others))
        others = [others[int(place)] for place in chosen]
    return others * 2


def _bits(seed: int, rows: int, size: int) -> NDArray[np.bool_]:
    return (seeded_stream(seed).words(rows * size) >> np.uint64(63)).astype(bool).reshape(rows, size)


def _is_sequence(profile: object) -> bool:
    if isinstance(profile, str | bytes):
        return False
    column = hasattr(profile, "to_numpy") and getattr(profile, "ndim", 1) == 1  # of some data frame
    return column or (isinstance(profile, Sequence | np.ndarray) and np.ndim(profile) > 0)


def _same(one: object, two: object) -> bool:
    if one is two:
        return True
    try:
        if one != one and two != two:  # noqa: PLR0124  (nan is the only thing that differs from itself)
            return True
        return bool(np.all(one == two))
    except (TypeError, ValueError):
        return False
