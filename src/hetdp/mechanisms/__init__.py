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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
