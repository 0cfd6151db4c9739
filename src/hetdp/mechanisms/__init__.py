"""Mechanisms that respect a weight per item, all with the same release and ledger interface.

=====================================  ================================================================
mechanism                              good for
=====================================  ================================================================
`stretch` (with a multiplier)          sums, means, counts, smooth functions; the default
`sample`                               black boxes, l0: anything with an ordinary private mechanism
`median`, `quantile`, `mode`,          ranks and frequencies: what stretching cannot do well
`maximum`, `minimum`
`sketch`                               publish a whole set once
`uniform`, `threshold`                 the common practice, to compare with
=====================================  ================================================================
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.mechanisms.comparison import Comparison, Contender, compare
    from hetdp.mechanisms.estimation import best_multiplier
    from hetdp.mechanisms.plan import Mechanism, Plan
    from hetdp.mechanisms.ratios import NoisySum
    from hetdp.mechanisms.sampling import Sampled, sample
    from hetdp.mechanisms.selection import Selection, maximum, median, minimum, mode, quantile
    from hetdp.mechanisms.sketching import Sketch, sketch
    from hetdp.mechanisms.stretching import Stretched, stretch
    from hetdp.mechanisms.thresholding import Thresholded, threshold, uniform

__all__ = [
    "Comparison",
    "Contender",
    "Mechanism",
    "NoisySum",
    "Plan",
    "Sampled",
    "Selection",
    "Sketch",
    "Stretched",
    "Thresholded",
    "best_multiplier",
    "compare",
    "maximum",
    "median",
    "minimum",
    "mode",
    "quantile",
    "sample",
    "sketch",
    "stretch",
    "threshold",
    "uniform",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "comparison": ("Comparison", "Contender", "compare"),
        "estimation": ("best_multiplier",),
        "plan": ("Mechanism", "Plan"),
        "ratios": ("NoisySum",),
        "sampling": ("Sampled", "sample"),
        "selection": ("Selection", "maximum", "median", "minimum", "mode", "quantile"),
        "sketching": ("Sketch", "sketch"),
        "stretching": ("Stretched", "stretch"),
        "thresholding": ("Thresholded", "threshold", "uniform"),
    },
)
