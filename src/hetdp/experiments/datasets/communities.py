"""Make profiles from a recipe: for each item, draw who has it, members of its community first."""

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.experiments.datasets.recipes import Recipe
from hetdp.profiles import Profiles

__all__ = ["make_profiles"]


def make_profiles(recipe: Recipe, stream: Stream) -> Profiles:
    """Return the profiles that a recipe and a random stream make, all weights 1.

    An item of popularity p goes to the p users with the smallest u / a, where u is uniform and a grows with the size of
    the profile and with belonging to the community of the item (sequential Poisson sampling): so many users exactly, as
    likely as their shares. Uniform numbers are compared after divisions only, no logarithm: the same seed gives the
    same profiles on every machine.

    Examples
    --------
    >>> from hetdp.experiments.datasets.recipes import RECIPES
    >>> from hetdp.core.randomness import seeded_stream
    >>> make_profiles(RECIPES["survey_like"], seeded_stream(1))
    Profiles(120 users, 200 items, 8,155 pairs)
    """
    sizes = recipe.sizes.counts(recipe.users)[_shuffled(recipe.users, stream)]
    home = (np.arange(recipe.users) % recipe.communities)[_shuffled(recipe.users, stream)]
    popularity = recipe.popularity.counts(recipe.items)
    users, items = [], []
    for count in np.unique(popularity):
        chosen = np.flatnonzero(popularity == count)
        members = chosen[:, None] % recipe.communities == home
        likely = np.where(members, recipe.factor(int(count)), 1.0) * sizes
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
