"""How alike two profiles are: the scores by name, and what the sizes of profiles cost where a score needs them.

A score is (overlap + noise) / sqrt(d(size of one) d(size of the other)), squared or not; the first one is the default.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.noise.laplace import laplace_integers
from hetdp.profiles.coded import CodedProfiles
from hetdp.profiles.weights import WEIGHT_STEPS

__all__ = ["DEFAULT_SCORE", "SCORES", "SIZES", "Score", "Scoring", "scoring"]

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


def scoring(
    score: Score, coded: CodedProfiles, raw_sizes: NDArray[np.int64], *, sizes: str, epsilon: Fraction, stream: Stream
) -> Scoring:
    """Return how to score pairs at a total level of `epsilon` per recipient.

    Parameters
    ----------
    score
        One of `SCORES`.
    coded, raw_sizes
        The profiles, and how many items each user lists, counted or not; read only if sizes are declared public.
    sizes
        "noisy": each size is released once, as the sum of its weights plus noise, at a tenth of epsilon. "public":
        sizes are declared public, and adjacent data sets then swap an item instead of adding one.
    epsilon, stream
        Level and source of the noise of noisy sizes.

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
