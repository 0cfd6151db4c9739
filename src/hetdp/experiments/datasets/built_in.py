"""The built-in data sets: generated, seeded, resembling the three of the paper. Nobody's data; weights are 1."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import RandomState, Stream, simulation_stream
from hetdp.profiles import Profiles

__all__ = [
    "BUILT_IN",
    "RECIPES",
    "Curve",
    "Recipe",
    "Shape",
    "Zipf",
    "delicious_like",
    "digg_like",
    "make_profiles",
    "survey_like",
]

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
    """Counts that fall with the rank as the square root of `total / (rank + offset)`, and never below `least`.

    Twice as popular are then a quarter as many, as among real bookmarks. Square roots are correctly rounded, too.
    """

    total: float
    offset: float
    least: int

    def counts(self, n: int) -> Counts:
        """Return `n` counts in falling order."""
        falling = np.sqrt(self.total / (np.arange(n) + self.offset)).astype(np.int64)
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
    apart
        Share of the users who have little of what is popular: from nearly nothing, where the first of them stands, to
        what everybody else of their size has. Items up to the first popularity in `affinity` are for all alike.
    tail
        Whether everybody is filled up to their size with items that nobody else has.
    """

    users: int
    communities: int
    sizes: Shape
    items: int
    popularity: Shape
    affinity: tuple[tuple[int, float], ...]
    apart: float = 0.0
    tail: bool = False

    def factor(self, popularity: int) -> float:
        """Return how much likelier members of its community have an item of this popularity."""
        return next((factor for limit, factor in self.affinity if popularity <= limit), self.affinity[-1][1])

    def interest(self) -> NDArray[np.float64]:
        """Return what popular items mean to each user, in rising order: 1 for all who do not stand apart."""
        place = (np.arange(self.users) + 0.5) / self.users
        reached: NDArray[np.float64] = place / np.maximum(place, self.apart)
        return reached * reached * (reached * reached)


#: Fitted with benchmarks/calibrate_datasets.py to the recall published for the baseline and for random neighbours, and
#: to the statistics of the original sets: tests/experiments/test_datasets.py holds them to it.
RECIPES: dict[str, Recipe] = {
    "survey_like": Recipe(
        users=120,
        communities=3,
        sizes=Curve(40, 110, mean=68.0),
        items=200,
        popularity=Curve(8, 76, mean=40.8),
        affinity=((34, 163.0), (120, 1.0)),
    ),
    "digg_like": Recipe(
        users=500,
        communities=8,
        sizes=Curve(72, 603, mean=317.0),
        items=1250,
        popularity=Curve(10, 230, mean=126.8),
        affinity=((104, 277.0), (500, 1.0)),
    ),
    "delicious_like": Recipe(
        users=500,
        communities=10,
        sizes=Curve(50, 230, mean=135.0),
        items=6500,
        popularity=Zipf(total=25800.0, offset=4.84, least=2),
        affinity=((2, 14.0), (500, 14.0)),
        apart=0.64,
        tail=True,
    ),
}


def make_profiles(recipe: Recipe, stream: Stream) -> Profiles:
    """Return the profiles that a recipe and a random stream make, all weights 1.

    An item of popularity p goes to the p users with the smallest u / a, where u is uniform and a grows with the size of
    the profile and with belonging to the community of the item (sequential Poisson sampling): so many users exactly, as
    likely as their shares. Uniform numbers are compared after divisions only, no logarithm: the same seed gives the
    same profiles on every machine.
    """
    sizes = recipe.sizes.counts(recipe.users)[_shuffled(recipe.users, stream)]
    home = (np.arange(recipe.users) % recipe.communities)[_shuffled(recipe.users, stream)]
    popularity = recipe.popularity.counts(recipe.items)
    interest = recipe.interest()[_shuffled(recipe.users, stream)] if recipe.apart else recipe.interest()
    users, items = [], []
    for count in np.unique(popularity):
        chosen = np.flatnonzero(popularity == count)
        members = chosen[:, None] % recipe.communities == home
        pull = sizes * interest if count > recipe.affinity[0][0] else sizes
        likely = np.where(members, recipe.factor(int(count)), 1.0) * pull
        keys = stream.uniforms(likely.size).reshape(likely.shape) / likely
        users.append(np.argpartition(keys, count - 1, axis=1)[:, :count].ravel())
        items.append(np.repeat(chosen, count))
    owners, things = np.concatenate(users), np.concatenate(items)
    if recipe.tail:
        missing = np.maximum(0, sizes - np.bincount(owners, minlength=recipe.users))
        owners = np.concatenate([owners, np.repeat(np.arange(recipe.users), missing)])
        things = np.concatenate([things, recipe.items + np.arange(missing.sum())])
    n_items = int(things.max()) + 1
    # Shuffled, so that the number of an item tells neither its community nor how popular it is.
    names = _shuffled(n_items, stream) + 1
    return Profiles.from_pairs(
        owners + 1,
        names[things],
        user_ids=np.arange(1, recipe.users + 1),
        item_ids=np.arange(1, n_items + 1),
    )


def _shuffled(n: int, stream: Stream) -> NDArray[np.int64]:
    return np.argsort(stream.uniforms(n), kind="stable").astype(np.int64)


def survey_like(random_state: RandomState = 0) -> Profiles:
    """Return profiles like those of the paper's survey: 120 people, 200 news items, 68 liked on average.

    Small and dense: two people share 28 items, so that even random neighbours have most of what one looks for
    (recall 0.966 at k = 10; true neighbours 0.994).

    Parameters
    ----------
    random_state
        A seed, a stream, or None for the secure stream. The same seed gives the same profiles on every machine.

    Examples
    --------
    >>> survey_like()
    Profiles(private: 120 users, 200 items, 8,155 pairs)
    """
    return _made("survey_like", random_state)


def digg_like(random_state: RandomState = 0) -> Profiles:
    """Return profiles like those of the paper's Digg set: 500 users, 1,250 news items, 317 shared on average.

    Dense, with large and small profiles (about 80 to 600 items); the rarest item has 10 users, two users have 101 items
    in common (recall of true neighbours 0.985 at k = 10, of random ones 0.935).

    Parameters
    ----------
    random_state
        As for `survey_like`.

    Examples
    --------
    >>> digg_like()
    Profiles(private: 500 users, 1,250 items, 158,498 pairs)
    """
    return _made("digg_like", random_state)


def delicious_like(random_state: RandomState = 0) -> Profiles:
    """Return profiles like those of the paper's Delicious set: 500 users, over 50,000 pages, 135 bookmarked on average.

    Sparse: two thirds of all bookmarks are on pages that nobody else has, two users share 0.6 pages on average (recall
    of true neighbours 0.26 at k = 10, of random ones 0.08). As many pages have 2, 3 to 5, and 6 or more users as among
    real bookmarks (about 3,700, 2,100 and 700; the most popular has 73).

    Parameters
    ----------
    random_state
        As for `survey_like`.

    Examples
    --------
    >>> delicious_like()
    Profiles(private: 500 users, 51,466 items, 67,497 pairs)
    """
    return _made("delicious_like", random_state)


#: The built-in data sets by name.
BUILT_IN: Mapping[str, Callable[[RandomState], Profiles]] = MappingProxyType(
    {"survey_like": survey_like, "digg_like": digg_like, "delicious_like": delicious_like}
)


def _made(name: str, random_state: RandomState) -> Profiles:
    return make_profiles(RECIPES[name], simulation_stream(random_state, name))
