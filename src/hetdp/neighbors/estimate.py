"""Roughly how long a search takes and how much memory it needs, before it starts.

Formulas follow the inner loops of the engines; constants were measured on one machine, one thread, with
benchmarks/populations.py. Right within a factor of three or so on another.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, one_of, whole
from hetdp.neighbors.engines.registry import ENGINES
from hetdp.neighbors.engines.sketch.engine import MEMORY_BYTES
from hetdp.neighbors.significance import SIGNIFICANT
from hetdp.profiles import Profiles

__all__ = ["Estimate", "estimate", "sketch_items_to_stand_out", "users_settled"]

# Seconds, on one thread.
_PER_PAIR = 3e-7  # coding, inverting
_EXACT_MEETING = 3e-9  # two users with an item in common, item by item
_EXACT_DENSE = 1e-10  # one user of a popular item, added to all others
_EXACT_CANDIDATE = 1e-9  # looking at one candidate
_GOSSIP_STEP = 6e-6  # one node in one cycle, in a small network
_GOSSIP_WATCHED = 1e-7  # one pair scored for the agreement
_SKETCH_BIT = 2e-10  # making one bit
_SKETCH_LOOK = 7e-11  # looking at one bit of a candidate
_VOTE_ITEM = 1.2e-9  # looking at one item for one user
_VOTE = 2e-8  # one item of one neighbour of one user
_SKETCH_VOTE_ITEM = 9e-9  # the same from sketches, their bits made twice

# Bytes.
_FIXED_BYTES = 250 * 2**20
_CODED_PAIR_BYTES = 24
_DENSE_BYTES = 2**28
_GOSSIP_NODE_BYTES = 2_500
_LIST_ENTRY_BYTES = 48
_ID_BYTES = 100

#: An item that more than one in so many users have is added as a dense row by the exact engine.
_DENSE_SHARE = 30
_SMALL_NETWORK = 10_000
_WATCHED_USERS, _WATCHED_PAIRS = 500, 20_000_000
#: A node meets up to about 20 new peers per cycle, and two out of five of all nodes must be met for lists to settle.
_SETTLED_PER_CYCLE = 50


@dataclass(frozen=True)
class Estimate:
    """How long it takes, by the clock, and how much memory the process needs at most.

    Privacy
    -------
    Follows from all profiles without noise: for whoever holds them, not for publication.
    """

    seconds: float
    memory_bytes: int


def estimate(
    profiles: Profiles, *, engine: str, k: int = 10, cycles: int = 20, threads: int = 1, recommendations: int = 0
) -> Estimate:
    """Return a rough estimate for a fit, and for recommendations if any are wanted.

    Parameters
    ----------
    profiles
        What would be fitted.
    engine, k, cycles, threads
        As for `PrivateNeighbors`.
    recommendations
        How many items per user would be recommended; 0 for none.

    Examples
    --------
    >>> profiles = Profiles.from_pairs(list(range(100)) * 2, list(range(200)))
    >>> rough = estimate(profiles, engine="exact")
    >>> rough.seconds < 1, rough.memory_bytes < 2**30
    (True, True)
    """
    one_of("engine", engine, ENGINES)
    entries = profiles.n_users * (whole("k", k, minimum=1) + recommendations)
    counting = profiles.indices[profiles.weights > 0]
    popularity = np.bincount(counting, minlength=profiles.n_items).astype(np.float64)
    seconds, memory = {"exact": _exact, "gossip": _gossip, "sketch": _sketch}[engine](
        popularity, profiles.n_users, cycles
    )
    if recommendations:
        seconds += _recommending(popularity, profiles.n_users, k, engine)
        if engine == "sketch":  # bits of items by users, and of users by items
            memory += min(MEMORY_BYTES, profiles.n_users * profiles.n_items / 4)
    memory += (
        _FIXED_BYTES
        + _CODED_PAIR_BYTES * profiles.n_pairs
        + _LIST_ENTRY_BYTES * entries
        + _ID_BYTES * (profiles.n_users + profiles.n_items)
    )
    alone = _PER_PAIR * profiles.n_pairs
    return Estimate(alone + seconds / whole("threads", threads, minimum=1), int(memory))


def users_settled(cycles: int) -> int:
    """Return for about how many users so many cycles of gossip are enough: a public rule of thumb.

    Examples
    --------
    >>> users_settled(20)
    1000
    """
    return _SETTLED_PER_CYCLE * whole("cycles", cycles, minimum=1)


def sketch_items_to_stand_out(*, n_users: int, epsilon: Real, size: int, n_neighbors: int = 10) -> float:
    """Return how many common items stand out from strangers' sketches, for a recipient with `size` items.

    Parameters
    ----------
    n_users, epsilon, n_neighbors
        As in `items_to_stand_out`; epsilon is that of the sketches.
    size
        Items of the recipient.

    Returns
    -------
    float
        With so many, a neighbour is significant every other time even in the last place; infinity if all items of the
        recipient are not enough.

    Examples
    --------
    >>> few = sketch_items_to_stand_out(n_users=10_000, epsilon=3, size=100)
    >>> few < sketch_items_to_stand_out(n_users=10_000, epsilon=1, size=100)
    True
    """
    from scipy.special import betainc, expit

    others = whole("n_users", n_users, minimum=2) - 1
    size = whole("size", size, minimum=1)
    places = min(whole("n_neighbors", n_neighbors, minimum=1), others)
    by_chance = float(expit(-float(fraction("epsilon", epsilon))))
    # The chance per stranger at which as many of them as one in twenty places are expected to get so far.
    reached = min(0.5, (1 - SIGNIFICANT) * places / others)
    # P[a stranger shows at least c bits], for c = 1, 2, ...; the first that is small enough stands out.
    bits = np.arange(1, size + 1)
    needed = 1 + int(np.count_nonzero(betainc(bits, size - bits + 1, by_chance) > reached))
    common = max(0.0, (needed - size * by_chance) / (1 - 2 * by_chance))
    return common if common <= size else math.inf


def _exact(popularity: NDArray[np.float64], n: int, cycles: int) -> tuple[float, float]:  # noqa: ARG001
    dense = popularity * _DENSE_SHARE > n
    seconds = (
        _EXACT_MEETING * float((popularity[~dense] ** 2).sum())
        + _EXACT_DENSE * n * float(popularity[dense].sum())
        + _EXACT_CANDIDATE * n**2
    )
    return seconds, min(_DENSE_BYTES, n * int(dense.sum()))


def _gossip(popularity: NDArray[np.float64], n: int, cycles: int) -> tuple[float, float]:  # noqa: ARG001
    # Where not all nodes fit into the caches, each step waits for memory.
    slower = 1.0 + 0.5 * max(0.0, math.log10(n / _SMALL_NETWORK))
    watched = min(_WATCHED_USERS * n, _WATCHED_PAIRS)
    return _GOSSIP_STEP * n * cycles * slower + _GOSSIP_WATCHED * watched, _GOSSIP_NODE_BYTES * n


def _sketch(popularity: NDArray[np.float64], n: int, cycles: int) -> tuple[float, float]:  # noqa: ARG001
    used, pairs = int((popularity > 0).sum()), float(popularity.sum())
    return _SKETCH_BIT * n * used + _SKETCH_LOOK * n * pairs, min(MEMORY_BYTES, n * used / 8)


def _recommending(popularity: NDArray[np.float64], n: int, k: int, engine: str) -> float:
    if engine == "sketch":
        return _SKETCH_VOTE_ITEM * n * popularity.size
    return _VOTE_ITEM * n * popularity.size + _VOTE * k * float(popularity.sum())
