"""Private neighbours and recommendations: one estimator, its engines, and how good what they find is.

What is here is loaded when first asked for: most who import `hetdp` look for no neighbours.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.neighbors.baselines import random_neighbors, true_neighbors
    from hetdp.neighbors.engines import ENGINES, estimate
    from hetdp.neighbors.engines.sketch.engine import sketch_items_to_stand_out
    from hetdp.neighbors.estimator import PrivateNeighbors
    from hetdp.neighbors.evaluation import Evaluation, evaluate
    from hetdp.neighbors.metrics import coverage, judge, ndcg, precision, recall, recall_per_user
    from hetdp.neighbors.recommending import split_epsilon
    from hetdp.neighbors.scores import SCORES, items_to_stand_out

__all__ = [
    "ENGINES",
    "SCORES",
    "Evaluation",
    "PrivateNeighbors",
    "coverage",
    "estimate",
    "evaluate",
    "items_to_stand_out",
    "judge",
    "ndcg",
    "precision",
    "random_neighbors",
    "recall",
    "recall_per_user",
    "sketch_items_to_stand_out",
    "split_epsilon",
    "true_neighbors",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "baselines": ("random_neighbors", "true_neighbors"),
        "engines": ("ENGINES", "estimate"),
        "recommending": ("split_epsilon",),
        "estimator": ("PrivateNeighbors",),
        "evaluation": ("Evaluation", "evaluate"),
        "metrics": ("coverage", "judge", "ndcg", "precision", "recall", "recall_per_user"),
        "engines.sketch.engine": ("sketch_items_to_stand_out",),
        "scores": ("SCORES", "items_to_stand_out"),
    },
)
