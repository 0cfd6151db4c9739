"""What every mechanism is: secret weights, and a way to plan a release before any private value is touched.

A plan is exact: answers live on a public grid, and where a promise meets rounding, the few operations at the end of
this file decide for the promise.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import float_up
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.profiles import Box, PrivacyWeights

_STEPS_PER_SCALE = 40
_STEPS_PER_REACH = 50
_SPLIT = 2.0**27 + 1
_EXACT_FLOATS = 2**53
_LARGEST_STEPS = 2.0**52
_SAFE_PRODUCT = 2.0**-900


class Plan(ABC):
    """A release, planned: its public parameters and what every item will pay.

    Attributes
    ----------
    mechanism
        What is released.
    noise, amount
        What kind of randomness, and its epsilon or rho.
    unit
        What is spent: "epsilon" or "rho".
    weights_amount
        What each weight pays, in the same unit.
    grid, scale
        Step of the public grid and scale of the noise; None where the answer is not a noisy number.
    is_vector
        Whether the answer is a vector rather than a number.

    Privacy
    -------
    Made from weights and public numbers only. `losses` are the owner's, the rest is public.
    """

    mechanism: "Mechanism"
    noise: str
    amount: float
    unit: str = "epsilon"
    grid: float | None
    is_vector: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism.name}, {self.unit} = {self.amount:g})"

    @property
    def scale(self) -> float | None:
        """Scale of the Laplace noise, or standard deviation of the Gaussian, in the unit of the answer. Public."""
        return None

    @property
    @abstractmethod
    def losses(self) -> NDArray[np.float64]:
        """What each item pays. The owner's."""

    @property
    def weights_amount(self) -> float:
        """What each weight pays: the amount, and that of a denominator where there is one. Public."""
        return self.amount

    @abstractmethod
    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> NDArray[np.float64]:
        """Return the cells of `count` independent answers, one per row, each with noise.

        Each row costs as much as a release, and they add up: this is for audits and simulations.

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

    def answer(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream) -> float | NDArray[np.float64]:
        """Return one answer, at the cost of `losses`; how many random words are drawn does not depend on the values.

        Parameters
        ----------
        values, keep, stream
            As for `answers`.
        """
        (cells,) = self.answers(values, keep, stream, count=1)
        return self.finish(cells)

    def finish(self, cells: NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Return the answer that noisy cells stand for: public arithmetic."""
        return cells if self.is_vector else float(cells[0])

    def estimate(self, value: float) -> float | None:  # noqa: ARG002  (most plans have nothing to correct)
        """Return a released value with the part of its bias removed that a prior knows, or None where there is none."""
        return None


class Mechanism(ABC):
    """A way to answer a question about a profile so that every item's weight is respected.

    `hetdp.release` turns a mechanism and private values into a public answer; nothing else does.
    """

    weights: PrivacyWeights  # the owner's
    #: What may differ between two profiles that must not be told apart, in words.
    adjacent: str = "replacing one item by any other value of its range"

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


class FullPricePlan(Plan):
    """A plan in which every item pays exactly what it is promised: epsilon * v_i."""

    level: Fraction  # epsilon, exactly

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
        parameter = "grid" if noise == "laplace" else "noise"
        raise InvalidInput(f"cannot be used for a {what}, which needs an epsilon alone", parameter=parameter)


# -- exact arithmetic -------------------------------------------------------------------------------------------------


def choose_grid(*, scale: float, reach: float, error: float, requested: float | None) -> float:
    """Return the grid step: a power of two, about 2**-40 of the noise scale.

    `reach` is the largest number the steps must count, and keeps them within 51 bits, where floats are exact. A grid
    finer than `error`, the rounding error of the evaluation, would only pretend. A step `requested` by the user must be
    a power of two.
    """
    if requested is not None:
        if not (math.isfinite(requested) and requested > 0 and math.frexp(requested)[0] == 0.5):  # noqa: PLR2004
            raise InvalidInput("must be a power of two", parameter="grid", got=requested)
        finest = max(scale / _LARGEST_STEPS, 2 * reach / _LARGEST_STEPS, error)
        if requested < finest:
            raise InvalidInput(
                f"must be at least {finest:.3g} for this query and noise", parameter="grid", got=requested
            )
        return requested
    scale_exponent, reach_exponent = math.frexp(scale)[1] - 1, math.frexp(reach)[1] - 1
    exponent = max(
        # Where the noise dwarfs the answer, finer steps keep the answer from being rounded away.
        min(scale_exponent - _STEPS_PER_SCALE, reach_exponent - 20),
        scale_exponent - 50,
        reach_exponent - _STEPS_PER_REACH,
        math.frexp(error)[1] if error > 0 else -1100,
        -1022,  # the smallest normal number
    )
    return math.ldexp(1.0, exponent)


def floor_product(weights: NDArray[np.float64], cap: Fraction, *, limit: int) -> NDArray[np.int64]:
    """Return min(limit, floor(weight * floor(cap))) exactly, for weights in [0, 1] and 0 <= limit <= 2**52.

    The product of two floats is split into its rounded value and its rounding error (Dekker); only where the rounded
    value is a whole number can the error decide, and then only downward. A cap too large for a float to hold exactly is
    multiplied in fractions instead. Rounding up would break the promise to the item: accurate is not enough here.
    """
    whole = math.floor(cap)
    if whole >= _EXACT_FLOATS:
        kinds, kind = np.unique(weights, return_inverse=True)
        floors = [min(limit, math.floor(Fraction(float(weight)) * whole)) for weight in kinds]
        return np.array(floors, dtype=np.int64)[kind]
    product = weights * float(whole)
    steps = np.floor(product)
    steps -= (steps == product) & (_product_error(weights, float(whole), product) < 0)
    # Below 2**-900 the error itself might underflow; such a weight cannot pay for a single step anyway.
    steps = np.where(weights < 2.0**-900, 0.0, np.maximum(steps, 0.0))
    return np.minimum(steps, float(limit)).astype(np.int64)


def product_up(left: NDArray[np.float64], right: Fraction) -> NDArray[np.float64]:
    """Return an upper bound on left * right, for left >= 0: the exact product where a float can hold it."""
    factor = float_up(right)
    product = left * factor
    # Where the error itself might underflow, one step up is always enough.
    short = (_product_error(left, factor, product) > 0) | ((product < _SAFE_PRODUCT) & (left > 0))
    return np.where(short, np.nextafter(product, np.inf), product)


def _product_error(left: NDArray[np.float64], right: float, product: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return left * right - product, exactly (Dekker), barring overflow and underflow."""
    left_high = _SPLIT * left - (_SPLIT * left - left)
    left_low = left - left_high
    right_high = _SPLIT * right - (_SPLIT * right - right)
    right_low = right - right_high
    error: NDArray[np.float64] = left_low * right_low - (
        ((product - left_high * right_high) - left_low * right_high) - left_high * right_low
    )
    return error
