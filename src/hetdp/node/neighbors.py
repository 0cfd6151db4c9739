"""Neighbours and what they vote for, computed at home from the exact profile and the sketches held. Sends nothing.

The score of a sketch b for a profile X is sum over X of (b_i - q). The number of ones that a stranger shows among X is
binomial, and so is the number of neighbours without an item who show a one there: whether something stands out from
chance is told by the exact tail and how many were compared (`sketching.reading`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hetdp.node.protocol.identity import pseudonym
from hetdp.node.protocol.messages import SignedSketch
from hetdp.sketching.bit_law import USUAL_TUNING, chance_of_one
from hetdp.sketching.drawing import unpack
from hetdp.sketching.reading import RARE, best_by_chance, binomial_tail, items_behind, items_behind_error, ones_among


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
    by_chance: float  # how likely the best of all sketches compared looks as much alike by chance alone
    epoch: int

    def likely(self, counting: int) -> tuple[int, int, int]:
        """Return how many of the owner's items that count they seem to have: likely at least, about, at most."""
        low, middle, high = (
            min(counting, max(0, round(self.shared + shift * self.shared_error))) for shift in (-2, 0, 2)
        )
        return low, middle, high


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
    sizes: Mapping[bytes, int],
    count: int,
    tuned_for: Fraction = USUAL_TUNING,
    choose: Callable[[Iterable[SignedSketch], int], Iterable[SignedSketch]] = islice,
    chosen_from: int = 0,
) -> list[Neighbor]:
    """Return the `count` best neighbours, best first; none for an empty profile or without sketches.

    Who may be one is up to `choose`, which is given sketches, best first, and how many to choose.
    A sketch is compared on the items that its version of the catalogue has; `sizes` tells how many, by its digest.
    Some sketches may have been `chosen_from` more for being like the owner's: then so many were compared.
    Items of dial 0 must not be among the places of the owner's items. Those who may be there by chance alone are among
    the neighbours, and `by_chance` tells: compare it with `RARE`. The result must not leave the node.
    """
    if not items or not sketches:
        return []
    ones, compared = _ones(sketches, items, sizes)
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    scores = ones - q * compared
    ranked = sorted(range(len(sketches)), key=lambda place: (-scores[place], sketches[place].key))
    place_of = {sketches[place].key: place for place in ranked if compared[place]}
    best = [place_of[sketch.key] for sketch in choose((sketches[place] for place in place_of.values()), count)]
    shared = items_behind(ones[best], compared[best], epsilon, tuned_for=tuned_for).tolist()
    candidates = max(len(sketches), chosen_from)
    by_chance = best_by_chance(binomial_tail(ones[best], compared[best], q), candidates).tolist()
    found = []
    for place, common, lucky in zip(best, shared, by_chance, strict=True):
        among = int(compared[place])
        error = items_behind_error(among, epsilon, tuned_for=tuned_for)
        found.append(
            Neighbor(
                name=pseudonym(sketches[place].key),
                key_hex=sketches[place].key.hex(),
                score=float(scores[place]),
                shared=common,
                shared_error=error,
                share=min(1.0, max(0.0, common / among)),
                deviations=common / error,
                by_chance=lucky,
                epoch=sketches[place].epoch,
            )
        )
    return found


def _ones(
    sketches: Sequence[SignedSketch], items: Collection[int], sizes: Mapping[bytes, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many of the owner's items each sketch has set, and how many of them its catalogue has at all."""
    ones, compared = np.zeros((2, len(sketches)), dtype=np.int64)
    for digest, size in sizes.items():
        places = [place for place, sketch in enumerate(sketches) if sketch.catalogue == digest]
        known = [item for item in items if item < size]
        if places:
            ones[places] = ones_among([sketches[place].bits for place in places], known, size=size)
            compared[places] = len(known)
    return ones, compared


def votes(
    sketches: Sequence[SignedSketch],
    neighbors: Sequence[Neighbor],
    *,
    without: Collection[int],
    epsilon: Fraction,
    sizes: Mapping[bytes, int],
    count: int,
    tuned_for: Fraction = USUAL_TUNING,
    shown: NDArray[np.bool_] | None = None,
) -> list[Vote]:
    """Return the items that most neighbours vote for; of equal ones, those of closer neighbours first.

    Only neighbours who stand out from chance vote: the bits of strangers would drown theirs.

    Places `without` a vote are those on the own list, at any dial, and what was dismissed. Bits outside the list did
    not decide who votes, so under chance the number of voters is binomial and `by_chance` is exact. Except where the
    owner's published sketch has `shown` a one, by noise: sketches are also held for having ones there. What chance does
    at these places is what is seen there on average. Who has published for an older catalogue, of some of the `sizes`,
    is not asked about what came later.
    """
    by_key = {sketch.key.hex(): sketch for sketch in sketches}
    chosen = [neighbor for neighbor in neighbors if neighbor.by_chance < RARE]
    if not chosen:
        return []
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    size = max(sizes.values())
    bits, has = np.zeros((2, len(chosen), size), dtype=np.bool_)
    for row, neighbor in enumerate(chosen):
        sketch = by_key[neighbor.key_hex]
        own_size = sizes[sketch.catalogue]
        bits[row, :own_size], has[row, :own_size] = unpack(sketch.bits, own_size), True
    weights = np.array([neighbor.score for neighbor in chosen]) / max(neighbor.score for neighbor in chosen)
    spread = np.sqrt(np.maximum(weights**2 @ has, np.finfo(float).tiny) * q * (1.0 - q))
    strength = weights @ np.where(has, bits - q, 0.0) / spread
    voters, asked = bits.sum(axis=0), has.sum(axis=0)
    voters[list(without)] = 0
    tails = binomial_tail(voters, asked, q)
    noise = np.zeros(size, dtype=np.bool_)
    if shown is not None:
        noise[: shown.size] = shown
        noise[list(without)] = False
    if asked[noise].any():
        tails[noise] = binomial_tail(voters[noise], asked[noise], max(q, voters[noise].sum() / asked[noise].sum()))
    ranked = np.lexsort((np.arange(size), -strength, tails))[:count]
    best = ranked[voters[ranked] > 0]
    votes_for = items_behind(voters[best], asked[best], epsilon, tuned_for=tuned_for).tolist()
    by_chance = best_by_chance(tails[best], size).tolist()
    return [
        Vote(
            place=int(place),
            votes=estimate,
            voters=int(voters[place]),
            asked=int(asked[place]),
            deviations=float(strength[place]),
            by_chance=lucky,
        )
        for place, estimate, lucky in zip(best, votes_for, by_chance, strict=True)
    ]
