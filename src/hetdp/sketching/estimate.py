"""Reading sketches: what the bits say on average, once the noise that everybody knows is taken out.

Of n bits, n q are 1 by noise alone, with variance n q (1 - q); each that stands for an item of weight 1 adds 1 - 2q.
All of this is post-processing of what is public, done at home, and costs nobody anything.
"""

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.sketching.bits import pack
from hetdp.sketching.law import chance_of_one, contrast

__all__ = ["item_shares", "items_behind", "items_behind_error", "ones_among"]

_SMALLEST_SHARE = 1e-6


def ones_among(sketches: Sequence[bytes], places: Collection[int], *, size: int) -> NDArray[np.int64]:
    """Return how many bits each packed sketch has set at some places of a catalogue of `size` items.

    With the places of an exact profile the result is as private as the profile. The work depends on the number of
    sketches and the catalogue only.
    """
    mask = np.zeros(size, dtype=np.bool_)
    mask[list(places)] = True
    packed = np.frombuffer(pack(mask), dtype=np.uint8)
    counts = np.empty(len(sketches), dtype=np.int64)
    for place, sketch in enumerate(sketches):
        common = np.frombuffer(sketch, dtype=np.uint8) & packed
        counts[place] = np.bitwise_count(common).sum(dtype=np.int64)
    return counts


def items_behind(ones: ArrayLike, bits: ArrayLike, epsilon: Fraction | float) -> NDArray[np.float64]:
    """Return how many items there seem to be behind so many ones among so many bits: unbiased if all weigh 1."""
    estimate: NDArray[np.float64] = (np.asarray(ones) - np.asarray(bits) * chance_of_one(epsilon)) / contrast(epsilon)
    return estimate


def items_behind_error(bits: int, epsilon: Fraction | float) -> float:
    """Return one standard deviation of `items_behind`."""
    q = chance_of_one(epsilon)
    return math.sqrt(bits * q * (1.0 - q)) / contrast(epsilon)


def item_shares(ones: NDArray[np.integer], n_users: int, epsilon: Fraction | float) -> NDArray[np.float64]:
    """Return an estimate of the share of users who have each item, from the number of ones in all sketches.

    The estimate of an item is moved toward the mean over all items, the more the noisier they are (Stein), and kept
    above 0. An item that its owners weigh below 1 counts for less.
    """
    if not ones.size:
        return np.empty(0)
    plain = items_behind(ones, n_users, epsilon) / n_users
    noise = (items_behind_error(n_users, epsilon) / n_users) ** 2
    centre = plain.mean()
    variance = max(float(plain.var()) - noise, 0.0)
    trust = variance / (variance + noise) if variance > 0.0 else 0.0
    shares: NDArray[np.float64] = np.clip(centre + trust * (plain - centre), _SMALLEST_SHARE, 1.0 - _SMALLEST_SHARE)
    return shares
