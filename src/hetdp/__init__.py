"""Heterogeneous differential privacy: a privacy dial for every item.

Start with `Box`, `PrivacyWeights`, `queries`, `stretch` and `release`; keep count with `Ledger`. For answers per group
of a frame, files or a database: `release_table` with `tables.count`, `mean`, `total`, `variance`. For neighbours and
recommendations from user x item profiles: `Profiles`, `PrivateNeighbors` and `PrivateRecommender`; `evaluate` tells
what they are worth, `compare` which mechanism suits a question, `audit` whether a promise can be broken. The modules
listed here hold what else there is to a task, and the types of results; they are loaded when they are first used.
"""

import lazy_loader

from hetdp._version import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
