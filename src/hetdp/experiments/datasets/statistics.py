"""Count what is in a data set: sizes, popularities, and how much two users have in common."""

from dataclasses import dataclass

from hetdp.profiles import Profiles
from hetdp.profiles.profiles import require_profiles

__all__ = ["Statistics", "describe"]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What `describe` counts.

    Attributes
    ----------
    users, items, pairs
        How many there are.
    mean_size, smallest_size, largest_size
        How many items a user has.
    fewest_users, most_users
        How many users an item has.
    items_of_1_user, items_of_2_users, items_of_3_to_5_users, items_of_6_users_or_more
        The curve of popularity: how many items have so many users.
    mean_overlap
        How many items two different users have in common, on average over all pairs of users; exact.
    single_user_share
        Share of the pairs whose item nobody else has. Such an item can neither be found by nor recommended to anybody.
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
        The data set. Weights do not count.

    Privacy
    -------
    Nothing is protected here: the numbers are exact. Show them only to those who may see the profiles.

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
    # An item of p users is common to p (p - 1) ordered pairs of users: no pair needs to be looked at.
    common = sum(count * (count - 1) for count in popularity.tolist())
    # How many items have at least 1, 2, 3 and 6 users.
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
