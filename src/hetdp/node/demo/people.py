"""Invented people for the demo: tastes, popular things, dials; and how good lists of neighbours are for them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hetdp.core.checks import whole
from hetdp.core.randomness import seeded_stream
from hetdp.node.settings import NodeSettings

_TASTES = ("jazz", "cooking", "hiking", "chess", "gardening", "film", "knitting", "astronomy")
_PER_TASTE, _POPULAR = 60, 36
#: How likely somebody has a popular item of the own taste, another one of it, and one of another taste.
_LIKELY, _LESS, _ELSEWHERE = 0.75, 0.2, 0.02
_HIDDEN = 0.15
#: So many items are recommended to each, to see whether hidden ones are among them.
LIST = 10
#: Shares of people's items that are hidden, and that are at half; the others are at full.
_NEVER, _HALF = 0.1, 0.15
#: So many people per taste at least: recommendations need several people who agree.
_PER_CIRCLE = 7


@dataclass(frozen=True, repr=False)
class People:
    """Invented people: what each has (place -> dial), and which of it was hidden from the network as a test."""

    profiles: tuple[Mapping[int, int], ...]
    hidden: tuple[frozenset[int], ...]
    items: tuple[tuple[str, str, str], ...]

    def full(self, person: int) -> set[int]:
        """Return everything a person has."""
        return set(self.profiles[person]) | self.hidden[person]


@dataclass(frozen=True)
class Recall:
    """A share of hidden items found, averaged over people, and one standard error of it."""

    mean: float
    error: float


def taste_count(count: int) -> int:
    """Return how many tastes so many people have: few people have few, so that everybody finds company."""
    return min(len(_TASTES), max(2, count // _PER_CIRCLE))


def invent_people(count: int, *, seed: int) -> People:
    """Invent people with a taste each, and a few things of other tastes."""
    stream = seeded_stream(whole("seed", seed, minimum=0), 6)
    items = tuple(
        (f"{taste}-{number}", f"{taste.title()} {number}", taste) for taste in _TASTES for number in range(_PER_TASTE)
    )
    profiles, hidden = [], []
    for person in range(count):
        first = person % taste_count(count) * _PER_TASTE
        likely = np.full(len(items), _ELSEWHERE)
        likely[first : first + _POPULAR] = _LIKELY
        likely[first + _POPULAR : first + _PER_TASTE] = _LESS
        luck = stream.uniforms(3 * len(items)).reshape(3, -1)
        places = np.flatnonzero(luck[0] < likely)
        hidden.append(frozenset(int(place) for place in places if luck[1][place] < _HIDDEN))
        dials = np.select([luck[2] < _NEVER, luck[2] < _NEVER + _HALF], [0, 50], 100)
        profiles.append({int(place): int(dials[place]) for place in places if int(place) not in hidden[-1]})
    return People(tuple(profiles), tuple(hidden), items)


def exact_neighbors(people: People, person: int) -> list[int]:
    """Return everybody else, those with most items in common first: what no private system can do."""
    mine = set(people.profiles[person])
    others = [other for other in range(len(people.profiles)) if other != person]
    return sorted(others, key=lambda other: -len(mine & set(people.profiles[other])))


def list_length(count: int) -> int:
    """Return how many neighbours a network of so many people compares: about as many as share a taste."""
    return min(NodeSettings().neighbors, max(1, count // taste_count(count) - 1))


def recall(people: People, chosen: Sequence[Sequence[int]]) -> Recall:
    """Return the share of hidden items that somebody's neighbours have, averaged over people with hidden items."""
    shares = [
        _found(people, hidden, neighbors) / len(hidden)
        for hidden, neighbors in zip(people.hidden, chosen, strict=True)
        if hidden
    ]
    return _mean(shares)


def hits(hidden: Sequence[frozenset[int]], lists: Sequence[Sequence[int]]) -> Recall:
    """Return the share of recommended items that are hidden ones, of as many as could be, averaged over people."""
    return _mean(
        [
            len(items.intersection(places)) / min(len(items), LIST)
            for items, places in zip(hidden, lists, strict=True)
            if items
        ]
    )


def _mean(shares: Sequence[float]) -> Recall:
    if not shares:
        return Recall(0.0, 0.0)
    mean = math.fsum(shares) / len(shares)
    spread = math.fsum((share - mean) ** 2 for share in shares) / max(1, len(shares) - 1)
    return Recall(mean, math.sqrt(spread / len(shares)))


def _found(people: People, hidden: frozenset[int], neighbors: Sequence[int]) -> int:
    return sum(any(item in people.full(other) for other in neighbors) for item in hidden)
