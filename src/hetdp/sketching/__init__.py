"""The sketch: one noisy bit per catalogue item, published once. Its one home for library, engine, recommender and node.

`law` says with which probability a bit is 1, `bits` draws and packs them, `people` draws those of people who come in
parts, `estimate` reads sketches, and `significance` tells how sure it is that what was read is more than noise.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
