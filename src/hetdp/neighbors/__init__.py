"""Private neighbours: one estimator and its engines.

What is here is loaded when first asked for: most who import `hetdp` look for no neighbours.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
