"""Heterogeneous differential privacy: a privacy dial for every item.

Start with `Box`, `PrivacyWeights`, `queries`, `stretch` and `release`; keep count with `Ledger`.
"""

from typing import TYPE_CHECKING

from hetdp import errors, mechanisms
from hetdp._version import __version__
from hetdp.accounting import Guarantee, Ledger, Release, plan, release, release_distortion_bound
from hetdp.errors import BudgetExhausted
from hetdp.mechanisms import queries
from hetdp.mechanisms.comparison import compare
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.noise import discrete_gaussian, discrete_laplace
from hetdp.mechanisms.queries.falsification import falsify
from hetdp.mechanisms.stretching import Stretched, stretch
from hetdp.profiles import Box, PrivacyWeights, Profiles, WeightPrior, policies, split

if TYPE_CHECKING:
    from hetdp.auditing import audit

__all__ = [
    "Box",
    "BudgetExhausted",
    "Guarantee",
    "Ledger",
    "PrivacyWeights",
    "Profiles",
    "Release",
    "Stretched",
    "WeightPrior",
    "__version__",
    "audit",
    "best_multiplier",
    "compare",
    "discrete_gaussian",
    "discrete_laplace",
    "errors",
    "falsify",
    "mechanisms",
    "plan",
    "policies",
    "queries",
    "release",
    "release_distortion_bound",
    "split",
    "stretch",
]


def __getattr__(name: str) -> object:
    """Load the auditor when it is first asked for: most who release never audit, and should not wait for it."""
    if name == "audit":
        from hetdp.auditing import audit  # noqa: PLC0415

        return audit
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
