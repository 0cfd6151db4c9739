"""Crowds for tests: people of a few tastes."""

import numpy as np

from hetdp import Profiles


def tastes(people=600, groups=4, each=8, likes=5, seed=0):
    """People who like some of the items of their group; ids are texts, and all items are listed."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(people), likes)
    items = np.concatenate(
        [(person % groups) * each + rng.choice(each, likes, replace=False) for person in range(people)]
    )
    names = [f"item {place:02}" for place in range(groups * each)]
    return Profiles.from_pairs([f"person {user}" for user in users], [names[item] for item in items], item_ids=names)


def muted(profiles, user, item):
    """The same profiles with one more item, of weight 0."""
    users, items, weights = profiles.to_pairs()
    return Profiles.from_pairs(
        [*users, user],
        [*items, item],
        np.concatenate([weights, [0.0]]),
        user_ids=profiles.user_ids,
    )
