"""Divide profiles into a training and a test set, as evaluations of recommendations do."""

import numpy as np

from hetdp.core.checks import finite, one_of
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, simulation_stream
from hetdp.profiles.profiles import Profiles, require_profiles

__all__ = ["split"]


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
        `share`; the rest is training.
    share
        That probability, between 0 and 1.
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
    """
    require_profiles("profiles", profiles)
    one_of("protocol", protocol, ("paper",))
    probability = finite("share", share)
    if not 0.0 < probability < 1.0:
        raise InvalidInput(f"share must be above 0 and below 1. Got {share!r} instead.")
    shared = profiles.popularity[profiles.indices] > 1
    # One number for every pair, testable or not: what one user has does not shift the draws of the next.
    drawn = simulation_stream(random_state, "split").uniforms(profiles.n_pairs) < probability
    test = shared & drawn
    return profiles.keep(np.logical_not(test)), profiles.keep(test)
