"""Publish how much stretching can have distorted an answer, at the expense of the weights."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import float_up, fraction
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.queries.query import ItemwiseQuery, exact_sum
from hetdp.mechanisms.rounding import choose_grid
from hetdp.mechanisms.stretching import StretchedPlan
from hetdp.noise.samplers import MAXIMUM_SCALE, laplace_integers

#: Covers the rounding of the few products that a distortion is made of.
_ROUNDED_UP = 1 + 2.0**-48


@dataclass(frozen=True, repr=False, eq=False)
class DistortionPlan:
    """A noisy upper bound on the distortion, planned; see `hetdp.release_distortion_bound`."""

    of: StretchedPlan
    level: Fraction
    confidence: float
    grid: float
    largest: int  # the most steps that a weight moves the bound by

    @property
    def spread(self) -> Fraction:
        return self.largest / self.level

    @property
    def epsilon(self) -> float:
        return float_up(self.level)

    @property
    def scale(self) -> float:
        return float(self.spread) * self.grid

    def answer(self, keep: NDArray[np.bool_], stream: Stream) -> float:
        """Return the noisy bound. No value is read; an item that is not kept was dropped: all of it is distortion."""
        plan, query, left = self.of, self.of.mechanism.query, self.of.shrinkage
        if isinstance(query, ItemwiseQuery):
            left = query.left(left, plan.spans, plan.grid)
        distortions = query.item_distortions(np.where(keep, left, 0.0)) * _ROUNDED_UP
        steps = np.clip(np.ceil(distortions / self.grid), 0, self.largest).astype(np.int64)
        exact = exact_sum(steps) if query.distortions_add_up else int(steps.max())
        # Raised by what rounding may do, which is public, and by a public quantile of the noise, so that the bound
        # holds with the promised confidence.
        rounding = math.ceil(query.rounding_distortion(plan.grid) * _ROUNDED_UP / self.grid)
        margin = math.ceil(float(self.spread) * math.log(1 / (2 * (1 - self.confidence))) + 1)
        noisy = exact + int(laplace_integers(self.spread, 1, stream)[0]) + rounding + max(margin, 0)
        return float_up(max(0, noisy) * Fraction(self.grid))


def plan_distortion(of: StretchedPlan, *, epsilon: object, confidence: float) -> DistortionPlan:
    """Plan the release of a bound on the distortion of a planned release."""
    level = fraction("epsilon", epsilon)
    if not 0 < confidence < 1:
        raise InvalidInput("must lie strictly between 0 and 1", parameter="confidence", got=confidence)
    query = of.mechanism.query
    worst = float(query.item_distortions(np.zeros(query.size)).max()) * _ROUNDED_UP
    if not 0 < worst / float(level) < math.inf:
        raise InvalidInput("must be large enough for finite noise", parameter="epsilon", got=epsilon)
    step = choose_grid(scale=worst / float(level), reach=worst, error=0.0, requested=None)
    largest = math.ceil(worst / step)
    if largest / level >= MAXIMUM_SCALE:
        raise InvalidInput("must be large enough for noise below 2**52 steps", parameter="epsilon", got=epsilon)
    return DistortionPlan(of, level, confidence, step, largest)
