"""How good neighbours and recommendations are, and what they are compared with. Not private.

What is here is loaded when first asked for.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.evaluation.evaluating import evaluate
    from hetdp.evaluation.item_baselines import ScoredItems, ease, popularity, private_popularity
    from hetdp.evaluation.metrics import (
        HasNeighbors,
        Judged,
        Ranking,
        Recommends,
        judge,
        judge_per_user,
        recall,
        recall_per_user,
    )
    from hetdp.evaluation.neighbor_baselines import random_neighbors, same_neighbors, true_neighbors
    from hetdp.evaluation.results import Evaluation, ItemRow, NeighborRow

__all__ = [
    "Evaluation",
    "HasNeighbors",
    "ItemRow",
    "Judged",
    "NeighborRow",
    "Ranking",
    "Recommends",
    "ScoredItems",
    "ease",
    "evaluate",
    "judge",
    "judge_per_user",
    "popularity",
    "private_popularity",
    "random_neighbors",
    "recall",
    "recall_per_user",
    "same_neighbors",
    "true_neighbors",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "evaluating": ("evaluate",),
        "item_baselines": ("ScoredItems", "ease", "popularity", "private_popularity"),
        "metrics": (
            "HasNeighbors",
            "Judged",
            "Ranking",
            "Recommends",
            "judge",
            "judge_per_user",
            "recall",
            "recall_per_user",
        ),
        "neighbor_baselines": ("random_neighbors", "same_neighbors", "true_neighbors"),
        "results": ("Evaluation", "ItemRow", "NeighborRow"),
    },
)
