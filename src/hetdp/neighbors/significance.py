"""Is a neighbour there for a reason, or by chance? Public answers from public numbers.

The largest of N Laplace draws grows like ln(N) / epsilon, so in a large crowd the best noisy scores belong to the
luckiest strangers. Significance is what it is everywhere (`sketching.chance`): one minus the chance that the best of
all others gets as far by noise alone.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.profiles.weights import WEIGHT_STEPS
from hetdp.sketching.chance import SIGNIFICANT, binomial_tail, rare_tail, significance
from hetdp.sketching.estimate import items_behind
from hetdp.sketching.law import chance_of_one, contrast

__all__ = [
    "SIGNIFICANT",
    "items_to_stand_out",
    "overlap_significance",
    "sketch_items_to_stand_out",
    "sketch_significance",
    "vote_weights",
]


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
    array([[1.   , 0.997, 0.034]])
    """
    scale = WEIGHT_STEPS / float(epsilon)
    sides = 2.0 if both_sides else 1.0
    if factors is None or (factors == 1).all():
        reached = _laplace_tail(np.ceil(scores * WEIGHT_STEPS - 0.5), scale)
        return significance(np.minimum(1.0, sides * reached), others)
    # Strangers have all kinds of factors: average over them on a ladder of scores, and read off between its rungs.
    reach = scale * 60 * float(factors.max())
    ladder = np.concatenate([-np.geomspace(reach, reach * 1e-6, 256), [0.0], np.geomspace(reach * 1e-6, reach, 256)])
    kinds, counts = np.unique(np.round(factors, 6), return_counts=True)
    tails = np.array([(_laplace_tail(rung / kinds, scale) * counts).sum() for rung in ladder]) / factors.size
    found = np.minimum(1.0, sides * np.exp(np.interp(scores * WEIGHT_STEPS, ladder, np.log(np.maximum(tails, 1e-300)))))
    return significance(np.where(np.isnan(scores), np.nan, found), others)


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
    size = sizes[:, None].astype(np.float64)
    shown = np.clip(np.rint(overlaps * contrast(epsilon) + size * chance_of_one(epsilon)), 0, size)
    return significance(binomial_tail(shown, size, chance_of_one(epsilon)), others)


def vote_weights(sure: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much each neighbour's vote counts, from the significance of lists (best first): 0 where it is nan.

    A vote need not be beyond doubt to help, so its weight is milder than the significance: one minus the share of
    strangers to be expected among the neighbours down to this place. Where nobody gets by noise alone with probability
    s, -log(s) strangers are expected to (Poisson).

    Examples
    --------
    >>> vote_weights(np.array([[0.95, 0.6, 0.01]])).round(2)
    array([[0.95, 0.74, 0.  ]])
    """
    with np.errstate(divide="ignore"):
        strangers = np.where(np.isnan(sure), np.inf, -np.log(sure))
    shares = strangers / np.arange(1, sure.shape[-1] + 1)
    # The smallest share of this place and all after it, so that weights never rise down the list.
    best = np.minimum.accumulate(shares[..., ::-1], axis=-1)[..., ::-1]
    return np.where(np.isnan(sure), 0.0, 1.0 - np.minimum(best, 1.0))


def items_to_stand_out(*, n_users: int, epsilon: Real) -> float:
    """Return how many common items (of weight 1) a neighbour needs to stand out from strangers.

    With so many, a neighbour is significant every other time. Known before anything is fitted, from the size of the
    crowd and the level of the noise of a pair alone.

    Examples
    --------
    >>> round(items_to_stand_out(n_users=100_000, epsilon=1.0), 1)
    13.8
    >>> round(items_to_stand_out(n_users=120, epsilon=1.0), 1)
    7.1
    """
    others = whole("n_users", n_users, minimum=2) - 1
    return -math.log(2 * rare_tail(others)) / float(fraction("epsilon", epsilon))


def sketch_items_to_stand_out(*, n_users: int, epsilon: Real, size: int) -> float:
    """Return how many common items stand out from strangers' sketches, for a recipient with `size` items.

    With so many, a neighbour is significant every other time; infinity if all items of the recipient are not enough.

    Examples
    --------
    >>> few = sketch_items_to_stand_out(n_users=10_000, epsilon=3, size=100)
    >>> few < sketch_items_to_stand_out(n_users=10_000, epsilon=1, size=100)
    True
    """
    others = whole("n_users", n_users, minimum=2) - 1
    size = whole("size", size, minimum=1)
    level = fraction("epsilon", epsilon)
    # P[a stranger shows at least c bits], for c = 1, 2, ...; the first that is small enough stands out.
    tails = binomial_tail(np.arange(1, size + 1), size, chance_of_one(level))
    needed = 1 + int(np.count_nonzero(tails > rare_tail(others)))
    common = max(0.0, float(items_behind(needed, size, level)))
    return common if common <= size else math.inf


def _laplace_tail(steps: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P[X >= steps] for discrete Laplace noise of a scale in steps; nan stays nan."""
    ratio = math.exp(-1 / scale)
    upper = np.exp(-np.maximum(steps, 0.0) / scale) / (1 + ratio)
    lower = 1 - np.exp(-np.maximum(1.0 - steps, 0.0) / scale) / (1 + ratio)
    return np.where(steps >= 1, upper, lower)
