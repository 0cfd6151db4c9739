"""What is protected: the domain of the values, the weight of every item, and the profiles of many users."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
