"""The Stretching Mechanism's first half: shrink each item until its sensitivity fits its weight."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import finite
from hetdp.core.errors import InvalidInput, StretchingWarning
from hetdp.mechanisms import queries
from hetdp.mechanisms.estimation import normalised
from hetdp.mechanisms.examples import UNIT, WEIGHTS, Example, example_queries, mechanism_examples
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.mechanisms.plan import StretchedPlan, plan_stretched
from hetdp.mechanisms.queries.base import Floats, Query
from hetdp.profiles import Box, PrivacyWeights, WeightPrior

__all__ = ["Stretched", "as_weights", "stretch"]


@dataclass(frozen=True, repr=False, eq=False)
class Stretched(Mechanism):
    """A query stretched to fit the weights: R(d) = f(c + W(d - c)) with S_i(w_i) <= m v_i S.

    Attributes
    ----------
    query, multiplier, prior
        Public.
    weights
        The owner's.

    Privacy
    -------
    `shrinkage`, calls and distortion bounds are for the owner's eyes; `hetdp.release` makes the public answer.
    """

    query: Query
    weights: PrivacyWeights
    multiplier: float = 1.0
    prior: WeightPrior | None = field(default=None)

    def __repr__(self) -> str:
        return f"Stretched({self.query!r}, multiplier={self.multiplier:g})"

    @property
    def name(self) -> str:
        """What is asked. Public."""
        return self.query.name

    @property
    def domain(self) -> Box:
        """The box of admissible values. Public."""
        return self.query.domain

    @property
    def adjacent(self) -> str:  # type: ignore[override]
        """What may differ between neighbouring profiles. Public."""
        return self.query.adjacent

    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> StretchedPlan:
        """Return what a release would do and cost; see `hetdp.plan`.

        Examples
        --------
        >>> from hetdp.mechanisms import queries
        >>> stretched = stretch(queries.total(Box.uniform(0, 1, size=2)), [0.5, 0.001])
        >>> stretched.plan(noise="laplace", amount=0.5).scale
        2.0
        """
        return plan_stretched(self, noise=noise, amount=amount, grid=grid)

    def estimate(self, value: float) -> float | None:
        """Return a released total, mean or count with the expected shrinkage divided out, if there is a prior.

        Examples
        --------
        >>> from hetdp.mechanisms import queries
        >>> query = queries.mean(Box.uniform(0, 1, size=2))
        >>> stretch(query, [1, 1], prior=WeightPrior([0.5, 1.0])).estimate(0.6)
        0.7999999999999999
        """
        return None if self.prior is None else normalised(self.query, self.prior, value, multiplier=self.multiplier)

    @property
    def sensitivity(self) -> float:
        """S, the sensitivity of the query itself; the noise is scaled to `multiplier * S`. Public."""
        return self.query.sensitivity

    @cached_property
    def shrinkage(self) -> Floats:
        """The factor w_i of every item. For the owner's eyes only."""
        return self.shrinkage_with(slack=0.0)

    def shrinkage_with(self, *, slack: float) -> Floats:
        """Return the shrinkage when `slack` of every target is set aside for rounding. For the owner's eyes only.

        Privacy
        -------
        An item whose target does not exceed the slack, or whose weight is 0, is dropped.

        Examples
        --------
        >>> from hetdp.mechanisms import queries
        >>> from hetdp.profiles import Box
        >>> stretched = stretch(queries.total(Box.uniform(0, 1, size=2)), [0.5, 0.001])
        >>> stretched.shrinkage_with(slack=0.01)
        array([0.49, 0.  ])
        """
        targets = self.weights.values * self.multiplier * self.sensitivity - slack
        shrinkage = self.query.largest_shrinkage(np.maximum(targets, 0.0))
        shrinkage[(self.weights.values == 0) | (targets <= 0)] = 0.0
        shrinkage.flags.writeable = False
        return shrinkage

    @property
    def modular_sensitivities(self) -> Floats:
        """S_i(w_i) of every item, at most v_i * multiplier * S. For the owner's eyes only."""
        return self.query.modular_sensitivities(self.shrinkage)

    def __call__(self, values: ArrayLike) -> float | Floats:
        """Return the stretched answer without noise. For the owner's eyes only."""
        return self.query.stretched(self.query.domain.clamp(values), self.shrinkage)

    def distortion_bound(self, values: ArrayLike) -> float:
        """Bound |f(d) - R(d)| item by item; never larger than `paper_distortion_bound`.

        Privacy
        -------
        Depends on values and weights: for the owner's eyes only. `hetdp.release_distortion_bound` publishes one.

        Examples
        --------
        >>> from hetdp.mechanisms import queries
        >>> from hetdp.profiles import Box
        >>> stretched = stretch(queries.linear([2, 1, 0.5], Box.uniform(0, 1, size=3)), [0.5, 0.25, 0.1])
        >>> round(stretched.distortion_bound([1, 1, 1]), 12)
        1.8
        """
        return self.query.distortion_bound(self.query.domain.clamp(values), self.shrinkage)

    def paper_distortion_bound(self, values: ArrayLike) -> float:
        """Bound |f(d) - R(d)| as the paper does: (1 - min w) ||d - c|| max ||gradient||.

        Privacy
        -------
        Depends on values and weights: for the owner's eyes only.

        Examples
        --------
        >>> from hetdp.mechanisms import queries
        >>> from hetdp.profiles import Box
        >>> stretched = stretch(queries.linear([2, 1, 0.5], Box.uniform(0, 1, size=3)), [0.5, 0.25, 0.1])
        >>> round(stretched.paper_distortion_bound([1, 1, 1]), 4)
        2.3812
        """
        return self.query.paper_distortion_bound(self.query.domain.clamp(values), self.shrinkage)


def stretch(
    query: Query,
    weights: PrivacyWeights | ArrayLike,
    *,
    multiplier: float = 1.0,
    prior: WeightPrior | ArrayLike | Mapping[float, float] | None = None,
) -> Stretched:
    """Shrink a query until every item's sensitivity fits its weight.

    Parameters
    ----------
    query
        From `hetdp.queries`.
    weights
        One secret weight per item.
    multiplier
        Public, >= 1: every target is that many times larger, and so is the noise. Less shrinking for more noise;
        `hetdp.best_multiplier` finds the best trade from a public prior.
    prior
        A public prior of weights; with it, releases of totals, means and counts carry an unbiased `estimate`.

    Privacy
    -------
    Unit: one item, replaced by any other value of its interval. With Laplace noise of scale multiplier * S / epsilon,
    the answer is (epsilon, v)-differentially private (docs/proofs/stretching.md). Costs nothing until released.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> from hetdp.profiles import Box
    >>> stretched = stretch(queries.linear([2, 1, 0.5], Box([0, 0, 0], [1, 1, 1])), [0.5, 0.25, 0.1])
    >>> stretched.sensitivity, stretched.shrinkage, stretched([1, 1, 1])
    (2.0, array([0.5, 0.5, 0.4]), 1.7)
    """
    if not isinstance(query, Query):
        raise InvalidInput(f"query must come from hetdp.queries. Got {type(query).__name__} instead.")
    secret = as_weights(weights, query.size)
    factor = finite("multiplier", multiplier)
    if factor < 1:
        raise InvalidInput(f"multiplier must be >= 1. Got {multiplier!r} instead.")
    advice = getattr(query, "all_or_nothing", None)
    if advice is not None:
        # Warned about whatever the weights are: a warning that depended on them would tell about them.
        warnings.warn(advice, StretchingWarning, stacklevel=2)
    return Stretched(query, secret, factor, None if prior is None else WeightPrior.of(prior))


def as_weights(weights: PrivacyWeights | ArrayLike, size: int) -> PrivacyWeights:
    """Return weights as `PrivacyWeights`, one per item."""
    secret = weights if isinstance(weights, PrivacyWeights) else PrivacyWeights(weights)
    if secret.size != size:
        raise InvalidInput(f"weights must be one per item ({size}). Got {secret.size} instead.")
    return secret


@mechanism_examples
def _examples() -> Iterator[Example]:
    for name, query in example_queries().items():
        yield Example(name, Stretched(query, PrivacyWeights(WEIGHTS[: query.size])), gaussian=True)
    total = Stretched(queries.total(UNIT), PrivacyWeights(WEIGHTS), multiplier=2.5)
    yield Example("total, multiplier 2.5", total, gaussian=True)
