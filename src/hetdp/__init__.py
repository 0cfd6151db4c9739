"""Heterogeneous differential privacy: a privacy dial for every item.

Start with `Box`, `PrivacyWeights`, `queries`, `stretch` and `release`; keep count with `Ledger`. For answers per group
of a frame, files or a database: `release_table` with `count`, `mean`, `total`, `variance`. For neighbours and
recommendations from user x item profiles: `Profiles` and `PrivateNeighbors`; `evaluate` tells what they are worth,
`compare` which mechanism suits a question, `audit` whether a promise can be broken.
"""

import importlib
from typing import TYPE_CHECKING

from hetdp import errors, mechanisms
from hetdp._version import __version__
from hetdp.accounting import Guarantee, Ledger, Release, plan, release, release_by_dial, release_distortion_bound
from hetdp.core.errors import BudgetExhausted
from hetdp.mechanisms import queries
from hetdp.mechanisms.comparison import compare
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.queries.falsification import falsify
from hetdp.mechanisms.stretching import Stretched, stretch
from hetdp.noise import discrete_gaussian, discrete_laplace
from hetdp.profiles import Box, Categories, PrivacyWeights, Profiles, WeightPrior, policies, split

if TYPE_CHECKING:
    from hetdp import datasets
    from hetdp.auditing import audit
    from hetdp.neighbors import PrivateNeighbors, coverage, evaluate, ndcg, precision, recall
    from hetdp.tables import TableAnswer, count, mean, plan_table, release_table, total, unknown_keys, variance

__all__ = [
    "Box",
    "BudgetExhausted",
    "Categories",
    "Guarantee",
    "Ledger",
    "PrivacyWeights",
    "PrivateNeighbors",
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


#: Loaded when first asked for: most who release neither audit nor look for neighbours, and should not wait for it.
_LATER = {
    **dict.fromkeys(
        ("TableAnswer", "count", "mean", "plan_table", "release_table", "total", "unknown_keys", "variance"),
        "hetdp.tables",
    ),
    "PrivateNeighbors": "hetdp.neighbors",
    "audit": "hetdp.auditing",
    "coverage": "hetdp.neighbors",
    "evaluate": "hetdp.neighbors",
    "ndcg": "hetdp.neighbors",
    "precision": "hetdp.neighbors",
    "recall": "hetdp.neighbors",
}


def __getattr__(name: str) -> object:
    if name == "datasets":
        return importlib.import_module("hetdp.datasets")
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
