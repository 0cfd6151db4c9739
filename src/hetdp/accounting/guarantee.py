"""What was promised: to whom, against whom, in words and in numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import one_of, positive
from hetdp.core.errors import InvalidInput
from hetdp.profiles import PrivacyWeights

__all__ = ["Guarantee"]

_RECIPIENT = "anyone who sees this release, whatever else they know, all other items included"


@dataclass(frozen=True)
class Guarantee:
    """A heterogeneous privacy promise.

    Attributes
    ----------
    unit
        "epsilon" (pure) or "rho" (zero-concentrated).
    amount
        The public level: item i is promised `amount * v_i` (epsilon) or `amount * v_i**2` (rho).
    protects
        "values" or "weights": what the level is about.
    neighbours
        What may differ between two profiles that cannot be told apart.
    adversary
        Against whom it holds.
    weights
        The secret weights; not shown, and gone from `public()`.

    Privacy
    -------
    `text` is public. `loss`, `implies_epsilon`, `implied_by_epsilon` and `group_loss` depend on the weights and are
    for the owner's eyes.

    Examples
    --------
    >>> promise = Guarantee("epsilon", 0.5, weights=PrivacyWeights([1.0, 0.2]))
    >>> promise.implies_epsilon, promise.implied_by_epsilon
    (0.5, 0.1)
    >>> promise
    Guarantee(unit='epsilon', amount=0.5, protects='values')
    """

    unit: str
    amount: float
    protects: str = "values"
    neighbours: str = field(default="replacing one item by any other value of its range", repr=False)
    adversary: str = field(default=_RECIPIENT, repr=False)
    weights: PrivacyWeights | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        one_of("unit", self.unit, ("epsilon", "rho"))
        one_of("protects", self.protects, ("values", "weights"))
        positive("amount", self.amount)

    @property
    def text(self) -> str:
        """The promise in plain words. Public."""
        level = f"{self.unit} = {self.amount:g}"
        if self.protects == "weights":
            return (
                f"{level} for each privacy weight; the weights pay, the values do not: the release is a function of "
                f"the weights and public numbers only. Holds against {self.adversary}."
            )
        if self.unit == "epsilon":
            promise = (
                f"(epsilon, v)-differential privacy with {level}: {self.neighbours} changes the probability of any "
                f"output by a factor of at most exp({self.amount:g} * v_i), where v_i in [0, 1] is the item's own "
                "weight."
            )
        else:
            promise = (
                f"heterogeneous zero-concentrated differential privacy with {level}: {self.neighbours} costs "
                f"at most rho_i = {self.amount:g} * v_i**2, where v_i in [0, 1] is the item's own weight."
            )
        return f"{promise} Each weight is itself protected with {level}. Holds against {self.adversary}."

    @property
    def loss(self) -> NDArray[np.float64]:
        """What each item is promised to lose at most. The owner's."""
        weights = self._require_weights()
        return self.amount * (weights if self.unit == "epsilon" else weights**2)

    @property
    def implies_epsilon(self) -> float:
        """The ordinary level that this promise implies: amount * max v (the paper's Remark). The owner's."""
        return float(self.loss.max())

    @property
    def implied_by_epsilon(self) -> float:
        """The ordinary level that would imply this promise: amount * min v (the paper's Remark). The owner's."""
        return float(self.loss.min())

    def group_loss(self, items: Iterable[int]) -> float:
        """Return what a group of items loses together: the sum over the group. The owner's.

        For rho the square of the summed roots: distances add up, and rho grows with their square.

        Privacy
        -------
        Group privacy: hiding several items at once costs the sum of what hiding each costs.

        Examples
        --------
        >>> Guarantee("epsilon", 1.0, weights=PrivacyWeights([1.0, 0.25, 0.5])).group_loss([1, 2])
        0.75
        """
        chosen = self.loss[list(items)]
        return float(chosen.sum() if self.unit == "epsilon" else np.sqrt(chosen).sum() ** 2)

    def public(self) -> "Guarantee":
        """Return the promise without the weights.

        Privacy
        -------
        Safe to publish.

        Examples
        --------
        >>> Guarantee("epsilon", 1.0, weights=PrivacyWeights([0.5])).public().weights is None
        True
        """
        return Guarantee(self.unit, self.amount, self.protects, self.neighbours, self.adversary)

    def compose(self, *others: "Guarantee") -> "Guarantee":
        """Return the promise of several releases together: losses add up, item by item.

        Privacy
        -------
        Sequential composition: amounts add up, and the weight of an item is the average of its weights, weighted by
        the amounts. (For disjoint sets of items simply use a weight of 0 where a release does not look.)

        Examples
        --------
        >>> one = Guarantee("epsilon", 1.0, weights=PrivacyWeights([1.0, 0.0]))
        >>> two = Guarantee("epsilon", 0.5, weights=PrivacyWeights([0.0, 1.0]))
        >>> one.compose(two).amount, one.compose(two).loss
        (1.5, array([1. , 0.5]))
        """
        parts = (self, *others)
        if len({(part.unit, part.protects) for part in parts}) > 1:
            raise InvalidInput("guarantees must share unit and protects to be composed. Got different ones instead.")
        amount = sum(part.amount for part in parts)
        weights = None
        if all(part.weights is not None for part in parts):
            if len({part.loss.size for part in parts}) > 1:
                raise InvalidInput("guarantees must be about the same items. Got different numbers of items instead.")
            share = np.sum([part.loss for part in parts], axis=0) / amount
            weights = PrivacyWeights(np.minimum(share if self.unit == "epsilon" else np.sqrt(share), 1.0))
        adversary = "anyone who sees all of these releases, whatever else they know"
        return Guarantee(self.unit, amount, self.protects, self.neighbours, adversary, weights)

    def _require_weights(self) -> NDArray[np.float64]:
        if self.weights is None:
            raise InvalidInput("weights must be known for a per-item loss. Got a public guarantee instead.")
        return self.weights.values
