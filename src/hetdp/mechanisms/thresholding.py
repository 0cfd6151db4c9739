"""The common practice, as a baseline: drop whoever is stricter than a public level, treat all others alike.

With the level at the smallest weight anybody is expected to choose, this is "everyone at the strictest level".
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import finite
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms import queries
from hetdp.mechanisms.estimation import undo_dropping
from hetdp.mechanisms.examples import UNIT, WEIGHTS, Example, mechanism_examples
from hetdp.mechanisms.queries.base import Floats, Query
from hetdp.mechanisms.stretching import Stretched, as_weights
from hetdp.profiles import PrivacyWeights, WeightPrior

_SMALLEST_LEVEL = 1e-9


@dataclass(frozen=True, repr=False, eq=False)
class Thresholded(Stretched):
    """A query in which items with v_i >= level count fully, others not at all; noise of scale S / (epsilon level).

    The level is public; the noise multiplier is its inverse.

    Attributes
    ----------
    query, weights, multiplier, prior, public_weight
        As for `Stretched`.
    level
        The smallest weight that counts.
    """

    level: float = 1.0

    def __repr__(self) -> str:
        return f"Thresholded({self.query!r}, level={self.level:g})"

    def shrinkage_with(self, *, slack: float) -> Floats:
        """Return 1 for items at or above the level (less the `slack` of rounding), 0 for the others. The owner's."""
        kept = np.where(self.weights.values >= self.level, super().shrinkage_with(slack=slack), 0.0)
        kept.flags.writeable = False
        return kept

    def effective_weight(self, prior: WeightPrior) -> float:
        """Return the share of items that a public prior expects to count. Public."""
        return prior.expect((prior.weights >= self.level).astype(np.float64))

    def estimate(self, value: float) -> float | None:
        """Return a released `value` divided by the expected share of items that count, if there is a prior."""
        if self.prior is None:
            return None
        return undo_dropping(self.query, value, kept_share=self.effective_weight(self.prior))


def threshold(
    query: Query, weights: PrivacyWeights | ArrayLike, *, level: float, prior: WeightPrior | None = None
) -> Thresholded:
    """Drop items with a weight below a public level and treat all others alike.

    Parameters
    ----------
    query
        From `hetdp.queries`.
    weights
        One secret weight per item.
    level
        Public, in (0, 1].
    prior
        A public prior of weights; with it, releases of sums carry an `estimate`.

    Privacy
    -------
    (epsilon, v)-differentially private: an item pays epsilon * level if v_i >= level, else nothing. Stretching with
    multiplier 1 / level adds the same noise and keeps v_i / level of the others instead of nothing; this is here to be
    compared with.

    Examples
    --------
    >>> from hetdp.profiles import Box
    >>> mechanism = threshold(queries.total(Box.uniform(0, 1, size=3)), [1.0, 0.5, 0.2], level=0.5)
    >>> mechanism.shrinkage, mechanism.plan(noise="laplace", amount=1.0).losses
    (array([1., 1., 0.]), array([0.5, 0.5, 0. ]))
    """
    secret = as_weights(weights, query.size)
    public = finite("level", level)
    if not _SMALLEST_LEVEL <= public <= 1:
        raise InvalidInput(f"must lie in (0, 1], and not below {_SMALLEST_LEVEL:g}", parameter="level", got=level)
    return Thresholded(query, secret, 1.0 / public, prior, level=public)


def uniform(query: Query, weights: PrivacyWeights | ArrayLike, *, prior: WeightPrior) -> Thresholded:
    """Treat everyone at the smallest positive weight of a public prior.

    The smallest weight actually in use would be a better level and a leak: the noise scale is public.

    Parameters
    ----------
    query, weights
        As for `threshold`.
    prior
        What weights the public expects.

    Privacy
    -------
    As for `threshold`; items stricter than anybody was expected to be are dropped.

    Examples
    --------
    >>> from hetdp.profiles import Box
    >>> prior = WeightPrior([0.0, 0.5, 1.0])
    >>> uniform(queries.total(Box.uniform(0, 1, size=3)), [1.0, 0.5, 0.0], prior=prior).level
    0.5
    """
    positive = prior.weights[(prior.weights > 0) & (prior.probabilities > 0)]
    if positive.size == 0:
        raise InvalidInput("must give some weight above 0 a chance (got only zeros)", parameter="prior")
    return threshold(query, weights, level=float(positive.min()), prior=prior)


@mechanism_examples
def _examples() -> Iterator[Example]:
    total = queries.total(UNIT)
    yield Example("threshold, total", threshold(total, WEIGHTS, level=0.5), gaussian=True)
    yield Example("uniform, total", uniform(total, WEIGHTS, prior=WeightPrior([0.0, 0.25, 1.0])), gaussian=True)
