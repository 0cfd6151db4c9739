"""Neighbours and recommendations, computed at home from the exact profile and the sketches that came by. Sends nothing.

The score of a sketch b for a profile X is sum over X of (b_i - q). Someone who shares nothing scores 0 on average, with
variance |X| q (1 - q); someone who has a share s of X at full weight scores s |X| (1 - 2q).

The number of ones that such a stranger shows among X is binomial, and so is the number of neighbours without an item
who show a one there: whether something stands out from chance is told by the exact tail, times how many were tried.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.node.facts import Neighbour
from hetdp.node.protocol.identity import pseudonym
from hetdp.node.protocol.messages import SignedSketch
from hetdp.sketching.bits import pack, unpack
from hetdp.sketching.chance import RARE, expected_by_chance
from hetdp.sketching.law import chance_of_one

__all__ = ["Vote", "find_neighbors", "scores", "votes"]


@dataclass(frozen=True, slots=True, repr=False)
class Vote:
    """What neighbours say about one item.

    Attributes
    ----------
    place
        Of the item in the catalogue.
    votes
        Estimated number of voting neighbours who have it.
    voters, asked
        How many of the voting neighbours have its bit set, and how many vote.
    significance
        Standard deviations above chance, closer neighbours counting for more: decides among equal numbers of voters.
    by_chance
        How many items of the catalogue would get so many voters by chance alone, on average.

    Privacy
    -------
    Depends on whom the exact profile chose: for the owner's eyes.
    """

    place: int
    votes: float
    voters: int
    asked: int
    significance: float
    by_chance: float


def scores(
    sketches: Sequence[SignedSketch], items: Collection[int], *, epsilon: Fraction, size: int
) -> NDArray[np.float64]:
    r"""Return the score of each sketch against a set of items.

    Parameters
    ----------
    sketches
        Those of others.
    items
        Places of the owner's items that count; items of dial 0 must not be among them.
    epsilon, size
        Public: level of the network and number of catalogue items.

    Privacy
    -------
    Reads the exact profile; the result must not leave the node. The work depends on the number of sketches and the
    catalogue only, not on the profile.

    Examples
    --------
    >>> mine, other = SignedSketch(bytes(32), 0, b"\x03", b"", b""), SignedSketch(bytes(32), 0, b"\x0c", b"", b"")
    >>> scores([mine, other], {0, 1}, epsilon=Fraction(9), size=8).round(2)
    array([ 2., -0.])
    """
    counts = _counts(sketches, items, size=size).astype(np.float64)
    return counts - chance_of_one(epsilon) * len(items)


def _counts(sketches: Sequence[SignedSketch], items: Collection[int], *, size: int) -> NDArray[np.int64]:
    """Return how many of a set of items each sketch has set."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[list(items)] = True
    packed = np.frombuffer(pack(mask), dtype=np.uint8)
    counts = np.empty(len(sketches), dtype=np.int64)
    for place, sketch in enumerate(sketches):
        common = np.frombuffer(sketch.bits, dtype=np.uint8) & packed
        counts[place] = np.bitwise_count(common).sum(dtype=np.int64)
    return counts


def find_neighbors(
    sketches: Sequence[SignedSketch], items: Collection[int], *, epsilon: Fraction, size: int, count: int
) -> list[Neighbour]:
    """Return the `count` best neighbours, best first; none for an empty profile.

    Those who may be there by chance alone are among them, and `by_chance` tells: compare it with `RARE`.
    """
    if not items:
        return []
    q = chance_of_one(epsilon)
    full = 1.0 - 2.0 * q
    deviation = math.sqrt(len(items) * q * (1.0 - q))
    counts = _counts(sketches, items, size=size)
    found = counts - q * len(items)
    best = sorted(range(len(sketches)), key=lambda place: (-found[place], sketches[place].key))[:count]
    return [
        Neighbour(
            name=pseudonym(sketches[place].key),
            key_hex=sketches[place].key.hex(),
            score=float(found[place]),
            shared=float(found[place]) / full,
            shared_error=deviation / full,
            share=min(1.0, max(0.0, float(found[place]) / full / len(items))),
            significance=float(found[place]) / deviation,
            by_chance=expected_by_chance(int(counts[place]), len(items), q, candidates=len(sketches)),
            epoch=sketches[place].epoch,
        )
        for place in best
    ]


def votes(
    sketches: Sequence[SignedSketch],
    neighbours: Sequence[Neighbour],
    *,
    without: Collection[int],
    epsilon: Fraction,
    size: int,
    count: int,
) -> list[Vote]:
    """Return the items that most neighbours vote for; of equal ones, those of closer neighbours first.

    Only neighbours who stand out from chance vote: the bits of strangers would drown theirs.

    Parameters
    ----------
    sketches, neighbours
        Those of others, and who of them was chosen.
    without
        Places not to recommend: what counts in the profile, what was dismissed.
    epsilon, size, count
        Public parameters; how many to return at most.

    Returns
    -------
    list of Vote
        Those with a voter at least. Bits outside the profile did not decide who votes, so under chance the number of
        voters is binomial and `by_chance` is exact.
    """
    by_key = {sketch.key.hex(): sketch for sketch in sketches}
    chosen = [neighbour for neighbour in neighbours if neighbour.by_chance < RARE]
    if not chosen:
        return []
    q = chance_of_one(epsilon)
    bits = np.stack([unpack(by_key[neighbour.key_hex].bits, size) for neighbour in chosen])
    weights = np.array([neighbour.score for neighbour in chosen]) / max(neighbour.score for neighbour in chosen)
    strength = weights @ (bits - q) / math.sqrt(float((weights**2).sum()) * q * (1.0 - q))
    voters = bits.sum(axis=0)
    voters[list(without)] = 0
    rare = [expected_by_chance(number, len(chosen), q, candidates=size) for number in range(len(chosen) + 1)]
    ranked = np.lexsort((np.arange(size), -strength, -voters))[:count]
    return [
        Vote(
            place=int(place),
            votes=float((voters[place] - len(chosen) * q) / (1.0 - 2.0 * q)),
            voters=int(voters[place]),
            asked=len(chosen),
            significance=float(strength[place]),
            by_chance=rare[voters[place]],
        )
        for place in ranked
        if voters[place] > 0
    ]
