"""Is a neighbour there for a reason, or by chance? Public answers from public numbers.

The largest of N Laplace draws grows like ln(N) / epsilon, so in a large crowd the best noisy scores belong to the
luckiest strangers. Against that stands a threshold that follows from N, epsilon and k alone.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.checks import Real, fraction, whole
from hetdp.neighbors.coding import UNIT

__all__ = ["SIGNIFICANT", "items_to_stand_out", "overlap_significance", "sketch_significance"]

#: From here on a neighbour counts as more than chance.
SIGNIFICANT = 0.95


def overlap_significance(
    overlaps: NDArray[np.float64], *, others: int, epsilon: Fraction | float
) -> NDArray[np.float64]:
    """Return, for lists of noisy overlaps (best first), how sure it is that each is more than chance.

    Entry j of a list is 1 - P[at least j + 1 of `others` strangers, with nothing in common, score as high by noise
    alone]; nan stays nan.

    Privacy
    -------
    A function of the noisy scores and public numbers: it costs nothing.

    Examples
    --------
    >>> overlap_significance(np.array([[20.0, 12.0, 5.0]]), others=1000, epsilon=1).round(3)
    array([[1.   , 1.   , 0.344]])
    """
    return _more_than_chance(_laplace_tail(np.ceil(overlaps * UNIT - 0.5), UNIT / float(epsilon)), others)


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
    from scipy.special import betainc  # noqa: PLC0415  (heavy, and not everybody asks)

    by_chance = 1 / (1 + math.exp(float(epsilon)))
    size = sizes[:, None].astype(np.float64)
    shown = np.clip(np.rint(overlaps * (1 - 2 * by_chance) + size * by_chance), 0, size)
    # P[Binomial(size, q) >= shown], by the incomplete beta function; 0 is always reached.
    reached = np.where(shown < 1, 1.0, betainc(np.maximum(shown, 1), size - shown + 1, by_chance))
    return _more_than_chance(np.where(np.isnan(overlaps), np.nan, reached), others)


def items_to_stand_out(*, n_users: int, epsilon: Real, n_neighbors: int = 10) -> float:
    """Return how many common items (of weight 1) a neighbour needs to stand out from strangers in a list.

    With so many, a neighbour's score is significant every other time even in the last place of the list. Known before
    anything is fitted, from the size of the crowd, epsilon and k alone.

    Parameters
    ----------
    n_users
        Size of the crowd.
    epsilon
        Level of the noise of a pair.
    n_neighbors
        Length of the list.

    Privacy
    -------
    Reads nothing private.

    Examples
    --------
    >>> round(items_to_stand_out(n_users=100_000, epsilon=1.0, n_neighbors=10), 1)
    9.1
    >>> round(items_to_stand_out(n_users=120, epsilon=1.0, n_neighbors=10), 1)
    2.4
    """
    from scipy.special import betaincinv  # noqa: PLC0415  (heavy, and not everybody asks)

    others = whole("n_users", n_users, minimum=2) - 1
    places = min(whole("n_neighbors", n_neighbors, minimum=1), others)
    level = fraction("epsilon", epsilon)
    # The chance per stranger at which at least `places` of them get so far with probability 1 - SIGNIFICANT.
    reached = float(betaincinv(places, others - places + 1, 1 - SIGNIFICANT)) if places < others else 0.5
    scale = 1 / float(level)
    return max(0.0, -scale * math.log(2 * min(0.5, reached)))


def _more_than_chance(reached: NDArray[np.float64], others: int) -> NDArray[np.float64]:
    """Return 1 - P[at least j + 1 of the others get so far] for place j, where each does with probability `reached`."""
    from scipy.special import betainc  # noqa: PLC0415

    # P[Binomial(n, p) > j], by the incomplete beta function.
    places = np.minimum(np.arange(reached.shape[-1]), others - 1)
    found: NDArray[np.float64] = 1.0 - betainc(places + 1, others - places, reached)
    return found


def _laplace_tail(steps: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P[X >= steps] for discrete Laplace noise of a scale in steps; nan stays nan."""
    ratio = math.exp(-1 / scale)
    upper = np.exp(-np.maximum(steps, 0.0) / scale) / (1 + ratio)
    lower = 1 - np.exp(-np.maximum(1.0 - steps, 0.0) / scale) / (1 + ratio)
    return np.where(steps >= 1, upper, lower)
