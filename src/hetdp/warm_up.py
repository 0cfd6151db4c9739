"""Compile the kernels ahead of time: `hetdp warm-up exact gossip sketch model`.

Compiled kernels are kept on disk, so this is done once, after installation; else the first fit waits for it.
"""

from collections.abc import Iterable

from hetdp.core.compiling import PARTS
from hetdp.evaluation.metrics import recall
from hetdp.evaluation.neighbor_baselines import true_neighbors
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.noise import discrete_laplace
from hetdp.profiles import Profiles, policies, split
from hetdp.recommender import PrivateRecommender

__all__ = ["compile_kernels"]


def compile_kernels(parts: Iterable[str] = tuple(PARTS)) -> None:
    """Fit engines, and the model, once on a few made-up people, which compiles what they need.

    Examples
    --------
    >>> compile_kernels(["exact"])
    """
    users, items = zip(*((user, item) for user in range(40) for item in range(30) if (user + item) % 3), strict=True)
    profiles = Profiles.from_pairs(users, items)
    weighted = policies.slices(0.5, 1, 3).draw(profiles, random_state=0)
    train, test = split(weighted, random_state=0)
    for part in parts:
        if part == "model":
            PrivateRecommender(catalogue="given", random_state=0).fit(train).recommend(3)
            continue
        model = PrivateNeighbors(3, engine=part, catalogue="given", random_state=0).fit(train)
        recall(model, weighted, test)
    true_neighbors(train, 3)
    discrete_laplace(255, 10_000, random_state=0)
