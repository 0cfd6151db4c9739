"""How good neighbours and recommendations are, and what they are compared with. Not private.

What is here is loaded when first asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
