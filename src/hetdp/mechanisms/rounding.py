"""Exact arithmetic at the seam between floats and whole steps: where rounding meets a promise, the promise wins."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import finite, float_up
from hetdp.core.errors import InvalidInput

_STEPS_PER_SCALE = 40
_STEPS_PER_REACH = 50
_SPLIT = 2.0**27 + 1
_EXACT_FLOATS = 2**53
_LARGEST_STEPS = 2.0**52
_SAFE_PRODUCT = 2.0**-900


def choose_grid(*, scale: float, reach: float, error: float, requested: float | None) -> float:
    """Return the grid step: a power of two, about 2**-40 of the noise scale.

    `reach` is the largest number that is counted in steps. It stays within 51 bits, where floats are exact. `error` is
    the rounding error of the evaluation; a finer grid would only pretend. A `requested` step must be a power of two.
    """
    if requested is not None:
        requested = finite("grid", requested)
        if requested <= 0 or math.frexp(requested)[0] != 0.5:  # noqa: PLR2004  (the mantissa of powers of two)
            raise InvalidInput("must be a power of two", parameter="grid", got=requested)
        finest = max(scale / _LARGEST_STEPS, 2 * reach / _LARGEST_STEPS, error)
        if requested < finest:
            raise InvalidInput(
                f"must be at least {finest:.3g} for this query and noise", parameter="grid", got=requested
            )
        return requested
    scale_exponent, reach_exponent = math.frexp(scale)[1] - 1, math.frexp(reach)[1] - 1
    exponent = max(
        # Where noise dwarfs the answer, finer steps keep the answer from being rounded away.
        min(scale_exponent - _STEPS_PER_SCALE, reach_exponent - 20),
        scale_exponent - 50,
        reach_exponent - _STEPS_PER_REACH,
        math.frexp(error)[1] if error > 0 else -1100,
        -1022,  # the smallest normal number
    )
    return math.ldexp(1.0, exponent)


def floor_product(weights: NDArray[np.float64], cap: Fraction, *, limit: int) -> NDArray[np.int64]:
    """Return min(limit, floor(weight * floor(cap))) exactly, for weights in [0, 1] and 0 <= limit <= 2**52.

    The product of two floats is split into its rounded value and its rounding error (Dekker). Only where the rounded
    value is a whole number can the error decide, and then only downward. A cap too large for a float to hold exactly is
    multiplied in fractions instead. Rounding up would break the promise to the item.
    """
    whole = math.floor(cap)
    if whole >= _EXACT_FLOATS:
        kinds, kind = np.unique(weights, return_inverse=True)
        floors = [min(limit, math.floor(Fraction(float(weight)) * whole)) for weight in kinds]
        return np.array(floors, dtype=np.int64)[kind]
    product = weights * float(whole)
    steps = np.floor(product)
    steps -= (steps == product) & (_product_error(weights, float(whole), product) < 0)
    # Below 2**-900 the error itself might underflow; such a weight is too small for a single step anyway.
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
    """Return left * right - product, exactly (Dekker), unless something overflows or underflows."""
    left_high = _SPLIT * left - (_SPLIT * left - left)
    left_low = left - left_high
    right_high = _SPLIT * right - (_SPLIT * right - right)
    right_low = right - right_high
    error: NDArray[np.float64] = left_low * right_low - (
        ((product - left_high * right_high) - left_low * right_high) - left_high * right_low
    )
    return error
