"""What was promised, what was released, what is left: Guarantee, Release, Ledger, and labels for people."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
