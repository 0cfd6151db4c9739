"""How privacy losses add up, convert and compose, always rounded toward more loss.

Two units of loss: `epsilon` (pure differential privacy) and `rho` (zero-concentrated differential privacy,
zCDP). Either adds up over releases. Every function here returns an upper bound in spite of floating-point
rounding; sums that a float can hold stay exact, so that 0 + 0.25 is 0.25.

A ledger counts in whole steps. A float stands for the decimal that it was typed as, which differs from it by less than
2**-51 of it: one is counted as steps with that much of leniency and no more, so that ten losses of 0.1 are exactly 1.
"""

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import Real, positive
from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import each

#: What differs between two sets of profiles, by what is protected: losses add up for one and the same difference.
ADDED = {
    "item": "adding or removing an item of a user",
    "person": "adding or removing a user with everything that the user has",
}

UNITS = ("epsilon", "rho")

#: Steps of a ledger in a loss of 1: nine decimals, halves down to 2**-11, thirds, sevenths and ninths are whole.
STEPS = 252 * 10**9
#: Steps of a ledger in a delta of 1: deltas are small.
DELTA_STEPS = 10**36
#: From here on, at 9 million, nothing is counted: a loss is infinite, and a limit is none.
MOST_STEPS = 2**61
#: A loss that is not bounded at all, such as the pure one of Gaussian noise; or no limit.
BOUNDLESS = 2**62
#: A float differs from the decimal that it stands for by 2**-53 of it, and a product may be rounded by as much again.
#: Factors that are 1.1 * 2**-52 off make whole steps of that decimal all the same, with less than 2**-51 of leniency.
_STEPS_BELOW, _STEPS_ABOVE = STEPS - 2.0**-14, STEPS + 2.0**-14
#: From here on that much is a step or more, and the nearest number of steps is meant.
_LARGE = 2**51 / STEPS
_NONE = Fraction(0)

#: Exponents tried around the closed-form optimum: 3.5 % apart, which costs less than 0.1 % of the result.
_EXPONENT_FACTORS = 2.0 ** np.linspace(-4.0, 2.0, 121)
#: Covers the rounding of some ten operations with room to spare, relative to the largest of them.
_ROUNDING = 1e-12
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


def add_up(left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    """Return `left + right` for losses >= 0, rounded up when the sum is inexact.

    Knuth's TwoSum finds the rounding error of a sum exactly; where it is positive, the sum moves to the next float. So
    a running total is never below the true total, however many terms it has.
    """
    first, second = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    # An infinite loss stays infinite: its error is nan, and nan > 0 is False.
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.asarray(first + second)
        share = total - first
        error = (first - (total - share)) + (second - share)
    return _step_up(total, error > 0.0)


def steps_up(losses: ArrayLike) -> NDArray[np.int64]:
    """Return losses >= 0 in whole steps, rounded up: at least `STEPS * losses * (1 - 2**-51)`, or `MOST_STEPS`."""
    return each(lambda some: _counted(some, _STEPS_BELOW, np.ceil), np.asarray(losses, dtype=np.float64))


def rho_steps_up(losses: ArrayLike) -> NDArray[np.int64]:
    """Return pure losses as zCDP losses `losses**2 / 2` in whole steps, rounded up, each loss counted as above."""

    def counted(pure: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(over="ignore", under="ignore"):
            rho = pure * pure * 0.5
        return np.where(pure > 0.0, np.maximum(steps_up(rho), 1), 0)  # what vanishes by squaring is something

    return each(counted, np.asarray(losses, dtype=np.float64))


def steps_down(limits: ArrayLike) -> NDArray[np.int64]:
    """Return limits >= 0 in whole steps, rounded down: at most `STEPS * limits * (1 + 2**-51)`, or `BOUNDLESS`."""

    def counted(some: NDArray[np.float64]) -> NDArray[np.int64]:
        steps = _counted(some, _STEPS_ABOVE, np.floor)
        return np.where(steps >= MOST_STEPS, np.int64(BOUNDLESS), steps)

    return each(counted, np.asarray(limits, dtype=np.float64))


def _counted(
    floats: NDArray[np.float64], factor: float, rounded: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Return amounts in whole steps, at most `MOST_STEPS`.

    A large one is counted as the nearest number that is not shown as less, be it a loss or a limit.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = rounded(floats * factor)
        if floats.max(initial=0.0) >= _LARGE:
            nearest = np.rint(floats * STEPS)
            nearest += np.where(nearest / STEPS < floats, np.maximum(np.spacing(nearest), 1.0), 0.0)
            steps = np.where(floats >= _LARGE, nearest, steps)
    return np.minimum(steps, float(MOST_STEPS)).astype(np.int64)


def steps_of(amount: Real, unit: str = "epsilon", *, wanted: str = "epsilon") -> int:
    """Return one public amount in whole steps, rounded up; a fraction exactly, a float as `steps_up` does.

    `wanted` is the unit of the steps: a pure amount e is e^2/2 in zCDP.
    """
    if not isinstance(amount, numbers.Rational):
        return int(steps_up(float(amount)) if unit == wanted else rho_steps_up(float(amount)))
    exact = Fraction(amount)
    return min(math.ceil(STEPS * (exact if unit == wanted else exact * exact / 2)), MOST_STEPS)


def delta_steps(delta: Real) -> Fraction:
    """Return a delta in steps of its own, a float as the decimal that it is written as."""
    return (
        DELTA_STEPS * Fraction(delta if isinstance(delta, numbers.Rational) else repr(float(delta))) if delta else _NONE
    )


def losses_of(steps: ArrayLike) -> NDArray[np.float64]:
    """Return steps as losses or limits; what is too much to be counted is infinite."""
    whole = np.asarray(steps, dtype=np.int64)
    return np.where(whole >= MOST_STEPS, np.inf, whole / STEPS)


def loss_of(steps: int) -> float:
    """Return steps as a loss, as above."""
    return float(losses_of(min(steps, BOUNDLESS)))


def rho_of_epsilon(epsilon: ArrayLike) -> NDArray[np.float64]:
    """Return the zCDP loss `epsilon**2 / 2` of a pure loss, rounded up.

    An epsilon-private mechanism is (epsilon^2 / 2)-zCDP (Bun and Steinke 2016, Proposition 1.4). The statement is about
    one pair of adjacent data sets at a time, so it holds item by item.
    """
    loss = np.asarray(epsilon, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        rho = np.asarray(loss * loss * 0.5)
    # A mantissa of at most 26 bits has an exact square; any other is assumed to have been rounded down.
    short = (loss.view(np.int64) & (2**27 - 1)) == 0
    inexact = ~(short & (rho >= _SMALLEST_NORMAL)) & (loss > 0.0) & (rho < np.inf)
    return _step_up(rho, inexact)


def epsilon_delta_of_rho(rho: ArrayLike, delta: float) -> NDArray[np.float64]:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    The minimum over exponents alpha > 1 of
    `alpha * rho + (log(1/delta) - log(alpha)) / (alpha - 1) + log(1 - 1/alpha)`
    on a grid around `1 + sqrt(log(1/delta) / rho)`.

    Canonne, Kamath and Steinke 2020, Proposition 12. Every alpha gives a valid bound, so the grid is sound;
    it is never worse than `rho + 2 * sqrt(rho * log(1/delta))` (Bun and Steinke 2016, Proposition 1.3).
    """
    if positive("delta", delta) >= 1.0:
        raise InvalidInput("must be a number with 0 < delta < 1", parameter="delta", got=delta)
    losses, inverse = np.unique(np.asarray(rho, dtype=np.float64), return_inverse=True)
    # A tiny loss may be taken for a larger one, which is sound and keeps the quotient below from overflowing.
    finite = np.clip(losses, 1e-30, np.finfo(np.float64).max)
    log_inverse_delta = -math.log(delta)
    with np.errstate(over="ignore"):
        simple = finite + 2.0 * np.sqrt(finite) * math.sqrt(log_inverse_delta)
        best = simple.copy()
        center = np.sqrt(log_inverse_delta / finite)
        for factor in _EXPONENT_FACTORS:
            beyond = center * factor  # alpha - 1, which keeps its digits when alpha is close to 1
            bound = (1.0 + beyond) * finite + (log_inverse_delta - np.log1p(beyond)) / beyond
            np.minimum(best, bound - np.log1p(1.0 / beyond), out=best)
        best += _ROUNDING * simple
    best[losses == 0.0] = 0.0
    best[losses == np.inf] = np.inf
    return np.asarray(np.maximum(best, 0.0)[inverse].reshape(np.shape(rho)))


def rho_of_epsilon_delta(epsilon: float, delta: float) -> float:
    """Return a rho, at most epsilon, such that rho-zCDP implies (epsilon, delta)-differential privacy.

    The inverse of `epsilon_delta_of_rho`, rounded down: that function says so of every rho that is returned.

    Examples
    --------
    >>> print(f"{rho_of_epsilon_delta(1.0, 1e-6):.5f}")
    0.02435
    """
    return _largest_rho(positive("epsilon", epsilon), positive("delta", delta))


@lru_cache(maxsize=256)
def _largest_rho(epsilon: float, delta: float) -> float:
    """Bisect. Models ask for the rho of the same settings again and again, and a search takes 36 ms."""
    enough, too_much = 0.0, epsilon
    while enough < (middle := (enough + too_much) / 2.0) < too_much:
        if float(epsilon_delta_of_rho(middle, delta)) <= epsilon:
            enough = middle
        else:
            too_much = middle
    return enough


def group_loss(losses: ArrayLike, unit: str) -> float:
    """Return what a group of items has lost when all its items may change at once, rounded up.

    Pure losses add up over the group. A zCDP loss grows with the square of the distance, so there the square roots add
    up: `(sum_i sqrt(rho_i))**2`, which is k^2 rho for k equal items (Bun and Steinke 2016, Proposition 1.9). The plain
    sum of the rho_i would promise too much.
    """
    members = np.asarray(losses, dtype=np.float64)
    if np.count_nonzero(members) <= 1 or unit == "epsilon":
        return _sum_up(members)
    roots = _sum_up(np.nextafter(np.sqrt(members), np.inf))
    return math.nextafter(roots * roots, math.inf)


def _sum_up(terms: NDArray[np.float64]) -> float:
    values = terms.tolist()
    try:
        total = math.fsum(values)
    except OverflowError:
        return math.inf
    if total == math.inf:
        return total
    # fsum is exact up to its one final rounding, so the sign of this residue tells which way that went.
    return math.nextafter(total, math.inf) if math.fsum([*values, -total]) > 0.0 else total


def _step_up(values: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the next float where asked: for floats >= 0 the next bit pattern. np.nextafter is slow."""
    return (values.view(np.int64) + where).view(np.float64)
