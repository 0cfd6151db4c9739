"""What a noisy overlap is turned into, and what the sizes of profiles cost where the score needs them."""

import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import one_of
from hetdp.core.errors import HetdpWarning
from hetdp.core.randomness import Stream
from hetdp.noise.laplace import laplace_integers
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.weights import WEIGHT_STEPS

__all__ = ["SCORES", "SIZES", "SIZE_SHARE", "Scoring", "own_factors", "scoring"]

SCORES = ("overlap", "cosine", "squared-cosine")
SIZES = ("noisy", "public")
#: Part of epsilon that noisy sizes take: a size is a sum over a whole profile and bears more noise than an overlap.
SIZE_SHARE = Fraction(1, 10)


@dataclass(frozen=True, repr=False, eq=False)
class Scoring:
    """How to score a pair.

    Attributes
    ----------
    score, sizes
        By name; `sizes` is None where no size is needed.
    factors
        One per user; a score is (overlap + noise) times the factors of both.
    squared
        Whether it is then squared.
    pair_epsilon, size_epsilon
        What each pair and each size costs; together the epsilon asked for.

    Privacy
    -------
    `factors` are public or released with `size_epsilon`; nothing else of a profile goes into a score.
    """

    score: str
    sizes: str | None
    factors: NDArray[np.float64]
    squared: bool
    pair_epsilon: Fraction
    size_epsilon: Fraction


def scoring(
    coded: CodedProfiles,
    raw_sizes: NDArray[np.int64],
    *,
    score: str,
    sizes: str,
    epsilon: Fraction,
    stream: Stream,
) -> Scoring:
    """Return how to score pairs at a total level of `epsilon` per recipient.

    Parameters
    ----------
    coded, raw_sizes
        The profiles, and how many items each user lists, counted or not; read only if sizes are declared public.
    score
        "overlap" needs no size. "cosine" divides by the root of both sizes. "squared-cosine" is the square of that,
        which turns large negative noise into similarity; for comparison only.
    sizes
        "noisy": each size is released once, as the sum of its weights plus noise, at a tenth of epsilon. "public":
        sizes are declared public, and neighbouring profiles then swap an item instead of adding one.
    epsilon, stream
        Level and source of the noise of noisy sizes.

    Privacy
    -------
    An item of weight 0 moves neither an overlap nor a noisy size. Public sizes are exactly that: public.
    """
    one_of("score", score, SCORES)
    one_of("sizes", sizes, SIZES)
    if score == "squared-cosine":
        warnings.warn(
            "score='squared-cosine' turns large negative noise into similarity; use it only to compare with 'overlap'.",
            HetdpWarning,
            stacklevel=3,
        )
    ones = np.ones(coded.n_users)
    if score == "overlap":
        return Scoring(score, None, ones, squared=False, pair_epsilon=epsilon, size_epsilon=Fraction(0))
    if sizes == "public":
        paid, known = Fraction(0), raw_sizes.astype(np.float64)
    else:
        paid = SIZE_SHARE * epsilon
        owner = np.repeat(np.arange(coded.n_users), coded.sizes)
        steps = np.bincount(owner, weights=coded.codes, minlength=coded.n_users).astype(np.int64)
        known = (steps + laplace_integers(WEIGHT_STEPS / paid, coded.n_users, stream)) / WEIGHT_STEPS
    return Scoring(score, sizes, own_factors(known), score == "squared-cosine", epsilon - paid, paid)


def own_factors(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a cosine multiplies an overlap by for the size of each side; below one item, as for one.

    Examples
    --------
    >>> own_factors(np.array([-3.0, 0.0, 4.0]))
    array([1. , 1. , 0.5])
    """
    factors: NDArray[np.float64] = 1.0 / np.sqrt(np.maximum(sizes, 1.0))
    return factors
