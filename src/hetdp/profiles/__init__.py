"""What is protected: the domain of the values, the weight of every item, and the profiles of many users."""

from typing import TYPE_CHECKING

from hetdp.core.lazy import attach

if TYPE_CHECKING:
    from hetdp.profiles import policies
    from hetdp.profiles.box import Box
    from hetdp.profiles.categories import Categories
    from hetdp.profiles.holdout import split
    from hetdp.profiles.priors import WeightPrior
    from hetdp.profiles.profiles import Profiles
    from hetdp.profiles.weights import PrivacyWeights

__all__ = ["Box", "Categories", "PrivacyWeights", "Profiles", "WeightPrior", "policies", "split"]

__getattr__, __dir__ = attach(
    __name__,
    {
        "": ("policies",),
        "box": ("Box",),
        "categories": ("Categories",),
        "holdout": ("split",),
        "priors": ("WeightPrior",),
        "profiles": ("Profiles",),
        "weights": ("PrivacyWeights",),
    },
)
