"""Neighbours and what they vote for, computed at home from the exact profile and the sketches held. Sends nothing.

The score of a sketch b for a profile X is sum over X of (b_i - q). The number of ones that a stranger shows among X is
binomial, and so is the number of neighbours without an item who show a one there: whether something stands out from
chance is told by the exact tail and how many were compared (`sketching.significance`).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hetdp.node.protocol.identity import pseudonym
from hetdp.node.protocol.messages import SignedSketch
from hetdp.sketching.bits import unpack
from hetdp.sketching.estimate import items_behind, items_behind_error, ones_among
from hetdp.sketching.law import USUAL_TUNING, chance_of_one
from hetdp.sketching.significance import RARE, best_by_chance, binomial_tail

__all__ = ["Neighbor", "Vote", "find_neighbors", "votes"]


@dataclass(frozen=True, slots=True, repr=False)
class Neighbor:
    """Someone whose sketch fits the owner's profile: for the owner's eyes, so `repr` shows nothing."""

    name: str
    key_hex: str
    score: float  # the sum over the owner's items of (bit - q)
    shared: float  # estimated number of the owner's items that they have too
    shared_error: float  # one standard deviation of it
    share: float  # `shared` over the number of the owner's items, within [0, 1]
    deviations: float  # standard deviations above what chance gives
    by_chance: float  # how likely the best of all sketches held looks as much alike by chance alone; exact
    epoch: int


@dataclass(frozen=True, slots=True, repr=False)
class Vote:
    """What neighbours say about one item."""

    place: int
    votes: float  # estimated number of voting neighbours who have it
    voters: int  # how many of the voting neighbours have its bit set
    asked: int  # how many vote
    deviations: float  # above chance, closer neighbours counting for more: decides among equal numbers of voters
    by_chance: float  # how likely the best of all items of the catalogue gets so many voters by chance alone


def find_neighbors(
    sketches: Sequence[SignedSketch],
    items: Collection[int],
    *,
    epsilon: Fraction,
    size: int,
    count: int,
    tuned_for: Fraction = USUAL_TUNING,
) -> list[Neighbor]:
    """Return the `count` best neighbours, best first; none for an empty profile or without sketches.

    Items of dial 0 must not be among the places of the owner's items. Those who may be there by chance alone are among
    the neighbours, and `by_chance` tells: compare it with `RARE`. The result must not leave the node.
    """
    if not items or not sketches:
        return []
    ones = ones_among([sketch.bits for sketch in sketches], items, size=size)
    best = sorted(range(len(sketches)), key=lambda place: (-ones[place], sketches[place].key))[:count]
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    error = items_behind_error(len(items), epsilon, tuned_for=tuned_for)
    shared = items_behind(ones[best], len(items), epsilon, tuned_for=tuned_for).tolist()
    by_chance = best_by_chance(binomial_tail(ones[best], len(items), q), len(sketches)).tolist()
    return [
        Neighbor(
            name=pseudonym(sketches[place].key),
            key_hex=sketches[place].key.hex(),
            score=float(ones[place] - q * len(items)),
            shared=common,
            shared_error=error,
            share=min(1.0, max(0.0, common / len(items))),
            deviations=common / error,
            by_chance=lucky,
            epoch=sketches[place].epoch,
        )
        for place, common, lucky in zip(best, shared, by_chance, strict=True)
    ]


def votes(
    sketches: Sequence[SignedSketch],
    neighbors: Sequence[Neighbor],
    *,
    without: Collection[int],
    epsilon: Fraction,
    size: int,
    count: int,
    tuned_for: Fraction = USUAL_TUNING,
) -> list[Vote]:
    """Return the items that most neighbours vote for; of equal ones, those of closer neighbours first.

    Only neighbours who stand out from chance vote: the bits of strangers would drown theirs.

    Places `without` a vote are those on the own list, at any dial, and what was dismissed. Bits outside the list did
    not decide who votes, so under chance the number of voters is binomial and `by_chance` is exact.
    """
    by_key = {sketch.key.hex(): sketch for sketch in sketches}
    chosen = [neighbor for neighbor in neighbors if neighbor.by_chance < RARE]
    if not chosen:
        return []
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    bits = np.stack([unpack(by_key[neighbor.key_hex].bits, size) for neighbor in chosen])
    weights = np.array([neighbor.score for neighbor in chosen]) / max(neighbor.score for neighbor in chosen)
    strength = weights @ (bits - q) / math.sqrt(float((weights**2).sum()) * q * (1.0 - q))
    voters = bits.sum(axis=0)
    voters[list(without)] = 0
    numbers = np.arange(len(chosen) + 1)
    votes_for = items_behind(numbers, len(chosen), epsilon, tuned_for=tuned_for).tolist()
    by_chance = best_by_chance(binomial_tail(numbers, len(chosen), q), size).tolist()
    ranked = np.lexsort((np.arange(size), -strength, -voters))[:count]
    return [
        Vote(
            place=int(place),
            votes=votes_for[voters[place]],
            voters=int(voters[place]),
            asked=len(chosen),
            deviations=float(strength[place]),
            by_chance=by_chance[voters[place]],
        )
        for place in ranked
        if voters[place] > 0
    ]
