"""Discrete Laplace noise that never leaves [-bound, bound]: P[X = x] proportional to exp(-|x| / scale) there, else 0.

Drawn by rejection, which is exact: a sample of the untruncated distribution, given that it lies inside, has this one.
How many samples are drawn depends on the noise alone, never on what it is added to.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.noise.laplace import laplace_integers

_INT64_MAX = 2**63 - 1


def truncated_laplace_integers(scale: Fraction, bound: int, count: int, stream: Stream) -> NDArray[np.int64]:
    """Draw `count` exact samples of discrete Laplace noise, given that it lies in [-bound, bound].

    Parameters
    ----------
    scale
        Positive, at most 2**52. A bound far below it is slow: about scale / bound samples are drawn for each.
    bound
        At least 0, below 2**63.
    count
        How many.
    stream
        Where the random words come from.

    Examples
    --------
    >>> from hetdp.core.randomness import seeded_stream
    >>> noise = truncated_laplace_integers(Fraction(10), 15, 1000, seeded_stream(1))
    >>> int(noise.min()), int(noise.max())
    (-15, 15)
    """
    if whole("bound", bound, minimum=0) >= _INT64_MAX:  # where samples saturate
        raise InvalidInput("must be below 2**63 - 1", parameter="bound", got=bound)
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        drawn = laplace_integers(scale, count - filled, stream)
        inside = drawn[(drawn >= -bound) & (drawn <= bound)]
        out[filled : filled + inside.size] = inside
        filled += inside.size
    return out
