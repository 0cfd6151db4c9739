"""Small profiles for tests against plain definitions."""

import numpy as np
from hypothesis import strategies as st

from hetdp.profiles import Profiles

USERS = 7
ITEMS = 9
pairs = st.sets(st.tuples(st.integers(0, USERS - 1), st.integers(0, ITEMS - 1)), max_size=40)


def profiles_of(some):
    ordered = sorted(some)
    return Profiles.from_pairs(
        [user for user, _ in ordered], [item for _, item in ordered], user_ids=range(USERS), item_ids=range(ITEMS)
    )


def crowd(n_users=60, n_items=80, seed=0, density=0.2):
    generator = np.random.default_rng(seed)
    users, items = np.nonzero(generator.random((n_users, n_items)) < density)
    return Profiles.from_pairs(users, items, user_ids=range(n_users), item_ids=range(n_items))
