"""Heterogeneous differential privacy: a privacy dial for every item.

Start with `Box`, `PrivacyWeights`, `queries`, `stretch` and `release`; keep count with `Ledger`. For answers per group
of a frame, files or a database: `release_table` with `count`, `mean`, `total`, `variance`. For neighbours and
recommendations from user x item profiles: `Profiles` and `PrivateNeighbors`; `evaluate` tells what they are worth,
`compare` which mechanism suits a question, `audit` whether a promise can be broken.
"""

from typing import TYPE_CHECKING

from hetdp._version import __version__
from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp import datasets, errors, mechanisms
    from hetdp.accounting import Guarantee, Ledger, Release, plan, release, release_by_dial, release_distortion_bound
    from hetdp.auditing import audit
    from hetdp.core.errors import BudgetExhausted
    from hetdp.evaluation import coverage, evaluate, ndcg, precision, recall
    from hetdp.mechanisms import queries
    from hetdp.mechanisms.comparison import compare
    from hetdp.mechanisms.estimation import best_multiplier
    from hetdp.mechanisms.queries.falsification import falsify
    from hetdp.mechanisms.stretching import Stretched, stretch
    from hetdp.neighbors import PrivateNeighbors
    from hetdp.noise import discrete_gaussian, discrete_laplace
    from hetdp.profiles import Box, Categories, PrivacyWeights, Profiles, WeightPrior, policies, split
    from hetdp.recommender import PrivateRecommender
    from hetdp.tables import TableAnswer, count, mean, plan_table, release_table, total, unknown_keys, variance

__all__ = [
    "Box",
    "BudgetExhausted",
    "Categories",
    "Guarantee",
    "Ledger",
    "PrivacyWeights",
    "PrivateNeighbors",
    "PrivateRecommender",
    "Profiles",
    "Release",
    "Stretched",
    "TableAnswer",
    "WeightPrior",
    "__version__",
    "audit",
    "best_multiplier",
    "compare",
    "count",
    "coverage",
    "datasets",
    "discrete_gaussian",
    "discrete_laplace",
    "errors",
    "evaluate",
    "falsify",
    "mean",
    "mechanisms",
    "ndcg",
    "plan",
    "plan_table",
    "policies",
    "precision",
    "queries",
    "recall",
    "release",
    "release_by_dial",
    "release_distortion_bound",
    "release_table",
    "split",
    "stretch",
    "total",
    "unknown_keys",
    "variance",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "": ("datasets", "errors", "mechanisms"),
        "accounting": (
            *("Guarantee", "Ledger", "Release", "plan", "release", "release_by_dial", "release_distortion_bound"),
        ),
        "auditing": ("audit",),
        "core.errors": ("BudgetExhausted",),
        "evaluation": ("coverage", "evaluate", "ndcg", "precision", "recall"),
        "mechanisms.": ("queries",),
        "mechanisms.comparison": ("compare",),
        "mechanisms.estimation": ("best_multiplier",),
        "mechanisms.queries.falsification": ("falsify",),
        "mechanisms.stretching": ("Stretched", "stretch"),
        "neighbors": ("PrivateNeighbors",),
        "noise": ("discrete_gaussian", "discrete_laplace"),
        "profiles": ("Box", "Categories", "PrivacyWeights", "Profiles", "WeightPrior", "policies", "split"),
        "recommender": ("PrivateRecommender",),
        "tables": (
            *("TableAnswer", "count", "mean", "plan_table", "release_table", "total", "unknown_keys", "variance"),
        ),
    },
    there=("__version__",),
)
