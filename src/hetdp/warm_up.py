"""Compile the kernels ahead of time: `python -m hetdp.warm_up exact gossip sketch`.

Compiled kernels are kept on disk, so this is done once, after installation; else the first fit waits for it.
"""

import sys
from collections.abc import Iterable

from hetdp.evaluation.metrics import recall
from hetdp.evaluation.neighbor_baselines import true_neighbors
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.noise import discrete_laplace
from hetdp.profiles import Profiles, policies, split
from hetdp.recommender import PrivateRecommender

__all__ = ["compile_kernels"]


def compile_kernels(engines: Iterable[str] = ENGINES) -> None:
    """Fit each engine, and the model, once on a few made-up people, which compiles what they need.

    Examples
    --------
    >>> compile_kernels(["exact"])
    """
    users, items = zip(*((user, item) for user in range(40) for item in range(30) if (user + item) % 3), strict=True)
    profiles = Profiles.from_pairs(users, items)
    weighted = policies.slices(0.5, 1, 3).draw(profiles, random_state=0)
    train, test = split(weighted, random_state=0)
    for engine in engines:
        model = PrivateNeighbors(3, engine=engine, catalogue="given", random_state=0).fit(train)
        model.recommend(n=3)
        recall(model, weighted, test)
    true_neighbors(train, 3)
    PrivateRecommender(catalogue="given", random_state=0).fit(train).recommend(3)
    discrete_laplace(255, 10_000, random_state=0)


if __name__ == "__main__":
    compile_kernels(sys.argv[1:] or ENGINES)
