"""What every mechanism is: secret weights and a way to plan a release before any private value is touched."""

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.rounding import float_up, product_up
from hetdp.profiles import Box, PrivacyWeights

__all__ = ["FullPricePlan", "Mechanism", "Plan", "require_plain_epsilon"]


class Plan(ABC):
    """A release, planned: its public parameters and what every item will pay.

    Attributes
    ----------
    noise, amount
        What kind of randomness, and its epsilon or rho.
    unit
        What is spent: "epsilon" or "rho".
    grid, scale
        Step of the public grid and scale of the noise; None where the answer is not a noisy number.
    is_vector
        Whether the answer is a vector rather than a number.

    Privacy
    -------
    Made from weights and public numbers only. `losses` are the owner's, the rest is public.
    """

    noise: str
    amount: float
    unit: str = "epsilon"
    grid: float | None
    is_vector: bool = False

    @property
    def scale(self) -> float | None:
        """Scale of the Laplace noise, or standard deviation of the Gaussian, in the unit of the answer. Public."""
        return None

    @property
    @abstractmethod
    def losses(self) -> NDArray[np.float64]:
        """What each item pays. The owner's."""

    @abstractmethod
    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> NDArray[np.float64]:
        """Return `count` independent answers, one per row; items that are not kept count as if their weight were 0.

        Privacy
        -------
        Each row costs as much as a release, and they add up: this is for audits and simulations.
        """

    def answer(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream) -> float | NDArray[np.float64]:
        """Return one answer.

        Privacy
        -------
        Costs `losses`. How many random words are drawn does not depend on the values.
        """
        (answer,) = self.answers(values, keep, stream, count=1)
        return answer if self.is_vector else float(answer[0])

    def estimate(self, value: float) -> float | None:  # noqa: ARG002  (most plans have nothing to correct)
        """Return a released value with the public part of its bias removed, or None where there is none."""
        return None


class Mechanism(ABC):
    """A way to answer a question about a profile so that every item's weight is respected.

    Attributes
    ----------
    name
        What is asked; shown in releases.
    domain
        The box of admissible values.
    weights
        The owner's.
    adjacent
        What may differ between two profiles that must not be told apart, in words.

    Privacy
    -------
    `hetdp.release` turns a mechanism and private values into a public answer; nothing else does.
    """

    weights: PrivacyWeights
    adjacent: str = "replacing one item by any other value of its range"

    @property
    @abstractmethod
    def name(self) -> str:
        """What is asked."""

    @property
    @abstractmethod
    def domain(self) -> Box:
        """The box of admissible values."""

    @abstractmethod
    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> Plan:
        """Return what a release would do and cost; see `hetdp.plan`."""


class FullPricePlan(Plan):
    """A plan in which every item pays exactly what it is promised: epsilon * v_i.

    Attributes
    ----------
    mechanism
        What is released.
    level
        Epsilon, exactly.
    """

    mechanism: Mechanism
    level: Fraction

    @property
    def amount(self) -> float:  # type: ignore[override]
        """Epsilon, rounded up to a float."""
        return float_up(self.level)

    @property
    def losses(self) -> NDArray[np.float64]:
        """What each item pays: epsilon * v_i. The owner's."""
        return product_up(self.mechanism.weights.values, self.level)


def require_plain_epsilon(noise: str, grid: float | None, what: str) -> None:
    """Refuse noise and grid for a mechanism that adds no noise to a number."""
    if noise != "laplace" or grid is not None:
        raise InvalidInput(f"noise and grid must be left alone, and epsilon given, for a {what}. Got more instead.")
