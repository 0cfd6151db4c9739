"""Reading sketches: what the bits say on average, once the noise that everybody knows is taken out.

Of n bits, n q are 1 by noise alone, with variance n q (1 - q); each that stands for an item of weight 1 adds p(1) - q.
All of this is post-processing of what is public, done at home, and costs nobody anything.
"""

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.sketching.bits import pack
from hetdp.sketching.law import USUAL_TUNING, chance_of_one, contrast

_SMALLEST_SHARE = 1e-6
#: Numbers of owners that a deconvolution tells apart: all up to here, then this number more, ever further apart.
_FEW_OWNERS, _MORE_OWNERS = 12, 60
#: Rounds of expectation and maximisation. More would fit the noise.
_ROUNDS = 60
#: Bits are taken to be wrong at least so often, or odds would be too far apart to compute with.
_RARELY = 1e-6
#: How slowly popular items lose in value: 1 / log(3 + owners).
_COMMON = 3.0


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


def items_behind(
    ones: ArrayLike, bits: ArrayLike, epsilon: Fraction | float, *, tuned_for: Fraction | float = USUAL_TUNING
) -> NDArray[np.float64]:
    """Return how many items there seem to be behind `ones` among `bits`: unbiased if all weigh 1.

    Parameters
    ----------
    ones, bits
        How many ones there are, among how many bits.
    epsilon
        The level of the sketches.
    tuned_for
        The public weight that they are tuned for.

    Examples
    --------
    >>> float(items_behind(500, 1000, 1.0).round()), float(items_behind(269, 1000, 1.0).round())
    (500.0, 0.0)
    """
    by_chance = np.asarray(bits) * chance_of_one(epsilon, tuned_for=tuned_for)
    estimate: NDArray[np.float64] = (np.asarray(ones) - by_chance) / contrast(epsilon, tuned_for=tuned_for)
    return estimate


def items_behind_error(bits: int, epsilon: Fraction | float, *, tuned_for: Fraction | float = USUAL_TUNING) -> float:
    """Return one standard deviation of `items_behind` where nothing is behind the bits.

    Parameters
    ----------
    bits
        How many there are.
    epsilon, tuned_for
        As for `items_behind`.
    """
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    return math.sqrt(bits * q * (1.0 - q)) / contrast(epsilon, tuned_for=tuned_for)


def item_shares(
    ones: NDArray[np.integer],
    n_users: int,
    epsilon: Fraction | float,
    *,
    tuned_for: Fraction | float = USUAL_TUNING,
) -> NDArray[np.float64]:
    """Return an estimate of the share of users who have each item, from the number of ones in all sketches.

    The estimate of an item is moved toward the mean over all items, the more the noisier they are (Stein), and kept
    above 0. An item that its owners weigh below 1 counts for less.

    Parameters
    ----------
    ones
        How many sketches show each item.
    n_users
        How many sketches there are.
    epsilon, tuned_for
        As for `items_behind`.
    """
    if not ones.size:
        return np.empty(0)
    plain = items_behind(ones, n_users, epsilon, tuned_for=tuned_for) / n_users
    noise = (items_behind_error(n_users, epsilon, tuned_for=tuned_for) / n_users) ** 2
    centre = plain.mean()
    variance = max(float(plain.var()) - noise, 0.0)
    trust = variance / (variance + noise) if variance > 0.0 else 0.0
    shares: NDArray[np.float64] = np.clip(centre + trust * (plain - centre), _SMALLEST_SHARE, 1.0 - _SMALLEST_SHARE)
    return shares


def item_owners(
    ones: NDArray[np.integer],
    n_users: int,
    epsilon: Fraction | float,
    *,
    tuned_for: Fraction | float = USUAL_TUNING,
) -> NDArray[np.float64]:
    """Return how many users probably own each item, given the number of ones in all sketches.

    Which numbers of owners are how common is learned from all items of the catalogue (the noise is deconvolved), and
    the estimate of an item is its mean given the item's ones. Where most items have few owners, a long tail, it is much
    closer than `item_shares`. Owners who weigh the item below 1 count for less.

    Parameters
    ----------
    ones
        How many sketches show each item.
    n_users
        How many sketches there are.
    epsilon, tuned_for
        As for `items_behind`.

    Examples
    --------
    >>> item_owners(np.array([0, 0, 0, 1, 1, 9]), 10, 20).round(1).tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 9.0]
    """
    if not ones.size:
        return np.empty(0)
    seen, which, often = np.unique(ones, return_inverse=True, return_counts=True)
    steps = np.geomspace(_FEW_OWNERS, max(_FEW_OWNERS, n_users), _MORE_OWNERS)
    owners = np.unique(np.minimum(np.concatenate([np.arange(_FEW_OWNERS), np.rint(steps)]), n_users))
    likely = _likelihood(seen, owners, n_users, epsilon, tuned_for)
    common = np.full(owners.size, 1.0 / owners.size)
    given = likely * common
    for _ in range(_ROUNDS):
        given /= given.sum(axis=1, keepdims=True)
        common = often @ given / ones.size
        given = likely * common
    found: NDArray[np.float64] = np.minimum(given @ owners / given.sum(axis=1), n_users)[which]
    return found


def _likelihood(
    ones: NDArray[np.integer],
    owners: NDArray[np.float64],
    n_users: int,
    epsilon: Fraction | float,
    tuned_for: Fraction | float,
) -> NDArray[np.float64]:
    """Return how likely numbers of ones are by numbers of owners, up to a factor per row: a saddlepoint formula.

    Ones are the sum of two binomials, with the odds a and b of a one. Tilted by z = exp(s) their mean is the number of
    ones seen; z solves a quadratic equation.
    """
    q, p = (chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in (0.0, 1.0))
    a, b = (chance / (1.0 - chance) for chance in (min(p, 1 - _RARELY), max(q, _RARELY)))
    others = n_users - owners
    x = np.minimum(ones, n_users - 0.5)[:, None]
    square, line = (n_users - x) * a * b, owners * a + others * b - x * (a + b)
    root = np.abs(line) + np.sqrt(line**2 + 4.0 * square * x)
    tilt = np.where(line > 0, 2.0 * x / root, root / (2.0 * square))
    spread = owners * a * tilt / (1.0 + a * tilt) ** 2 + others * b * tilt / (1.0 + b * tilt) ** 2
    log = (
        owners * (np.log1p(a * tilt) - math.log1p(a))
        + others * (np.log1p(b * tilt) - math.log1p(b))
        - np.where(x > 0, x * np.log(np.where(x > 0, tilt, 1.0)) + np.log(2.0 * np.pi * spread + (x == 0)) / 2.0, 0.0)
    )
    likely: NDArray[np.float64] = np.exp(log - log.max(axis=1, keepdims=True))
    return likely


def bit_values(
    owners: NDArray[np.float64],
    n_users: int,
    epsilon: Fraction | float,
    *,
    tuned_for: Fraction | float = USUAL_TUNING,
) -> NDArray[np.float64]:
    """Return how much a one is worth for each item: by how much it makes an owner likelier, less for common items.

    Noise alone explains nearly every one of an item that hardly anybody owns; and what everybody owns says little about
    two who both do (1 / log(3 + owners)).

    Examples
    --------
    >>> bit_values(np.array([1.0, 30.0, 400.0]), 500, 3).round(3).tolist()
    [0.028, 0.16, 0.137]
    """
    share = np.clip(owners / n_users, _SMALLEST_SHARE, 1.0 - _SMALLEST_SHARE)
    q, p = (chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in (0.0, 1.0))
    if_one = share * p / (share * p + (1.0 - share) * q)
    if_zero = share * (1.0 - p) / (share * (1.0 - p) + (1.0 - share) * (1.0 - q))
    values: NDArray[np.float64] = (if_one - if_zero) / np.log(_COMMON + owners)
    return values
