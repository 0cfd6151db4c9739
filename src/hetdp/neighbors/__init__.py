"""Private neighbours: one estimator and its engines.

What is here is loaded when first asked for: most who import `hetdp` look for no neighbours.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.neighbors.engines import ENGINES
    from hetdp.neighbors.engines.sketch.engine import sketch_items_to_stand_out
    from hetdp.neighbors.estimator import PrivateNeighbors
    from hetdp.neighbors.scores import SCORES, items_to_stand_out

__all__ = [
    "ENGINES",
    "SCORES",
    "PrivateNeighbors",
    "items_to_stand_out",
    "sketch_items_to_stand_out",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "engines": ("ENGINES",),
        "engines.sketch.engine": ("sketch_items_to_stand_out",),
        "estimator": ("PrivateNeighbors",),
        "scores": ("SCORES", "items_to_stand_out"),
    },
)
