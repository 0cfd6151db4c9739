"""The sketch: one noisy bit per catalogue item, published once. Its one home for library, engine, recommender and node.

`law` says with which probability a bit is 1, `bits` draws and packs them, `people` draws those of people who come in
parts, `estimate` reads sketches, and `significance` tells how sure it is that what was read is more than noise.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.sketching.estimate import item_owners, item_shares, items_behind, items_behind_error
    from hetdp.sketching.law import chance_of_one, contrast

__all__ = [
    "chance_of_one",
    "contrast",
    "item_owners",
    "item_shares",
    "items_behind",
    "items_behind_error",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "estimate": ("item_owners", "item_shares", "items_behind", "items_behind_error"),
        "law": ("chance_of_one", "contrast"),
    },
)
