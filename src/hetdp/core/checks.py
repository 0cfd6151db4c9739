"""Checks of public parameters: each returns the value in the form that is used, or raises `InvalidInput`.

Only public parameters come here. Private values are never checked: they are clamped (see `hetdp.profiles.Box.clamp`),
because an exception about a private value would itself be a leak.
"""

import math
import numbers
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.errors import InvalidInput
from hetdp.core.vectors import constant, is_constant

#: A public number. Fractions are kept exact all the way into the noise.
Real = SupportsFloat | SupportsIndex | Fraction


def finite(name: str, value: object) -> float:
    """Return `value` as a float, or explain that it is not a finite number."""
    if type(value) is float and math.isfinite(value):  # nearly always, and the questions below take ten times as long
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise InvalidInput("must be a finite number", parameter=name, got=value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput("must be a finite number", parameter=name, got=value)
    return number


def positive(name: str, value: object) -> float:
    """Return `value` as a float, or explain that it is not a finite number above zero."""
    try:
        number = finite(name, value)
    except InvalidInput:
        number = 0.0
    if number <= 0.0:
        raise InvalidInput("must be a number above 0", parameter=name, got=value)
    return number


def not_negative(name: str, value: object) -> float:
    """Return `value` as a float, or explain that it is not a finite number of at least zero."""
    number = finite(name, value)
    if number < 0.0:
        raise InvalidInput("must be a number of at least 0", parameter=name, got=value)
    return number + 0.0  # never -0.0: SQLite would lose its sign


def fraction(name: str, value: object) -> Fraction:
    """Return the positive number `value` as the exact fraction it stands for."""
    number = positive(name, value)
    return Fraction(value) if isinstance(value, numbers.Rational) else Fraction(number)


def chance(name: str, value: object) -> Fraction:
    """Return a delta, the chance of a worse loss, as the exact fraction in (0, 1) it stands for."""
    exact = fraction(name, value)
    if exact >= 1:
        raise InvalidInput(
            "must be below 1, and far below one in the number of people", parameter=name, got=float(exact)
        )
    return exact


def whole(name: str, value: object, *, minimum: int) -> int:
    """Return `value` as an int of at least `minimum`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral) or int(value) < minimum:
        raise InvalidInput(f"must be a whole number of at least {minimum}", parameter=name, got=value)
    return int(value)


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidInput(f"must be one of {listed}", parameter=name, got=value)
    return value


def float_vector(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a public, finite, non-empty vector as a read-only copy; a constant one stays constant."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and is_constant(value):
        return constant(float_vector(name, value[:1].copy())[0], value.size)
    try:
        vector = np.array(value, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):  # its words quote a cell
        raise InvalidInput("must be a vector of numbers", parameter=name, got=type(value)) from None
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput(f"must be a non-empty vector (got shape {vector.shape})", parameter=name)
    if not np.isfinite(vector).all():
        raise InvalidInput("must hold finite numbers only (got nan or infinity)", parameter=name)
    vector.flags.writeable = False
    return vector


def float_up(value: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    nearest = float(value)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < value else nearest
