"""Data sets: three generated ones that resemble the paper's, what is in a data set, and where to get public ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import RandomState, Stream, simulation_stream
from hetdp.profiles import Profiles
from hetdp.profiles.profiles import require_profiles

__all__ = [
    "BUILT_IN",
    "PUBLIC",
    "PublicSet",
    "Statistics",
    "delicious_like",
    "describe",
    "digg_like",
    "load",
    "survey_like",
]

#: `Profiles.read`, for callers who look for it here.
load = Profiles.read

Counts = NDArray[np.int64]


def survey_like(random_state: RandomState = 0) -> Profiles:
    """Return profiles like those of the paper's survey: 120 people, 200 news items, 68 liked on average.

    Small and dense: two people share 28 items on average, so even random neighbours have most of the hidden items
    (recall 0.966 at k = 10; true neighbours 0.994). Nobody's data; all weights are 1.

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

    Dense, with large and small profiles (about 80 to 600 items). The rarest item has 10 users. Two users have 101 items
    in common on average (recall at k = 10: true neighbours 0.985, random ones 0.935). All weights are 1.

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

    Sparse: two thirds of all bookmarks are on pages of a single user, and two users share 0.6 pages on average (recall
    at k = 10: true neighbours 0.26, random ones 0.08). The numbers of pages with 2, 3 to 5, and 6 or more users are
    those of real bookmarks (about 3,700, 2,100 and 700; the most popular page has 73). All weights are 1.

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


#: The generated data sets by name.
BUILT_IN: Mapping[str, Callable[[RandomState], Profiles]] = MappingProxyType(
    {"survey_like": survey_like, "digg_like": digg_like, "delicious_like": delicious_like}
)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What `describe` counts.

    Attributes
    ----------
    users, items, pairs
        Numbers of users, items and (user, item) pairs.
    mean_size, smallest_size, largest_size
        Items per user.
    fewest_users, most_users
        Users of the least and of the most popular item.
    items_of_1_user, items_of_2_users, items_of_3_to_5_users, items_of_6_users_or_more
        Item popularity: the number of items in each class.
    mean_overlap
        Items that two different users have in common, on average over all pairs of users; exact.
    single_user_share
        Share of the pairs whose item has no other user. Such an item can neither be found nor recommended.
    """

    users: int
    items: int
    pairs: int
    mean_size: float
    smallest_size: int
    largest_size: int
    fewest_users: int
    most_users: int
    items_of_1_user: int
    items_of_2_users: int
    items_of_3_to_5_users: int
    items_of_6_users_or_more: int
    mean_overlap: float
    single_user_share: float


def describe(profiles: Profiles) -> Statistics:
    """Return the statistics of a data set.

    Parameters
    ----------
    profiles
        The data set. Weights do not matter.

    Privacy
    -------
    Nothing is protected: the numbers are exact. Show them only to people who may see the profiles.

    Examples
    --------
    >>> statistics = describe(Profiles.from_pairs([1, 1, 2, 3], ["a", "b", "a", "a"]))
    >>> statistics.mean_size, statistics.mean_overlap, statistics.single_user_share
    (1.3333333333333333, 1.0, 0.25)
    >>> statistics.items_of_1_user, statistics.items_of_2_users, statistics.items_of_3_to_5_users
    (1, 0, 1)
    """
    require_profiles("profiles", profiles)
    sizes, popularity = profiles.sizes, profiles.popularity
    # An item of p users is common to p (p - 1) ordered pairs of users.
    common = sum(count * (count - 1) for count in popularity.tolist())
    # Numbers of items with at least 1, 2, 3 and 6 users.
    one, two, three, six = ((popularity >= least).sum().item() for least in (1, 2, 3, 6))
    return Statistics(
        users=profiles.n_users,
        items=profiles.n_items,
        pairs=profiles.n_pairs,
        mean_size=profiles.n_pairs / max(1, profiles.n_users),
        smallest_size=int(sizes.min(initial=profiles.n_items)) if sizes.size else 0,
        largest_size=int(sizes.max(initial=0)),
        fewest_users=int(popularity.min()) if popularity.size else 0,
        most_users=int(popularity.max(initial=0)),
        items_of_1_user=one - two,
        items_of_2_users=two - three,
        items_of_3_to_5_users=three - six,
        items_of_6_users_or_more=six,
        mean_overlap=common / max(1, profiles.n_users * (profiles.n_users - 1)),
        single_user_share=(one - two) / max(1, profiles.n_pairs),
    )


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A data set that others publish. hetdp downloads nothing.

    Attributes
    ----------
    name, contents
        What it is.
    address
        Where to get it.
    file
        The file in it to give to `load`.
    terms
        Its terms in short; the text that comes with the data is what counts.

    Privacy
    -------
    People in public data sets did not all agree to be studied, and some sets were later linked to names. Read the
    terms.
    """

    name: str
    contents: str
    address: str
    file: str
    terms: str


_GROUPLENS = "https://grouplens.org/datasets"
_RESEARCH = "research; acknowledge in publications; no commercial use without permission"
_NO_COPIES = f"{_RESEARCH}; no redistribution without permission"
_NON_COMMERCIAL = "non-commercial use; cite the source"

#: Checked against the read-me files of the sets.
PUBLIC: tuple[PublicSet, ...] = (
    PublicSet(
        "MovieLens 100K",
        "943 users, 1,682 films, 100,000 ratings",
        f"{_GROUPLENS}/movielens/100k/",
        "u.data",
        _NO_COPIES,
    ),
    PublicSet(
        "MovieLens 1M",
        "6,040 users, about 3,900 films, 1,000,209 ratings",
        f"{_GROUPLENS}/movielens/1m/",
        "ratings.dat",
        _NO_COPIES,
    ),
    PublicSet(
        "MovieLens Latest Small",
        "610 users, 9,742 films, 100,836 ratings (2018)",
        f"{_GROUPLENS}/movielens/latest/",
        "ratings.csv",
        f"{_RESEARCH}; redistribution on the same terms",
    ),
    PublicSet(
        "HetRec 2011 Delicious",
        "1,867 users, 69,226 pages, 104,799 bookmarks",
        f"{_GROUPLENS}/hetrec-2011/",
        "user_taggedbookmarks.dat",
        _NON_COMMERCIAL,
    ),
    PublicSet(
        "HetRec 2011 Last.fm",
        "1,892 users, 17,632 artists, 92,834 listening counts",
        f"{_GROUPLENS}/hetrec-2011/",
        "user_artists.dat",
        _NON_COMMERCIAL,
    ),
    PublicSet(
        "HetRec 2011 MovieLens",
        "2,113 users, 10,197 films, 855,598 ratings",
        f"{_GROUPLENS}/hetrec-2011/",
        "user_ratedmovies.dat",
        _NON_COMMERCIAL,
    ),
    PublicSet(
        "goodbooks-10k",
        "53,424 users, 10,000 books, about 6 million ratings",
        "https://github.com/zygmuntz/goodbooks-10k",
        "ratings.csv",
        "CC BY-SA 4.0",
    ),
)


@dataclass(frozen=True, slots=True)
class Curve:
    """Counts that rise from `lowest` to `highest` along a cubic with the given mean.

    Only correctly rounded sums and products of floats are used, so the counts are the same on every machine.
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

    A quarter as many items are twice as popular, as among real bookmarks. Square roots are correctly rounded, too.
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
        Wanted sizes of profiles. Popularities decide, unless a tail fills up what is missing.
    items, popularity
        Items that users share, each belonging to one community, and the number of users of each.
    affinity
        Pairs (popularity, factor), rising. Among items of at most that popularity, a member of the item's community is
        `factor` times as likely to have it as another user with a profile of the same size. The last factor holds for
        all more popular items.
    apart
        Share of the users who have few popular items: nearly none for the first of them, rising to what other users of
        their size have. Items up to the first popularity in `affinity` are not concerned.
    tail
        Whether profiles are filled up to their size with items of a single user.
    """

    users: int
    communities: int
    sizes: Curve
    items: int
    popularity: Curve | Zipf
    affinity: tuple[tuple[int, float], ...]
    apart: float = 0.0
    tail: bool = False

    def factor(self, popularity: int) -> float:
        """Return how much likelier members of its community have an item of this popularity."""
        return next((factor for limit, factor in self.affinity if popularity <= limit), self.affinity[-1][1])

    def interest(self) -> NDArray[np.float64]:
        """Return each user's interest in popular items, in rising order: 1 for all users who do not stand apart."""
        place = (np.arange(self.users) + 0.5) / self.users
        reached: NDArray[np.float64] = place / np.maximum(place, self.apart)
        return reached * reached * (reached * reached)


#: Fitted with benchmarks/calibrate_datasets.py to the recall published for true and for random neighbours, and to the
#: statistics of the original sets. tests/experiments/test_datasets.py checks both.
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
    the profile and with belonging to the item's community (sequential Poisson sampling). Uniform numbers are compared
    after divisions only, without logarithms, so the same seed gives the same profiles on every machine.
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
    # Shuffled, so that the number of an item reveals neither its community nor its popularity.
    names = _shuffled(n_items, stream) + 1
    return Profiles.from_pairs(
        owners + 1,
        names[things],
        user_ids=np.arange(1, recipe.users + 1),
        item_ids=np.arange(1, n_items + 1),
    )


def _shuffled(n: int, stream: Stream) -> NDArray[np.int64]:
    return np.argsort(stream.uniforms(n), kind="stable").astype(np.int64)


def _made(name: str, random_state: RandomState) -> Profiles:
    return make_profiles(RECIPES[name], simulation_stream(random_state, name))


def __dir__() -> list[str]:
    return sorted(__all__)
