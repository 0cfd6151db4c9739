"""The public grid that answers live on, and the few exact operations that keep a promise through rounding."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.errors import InvalidInput

__all__ = ["choose_grid", "floor_product"]

_STEPS_PER_SCALE = 40
_STEPS_PER_REACH = 50
_SPLIT = 2.0**27 + 1


def choose_grid(*, scale: float, reach: float, error: float, requested: float | None) -> float:
    """Return the grid step: a power of two, about 2**-40 of the noise scale.

    Parameters
    ----------
    scale
        Scale of the noise, in the unit of the answer.
    reach
        Largest number the steps must count; keeps them within 64 bits.
    error
        Rounding error of the evaluation; a finer grid would only pretend.
    requested
        A step of the user's own; must be a power of two.

    Privacy
    -------
    All arguments are public, so the grid is.

    Examples
    --------
    >>> choose_grid(scale=1.0, reach=1.0, error=0.0, requested=None) == 2.0**-40
    True
    """
    if requested is not None:
        if not (math.isfinite(requested) and requested > 0 and math.frexp(requested)[0] == 0.5):  # noqa: PLR2004
            raise InvalidInput(f"grid must be a power of two. Got {requested!r} instead.")
        if scale / requested > 2.0**52 or reach / requested > 2.0**61:
            raise InvalidInput(
                f"grid must be at least 2**-52 of the noise scale {scale:.3g}. Got {requested!r} instead."
            )
        return requested
    exponent = max(
        math.frexp(scale)[1] - 1 - _STEPS_PER_SCALE,
        math.frexp(reach)[1] - 1 - _STEPS_PER_REACH,
        math.frexp(error)[1] if error > 0 else -1100,
        -1022,  # the smallest normal number
    )
    return math.ldexp(1.0, exponent)


def floor_product(weights: NDArray[np.float64], cap: Fraction) -> NDArray[np.int64]:
    """Return floor(weight * floor(cap)) exactly, for weights in [0, 1] and 0 <= cap < 2**53.

    The product of two floats is split into its rounded value and its rounding error (Dekker); only where the rounded
    value is a whole number can the error decide, and then only downward.

    Privacy
    -------
    Rounding up here would break the promise to the item, so the floor is exact and not merely accurate.

    Examples
    --------
    >>> floor_product(np.array([1.0, 0.1, 1 / 3]), Fraction(2**40))
    array([1099511627776,  109951162777,  366503875925])
    """
    whole = float(math.floor(cap))
    product = weights * whole
    error = _product_error(weights, whole, product)
    steps = np.floor(product)
    steps -= (steps == product) & (error < 0)
    # Below 2**-900 the error itself might underflow; such a weight cannot pay for a single step anyway.
    return np.where(weights < 2.0**-900, 0.0, np.maximum(steps, 0.0)).astype(np.int64)


def _product_error(left: NDArray[np.float64], right: float, product: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return left * right - product, exactly."""
    left_high = _SPLIT * left - (_SPLIT * left - left)
    left_low = left - left_high
    right_high = _SPLIT * right - (_SPLIT * right - right)
    right_low = right - right_high
    error: NDArray[np.float64] = left_low * right_low - (
        ((product - left_high * right_high) - left_low * right_high) - left_high * right_low
    )
    return error
