"""Vectors of millions of numbers: constant ones take the room of one, others are worked on a part at a time."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: How many numbers are worked on together: temporary vectors of this size stay in the cache of a processor.
TOGETHER = 2**15


def constant(value: object, size: int) -> NDArray[Any]:
    """Return a read-only vector that holds one number `size` times and takes the room of one.

    Examples
    --------
    >>> constant(0.5, 3), constant(0.5, 10**6).base.nbytes
    (array([0.5, 0.5, 0.5]), 8)
    """
    one = np.array(value)
    one.flags.writeable = False  # or views could be made to change it
    return np.ndarray(size, one.dtype, one, strides=(0,))  # np.broadcast_to takes three times as long


def is_constant(vector: NDArray[Any]) -> bool:
    """Return whether a vector is known to be constant, without looking at it."""
    return vector.strides == (0,) and vector.size > 0


def each(function: Callable[..., NDArray[Any]], *vectors: NDArray[Any]) -> NDArray[Any]:
    """Return a function of vectors of one size, number by number, a part at a time; of constant ones, a constant.

    Examples
    --------
    >>> each(np.add, constant(0.5, 10**6), constant(1.0, 10**6)).strides
    (0,)
    """
    if all(map(is_constant, vectors)):
        return constant(function(*(vector[:1] for vector in vectors))[0], vectors[0].size)
    size = vectors[0].size
    if size <= TOGETHER:
        return function(*vectors)
    found: NDArray[Any] | None = None
    for some in parts(size):
        part = function(*(vector[some] for vector in vectors))
        found = np.empty(size, dtype=part.dtype) if found is None else found
        found[some] = part
    assert found is not None  # noqa: S101  (for the type checker: there is a part)
    return found


def parts(size: int) -> Iterator[slice]:
    """Yield where the parts of a vector are, in order.

    Examples
    --------
    >>> [part.stop for part in parts(80_000)]
    [32768, 65536, 80000]
    """
    return (slice(begin, min(begin + TOGETHER, size)) for begin in range(0, size, TOGETHER))
