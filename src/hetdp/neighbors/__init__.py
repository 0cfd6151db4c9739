"""Private neighbours and what they vote for: one estimator and its engines.

What is here is loaded when first asked for: most who import `hetdp` look for no neighbours.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.neighbors.engines import ENGINES, estimate
    from hetdp.neighbors.engines.base import Effort, Levels
    from hetdp.neighbors.engines.sketch.engine import sketch_items_to_stand_out
    from hetdp.neighbors.estimator import PrivateNeighbors
    from hetdp.neighbors.recommending import split_epsilon
    from hetdp.neighbors.scores import SCORES, items_to_stand_out

__all__ = [
    "ENGINES",
    "SCORES",
    "Effort",
    "Levels",
    "PrivateNeighbors",
    "estimate",
    "items_to_stand_out",
    "sketch_items_to_stand_out",
    "split_epsilon",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "engines": ("ENGINES", "estimate"),
        "engines.base": ("Effort", "Levels"),
        "engines.sketch.engine": ("sketch_items_to_stand_out",),
        "estimator": ("PrivateNeighbors",),
        "recommending": ("split_epsilon",),
        "scores": ("SCORES", "items_to_stand_out"),
    },
)
