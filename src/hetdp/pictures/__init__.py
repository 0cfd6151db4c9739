"""Where people would rather look: cards in notebooks, charts that stay altair's, and files that follow the dark."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
