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
    from hetdp.mechanisms.sampling import sample
    from hetdp.mechanisms.selection import maximum, median, minimum, mode, quantile
    from hetdp.mechanisms.sketching import sketch
    from hetdp.mechanisms.stretching import stretch
    from hetdp.mechanisms.thresholding import threshold, uniform

__all__ = [
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
        "sampling": ("sample",),
        "selection": ("maximum", "median", "minimum", "mode", "quantile"),
        "sketching": ("sketch",),
        "stretching": ("stretch",),
        "thresholding": ("threshold", "uniform"),
    },
)
