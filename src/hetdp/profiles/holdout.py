"""Divide profiles into a training and a test set, as evaluations of recommendations do."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import finite, one_of
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, simulation_stream
from hetdp.profiles.profiles import Profiles, require_profiles

#: What of each profile the `score` of an estimator hides.
HIDDEN_SHARE = 0.2
_PROTOCOLS = ("paper", "each")


def split(
    profiles: Profiles, *, protocol: str = "paper", share: float = 0.1, random_state: RandomState = 0
) -> tuple[Profiles, Profiles]:
    """Return training and test profiles with the same users and items, and the weights of the original.

    Parameters
    ----------
    profiles
        The full profiles.
    protocol
        "paper": each item of a profile that at least one other user also has goes to the test set with probability
        `share`; the rest is training. "each": that share of every profile, at least one item
        but never all items. A profile with one item stays in the training set.
    share
        That probability or share, between 0 and 1.
    random_state
        A seed, a stream, or None for the secure stream. Other uses of the same seed draw other numbers.

    Privacy
    -------
    Nothing is released. Which items can be tested depends on all profiles, so a recall measured this way is private
    data of everybody in the set: publish it only for data that may be published.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "a"])
    >>> train, test = split(profiles, share=0.5, random_state=1)
    >>> train.n_pairs + test.n_pairs == profiles.n_pairs
    True
    >>> set(test.to_pairs()[1]) <= {"a"}
    True
    >>> split(profiles, protocol="each", share=0.5)[1].sizes
    array([1, 1, 0])
    """
    require_profiles("profiles", profiles)
    one_of("protocol", protocol, _PROTOCOLS)
    probability = finite("share", share)
    if not 0.0 < probability < 1.0:
        raise InvalidInput("must be above 0 and below 1", parameter="share", got=share)
    # One number for every pair, testable or not: what one user has does not shift the draws of the next.
    drawn = simulation_stream(random_state, "split").uniforms(profiles.n_pairs)
    if protocol == "paper":
        test = (profiles.popularity[profiles.indices] > 1) & (drawn < probability)
    else:
        test = _smallest(profiles, drawn, probability)
    return profiles.keep(np.logical_not(test)), profiles.keep(test)


def _smallest(profiles: Profiles, drawn: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return which pairs have the smallest numbers of their users: a share of each profile, but never all of it."""
    sizes, owners = profiles.sizes, profiles.owners
    wanted = np.minimum(np.maximum(1, np.rint(share * sizes)), sizes - 1)
    rank = np.empty(profiles.n_pairs, dtype=np.int64)
    rank[np.lexsort((drawn, owners))] = np.arange(profiles.n_pairs) - profiles.indptr[owners]
    smallest: NDArray[np.bool_] = rank < wanted[owners]
    return smallest
