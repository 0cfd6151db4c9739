"""Read sketches: estimates that take the known noise out of their bits, and how significant these are.

Of n bits of absent items, n q are 1 on average, with variance n q (1 - q). Each bit of an item of weight 1 adds
p(1) - q to that mean. All of this is post-processing of published bits and spends nothing.

Significance has one definition in all engines and in the node. The best of many strangers looks similar by chance. So a
neighbour is significant only if the *best of all candidates compared* rarely gets as far by noise alone. If one
candidate does with probability t, the best of n does with probability 1 - (1 - t)**n. The significance is 1 minus that.
"""

import math
import sys
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.sketching.bit_law import USUAL_TUNING, Number, chance_of_one, contrast
from hetdp.sketching.drawing import pack

Floats = NDArray[np.float64]

#: A result is significant if noise alone gives it to the best of all candidates less often than this.
RARE = 0.05
#: The same threshold for the significance, which is 1 minus that probability.
SIGNIFICANT = 1.0 - RARE

_SMALLEST_SHARE = 1e-6
#: Numbers of owners in the deconvolution: all below the first, then this number more at growing distances.
_FEW_OWNERS, _MORE_OWNERS = 12, 60
#: Rounds of expectation and maximisation. More would fit the noise.
_ROUNDS = 60
#: Bits are taken to be wrong at least this often; otherwise odds would overflow.
_RARELY = 1e-6
#: How slowly the value of a bit falls with the number of owners: 1 / log(3 + owners).
_COMMON = 3.0


# --- Estimates


def ones_among(sketches: Sequence[bytes], places: Collection[int], *, size: int) -> NDArray[np.int64]:
    """Return how many bits each packed sketch has set at some places of a catalogue of `size` items.

    With the places of an exact profile the result is as private as the profile. The work depends on the number of
    sketches and the catalogue only.
    """
    mask = np.zeros(size, dtype=np.bool_)
    mask[list(places)] = True
    packed = np.frombuffer(pack(mask), dtype=np.uint8)
    common = (np.frombuffer(sketch, dtype=np.uint8) & packed for sketch in sketches)
    return np.fromiter((np.bitwise_count(bits).sum(dtype=np.int64) for bits in common), np.int64, len(sketches))


def items_behind(ones: ArrayLike, bits: ArrayLike, epsilon: Number, *, tuned_for: Number = USUAL_TUNING) -> Floats:
    """Estimate how many items are present among those of some bits: unbiased if all weigh 1.

    Parameters
    ----------
    ones, bits
        The number of ones, and of bits that they are among.
    epsilon
        Privacy loss of an item of weight 1.
    tuned_for
        The public weight that sketches are tuned for.

    Examples
    --------
    >>> float(items_behind(500, 1000, 1.0).round()), float(items_behind(269, 1000, 1.0).round())
    (500.0, 0.0)
    """
    by_chance = np.asarray(bits) * chance_of_one(epsilon, tuned_for=tuned_for)
    estimate: Floats = (np.asarray(ones) - by_chance) / contrast(epsilon, tuned_for=tuned_for)
    return estimate


def items_behind_error(bits: int, epsilon: Number, *, tuned_for: Number = USUAL_TUNING) -> float:
    """Return the standard deviation of `items_behind` if all items are absent.

    Parameters
    ----------
    bits, epsilon, tuned_for
        As for `items_behind`.
    """
    q = chance_of_one(epsilon, tuned_for=tuned_for)
    return math.sqrt(bits * q * (1.0 - q)) / contrast(epsilon, tuned_for=tuned_for)


def item_shares(
    ones: NDArray[np.integer], n_users: int, epsilon: Number, *, tuned_for: Number = USUAL_TUNING
) -> Floats:
    """Estimate the share of users who have each item from the number of ones in all sketches.

    Estimates are shrunk towards the mean over all items, the more the noisier they are (Stein), and kept above 0. An
    owner with a weight below 1 counts for less.

    Parameters
    ----------
    ones
        The number of ones of each item.
    n_users
        The number of sketches.
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
    shares: Floats = np.clip(centre + trust * (plain - centre), _SMALLEST_SHARE, 1.0 - _SMALLEST_SHARE)
    return shares


def item_owners(
    ones: NDArray[np.integer], n_users: int, epsilon: Number, *, tuned_for: Number = USUAL_TUNING
) -> Floats:
    """Estimate how many users own each item from the number of ones in all sketches.

    The distribution of the number of owners is learned from all items of the catalogue (the noise is deconvolved). The
    estimate of an item is the mean number of owners given its ones. Where most items have few owners, its error is
    smaller than that of `item_shares`. An owner with a weight below 1 counts for less.

    Parameters
    ----------
    ones, n_users, epsilon, tuned_for
        As for `item_shares`.

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
    found: Floats = np.minimum(given @ owners / given.sum(axis=1), n_users)[which]
    return found


def _likelihood(ones: NDArray[np.integer], owners: Floats, n_users: int, epsilon: Number, tuned_for: Number) -> Floats:
    """Return the likelihood of numbers of ones by numbers of owners, up to a factor per row: a saddlepoint formula.

    The number of ones is the sum of two binomials, with the odds a and b of a one. Tilted by z = exp(s), its mean is
    the observed number; z solves a quadratic equation.
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
    likely: Floats = np.exp(log - log.max(axis=1, keepdims=True))
    return likely


def bit_values(owners: Floats, n_users: int, epsilon: Number, *, tuned_for: Number = USUAL_TUNING) -> Floats:
    """Return the value of a one of each item: by how much it raises the probability of an owner, over log(3 + owners).

    Nearly every one of an item with few owners is noise. An item that most people own says little about two people who
    both own it.

    Examples
    --------
    >>> bit_values(np.array([1.0, 30.0, 400.0]), 500, 3).round(3).tolist()
    [0.028, 0.16, 0.137]
    """
    share = np.clip(owners / n_users, _SMALLEST_SHARE, 1.0 - _SMALLEST_SHARE)
    q, p = (chance_of_one(epsilon, weight, tuned_for=tuned_for) for weight in (0.0, 1.0))
    if_one = share * p / (share * p + (1.0 - share) * q)
    if_zero = share * (1.0 - p) / (share * (1.0 - p) + (1.0 - share) * (1.0 - q))
    values: Floats = (if_one - if_zero) / np.log(_COMMON + owners)
    return values


# --- Significance


def binomial_tail(counts: ArrayLike, trials: ArrayLike, chance: float) -> Floats:
    """Return the probability of at least `counts` successes in `trials` independent trials; nan stays nan.

    The exact binomial law: a normal approximation is far too small for rare successes.
    """
    wanted, size = np.asarray(counts, dtype=np.float64), np.asarray(trials, dtype=np.int64)
    sizes, kind = np.unique(size, return_inverse=True)
    laws = [_tails(int(one), chance) for one in sizes]
    starts = np.cumsum([0, *(law.size for law in laws[:-1])])[kind].reshape(size.shape)
    places = np.clip(np.nan_to_num(wanted), 0, size + 1).astype(np.int64)
    return np.where(np.isnan(wanted), np.nan, np.concatenate(laws)[starts + places])


def _tails(trials: int, chance: float) -> Floats:
    """Return P[at least c] for c = 0, ..., trials + 1. Without scipy, which would take 25 MB of a node's memory."""
    done = np.arange(trials)
    # A huge epsilon rounds the probability to 0 or 1, whose logarithms are infinite.
    chance = min(max(chance, sys.float_info.min), 1.0 - sys.float_info.epsilon)
    # Each probability from the one before it, in logarithms, which do not underflow.
    steps = np.log((trials - done) / (done + 1)) + (math.log(chance) - math.log1p(-chance))
    law = np.exp(trials * math.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)]))
    tails = np.minimum(np.cumsum(law[::-1])[::-1], 1.0)
    tails[0] = 1.0
    return np.append(tails, 0.0)


def best_by_chance(tails: ArrayLike, candidates: int) -> Floats:
    """Return the probability that the best of `candidates` gets there by noise alone, if each does with `tails`."""
    return -np.expm1(_log_of_none(tails, candidates))


def significance(tails: ArrayLike, candidates: int) -> Floats:
    """Return 1 - `best_by_chance`, without cancellation."""
    return np.exp(_log_of_none(tails, candidates))


def rare_tail(candidates: int) -> float:
    """Return the probability of one candidate at which the best of `candidates` is just significant."""
    return -math.expm1(math.log1p(-RARE) / candidates)


def _log_of_none(tails: ArrayLike, candidates: int) -> Floats:
    """Return the logarithm of (1 - tails)**candidates."""
    with np.errstate(divide="ignore"):  # the logarithm of a tail of 1 is minus infinity, as it should be
        return candidates * np.log1p(-np.asarray(tails, dtype=np.float64))
