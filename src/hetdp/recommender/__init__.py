"""A recommender that learns from the crowd and scores at home: one public item-item model, and exact own rows.

What is here is loaded when first asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
