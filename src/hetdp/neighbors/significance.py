"""Is a neighbour there for a reason, or by chance? Public answers from public numbers.

The largest of N Laplace draws grows like ln(N) / epsilon, so in a large crowd the best noisy scores belong to the
luckiest strangers. The significance of a neighbour is 1 - q, where q is the share of chance hits that must be expected
among the neighbours that score at least as high (the false discovery rate of Benjamini and Hochberg): of neighbours
with a significance of at least 0.95, at most one in twenty is expected to be there by chance; and if nobody has
anything in common, even a single one stands out with probability at most 0.05.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.profiles.weights import WEIGHT_STEPS

__all__ = [
    "SIGNIFICANT",
    "items_to_stand_out",
    "overlap_significance",
    "sketch_items_to_stand_out",
    "sketch_significance",
]

#: From here on a neighbour counts as more than chance.
SIGNIFICANT = 0.95


def overlap_significance(
    scores: NDArray[np.float64],
    *,
    others: int,
    epsilon: Fraction | float,
    factors: NDArray[np.float64] | None = None,
    both_sides: bool = False,
) -> NDArray[np.float64]:
    """Return, for lists of noisy scores (best first), how sure it is that each neighbour is more than chance.

    Parameters
    ----------
    scores
        Noisy overlaps, or noisy overlaps times the factor of the candidate; nan stays nan.
    others
        How many candidates there were.
    epsilon
        Level of the noise of a pair.
    factors
        The public factors of all candidates; None if all are 1.
    both_sides
        Whether large negative noise puts a candidate on the list too, as it does where scores are squared.

    Privacy
    -------
    A function of the noisy scores and public numbers: it costs nothing.

    Examples
    --------
    >>> overlap_significance(np.array([[20.0, 12.0, 5.0]]), others=1000, epsilon=1).round(3)
    array([[1.   , 0.998, 0.   ]])
    """
    scale = WEIGHT_STEPS / float(epsilon)
    sides = 2.0 if both_sides else 1.0
    if factors is None or (factors == 1).all():
        reached = _laplace_tail(np.ceil(scores * WEIGHT_STEPS - 0.5), scale)
        return _more_than_chance(np.minimum(1.0, sides * reached), others)
    # Strangers have all kinds of factors: average over them on a ladder of scores, and read off between its rungs.
    reach = scale * 60 * float(factors.max())
    ladder = np.concatenate([-np.geomspace(reach, reach * 1e-6, 256), [0.0], np.geomspace(reach * 1e-6, reach, 256)])
    kinds, counts = np.unique(np.round(factors, 6), return_counts=True)
    tails = np.array([(_laplace_tail(rung / kinds, scale) * counts).sum() for rung in ladder]) / factors.size
    found = np.minimum(1.0, sides * np.exp(np.interp(scores * WEIGHT_STEPS, ladder, np.log(np.maximum(tails, 1e-300)))))
    return _more_than_chance(np.where(np.isnan(scores), np.nan, found), others)


def sketch_significance(
    overlaps: NDArray[np.float64], sizes: NDArray[np.int64], *, others: int, epsilon: Fraction | float
) -> NDArray[np.float64]:
    """Return the same for estimates from sketches, of recipients with so many items.

    A stranger's sketch shows each item with probability q = 1 / (1 + exp(epsilon)), so the bits shown are binomial.

    Privacy
    -------
    For the recipient, who knows the size of the own profile; everything else is public.

    Examples
    --------
    >>> sketch_significance(np.array([[30.0, 2.0]]), np.array([50]), others=1000, epsilon=3).round(3)
    array([[1., 0.]])
    """
    from scipy.special import betainc, expit

    by_chance = float(expit(-float(epsilon)))
    size = sizes[:, None].astype(np.float64)
    shown = np.clip(np.rint(overlaps * (1 - 2 * by_chance) + size * by_chance), 0, size)
    # P[Binomial(size, q) >= shown], by the incomplete beta function; 0 is always reached.
    reached = np.where(shown < 1, 1.0, betainc(np.maximum(shown, 1), size - shown + 1, by_chance))
    return _more_than_chance(np.where(np.isnan(overlaps), np.nan, reached), others)


def items_to_stand_out(*, n_users: int, epsilon: Real, n_neighbors: int = 10) -> float:
    """Return how many common items (of weight 1) a neighbour needs to stand out from strangers in a list.

    If all of a list has so many, each of them is significant every other time. Known before anything is fitted, from
    the size of the crowd, epsilon and k alone.

    Parameters
    ----------
    n_users
        Size of the crowd.
    epsilon
        Level of the noise of a pair.
    n_neighbors
        Length of the list.

    Examples
    --------
    >>> round(items_to_stand_out(n_users=100_000, epsilon=1.0, n_neighbors=10), 1)
    11.5
    >>> round(items_to_stand_out(n_users=120, epsilon=1.0, n_neighbors=10), 1)
    4.8
    """
    others = whole("n_users", n_users, minimum=2) - 1
    places = min(whole("n_neighbors", n_neighbors, minimum=1), others)
    scale = 1 / float(fraction("epsilon", epsilon))
    # The chance per stranger at which as many of them as one in twenty places are expected to get so far.
    reached = min(0.5, (1 - SIGNIFICANT) * places / others)
    return -scale * math.log(2 * reached)


def sketch_items_to_stand_out(*, n_users: int, epsilon: Real, size: int, n_neighbors: int = 10) -> float:
    """Return how many common items stand out from strangers' sketches, for a recipient with `size` items.

    Parameters
    ----------
    n_users, epsilon, n_neighbors
        As in `items_to_stand_out`; epsilon is that of the sketches.
    size
        Items of the recipient.

    Returns
    -------
    float
        With so many, a neighbour is significant every other time even in the last place; infinity if all items of the
        recipient are not enough.

    Examples
    --------
    >>> few = sketch_items_to_stand_out(n_users=10_000, epsilon=3, size=100)
    >>> few < sketch_items_to_stand_out(n_users=10_000, epsilon=1, size=100)
    True
    """
    from scipy.special import betainc, expit

    others = whole("n_users", n_users, minimum=2) - 1
    size = whole("size", size, minimum=1)
    places = min(whole("n_neighbors", n_neighbors, minimum=1), others)
    by_chance = float(expit(-float(fraction("epsilon", epsilon))))
    # The chance per stranger at which as many of them as one in twenty places are expected to get so far.
    reached = min(0.5, (1 - SIGNIFICANT) * places / others)
    # P[a stranger shows at least c bits], for c = 1, 2, ...; the first that is small enough stands out.
    bits = np.arange(1, size + 1)
    needed = 1 + int(np.count_nonzero(betainc(bits, size - bits + 1, by_chance) > reached))
    common = max(0.0, (needed - size * by_chance) / (1 - 2 * by_chance))
    return common if common <= size else math.inf


def _more_than_chance(reached: NDArray[np.float64], others: int) -> NDArray[np.float64]:
    """Return 1 - q, where each of the others gets as far as a neighbour with probability `reached`."""
    places = np.arange(1, reached.shape[-1] + 1)
    expected = np.where(np.isnan(reached), np.inf, others * reached / places)
    # The smallest rate of this place and all after it, so that significance never rises down the list.
    rates = np.minimum.accumulate(expected[..., ::-1], axis=-1)[..., ::-1]
    return np.where(np.isnan(reached), np.nan, 1.0 - np.minimum(rates, 1.0))


def _laplace_tail(steps: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P[X >= steps] for discrete Laplace noise of a scale in steps; nan stays nan."""
    ratio = math.exp(-1 / scale)
    upper = np.exp(-np.maximum(steps, 0.0) / scale) / (1 + ratio)
    lower = 1 - np.exp(-np.maximum(1.0 - steps, 0.0) / scale) / (1 + ratio)
    return np.where(steps >= 1, upper, lower)
