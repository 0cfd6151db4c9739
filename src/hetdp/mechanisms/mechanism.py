"""What every mechanism is: secret weights, and a way to plan a release before any private value is read."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import float_up
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.rounding import product_up
from hetdp.profiles import Box, PrivacyWeights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """What released cells say: all of it is post-processing.

    Attributes
    ----------
    value
        The raw value: the answer as it was released.
    estimate
        What the query would be without weights and noise, inside the range of its answers; None with a `reason`.
    low, high
        Ends of the interval in which the answer without its noise lies, with the confidence asked for; None where the
        answer is not a number with noise on it. With an estimate they are inside the range of answers.
    reason
        Why there is no estimate.
    """

    value: float | Floats
    estimate: float | Floats | None
    low: float | Floats | None
    high: float | Floats | None
    reason: str | None


class Plan(ABC):
    """A release, planned: its public parameters, and what every item will lose.

    Attributes
    ----------
    mechanism
        What is released.
    noise, amount, unit
        What kind of randomness; its epsilon or rho, and which of the two it is.
    weights_amount
        What each weight loses, in the same unit.
    grid, scale
        Step of the public grid; scale of Laplace noise or standard deviation of Gaussian noise, in the unit of the
        answer. None where the answer is not a noisy number; the scale is also None where noises of several scales add
        up.
    losses
        What each item loses. The owner's; the rest is public.
    is_vector
        Whether the answer is a vector rather than a number.
    answer_range
        The smallest and the largest answer that there can be without noise.

    Privacy
    -------
    Made from weights and public numbers only.
    """

    mechanism: "Mechanism"
    noise: str
    amount: float
    unit: str = "epsilon"
    grid: float | None
    scale: float | None = None
    is_vector: bool = False
    answer_range: tuple[float, float] = (-np.inf, np.inf)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism.name}, {self.unit} = {self.amount:g})"

    @property
    @abstractmethod
    def losses(self) -> Floats:
        """What each item loses. The owner's."""

    @property
    def weights_amount(self) -> float:
        """What each weight loses. Public."""
        return self.amount

    @abstractmethod
    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        """Return the noisy cells of `count` independent answers, one answer per row.

        Each row loses as much as a release, and the losses add up: more than one is for audits and simulations.

        Parameters
        ----------
        values
            Private, one per item.
        keep
            Whether each item counts; others do as if their weight were 0.
        stream
            Where noise comes from.
        count
            How many answers.
        """

    def finish(self, cells: Floats) -> float | Floats:
        """Return the answer that noisy cells stand for: post-processing."""
        return cells if self.is_vector else float(cells[0])

    def reach(self, confidence: float) -> float | None:  # noqa: ARG002  (most answers are not a number plus noise)
        """Return what the noise of one number of the answer stays below, with a given confidence. Public.

        None where the answer is not a number with noise on it.
        """
        return None

    def interval(self, cells: Floats, confidence: float) -> tuple[float | Floats, float | Floats] | None:
        """Return the ends of the interval that holds the answer without its noise, with a given confidence.

        None where `cells` are not numbers with noise on them.
        """
        reach, value = self.reach(confidence), self.finish(cells)
        return None if reach is None else (value - reach, value + reach)

    def why_no_estimate(self, *, drops: bool) -> str | None:  # noqa: ARG002
        """Return why the answer is not an estimate of what the query would be without weights; None where it is.

        Parameters
        ----------
        drops
            Whether some items may not count because their budget is exhausted, as far as the public knows.
        """
        return "Items count in proportion to their weights in this answer, and nothing that is released can undo that."

    def read(self, cells: Floats, confidence: float, *, drops: bool = False) -> Reading:
        """Return what released `cells` say, with an interval of this `confidence`; `drops` as for `why_no_estimate`."""
        value, ends, reason = self.finish(cells), self.interval(cells, confidence), self.why_no_estimate(drops=drops)
        least, most = self.answer_range
        if ends is None:
            return Reading(value, None if reason else value, None, None, reason)
        if reason is None and np.max(ends[1] - ends[0]) >= most - least:
            reason = "The noise is as wide as the range of all answers. Use a larger epsilon, or ask about more items."
        if reason is not None:
            return Reading(value, None, *ends, reason)
        estimate, low, high = (self._clipped(number) for number in (value, *ends))
        return Reading(value, estimate, low, high, None)

    def _clipped(self, number: float | Floats) -> float | Floats:
        inside = np.clip(number, *self.answer_range)
        return inside if self.is_vector else float(inside)

    def answer(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream) -> float | Floats:
        """Return one answer; `values`, `keep` and `stream` as for `answers`."""
        (cells,) = self.answers(values, keep, stream, count=1)
        return self.finish(cells)


class Mechanism(ABC):
    """A way to answer a question about a profile so that every item's weight is respected.

    `hetdp.release` turns a mechanism and private values into a public answer; nothing else does.
    """

    weights: PrivacyWeights  # the owner's
    #: What may differ between two profiles that must not be told apart, in words; and how many such steps replacing a
    #: value takes.
    adjacent: str = "replacing one item by any other value of its range"
    steps_to_replace: int = 1

    @property
    @abstractmethod
    def name(self) -> str:
        """What is asked; shown in releases."""

    @property
    @abstractmethod
    def domain(self) -> Box:
        """The box of admissible values."""

    @abstractmethod
    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> Plan:
        """Return what a release would do and cost; `noise`, `amount` and `grid` as for `hetdp.plan`."""


class FullLossPlan(Plan):
    """A plan in which every item loses exactly what it is promised: epsilon * v_i."""

    level: Fraction  # epsilon, exactly

    @property
    def amount(self) -> float:  # type: ignore[override]
        """Epsilon, rounded up to a float."""
        return float_up(self.level)

    @property
    def losses(self) -> Floats:
        """What each item loses: epsilon * v_i. The owner's."""
        return product_up(self.mechanism.weights.values, self.level)


def as_weights(weights: PrivacyWeights | ArrayLike, size: int) -> PrivacyWeights:
    """Return weights as `PrivacyWeights`, one per item."""
    secret = weights if isinstance(weights, PrivacyWeights) else PrivacyWeights(weights)
    if secret.size != size:
        raise InvalidInput(f"must be one per item ({size})", parameter="weights", got=secret.size)
    return secret


def require_plain_epsilon(noise: str, grid: float | None, what: str) -> None:
    """Refuse noise and grid for a mechanism that adds no noise to a number."""
    if noise != "laplace" or grid is not None:
        parameter = "grid" if noise == "laplace" else "noise"
        raise InvalidInput(f"cannot be used for a {what}, which needs an epsilon alone", parameter=parameter)
