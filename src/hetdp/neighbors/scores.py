"""How alike two profiles are, and how sure that is: scores by name, what sizes cost, and what noise alone reaches.

A score is (overlap + noise) / sqrt(d(size of one) d(size of the other)), squared or not; the first one is the default.
The largest of N Laplace draws grows like ln(N) / epsilon, so in a large crowd the best noisy scores belong to the
luckiest strangers. Significance is what it is everywhere (`sketching.reading`): one minus the chance that the best
of all others gets as far by noise alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, whole
from hetdp.core.randomness import Stream
from hetdp.noise.samplers import laplace_integers
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles
from hetdp.sketching.reading import rare_tail, significance

Sizes = NDArray[np.float64]

#: Where sizes come from: released with noise, or declared public.
SIZES = ("noisy", "public")
#: Part of epsilon that noisy sizes take: a size is a sum over a whole profile and bears more noise than an overlap.
_SIZE_SHARE = Fraction(1, 10)


@dataclass(frozen=True)
class Score:
    """A way to score pairs.

    Attributes
    ----------
    name
        As users ask for it.
    divisor
        What the size of a profile is turned into under the root; None if no size is needed.
    squared
        Whether the score is squared at the end.
    warning
        Why it should not be used except for comparison; None if it may be.
    """

    name: str
    divisor: Callable[[Sizes], Sizes] | None = None
    squared: bool = False
    warning: str | None = None

    @property
    def needs_sizes(self) -> bool:
        """Whether the sizes of profiles matter."""
        return self.divisor is not None

    def divisors(self, sizes: Sizes) -> Sizes:
        """Return what stands under the root for profiles of such sizes."""
        return np.ones(sizes.size) if self.divisor is None else self.divisor(sizes)

    def factors(self, sizes: Sizes) -> Sizes:
        """Return what an overlap is multiplied by for the size of each side; below one item, as for one.

        Examples
        --------
        >>> SCORES["cosine"].factors(np.array([-3.0, 0.0, 4.0]))
        array([1. , 1. , 0.5])
        """
        factors: Sizes = 1.0 / np.sqrt(np.maximum(self.divisors(sizes), 1.0))
        return factors

    def at_the_end(self, values: Sizes) -> Sizes:
        """Return values squared if the score is."""
        return values**2 if self.squared else values

    def size_epsilon(self, epsilon: Fraction, sizes: str) -> Fraction:
        """Return the part of epsilon that sizes take, before any noise is drawn; the rest is for the pairs."""
        return _SIZE_SHARE * epsilon if self.needs_sizes and sizes == "noisy" else Fraction(0)


SCORES = {
    score.name: score
    for score in (
        Score("overlap"),
        Score("cosine", divisor=lambda sizes: sizes),
        Score(
            "squared-cosine",
            divisor=lambda sizes: sizes,
            squared=True,
            warning="score='squared-cosine' turns large negative noise into similarity; use it only to compare with "
            "'overlap'.",
        ),
    )
}
DEFAULT_SCORE = next(iter(SCORES))


@dataclass(frozen=True, repr=False, eq=False)
class Scoring:
    """A score at work on one population.

    Attributes
    ----------
    score
        Which one.
    factors
        One per user; a score is (overlap + noise) times the factors of both. Public, or released with `size_epsilon`.
    pair_epsilon, size_epsilon
        What each pair and each size costs; together the epsilon asked for.
    """

    score: Score
    factors: Sizes
    pair_epsilon: Fraction
    size_epsilon: Fraction = field(default=Fraction(0))

    def significance(self, scores: Sizes, own: Sizes, others: int) -> Sizes:
        """Return how sure each score of recipients with the factors `own` is more than chance, among `others`."""
        overlaps = (np.sqrt(scores) if self.score.squared else scores) / own[:, None]
        return overlap_significance(
            overlaps,
            others=others,
            epsilon=self.pair_epsilon,
            factors=self.factors,
            both_sides=self.score.squared,
        )


def scoring(
    score: Score, coded: CodedProfiles, raw_sizes: NDArray[np.int64], *, sizes: str, epsilon: Fraction, stream: Stream
) -> Scoring:
    """Return how to score pairs at a total level of `epsilon` per recipient.

    Noisy sizes are released once, as the sum of the weights plus noise, at a tenth of epsilon. Public sizes are how
    many items each user lists, counted or not; adjacent data sets then swap an item instead of adding one. `raw_sizes`
    are read only in that case.

    Privacy
    -------
    An item of weight 0 moves neither an overlap nor a noisy size. Public sizes are exactly that: public.
    """
    paid = score.size_epsilon(epsilon, sizes)
    known = raw_sizes.astype(np.float64) if score.needs_sizes else np.ones(coded.n_users)
    if paid:
        owner = np.repeat(np.arange(coded.n_users), coded.sizes)
        steps = np.bincount(owner, weights=coded.codes, minlength=coded.n_users).astype(np.int64)
        known = (steps + laplace_integers(WEIGHT_STEPS / paid, coded.n_users, stream)) / WEIGHT_STEPS
    return Scoring(score, score.factors(known), epsilon - paid, paid)


def overlap_significance(
    scores: NDArray[np.float64],
    *,
    others: int,
    epsilon: Fraction | float,
    factors: NDArray[np.float64] | None = None,
    both_sides: bool = False,
) -> NDArray[np.float64]:
    """Return, for lists of noisy scores, how sure it is that each neighbour is more than chance; nan stays nan.

    Scores are noisy overlaps times the public factor of the candidate, of `factors`. With `both_sides`, large negative
    noise puts a candidate on the list too, as it does where scores are squared.

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


def items_to_stand_out(*, n_users: int, epsilon: Real) -> float:
    """Return how many common items (of weight 1) a neighbour needs to stand out from strangers.

    With that number, a neighbour is significant every other time. Known before anything is fitted, from the size of the
    crowd and the level of the noise of a pair alone.

    Parameters
    ----------
    n_users
        How many users there are.
    epsilon
        The level of the noise of a pair.

    Examples
    --------
    >>> round(items_to_stand_out(n_users=100_000, epsilon=1.0), 1)
    13.8
    >>> round(items_to_stand_out(n_users=120, epsilon=1.0), 1)
    7.1
    """
    others = whole("n_users", n_users, minimum=2) - 1
    return -math.log(2 * rare_tail(others)) / float(fraction("epsilon", epsilon))


def _laplace_tail(steps: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P[X >= steps] for discrete Laplace noise of a scale in steps; nan stays nan."""
    ratio = math.exp(-1 / scale)
    upper = np.exp(-np.maximum(steps, 0.0) / scale) / (1 + ratio)
    lower = 1 - np.exp(-np.maximum(1.0 - steps, 0.0) / scale) / (1 + ratio)
    return np.where(steps >= 1, upper, lower)
