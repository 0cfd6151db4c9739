"""The weight that sketches are tuned for, from a public prior of weights."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction
from hetdp.core.errors import InvalidInput
from hetdp.profiles.priors import WeightPrior
from hetdp.profiles.weights import PrivacyWeights
from hetdp.sketching.law import USUAL_TUNING, chance_of_one

#: A weight, or a public prior of weights to choose one from; None for weight 1.
Tuning: TypeAlias = Real | WeightPrior | Sequence[float] | NDArray[np.float64] | Mapping[float, float] | None

#: Tunings are chosen among multiples of one over this number.
_STEPS = 20
#: A neighbour has about this share of one's items; measured where it mattered, on sparse profiles.
_IN_COMMON = 0.03


def as_tuning(tuned_for: Tuning, epsilon: Fraction) -> Fraction:
    """Return the weight itself, or the best one for a prior.

    Examples
    --------
    >>> as_tuning(0.75, Fraction(3)), as_tuning(None, Fraction(3)), as_tuning([0.5, 0.75, 1.0], Fraction(3))
    (Fraction(3, 4), Fraction(1, 1), Fraction(3, 4))
    """
    if tuned_for is None:
        return USUAL_TUNING
    if isinstance(tuned_for, WeightPrior | Mapping | PrivacyWeights | Sequence | np.ndarray):
        return best_tuning(WeightPrior.of(tuned_for), epsilon)
    weight = fraction("tuned_for", tuned_for)
    if weight > 1:
        raise InvalidInput("must be above 0 and at most 1, or a prior of weights", parameter="tuned_for", got=tuned_for)
    return weight


def best_tuning(prior: WeightPrior, epsilon: Fraction) -> Fraction:
    """Return the weight for which neighbours stand out most from strangers, if weights follow a public prior.

    A neighbour with the share s of one's n items shows n s (p - q) more ones than a stranger, where p is the mean
    chance of a one; the noise of the difference has the variance n (q (1 - q) + s p (1 - p)). What counts is the ratio.

    Privacy
    -------
    Computed from the prior and epsilon alone. The prior must be public: see `WeightPrior`.

    Examples
    --------
    >>> best_tuning(WeightPrior([0.5, 0.75, 1.0]), Fraction(10)), best_tuning(WeightPrior([1.0]), Fraction(10))
    (Fraction(1, 2), Fraction(1, 1))
    """

    def worth(weight: Fraction) -> float:
        q = chance_of_one(epsilon, tuned_for=weight)
        shown = np.array([chance_of_one(epsilon, float(each), tuned_for=weight) for each in prior.weights])
        p = prior.expect(shown)
        return (p - q) ** 2 / (q * (1.0 - q) + _IN_COMMON * p * (1.0 - p))

    # Of equals, the largest: nothing is lost for those who weigh everything in full.
    return max((Fraction(step, _STEPS) for step in range(_STEPS, 0, -1)), key=worth)
