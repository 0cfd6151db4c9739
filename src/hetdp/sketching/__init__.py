"""Sketches: one noisy bit per catalogue item, published once. The library, its engines, recommender and node share it.

`bit_law` has the probability that a bit is 1, `drawing` draws and packs bits, and `reading` makes estimates from
sketches and says how significant they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
