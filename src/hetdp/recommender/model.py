"""The closed form: which items speak for which, from public evidence; scored at home for an exact own row.

It is EASE (a ridge regression of every item on all others) with three changes, each of which comes from what is known
about the noise: items count as much as their own count is known, directions of taste count as much as they rise above
the noise, and what remains in doubt is left to popularity. docs/proofs/recommender.md, "The closed form", says why.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

# The constants were chosen on one half of the users of benchmarks/recommender_quality.py and on made-up crowds.
#: A direction of taste is kept by half at this number of edges of the noise plus this number of mean counts.
_EDGES, _MEAN_COUNTS = 0.85, 3.0
#: How steeply directions are let go below that: without noise nearly as in a ridge regression (1), with noise faster.
_STEEPNESS = (1.25, 2.5)
#: Where the second direction lies at this number of edges, taste is not used at all, and where it is used in full.
_NO_TASTE, _FULL_TASTE = 0.96, 1.05
#: Less taste than this is none: it would only shuffle items of nearly equal counts.
_LEAST_TASTE = 0.03
#: Unpopular items are not told apart below this share of the mean count.
_LEAST_SHARE = 0.02
#: How much louder rare own items speak than popular ones: as counts to the power of minus this. From 0.2 to 0.4 it
#: costs next to no quality anywhere, and finds up to half as much again in the middle of the catalogue
#: (docs/guide/evaluation.md).
_RARITY = 0.25
#: For noise that is Gaussian by itself, not the sum over some people: as if it came from very many.
_VERY_MANY = 1e12


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a model is learned from: a function of published bits, or of one noisy matrix, and of nothing else.

    Attributes
    ----------
    counts
        How much each item of the head counts in all, noise included; may be negative.
    gram
        How much each pair of them counts together, unbiased off the diagonal; its diagonal is `counts`.
    edge
        About the largest eigenvalue that the noise alone has.
    noise
        Variance of one entry off the diagonal by noise alone.
    count_noise
        Variance of one count by noise alone.
    """

    counts: NDArray[np.float64]
    gram: NDArray[np.float64]
    edge: float
    noise: float
    count_noise: float

    def __repr__(self) -> str:
        return f"Evidence({self.counts.size} items)"


@dataclass(frozen=True, eq=False)
class ItemModel:
    """How much each item of the head speaks for each other. Public.

    Attributes
    ----------
    counts
        How much each item counts in all, noise included.
    weights
        `weights[i, j]`: how much having i speaks for j, by taste; 0 on the diagonal.
    taste
        How much of a score is taste; popularity is the rest. 0 where no taste rises above the noise: then everybody is
        recommended what is popular. Public, and worth saying.

    Examples
    --------
    >>> speaks = np.array([[0, 0.1], [0.3, 0]], dtype=np.float32)
    >>> ItemModel(np.array([3.0, 1.0]), speaks, taste=0.5).scores(np.array([0, 1, 1]), np.array([0])).round(3).tolist()
    [[0.375, 0.225], [0.75, 0.25]]
    """

    counts: NDArray[np.float64]
    weights: NDArray[np.float32]
    taste: float = 1.0

    def __repr__(self) -> str:
        return f"ItemModel({self.counts.size} items, taste {self.taste:.0%})"

    def scores(self, indptr: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of every item for exact own rows; people who have nothing get the shares of items."""
        scores = np.zeros((indptr.size - 1, self.counts.size))
        shares, popularity = self.shares, self.popularity
        for row, (begin, end) in enumerate(itertools.pairwise(indptr)):
            if end > begin:
                scores[row] = self.weights[items[begin:end]].sum(axis=0) + (end - begin) * popularity
            else:
                scores[row] = shares
        return scores

    @property
    def shares(self) -> NDArray[np.float64]:
        """Which part of all that is counted each item is."""
        return self.counts / _total(self.counts)

    @property
    def popularity(self) -> NDArray[np.float64]:
        """How much each item is recommended for being popular, for every item that somebody has."""
        return (1.0 - self.taste) * self.shares

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be saved, by name."""
        return {"model_counts": self.counts, "model_weights": self.weights, "model_taste": np.array([self.taste])}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model that was saved."""
        (taste,) = arrays["model_taste"]
        return cls(arrays["model_counts"], arrays["model_weights"], float(taste))


def learn(evidence: Evidence) -> ItemModel:
    """Return the model that evidence speaks for: a function of public numbers, without any chance.

    Examples
    --------
    >>> counts = np.array([50.0, 50.0, 50.0, 50.0])
    >>> gram = np.kron(np.eye(2), np.full((2, 2), 50.0))  # two tastes: the first two items, and the last two
    >>> model = learn(Evidence(counts, gram, edge=0.4, noise=0.01, count_noise=0.01))
    >>> model.taste > 0.9, bool(model.weights[0, 1] > 10 * abs(model.weights[0, 2]))
    (True, True)
    """
    from scipy.linalg import eigh  # who only scores, such as a node, does without

    known = _known_part(evidence)
    weighted, own = _weighted(evidence, known)
    noise = _noise(evidence, known)
    taste = (
        _trust(_second(weighted, known**2 * noise.by_popularity) / noise.edge) if own.size > 1 and noise.edge else 1.0
    )
    np.fill_diagonal(weighted, own)
    strengths, directions = eigh(weighted, overwrite_a=True, check_finite=False, driver="evd")
    middle = max(_EDGES * noise.edge + _MEAN_COUNTS * float(own.mean()), 1e-9)
    steepness = _STEEPNESS[0] + _STEEPNESS[1] * noise.private_share
    kept = (np.maximum(strengths, 0.0) / middle) ** steepness
    weights = _regression(directions, 1.0 / (1.0 + kept), known)
    taste *= _found_again(weights, evidence.counts) ** noise.private_share
    taste = taste if taste >= _LEAST_TASTE else 0.0
    weights *= (taste * _loudness(evidence.counts)).astype(np.float32)[:, None]
    return ItemModel(evidence.counts, weights, taste)


def visible_taste(noise: float, n_items: int) -> float:
    """Return how large a shared taste must be to rise above the noise, before anything is spent.

    Parameters
    ----------
    noise
        Variance of one entry off the diagonal: of N sketches N s2^2, with s2 = q (1 - q) / (1 - 2q)^2 and
        q = 1 / (1 + e^epsilon).
    n_items
        Items of the head.

    Returns
    -------
    float
        People who share it times items that each of them has of it. Where each has only a share f of these items, they
        need 1/f times as many.

    Examples
    --------
    1,000 people and 1,000 items, sketches of epsilon 1: 100 people with 10 items in common are just visible.

    >>> round(visible_taste(1000 * 0.9207**2, 1000))
    921
    """
    return math.sqrt(noise * n_items)


def noise_edge(spread: NDArray[np.float64], n_people: float) -> float:
    """Return the largest eigenvalue of noise: of Z^T Z without its diagonal, Z of independent people and items.

    Parameters
    ----------
    spread
        Standard deviation of an entry (i, j) is the root of `spread[i] * spread[j]`.
    n_people
        Rows of Z. The more, the more symmetric is the noise.

    Examples
    --------
    Equal items give the edge of Marchenko and Pastur, s2 (2 sqrt(N D) + D), here with s2 = 1:

    >>> round(noise_edge(np.full(100, np.sqrt(400.0)), 400), 3)
    500.0
    """
    from scipy.optimize import minimize_scalar

    single = spread / math.sqrt(n_people)  # variance that one person adds
    if not single.any():
        return 0.0

    # The resolvent at z is g_i = 1 / (z - N w_i y / (1 - y)) with y = sum of w_i g_i. Outside the spectrum z falls and
    # then rises again with y; where it turns is the edge.
    def place(logit: float) -> float:
        odds = math.exp(logit)
        share, shift = odds / (1.0 + odds), n_people * odds * single
        low = float(shift.max())
        high = low + float(single.sum()) / share
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if float((single / (middle - shift)).sum()) > share else (low, middle)
        return high

    found = minimize_scalar(place, bracket=None, bounds=(-40.0, 20.0), method="bounded", options={"xatol": 1e-6})
    return float(found.fun)


class _Noise(NamedTuple):
    """What is to be seen where people pick items by popularity alone."""

    #: How strong a direction may look that means nothing.
    edge: float
    #: Which part of it comes from the noise for privacy.
    private_share: float
    #: How many people would have an item twice, were there two of it: what popularity puts on the diagonal.
    by_popularity: NDArray[np.float64]


def _loudness(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how loudly each item speaks for the taste of who has it: what few have says more than what most have.

    Items below the mean count speak alike, since their counts are mostly noise. Over all that people have, the mean is
    1, so that taste and popularity keep their balance.

    Examples
    --------
    >>> _loudness(np.array([800.0, 50.0, 50.0, -100.0])).round(2).tolist()
    [0.96, 1.32, 1.32, 1.32]
    """
    there = np.maximum(counts, 0.0)
    mean = float(there.mean())
    if mean <= 0.0:
        return np.ones(counts.size)
    loud = (np.maximum(there, mean) / mean) ** -_RARITY
    heard: NDArray[np.float64] = loud * (there.sum() / (there @ loud))
    return heard


def _total(counts: NDArray[np.float64]) -> float:
    return max(float(np.maximum(counts, 0.0).sum()), 1e-9)


def _known_part(evidence: Evidence) -> NDArray[np.float64]:
    """Return how well the count of each item is known, in (0, 1]: tails of noise must not drown the head."""
    counts = np.maximum(evidence.counts, 0.0)
    counts = np.maximum(counts, max(_LEAST_SHARE * float(counts.mean()), 1e-9))
    known: NDArray[np.float64] = counts / (counts + math.sqrt(evidence.count_noise))
    return known


def _weighted(evidence: Evidence, known: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the pairs of weighted items, and their diagonal. Noise is far above the last digit of a float32."""
    weighted = (evidence.gram * known[:, None] * known).astype(np.float32)
    own = (known**2 * np.maximum(evidence.counts, 0.0)).astype(np.float32)
    return weighted, own


def _noise(evidence: Evidence, known: NDArray[np.float64]) -> _Noise:
    """Return the noise of weighted items.

    Beside the noise for privacy (with bits, it multiplies what is there), people are a sample: where everybody picks
    items by popularity alone, a pair still varies by its expected count.
    """
    counts, gram, size = np.maximum(evidence.counts, 0.0), evidence.gram, evidence.counts.size
    skew = max(evidence.edge - 2.0 * math.sqrt(evidence.noise * size), 0.0) / size
    people = evidence.noise / skew**2 if skew**2 * _VERY_MANY > evidence.noise else _VERY_MANY
    squares = counts**2
    pairs = counts @ gram @ counts - squares @ gram.diagonal()
    expected = max(pairs / max(squares.sum() ** 2 - (squares**2).sum(), 1e-9), 0.0) * squares
    private = np.full(size, evidence.noise)
    in_all = private + 2.0 * skew * counts + expected
    edge, private_edge = (noise_edge(np.sqrt(variance) * known**2, people) for variance in (in_all, private))
    return _Noise(edge, private_edge / max(edge, 1e-300), np.minimum(expected, counts))


def _second(weighted: NDArray[np.float32], diagonal: NDArray[np.float64]) -> float:
    """Return the strength of the second direction, where an item says no more about itself than popularity does."""
    np.fill_diagonal(weighted, diagonal)
    return float(np.linalg.eigvalsh(weighted)[-2])  # scipy's eigh holds up all threads, and with them Ctrl-C


def _regression(
    directions: NDArray[np.float32], left: NDArray[np.float32], known: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the weights of EASE: what is left of each direction stands for the inverse matrix of the regression."""
    weights = np.asarray((directions * left) @ directions.T, dtype=np.float32)
    scale = weights.diagonal() * known.astype(np.float32)
    weights *= -known.astype(np.float32)[:, None]
    weights /= scale
    np.fill_diagonal(weights, 0.0)
    return weights


def _trust(second: float) -> float:
    """Return how far taste is trusted: the first direction is popularity, a second one above the edge is taste."""
    return min(max((second - _NO_TASTE) / (_FULL_TASTE - _NO_TASTE), 0.0), 1.0) ** 2


def _found_again(weights: NDArray[Any], counts: NDArray[np.float64]) -> float:
    """Return which part of popularity, which the counts show without the pairs, the weights find again."""
    popular = np.maximum(counts, 0.0)
    found = float(popular @ (weights @ popular.astype(np.float32))) / max(float(popular @ popular), 1e-9)
    return min(max(found, 0.0), 1.0)
