"""Mechanisms that respect a weight per item, all with the same release and ledger interface.

=====================================  ================================================================
mechanism                              good for
=====================================  ================================================================
`weight_classes`                       sums, means, counts, histograms: an estimate without distortion
`stretch` (with a multiplier)          other smooth functions: norms, variances, scores
`sample`                               black boxes: anything with an ordinary private mechanism
`median`, `quantile`, `mode`,          ranks and frequencies
`maximum`, `minimum`
`sketch`                               publish a whole set once
=====================================  ================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
