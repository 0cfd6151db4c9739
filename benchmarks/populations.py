"""Made-up populations for benchmarks: popular items, communities with a taste of their own, varying sizes."""

import numpy as np
from numpy.typing import NDArray

from hetdp import Profiles

#: Share of a profile that comes from everybody's items, and how steeply their popularity falls with the rank.
HEADS = {"flat": (0.3, 0.8), "heavy": (0.7, 1.1)}
_COMMUNITY_USERS = 200
_COMMUNITY_ITEMS_PER_PROFILE = 4
_SIZE_SPREAD = 0.3


def community_profiles(
    n_users: int, n_items: int, per_user: int, *, random_state: int = 0, head: str = "flat"
) -> Profiles:
    """Return profiles of communities.

    Each user belongs to a community of about 200 with a pool of its own items, four times a profile. Most of a profile
    is drawn from that pool, the rest from all items, both by Zipf's law. With head="heavy" most is drawn from all
    items, and the most popular ones are in nearly everybody's profile.
    """
    random = np.random.default_rng(random_state)
    share, exponent = HEADS[head]
    communities = max(1, n_users // _COMMUNITY_USERS)
    pool_size = min(n_items, _COMMUNITY_ITEMS_PER_PROFILE * per_user)
    pools = random.integers(0, n_items, size=(communities, pool_size), dtype=np.int32)
    community = random.integers(0, communities, size=n_users)
    sizes = np.clip(per_user * np.exp(_SIZE_SPREAD * random.standard_normal(n_users)), 2, None).astype(np.int64)
    # Draws are with replacement; a few rounds fill up what repetitions took.
    wanted, keys = sizes.copy(), np.empty(0, dtype=np.int64)
    for _ in range(3):
        users = np.repeat(np.arange(n_users), wanted)
        everybody = random.random(users.size) < share
        items = np.empty(users.size, dtype=np.int64)
        items[everybody] = zipf_ranks(random, int(everybody.sum()), n_items, exponent)
        local = np.flatnonzero(~everybody)
        items[local] = pools[community[users[local]], zipf_ranks(random, local.size, pool_size, 0.4)]
        keys = np.sort(np.concatenate([keys, users * n_items + items]))
        keys = keys[np.append(True, keys[1:] != keys[:-1])]  # the first of each run
        wanted = sizes - np.bincount(keys // n_items, minlength=n_users)
        if not wanted.any():
            break
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys // n_items, minlength=n_users))])
    ids = np.arange(n_users), np.arange(n_items)
    return Profiles(indptr, (keys % n_items).astype(np.int32), np.ones(keys.size, dtype=np.float32), *ids)


def zipf_ranks(random: np.random.Generator, count: int, size: int, exponent: float) -> NDArray[np.int64]:
    """Return ranks below `size`, the r-th with a probability proportional to (r + 1)**-exponent (roughly)."""
    uniform = random.random(count)
    if exponent == 1:
        ranks = np.exp(uniform * np.log(size + 1))
    else:
        power = 1 - exponent
        ranks = (uniform * ((size + 1) ** power - 1) + 1) ** (1 / power)
    below: NDArray[np.int64] = np.minimum(ranks.astype(np.int64) - 1, size - 1)
    return below
