"""What is protected: the domain of the values and the weight of every item."""

from hetdp.profiles.box import Box
from hetdp.profiles.priors import WeightPrior
from hetdp.profiles.weights import PrivacyWeights

__all__ = ["Box", "PrivacyWeights", "WeightPrior"]
