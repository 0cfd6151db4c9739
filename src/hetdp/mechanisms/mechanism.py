"""What every mechanism is: secret weights, and a way to plan a release before any private value is read."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import float_up
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.intervals import noise_quantile
from hetdp.mechanisms.queries.query import Query
from hetdp.mechanisms.rounding import product_up
from hetdp.noise.samplers import gaussian_integers, laplace_integers
from hetdp.profiles import Box, PrivacyWeights

Floats = NDArray[np.float64]

_LARGEST = 2.0**1000
_SMALLEST_SENSITIVITY = 1e-290


@dataclass(frozen=True)
class Reading:
    """What released cells say; see `hetdp.Release` for the fields."""

    value: float | Floats
    estimate: float | Floats | None
    low: float | Floats | None
    high: float | Floats | None
    reason: str | None


class Plan(ABC):
    """A release, planned, from weights and public numbers only. Everything except `losses` is public.

    Attributes
    ----------
    mechanism
        What is released.
    noise, amount, unit
        What kind of randomness; its epsilon or rho, and which of the two it is.
    weights_amount
        What each weight loses, in the same unit.
    losses
        What each item loses. The owner's.
    grid, scale
        Step of the public grid; scale of Laplace noise or standard deviation of Gaussian noise, in the unit of the
        answer. None where the answer is not a noisy number, or where noises of several scales add up.
    is_vector
        Whether the answer is a vector rather than a number.
    answer_range
        The smallest and the largest number in any answer without noise.
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
        """What each weight loses."""
        return self.amount

    @abstractmethod
    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        """Return the noisy cells of `count` independent answers to private `values`, one answer per row.

        Items that are not in `keep` do as if their weight were 0. The losses of all rows add up: more than one row is
        for audits and simulations. How many words are drawn from `stream` does not depend on the values.
        """

    def answer(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream) -> float | Floats:
        """Return one answer; `values`, `keep` and `stream` as for `answers`."""
        (cells,) = self.answers(values, keep, stream, count=1)
        return self.finish(cells)

    def finish(self, cells: Floats) -> float | Floats:
        """Return the answer that noisy `cells` stand for: post-processing."""
        return cells if self.is_vector else float(cells[0])

    def reach(self, confidence: float) -> float | None:  # noqa: ARG002  (most answers are not a number plus noise)
        """Return what the noise of one number of the answer stays below, with a `confidence`; None if there is none."""
        return None

    def interval(self, cells: Floats, confidence: float) -> tuple[float | Floats, float | Floats] | None:
        """Return ends between which the answer of `cells` without its noise lies, with a `confidence`."""
        reach, value = self.reach(confidence), self.finish(cells)
        return None if reach is None else (value - reach, value + reach)

    def why_no_estimate(self, *, drops: bool) -> str | None:  # noqa: ARG002
        """Return why the answer is not an estimate of what the query would be without weights; None where it is.

        `drops` says whether some items may not count because their budget is exhausted, as far as the public knows.
        """
        return "Items count in proportion to their weights in this answer, and nothing that is released can undo that."

    def read(self, cells: Floats, confidence: float, *, drops: bool = False) -> Reading:
        """Return what released `cells` say, with a `confidence`; `drops` as for `why_no_estimate`."""
        value, ends, reason = self.finish(cells), self.interval(cells, confidence), self.why_no_estimate(drops=drops)
        least, most = self.answer_range
        if ends is None:
            return Reading(value, None if reason else value, None, None, reason)
        if reason is None and np.max(ends[1] - ends[0]) >= most - least:
            reason = "The noise is as wide as the range of all answers. Use a larger epsilon, or ask about more items."
        if reason is not None:
            return Reading(value, None, *ends, reason)
        clipped = (np.clip(number, least, most) for number in (value, *ends))
        return Reading(value, *(number if self.is_vector else float(number) for number in clipped), None)  # type: ignore[arg-type,call-arg]


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


class Delegating(Mechanism):
    """A mechanism that asks what a query or another mechanism asks."""

    @property
    @abstractmethod
    def asked(self) -> Query | Mechanism:
        """What says the question, its domain and what is adjacent."""

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def domain(self) -> Box:
        return self.asked.domain

    @property
    def adjacent(self) -> str:  # type: ignore[override]
        return self.asked.adjacent

    @property
    def steps_to_replace(self) -> int:  # type: ignore[override]
        return self.asked.steps_to_replace


class OfQuery(Delegating):
    """A mechanism that answers a query with Laplace or Gaussian noise."""

    query: Query

    @property
    def asked(self) -> Query:
        return self.query


class NoisePlan(Plan):
    """A plan that adds noise to whole steps of a grid."""

    mechanism: OfQuery
    level: Fraction  # the epsilon of "laplace" or the rho of "gaussian" noise, exactly
    grid: float

    @property
    def amount(self) -> float:  # type: ignore[override]
        return float_up(self.level)

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "epsilon" if self.noise == "laplace" else "rho"

    @property
    def is_vector(self) -> bool:  # type: ignore[override]
        return self.mechanism.query.is_vector

    @property
    def answer_range(self) -> tuple[float, float]:  # type: ignore[override]
        return self.mechanism.query.answer_range

    @property
    @abstractmethod
    def scales(self) -> tuple[float, ...]:
        """The scales or standard deviations of all noises in one number of the answer."""

    @property
    def rounding(self) -> float:
        """What rounding to the grid and in floats can move a cell by."""
        return self.mechanism.query.rounding_distortion(self.grid)

    def width(self, spread: Fraction) -> float:
        """Return the scale or standard deviation of noise with a `spread`, in the unit of the answer."""
        return self.grid * (float(spread) if self.noise == "laplace" else math.sqrt(spread))

    def checked(self) -> Self:
        """Return the plan, or refuse numbers that a float cannot hold: before anything is charged."""
        if max(*self.scales, 0.0, *(abs(end) for end in self.answer_range if math.isfinite(end))) > _LARGEST:
            raise InvalidInput("the domain, the level and the grid must be such that all numbers stay below 2**1000")
        return self

    def reach_of_cells(self, confidence: float) -> float:
        """Return what noise and rounding of one cell stay below, with a `confidence`.

        Noise is discrete: within a step, its quantile is that of the continuous law.
        """
        steps = len(self.scales) * self.grid
        return noise_quantile(self.scales, confidence, noise=self.noise) + steps + self.rounding

    def reach(self, confidence: float) -> float | None:
        return self.reach_of_cells(confidence) if self.mechanism.query.has_plain_noise else None

    def noisy(self, exact: Sequence[int], spread: Fraction, stream: Stream, *, count: int) -> Floats:
        """Return `exact` steps as numbers with noise from `stream`, `count` times.

        `spread` is the scale of Laplace noise or the variance of Gaussian noise, in steps.
        """
        draw = laplace_integers if self.noise == "laplace" else gaussian_integers
        noise = draw(spread, count * len(exact), stream).reshape(count, len(exact))
        # Python's integers do not overflow, and their product with a power of two stays on the grid.
        answers: Floats = ((noise.astype(object) + np.array(exact, dtype=object)) * self.grid).astype(np.float64)
        return answers


def checked_sensitivity(query: Query) -> float:
    """Return the sensitivity of a query, or refuse one that noise cannot be scaled to."""
    if not (math.isfinite(query.sensitivity) and query.sensitivity > _SMALLEST_SENSITIVITY):
        raise InvalidInput("the sensitivity of the query must be a finite number above 1e-290", got=query.sensitivity)
    return query.sensitivity


class FullLossPlan(Plan):
    """A plan in which every item loses exactly what it is promised: epsilon * v_i."""

    level: Fraction  # epsilon, exactly

    @property
    def amount(self) -> float:  # type: ignore[override]
        return float_up(self.level)

    @property
    def losses(self) -> Floats:
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
