from .evaluating import evaluate as evaluate
from .item_baselines import (
    ScoredItems as ScoredItems,
    ease as ease,
    popularity as popularity,
    private_popularity as private_popularity,
)
from .metrics import (
    HasNeighbors as HasNeighbors,
    Judged as Judged,
    Ranking as Ranking,
    Recommends as Recommends,
    judge as judge,
    judge_per_user as judge_per_user,
    recall as recall,
    recall_per_user as recall_per_user,
)
from .neighbor_baselines import (
    random_neighbors as random_neighbors,
    same_neighbors as same_neighbors,
    true_neighbors as true_neighbors,
)
from .results import Evaluation as Evaluation, ItemRow as ItemRow, NeighborRow as NeighborRow
