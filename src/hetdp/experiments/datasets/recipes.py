"""What the built-in data sets are made of: sizes, popularities, communities; the fitted numbers stand in one table."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["RECIPES", "Curve", "Recipe", "Shape", "Zipf"]

Counts = NDArray[np.int64]


class Shape(Protocol):
    """A fixed list of counts: how large profiles are, or how popular items are."""

    def counts(self, n: int) -> Counts:
        """Return `n` counts."""
        ...


@dataclass(frozen=True, slots=True)
class Curve:
    """Counts that rise from `lowest` to `highest` along a cubic with the given mean.

    Only sums and products of floats are used, each correctly rounded: the counts are the same on every machine.

    Examples
    --------
    >>> Curve(10, 40, mean=20).counts(5).tolist()
    [11, 14, 18, 24, 34]
    """

    lowest: int
    highest: int
    mean: float

    def counts(self, n: int) -> Counts:
        """Return `n` counts in rising order."""
        x = (np.arange(n) + 0.5) / n
        # The line from 0 to 1 has mean 1/2, the cube 1/4; a mix of both has any mean between, and somewhat beyond.
        bend = 4.0 * (0.5 - (self.mean - self.lowest) / (self.highest - self.lowest))
        height = (1.0 - bend) * x + bend * (x * x * x)
        return np.rint(self.lowest + (self.highest - self.lowest) * height).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Zipf:
    """Counts that fall with the rank as `total / (rank + offset)`, and never below `least`.

    Examples
    --------
    >>> Zipf(total=100, offset=5, least=2).counts(6).tolist()
    [20, 17, 14, 12, 11, 10]
    """

    total: float
    offset: float
    least: int

    def counts(self, n: int) -> Counts:
        """Return `n` counts in falling order."""
        falling = np.rint(self.total / (np.arange(n) + self.offset)).astype(np.int64)
        counts: Counts = np.maximum(self.least, falling)
        return counts


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make profiles with communities, popular and rare items, large and small profiles.

    Attributes
    ----------
    users, communities
        Users are divided evenly.
    sizes
        How many items users have. A wish: popularities decide, unless a tail fills up what is missing.
    items, popularity
        Items that users share, each belonging to one community, and by how many users each is shared.
    affinity
        Pairs (popularity, factor), rising: among items of at most that popularity, a member of the item's community is
        so many times as likely to have it as somebody else with a profile of the same size. The last factor holds for
        all that are more popular.
    tail
        Whether everybody is filled up to their size with items that nobody else has.
    """

    users: int
    communities: int
    sizes: Shape
    items: int
    popularity: Shape
    affinity: tuple[tuple[int, float], ...]
    tail: bool

    def factor(self, popularity: int) -> float:
        """Return how much likelier members of its community have an item of this popularity."""
        return next((factor for limit, factor in self.affinity if popularity <= limit), self.affinity[-1][1])


#: Fitted with benchmarks/calibrate_datasets.py to the recall published for the baseline and for random neighbours, and
#: to the statistics of the original sets: tests/test_datasets.py holds them to it.
RECIPES: dict[str, Recipe] = {
    "survey_like": Recipe(
        users=120,
        communities=3,
        sizes=Curve(40, 110, mean=68.0),
        items=200,
        popularity=Curve(8, 76, mean=40.8),
        affinity=((34, 163.0), (120, 1.0)),
        tail=False,
    ),
    "digg_like": Recipe(
        users=500,
        communities=8,
        sizes=Curve(72, 603, mean=317.0),
        items=1250,
        popularity=Curve(48, 270, mean=126.8),
        affinity=((80, 277.0), (500, 1.0)),
        tail=False,
    ),
    "delicious_like": Recipe(
        users=500,
        communities=10,
        sizes=Curve(50, 230, mean=135.0),
        items=9800,
        popularity=Zipf(total=863.0, offset=6.0, least=2),
        affinity=((500, 105.0),),
        tail=True,
    ),
}
