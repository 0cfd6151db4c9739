"""A recommender that learns from the crowd and scores at home: one public item-item model, and exact own rows.

What is here is loaded when first asked for.
"""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.recommender.estimator import PrivateRecommender

__all__ = ["PrivateRecommender"]

__getattr__, __dir__ = attach(__name__, {"estimator": ("PrivateRecommender",)})
