"""How good neighbours and recommendations are, and what they are compared with. Not private.

What is here is loaded when first asked for.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.evaluation.evaluating import Evaluation, evaluate
    from hetdp.evaluation.metrics import coverage, judge, ndcg, precision, recall, recall_per_user
    from hetdp.evaluation.neighbor_baselines import random_neighbors, true_neighbors

__all__ = [
    "Evaluation",
    "coverage",
    "evaluate",
    "judge",
    "ndcg",
    "precision",
    "random_neighbors",
    "recall",
    "recall_per_user",
    "true_neighbors",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "evaluating": ("Evaluation", "evaluate"),
        "metrics": ("coverage", "judge", "ndcg", "precision", "recall", "recall_per_user"),
        "neighbor_baselines": ("random_neighbors", "true_neighbors"),
    },
)
