"""Evidence from one noisy matrix: a trusted curator publishes how often people have two items together.

A person with weights y on the head adds y y^T min(1, R/|y|) (unit "item") or u y y^T min(1, R²/|y|²) (unit "user", u
the person's own dial): the upper triangle with its diagonal, in whole steps, cut toward 0. Weights are counted in
steps of 1/255, so |y|² is a whole number too, one factor per person is all that is rounded before the product, and sums
are the same, bit for bit, in any order. Exact discrete Gaussian noise is added once, when all parts are in. Proved in
docs/proofs/recommender.md, "One noisy matrix".
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hetdp.core.compiled import kernel
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.noise.samplers import MAXIMUM_SCALE, gaussian_integers
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles
from hetdp.recommender.model import Evidence
from hetdp.recommender.parts import Learning, Part

#: Part of rho that goes to counts: the choice of a head, items outside it, and what is popular in a small crowd.
COUNTS_SHARE = {"item": Fraction(1, 20), "user": Fraction(1, 10)}
#: A person's factor has this many binary digits, and a product of two codes with it is cut by `_CUT` of them.
_FACTOR = 46
_CUT = 31
#: Steps of a product of two weights of 1, and of one weight of 1.
ONE_PAIR = WEIGHT_STEPS**2 << (_FACTOR - _CUT)
ONE_ITEM = WEIGHT_STEPS << (_FACTOR - _CUT)
#: An entry loses less than this many steps: by the cut itself, and by a factor that is a little too small.
_LOST = Fraction(10_001, 10_000)
#: More than the relative error of a division, a square root and a product of doubles.
_ROUNDING = 2.0**-50


@dataclass(frozen=True)
class MatrixRule:
    """How a person's items become whole numbers, and how far one item, or one person, can move them. Public.

    Attributes
    ----------
    unit
        What is protected: "item" or "user".
    clip
        R²: somebody with this many items of weight 1 counts in full; who has more counts less for each pair.

    Examples
    --------
    >>> print(f"{MatrixRule('item').pair_spread(4096) / ONE_PAIR:.4f} {math.sqrt(30 + 2 / 3):.4f}")
    5.5381 5.5377
    """

    unit: str
    clip: int = 30

    def pair_factors(self, coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:
        """Return, of each person, 2**46 times what a product of two weights counts: never more than it may."""
        return self._factors(coded, dials, squared=self.unit == "user")

    def count_factors(self, coded: CodedProfiles, dials: NDArray[np.uint8] | None) -> NDArray[np.int64]:
        """Return, of each person, 2**46 times what a weight counts: an item alone in full, a person within the ball."""
        if self.unit == "item":
            return np.full(coded.n_users, 1 << _FACTOR)
        return self._factors(coded, dials, squared=False)

    def pair_spread(self, size: int) -> int:
        """Return how far a weight of 1 may move the matrix of a head of some size, in steps: in L2, rounded up.

        Privacy
        -------
        Item i of weight v moves it by at most v times this; a person of dial u who comes or goes by at most u times
        this. For items it includes the cut of every entry to whole steps, which does not shrink with the weight: an
        item that counts has a weight of at least 1/255, so 255 times the cut is enough.
        """
        if self.unit == "user":
            return _root_up(Fraction(ONE_PAIR**2 * self.clip * (self.clip + 1), 2))
        lost = _root_up(_LOST**2 * size * (size + 1) / 2)
        return _root_up(ONE_PAIR**2 * Fraction(3 * self.clip + 2, 3)) + WEIGHT_STEPS * lost

    def pair_noise(self, size: int, rho: Fraction) -> float:
        """Return the variance of an entry of the noisy matrix of a head, where a weight of 1 pays rho in all."""
        return float(Fraction(self.pair_spread(size), ONE_PAIR) ** 2 / (2 * rho * (1 - COUNTS_SHARE[self.unit])))

    @property
    def count_spread(self) -> int:
        """How far a weight of 1 may move the counts, in steps."""
        return ONE_ITEM if self.unit == "item" else _root_up(Fraction(ONE_ITEM**2 * self.clip))

    def _factors(self, coded: CodedProfiles, dials: NDArray[np.uint8] | None, *, squared: bool) -> NDArray[np.int64]:
        """Return 2**46 u min(1, R/|y|), or its square without u, as whole numbers that are never above it.

        A quotient, a square root and a product: IEEE 754 fixes each, so every machine finds the same.
        """
        running = np.concatenate([[0], np.cumsum(coded.codes.astype(np.int64) ** 2)])
        squares, limit = np.diff(running[coded.indptr]), self.clip * WEIGHT_STEPS**2
        share = limit / np.maximum(squares, limit)
        if not squared:
            share = np.sqrt(share)
        share = np.where(squares > limit, share * (1.0 - _ROUNDING), 1.0)
        factors = np.floor(share * 2.0**_FACTOR).astype(np.int64)
        return factors if dials is None else factors * dials // WEIGHT_STEPS


def _root_up(square: Fraction) -> int:
    """Return the smallest whole number that is not below a square root."""
    return math.isqrt(math.ceil(square) - 1) + 1


@dataclass(frozen=True, eq=False, repr=False)
class MatrixSums:
    """What some people count together, in whole steps. Exact, so as private as their profiles.

    Attributes
    ----------
    counts
        Of each item of the catalogue.
    pairs
        Of each pair of items of the head: the pair (i, j), j <= i, is at i (i + 1) / 2 + j.
    """

    counts: NDArray[np.int64]
    pairs: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"MatrixSums({self.counts.size} items)"

    def __add__(self, other: "MatrixSums") -> "MatrixSums":
        return MatrixSums(self.counts + other.counts, self.pairs + other.pairs)

    @classmethod
    def of_nobody(cls, n_items: int, n_head: int) -> Self:
        """Return sums to begin with."""
        return cls(np.zeros(n_items, dtype=np.int64), np.zeros(n_head * (n_head + 1) // 2, dtype=np.int64))

    def add_counts(self, part: Part, rule: MatrixRule) -> None:
        """Add how much each item of the catalogue counts for some people, in place."""
        coded = part.coded
        _add_counts(coded.indptr, coded.items, coded.codes, rule.count_factors(coded, part.dials), self.counts)

    def add_pairs(self, part: Part, rule: MatrixRule, head: NDArray[np.int32]) -> None:
        """Add how much each pair of items of the head counts for some people, in place."""
        places = np.full(part.coded.n_items, -1, dtype=np.int32)
        places[head] = np.arange(head.size, dtype=np.int32)
        coded = part.coded.renamed(places, head.size)
        _add_pairs(coded.indptr, coded.items, coded.codes, rule.pair_factors(coded, part.dials), self.pairs)


@kernel
def _add_counts(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    codes: NDArray[np.uint8],
    factors: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    for person in range(factors.size):
        for place in range(indptr[person], indptr[person + 1]):
            counts[items[place]] += (np.int64(codes[place]) * factors[person]) >> _CUT


@kernel
def _add_pairs(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    codes: NDArray[np.uint8],
    factors: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> None:
    for person in range(factors.size):
        for one in range(indptr[person], indptr[person + 1]):
            row = np.int64(items[one])
            begin = row * (row + 1) // 2
            scaled = np.int64(codes[one]) * factors[person]
            for two in range(indptr[person], one + 1):
                pairs[begin + items[two]] += (scaled * np.int64(codes[two])) >> _CUT


def noisy_sums(exact: NDArray[np.int64], *, spread: int, rho: Fraction, stream: Stream) -> NDArray[np.int64]:
    """Return sums with exact noise, for which a weight of 1, that moves them by up to `spread` in L2, pays rho."""
    variance = spread**2 / (2 * rho)
    if variance >= MAXIMUM_SCALE**2:
        raise InvalidInput("must be larger for a matrix (got one that asks for too much noise)", parameter="epsilon")
    return exact + gaussian_integers(variance, exact.size, stream)


@dataclass(frozen=True, eq=False, repr=False)
class MatrixWork:
    """What is done with a part, on whatever machine: pairs of the head, if there is one, and counts where wanted."""

    rule: MatrixRule
    head: NDArray[np.int32] | None
    counting: bool

    def __call__(self, part: Part) -> MatrixSums:
        """Return what the people of a part count."""
        sums = MatrixSums.of_nobody(part.coded.n_items, 0 if self.head is None else self.head.size)
        if self.counting:
            sums.add_counts(part, self.rule)
        if self.head is not None:
            sums.add_pairs(part, self.rule, self.head)
        return sums


class MatrixLearning(Learning):
    """The exact sums of a crowd, part by part, and the noise that makes them public, drawn once.

    Parameters
    ----------
    rho
        What a weight of 1 pays for all that is released here, in zCDP.
    rule
        How people count.
    n_items
        Size of the catalogue.
    stream
        Where noise comes from.

    Privacy
    -------
    Sums are exact and stay here; `counts` and `evidence` are public. Unit "item": adding, removing or re-weighting an
    item of weight v costs rho v². Unit "user": a person of dial u who comes or goes costs rho u², one whose profile is
    exchanged 2 rho u². `COUNTS_SHARE` of rho pays for the counts. Once noise was drawn for a sum, nothing is added to
    it: a second look would be a second loss.
    """

    def __init__(self, rho: Fraction, rule: MatrixRule, *, n_items: int, stream: Stream) -> None:
        self._rho = rho
        self._counts_rho = rho * COUNTS_SHARE[rule.unit]
        self._rule = rule
        self._n_items = n_items
        self._stream = stream
        self._sums = MatrixSums.of_nobody(n_items, 0)
        self._counted_first = False
        self._head: NDArray[np.int32] | None = None
        self._counts: NDArray[np.float64] | None = None
        self._evidence: Evidence | None = None

    def __repr__(self) -> str:
        return f"MatrixLearning({self._n_items} items)"

    def __reduce__(self) -> str | tuple[object, ...]:
        message = "a matrix cannot be pickled before its noise is drawn: its sums are exact"
        raise TypeError(message)

    def work(self, head: NDArray[np.int32] | None) -> MatrixWork:
        """Return what is to be done with a part; `head` is where the items to relate are in the catalogue."""
        self._require_open(self._evidence if self._counted_first and head is not None else self._counts)
        if head is None:
            self._counted_first = True
        else:
            self._head = head
        return MatrixWork(self._rule, head, counting=head is None or not self._counted_first)

    def take(self, sums: MatrixSums) -> None:
        """Add what some people count."""
        pairs = self._sums.pairs + sums.pairs if self._sums.pairs.size else sums.pairs
        self._sums = MatrixSums(self._sums.counts + sums.counts, pairs)

    @property
    def counts(self) -> NDArray[np.float64]:
        """How much each item of the catalogue counts, noise included."""
        if self._counts is None:
            rho, spread = self._counts_rho, self._rule.count_spread
            self._counts = noisy_sums(self._sums.counts, spread=spread, rho=rho, stream=self._stream) / ONE_ITEM
        return self._counts

    def evidence(self) -> Evidence:
        """Return the noisy matrix of the head, and what is known about its noise."""
        if self._head is None:
            raise InvalidInput("a model must be learned from at least one part")
        if self._evidence is None:
            counts, size = self.counts[self._head], self._head.size
            rho, spread = self._rho - self._counts_rho, self._rule.pair_spread(size)
            noisy = noisy_sums(self._sums.pairs, spread=spread, rho=rho, stream=self._stream) / ONE_PAIR
            self._sums = MatrixSums.of_nobody(0, 0)
            gram = np.empty((size, size))
            for row in range(size):
                begin = row * (row + 1) // 2
                gram[row, : row + 1] = gram[: row + 1, row] = noisy[begin : begin + row + 1]
            noise = self._rule.pair_noise(size, self._rho)
            count_noise = float(Fraction(self._rule.count_spread, ONE_ITEM) ** 2 / (2 * self._counts_rho))
            diagonal, diagonal_noise = _joined(gram.diagonal(), noise, counts, count_noise)
            np.fill_diagonal(gram, diagonal)
            edge = 2.0 * math.sqrt(noise * size)
            self._evidence = Evidence(diagonal, gram, edge, noise=noise, count_noise=diagonal_noise)
        return self._evidence

    @staticmethod
    def _require_open(published: object) -> None:
        if published is not None:
            raise InvalidInput(
                "all parts must come before the model is first asked for, with release='matrix': its noise "
                "is drawn once, and more people would be another release (got another part)",
                hint="Fit anew.",
            )


def _joined(
    diagonal: NDArray[np.float64], noise: float, counts: NDArray[np.float64], count_noise: float
) -> tuple[NDArray[np.float64], float]:
    """Return a diagonal that knows the counts too, and the variance of its noise.

    Counts have less noise, but are not clipped in the same way: they are brought to the level of the diagonal, and both
    are averaged by how sure they are. All of it is made of noisy numbers.
    """
    level = min(1.0, max(1 / 16, float(diagonal.sum()) / max(float(counts.sum()), 1.0)))
    own, other = 1.0 / noise, 1.0 / (level**2 * count_noise)
    joined = (own * diagonal + other * level * counts) / (own + other)
    return np.asarray(joined, dtype=np.float64), 1.0 / (own + other)
