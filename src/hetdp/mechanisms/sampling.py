"""Keep each item with a probability that fits its weight, then run any ordinary private mechanism on what is left.

It needs nothing of the function but its ordinary sensitivity, so it works where stretching does not: l0, medians,
black boxes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import fraction
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.mechanism import Delegating, Floats, FullLossPlan, Mechanism, Plan, as_weights
from hetdp.mechanisms.queries.query import Query
from hetdp.mechanisms.stretching import Stretched
from hetdp.noise.exact_coins import Probability, exponential, toss_kinds
from hetdp.profiles import PrivacyWeights

_MOST_KINDS = 4096


@dataclass(frozen=True, repr=False, eq=False)
class Sampled(Delegating):
    """A mechanism for equal weights, run on a random subset of the items.

    Item i is kept with probability (exp(epsilon v_i) - 1) / (exp(epsilon) - 1) and otherwise counts as if its weight
    were 0.

    Attributes
    ----------
    base, weights
        The mechanism that is run, and the weight of each item.
    """

    base: Mechanism
    weights: PrivacyWeights

    def __repr__(self) -> str:
        return f"Sampled({self.base!r})"

    @property
    def asked(self) -> Mechanism:
        return self.base

    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> "SampledPlan":
        if noise != "laplace":
            raise InvalidInput("must be 'laplace' (with epsilon) for sampling", parameter="noise", got=noise)
        of = self.base.plan(noise=noise, amount=amount, grid=grid)
        name = f"sampling, then {of.noise}"
        return SampledPlan(self, fraction("epsilon", amount), of, name, of.grid, of.scale, of.is_vector)


@dataclass(frozen=True, repr=False, eq=False)
class SampledPlan(FullLossPlan):
    """A planned release of a sampled mechanism."""

    mechanism: Sampled
    level: Fraction
    inner: Plan
    noise: str
    grid: float | None
    scale: float | None
    is_vector: bool

    def finish(self, cells: Floats) -> float | Floats:
        return self.inner.finish(cells)

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        weights, which = weight_kinds(self.mechanism.weights.values)
        kinds = [kept_with(self.level, weight) for weight in weights]
        subsets = toss_kinds(kinds, np.tile(which, count), stream).reshape(count, -1)
        clamped = self.mechanism.domain.clamp(values)
        return np.concatenate([self.inner.answers(clamped, keep & subset, stream, count=1) for subset in subsets])


def weight_kinds(weights: Floats) -> tuple[list[Fraction], NDArray[np.intp]]:
    """Return the different weights and which of them each item has.

    Each kind takes an exact probability, so of more than 4096 items weights are rounded down to multiples of 1/4096.
    The public number of items decides: the number of different weights would let one weight change all other coins.
    """
    if weights.size > _MOST_KINDS:
        weights = np.floor(weights * _MOST_KINDS) / _MOST_KINDS
    kinds, which = np.unique(weights, return_inverse=True)
    return [Fraction(float(kind)) for kind in kinds], which


def kept_with(level: Fraction, weight: Fraction) -> Probability:
    """Return the probability (exp(level * weight) - 1) / (exp(level) - 1), exactly.

    It is (exp(-level (1 - weight)) - exp(-level)) / (1 - exp(-level)): increasing in the first exponential and, as long
    as the quotient is below 1, decreasing in the second.
    """
    if weight in (0, 1):
        return lambda bits: (int(weight) << bits, int(weight) << bits)
    above, below = exponential(level * (1 - weight)), exponential(level)

    def bounds(bits: int) -> tuple[int, int]:
        # The denominator may be as small as the level; spare digits keep the quotient sharp.
        spare = 8 + max(0, (level.denominator // level.numerator).bit_length())
        one = 1 << (bits + 2 * spare)
        (low, high), (least, most) = above(bits + 2 * spare), below(bits + 2 * spare)
        smallest = (max(low - most, 0) << bits) // (one - least)
        largest = -(-((high - least) << bits) // (one - most))
        return smallest, min(largest, 1 << bits)

    return bounds


def sample(base: Query | Callable[[PrivacyWeights], Mechanism], weights: PrivacyWeights | ArrayLike) -> Sampled:
    """Keep each item with a probability that fits its weight, then answer as if all weights were 1.

    Parameters
    ----------
    base
        A query, answered with Laplace noise; or a function that makes a mechanism from weights (all 1 here), such as
        `functools.partial(hetdp.mechanisms.median, domain)`.
    weights
        One secret weight per item.

    Privacy
    -------
    (epsilon, v)-differentially private for any mechanism that is epsilon-private when an item is replaced or left
    out: docs/proofs/mechanisms.md. Exact coins.

    Examples
    --------
    >>> from hetdp import Box, queries
    >>> mechanism = sample(queries.l0(Box.uniform(0, 1, size=3)), [1.0, 0.5, 0.0])
    >>> mechanism.plan(noise="laplace", amount=2.0).losses
    array([2., 1., 0.])
    """
    if not callable(base):
        raise InvalidInput(
            "must be a query, or a function from weights to a mechanism",
            parameter="base",
            got=type(base),
            hint="A function: functools.partial(hetdp.mechanisms.median, domain).",
        )
    own = PrivacyWeights(weights)
    equal = PrivacyWeights(np.ones(own.size))
    mechanism = Stretched(base, equal) if isinstance(base, Query) else base(equal)
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput("must make a mechanism from weights", parameter="base", got=type(mechanism))
    return Sampled(mechanism, as_weights(own, mechanism.domain.size))
