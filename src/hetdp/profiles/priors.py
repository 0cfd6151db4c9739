"""A public prior of privacy weights: what one expects people to choose, before looking at anybody."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, float_vector
from hetdp.core.errors import InvalidInput
from hetdp.profiles.weights import PrivacyWeights

#: The weights that the paper's three groups draw from.
WESTIN_GROUPS = {
    "fundamentalists": (0.0, 0.5, 1.0),
    "pragmatists": (0.5, 0.75, 1.0),
    "unconcerned": (1.0,),
}


class WeightPrior:
    """A finite distribution of weights, from a survey or an assumption, never from the weights in use.

    Parameters
    ----------
    weights
        Possible weights in [0, 1]; or a dict from weight to probability.
    probabilities
        One per weight, summing to 1. Default: all alike.

    Privacy
    -------
    A prior is public. Computing it from the secret weights of the release at hand would leak them.

    Examples
    --------
    >>> WeightPrior([0.5, 1.0]).mean()
    0.75
    >>> WeightPrior.westin(0.34, 0.43, 0.23).mean()
    0.7225
    """

    def __init__(self, weights: ArrayLike | Mapping[float, float], probabilities: ArrayLike | None = None) -> None:
        if isinstance(weights, Mapping):
            if probabilities is not None:
                raise InvalidInput("must be omitted with a dict of weights (got both)", parameter="probabilities")
            probabilities = list(weights.values())
            weights = list(weights.keys())
        self.weights = float_vector("weights", weights)
        if ((self.weights < 0.0) | (self.weights > 1.0)).any():
            raise InvalidInput("weights of a prior must lie in [0, 1] (got a weight outside)")
        if probabilities is None:
            probabilities = np.full(self.weights.size, 1.0 / self.weights.size)
        self.probabilities = float_vector("probabilities", probabilities)
        if self.probabilities.size != self.weights.size:
            raise InvalidInput(
                f"must be as many as weights ({self.weights.size})",
                parameter="probabilities",
                got=self.probabilities.size,
            )
        total = float(self.probabilities.sum())
        if (self.probabilities < 0.0).any() or abs(total - 1.0) > 1e-9:  # noqa: PLR2004  (rounding of the sum)
            raise InvalidInput(f"must be >= 0 and sum to 1 (got a sum of {total:g})", parameter="probabilities")

    @classmethod
    def of(cls, prior: "WeightPrior | ArrayLike | Mapping[float, float]") -> "WeightPrior":
        """Return a prior as it is, or made from weights (all as likely) or a dict from weight to probability."""
        if isinstance(prior, PrivacyWeights):
            raise InvalidInput("a prior must be public (got the secret weights in use)")
        return prior if isinstance(prior, WeightPrior) else cls(prior)

    @classmethod
    def westin(cls, fundamentalists: float, pragmatists: float, unconcerned: float) -> "WeightPrior":
        """Return the paper's mix of three groups, given their shares of the population.

        Fundamentalists draw from {0, 0.5, 1}, pragmatists from {0.5, 0.75, 1}, the unconcerned take 1.

        Parameters
        ----------
        fundamentalists, pragmatists, unconcerned
            The shares.
        """
        shares = {"fundamentalists": fundamentalists, "pragmatists": pragmatists, "unconcerned": unconcerned}
        weights = [weight for group in shares for weight in WESTIN_GROUPS[group]]
        probabilities = [
            finite(group, share) / len(WESTIN_GROUPS[group])
            for group, share in shares.items()
            for _ in WESTIN_GROUPS[group]
        ]
        return cls(weights, probabilities)

    def __repr__(self) -> str:
        return f"WeightPrior({self.weights.size} weights, mean {self.mean():.4g})"

    def expect(self, outcomes: NDArray[np.float64]) -> float:
        """Return the expectation of `outcomes`, one per weight."""
        return float(self.probabilities @ outcomes)

    def mean(self) -> float:
        """Return the mean weight."""
        return self.expect(self.weights)
