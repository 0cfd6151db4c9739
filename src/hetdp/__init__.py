"""Heterogeneous differential privacy: a privacy dial for every item.

Start with `Box`, `PrivacyWeights`, `queries`, `stretch` and `release`; keep count with `Ledger`. For answers per group
of a frame, files or a database: `release_table` with `tables.count`, `mean`, `total`, `variance`. For neighbours and
recommendations from user x item profiles: `Profiles`, `PrivateNeighbors` and `PrivateRecommender`; `evaluate` tells
what they are worth, `compare` which mechanism suits a question, `audit` whether a promise can be broken. The modules
listed here hold what else there is to a task, and the types of results; they are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from hetdp._version import __version__
from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp import (
        accounting,
        auditing,
        datasets,
        errors,
        evaluation,
        mechanisms,
        neighbors,
        noise,
        plots,
        policies,
        profiles,
        queries,
        recommender,
        sketching,
        tables,
    )
    from hetdp.accounting import Guarantee, Ledger, Release, plan, release, release_by_dial, release_distortion_bound
    from hetdp.auditing import audit
    from hetdp.core.errors import BudgetExhausted
    from hetdp.evaluation import coverage, evaluate, ndcg, precision, recall
    from hetdp.mechanisms.comparison import compare
    from hetdp.mechanisms.estimation import best_multiplier
    from hetdp.mechanisms.queries.falsification import falsify
    from hetdp.mechanisms.stretching import Stretched, stretch
    from hetdp.neighbors import PrivateNeighbors
    from hetdp.noise import discrete_gaussian, discrete_laplace
    from hetdp.profiles import Box, Categories, PrivacyWeights, Profiles, WeightPrior, split
    from hetdp.recommender import PrivateRecommender
    from hetdp.tables import TableAnswer, plan_table, release_table, unknown_keys

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
    "accounting",
    "audit",
    "auditing",
    "best_multiplier",
    "compare",
    "coverage",
    "datasets",
    "discrete_gaussian",
    "discrete_laplace",
    "errors",
    "evaluate",
    "evaluation",
    "falsify",
    "mechanisms",
    "ndcg",
    "neighbors",
    "noise",
    "plan",
    "plan_table",
    "plots",
    "policies",
    "precision",
    "profiles",
    "queries",
    "recall",
    "recommender",
    "release",
    "release_by_dial",
    "release_distortion_bound",
    "release_table",
    "sketching",
    "split",
    "stretch",
    "tables",
    "unknown_keys",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "": (
            "accounting",
            "auditing",
            "datasets",
            "errors",
            "evaluation",
            "mechanisms",
            "neighbors",
            "noise",
            "plots",
            "policies",
            "profiles",
            "queries",
            "recommender",
            "sketching",
            "tables",
        ),
        "accounting": (
            *("Guarantee", "Ledger", "Release", "plan", "release", "release_by_dial", "release_distortion_bound"),
        ),
        "auditing": ("audit",),
        "core.errors": ("BudgetExhausted",),
        "evaluation": ("coverage", "evaluate", "ndcg", "precision", "recall"),
        "mechanisms.comparison": ("compare",),
        "mechanisms.estimation": ("best_multiplier",),
        "mechanisms.queries.falsification": ("falsify",),
        "mechanisms.stretching": ("Stretched", "stretch"),
        "neighbors": ("PrivateNeighbors",),
        "noise": ("discrete_gaussian", "discrete_laplace"),
        "profiles": ("Box", "Categories", "PrivacyWeights", "Profiles", "WeightPrior", "split"),
        "recommender": ("PrivateRecommender",),
        "tables": ("TableAnswer", "plan_table", "release_table", "unknown_keys"),
    },
    there=("__version__",),
)
