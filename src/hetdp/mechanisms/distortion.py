"""Publish how much stretching can have distorted an answer, at the expense of the weights."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hetdp.core.checks import fraction
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.plan import choose_grid
from hetdp.mechanisms.queries.base import exact_sum
from hetdp.mechanisms.stretching import Stretched
from hetdp.noise.laplace import MAXIMUM_SCALE, laplace_integers

__all__ = ["DistortionPlan", "plan_distortion"]


@dataclass(frozen=True, repr=False, eq=False)
class DistortionPlan:
    """A noisy upper bound on the distortion, planned; see `hetdp.release_distortion_bound`."""

    stretched: Stretched
    epsilon: float
    confidence: float
    grid: float
    spread: Fraction
    largest: int

    @property
    def scale(self) -> float:
        """Scale of the noise, in the unit of the answer. Public."""
        return float(self.spread) * self.grid

    def answer(self, stream: Stream) -> float:
        """Return the noisy bound. No value is read; each weight moves it by at most `largest` steps, for epsilon."""
        distortions = self.stretched.query.item_distortions(self.stretched.shrinkage)
        steps = np.clip(np.ceil(distortions / self.grid), 0, self.largest).astype(np.int64)
        exact = exact_sum(steps) if self.stretched.query.distortions_add_up else int(steps.max())
        # Raised by a public quantile of the noise, so that the bound holds with the promised confidence.
        margin = math.ceil(float(self.spread) * math.log(1 / (2 * (1 - self.confidence))) + 1)
        noisy = exact + int(laplace_integers(self.spread, 1, stream)[0]) + max(margin, 0)
        return max(0, noisy) * self.grid


def plan_distortion(stretched: Stretched, *, epsilon: object, confidence: float) -> DistortionPlan:
    """Plan the release of a distortion bound."""
    level = fraction("epsilon", epsilon)
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence must lie strictly between 0 and 1. Got {confidence!r} instead.")
    worst = float(stretched.query.item_distortions(np.zeros(stretched.query.size)).max())
    if not 0 < worst / float(level) < math.inf:
        raise InvalidInput(f"epsilon must be large enough for finite noise. Got {epsilon!r} instead.")
    step = choose_grid(scale=worst / float(level), reach=worst, error=0.0, requested=None)
    largest = math.ceil(worst / step)
    if largest / level >= MAXIMUM_SCALE:
        raise InvalidInput(f"epsilon must be large enough for noise below 2**52 steps. Got {epsilon!r} instead.")
    return DistortionPlan(stretched, float(level), confidence, step, largest / level, largest)
