"""Heterogeneous differential privacy: a privacy weight for every item.

Start with `Box`, `PrivacyWeights`, `queries`, `weight_classes`, `stretch` and `release`; keep count with `Ledger`. For
answers per group of a frame, files or a database: `release_table` with `tables.count`, `mean`, `total`, `variance`. For
neighbours and recommendations from user x item profiles: `Profiles`, `PrivateNeighbors` and `PrivateRecommender`.
`evaluate` measures how good they are, `compare` finds the mechanism that suits a question, and `audit` tries to break a
promise. The modules listed here hold the rest, and the types of results. They are loaded when they are first used.
"""

import lazy_loader

from hetdp._version import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
