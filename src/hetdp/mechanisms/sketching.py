"""Publish a whole set once: heterogeneous randomised response over a public catalogue (`hetdp.sketching`)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import fraction
from hetdp.core.randomness import Stream
from hetdp.mechanisms.mechanism import Floats, FullLossPlan, Mechanism, require_plain_epsilon
from hetdp.profiles import Box, PrivacyWeights
from hetdp.profiles.steps import weight_codes
from hetdp.sketching.drawing import toss_bits

_PRESENT = 0.5


@dataclass(frozen=True, repr=False, eq=False)
class Sketch(Mechanism):
    """One noisy bit per catalogue item, which loses epsilon * v_i once, to all readers together.

    Attributes
    ----------
    weights
        One for each item of the catalogue.
    """

    weights: PrivacyWeights

    def __repr__(self) -> str:
        return f"Sketch({self.weights.size} items)"

    @property
    def name(self) -> str:
        return "sketch"

    @property
    def domain(self) -> Box:
        return Box.uniform(0, 1, size=self.weights.size)

    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> "SketchPlan":
        require_plain_epsilon(noise, grid, "sketch")
        return SketchPlan(self, fraction("epsilon", amount))


@dataclass(frozen=True, repr=False, eq=False)
class SketchPlan(FullLossPlan):
    """A planned sketch."""

    mechanism: Sketch
    level: Fraction
    noise: str = "randomised response"
    grid: None = None
    is_vector: bool = True

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        present = self.mechanism.domain.clamp(values) >= _PRESENT
        codes = np.where(present & keep, weight_codes(self.mechanism.weights.values), np.uint8(0))
        bits = toss_bits(np.tile(codes, count), epsilon=self.level, stream=stream)
        return bits.reshape(count, -1).astype(np.float64)


def sketch(weights: PrivacyWeights | ArrayLike) -> Sketch:
    """Return the mechanism that publishes a set of catalogue items once.

    Parameters
    ----------
    weights
        One secret weight per catalogue item; what is not in the set may have any.

    Privacy
    -------
    Both likelihood ratios of every bit are at most exp(epsilon v_i), so the whole sketch is (epsilon, v)-private
    (docs/proofs/mechanisms.md), and weights are hidden by the same argument. Values are indicators: at least 0.5 means
    present. Weights are rounded down to steps of 1/255.

    Examples
    --------
    >>> import hetdp
    >>> hetdp.release(sketch([1.0, 0.5, 0.0]), [1, 0, 0], epsilon=100.0).value
    array([1., 0., 0.])
    """
    return Sketch(PrivacyWeights(weights))
