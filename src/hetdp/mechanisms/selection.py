"""Choose one of many public candidates by a score in which every item has a say no larger than its weight.

The personalised exponential mechanism, for what stretching cannot do well: medians, quantiles, extremes, modes. The
candidate with the best score s* always gets a coin that lands True, another one a coin of probability
exp(-(epsilon / 2) (s* - s)); a winner is drawn uniformly among the True ones ("permute and flip", as private as the
exponential mechanism and never less accurate). All coins are exact, and their number does not depend on the data.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, float_vector, fraction, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.examples import UNIT, WEIGHTS, Example, mechanism_examples
from hetdp.mechanisms.plan import FullPricePlan, Mechanism, require_plain_epsilon
from hetdp.mechanisms.queries.base import Floats
from hetdp.mechanisms.stretching import as_weights
from hetdp.noise.coins import choose_one, survive
from hetdp.profiles import Box, Categories, PrivacyWeights

__all__ = ["SELECTED_BY_NAME", "Selection", "maximum", "median", "minimum", "mode", "quantile"]

Steps = NDArray[np.int64]

#: Weights and quantiles are counted in steps of 2**-20, rounded down; scores are exact integers below 2**62.
_STEPS = 2**20
_LARGEST_SIZE = 2**21
#: How far inside the data an extreme is looked for, times 1 / epsilon: so far that all candidates beyond the data
#: together, each exp(-(epsilon / 2) margin) as likely as the right one, win once in twenty times (e^-3) at most.
_SELDOM = 6.0


@dataclass(frozen=True, repr=False, eq=False)
class Selection(Mechanism):
    """A choice among public candidates."""

    label: str
    box: Box
    weights: PrivacyWeights
    candidates: Floats
    #: From clamped values, weight steps and epsilon to one whole score per candidate, in steps of 2**-40. Replacing
    #: item i must not move any score by more than its weight (docs/proofs/mechanisms.md).
    score: Callable[[Floats, Steps, float], Steps]

    def __repr__(self) -> str:
        return f"Selection({self.label} of {self.box!r}, {self.candidates.size} candidates)"

    @property
    def name(self) -> str:
        return self.label

    @property
    def domain(self) -> Box:
        return self.box

    def plan(self, *, noise: str, amount: object, grid: float | None = None) -> "SelectionPlan":
        require_plain_epsilon(noise, grid, "selection")
        return SelectionPlan(self, fraction("epsilon", amount))


@dataclass(frozen=True, repr=False, eq=False)
class SelectionPlan(FullPricePlan):
    """A planned selection."""

    mechanism: Selection
    level: Fraction
    noise: str = "permute and flip"
    grid: None = None

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> NDArray[np.float64]:
        clamped = self.mechanism.domain.clamp(values)
        steps = np.floor(np.where(keep, self.mechanism.weights.values, 0.0) * _STEPS).astype(np.int64)
        scores = self.mechanism.score(clamped, steps, self.amount)
        behind = scores.max() - scores
        unit = self.level / (2 * _STEPS**2)
        rough = np.tile(behind * float(unit), count)
        alive = survive(rough, lambda lane: int(behind[lane % behind.size]) * unit, stream).reshape(count, -1)
        return np.array([[self.mechanism.candidates[choose_one(row, stream)]] for row in alive])


def quantile(
    domain: Box, weights: PrivacyWeights | ArrayLike, *, share: float, candidates: int | ArrayLike = 1001
) -> Selection:
    """Choose the value below which a given share of the items lies, every item counting with its weight.

    Parameters
    ----------
    domain
        The box; candidates span it from its lowest to its highest value.
    weights
        One secret weight per item.
    share
        Which quantile, between 0 and 1. Public.
    candidates
        How many equally spaced candidates, or the candidates themselves. Public.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a candidate is -|weight below * (1 - share) - weight above *
    share|, and one item moves it by at most its weight.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = quantile(Box.uniform(0, 100, size=1000), np.ones(1000), share=0.9, candidates=101)
    >>> plan = mechanism.plan(noise="laplace", amount=1.0)
    >>> from hetdp.core.randomness import seeded_stream
    >>> abs(plan.answer(np.arange(1000) / 10, np.ones(1000, dtype=bool), seeded_stream(0)) - 90) < 3
    True
    """
    if not 0 <= finite("share", share) <= 1:
        raise InvalidInput(f"share must lie in [0, 1]. Got {share!r} instead.")
    return _ranked(f"quantile {share:g}", domain, weights, candidates, round(share * _STEPS))


def median(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: int | ArrayLike = 1001) -> Selection:
    """Choose the median, every item counting with its weight.

    Privacy
    -------
    (epsilon, v)-differentially private; see `quantile`.

    Examples
    --------
    >>> median(Box.uniform(0, 1, size=5), [1, 1, 0.5, 0.5, 0])
    Selection(median of Box(5 items, 0 <= value <= 1, center 0), 1001 candidates)
    """
    return _ranked("median", domain, weights, candidates, _STEPS // 2)


def maximum(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: int | ArrayLike = 1001) -> Selection:
    """Choose a value near the maximum: one with items of a weight of about 20 / epsilon above it.

    The largest value itself cannot be told from anything above it within one item's privacy; that of twenty can. With
    few items it is a quarter of their number.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a candidate is the weight above it less what is wanted there, or
    minus half of what is too much; one item moves it by at most its weight. What is wanted depends on epsilon and the
    numbers of items and candidates.

    Examples
    --------
    >>> maximum(Box.uniform(0, 1, size=5), [1, 1, 1, 1, 1]).name
    'maximum'
    """
    return _extreme("maximum", domain, weights, candidates)


def minimum(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: int | ArrayLike = 1001) -> Selection:
    """Choose a value near the minimum: one with items of a weight of about 20 / epsilon below it.

    Privacy
    -------
    (epsilon, v)-differentially private; see `maximum`.

    Examples
    --------
    >>> minimum(Box.uniform(0, 1, size=5), [1, 1, 1, 1, 1]).name
    'minimum'
    """
    return _extreme("minimum", domain, weights, candidates)


def mode(domain: Box, weights: PrivacyWeights | ArrayLike, *, categories: ArrayLike | Categories) -> Selection:
    """Choose the most frequent category, every item counting with its weight.

    Parameters
    ----------
    domain
        The box that the category codes lie in; that of `Categories`, `categories.domain(size=n)`.
    weights
        One secret weight per item.
    categories
        The public codes; a value counts for the nearest one. Or `Categories`: values are then their codes,
        `categories.codes(cells)`, and an item of none counts for none.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a category is the weight of its items; replacing an item takes
    its weight from one and gives it to another, or to none.

    Examples
    --------
    >>> mode(Box.uniform(0, 2, size=4), [1, 1, 1, 1], categories=[0, 1, 2]).candidates
    array([0., 1., 2.])
    >>> wards = Categories(["er", "icu", "lab"])
    >>> plan = mode(wards.domain(size=3), [1, 1, 1], categories=wards).plan(noise="laplace", amount=100.0)
    >>> from hetdp.core.randomness import seeded_stream
    >>> answer = plan.answer(wards.codes(["lab", "er", "lab"]), np.ones(3, dtype=bool), seeded_stream(0))
    >>> wards.labels[int(answer)]
    'lab'
    """
    if isinstance(categories, Categories):
        if domain != categories.domain(size=domain.size):
            raise InvalidInput(f"domain of categories must be categories.domain(size=n). Got {domain!r} instead.")
        codes, place_of = np.arange(float(len(categories))), categories.places
    else:
        codes = np.unique(float_vector("categories", categories))

        def place_of(clamped: Floats) -> NDArray[np.intp]:
            nearest: NDArray[np.intp] = np.abs(clamped[:, None] - codes[None, :]).argmin(axis=1)
            return nearest

    def score(clamped: Floats, steps: Steps, epsilon: float) -> Steps:  # noqa: ARG001
        totals = np.zeros(1 + codes.size, dtype=np.int64)  # those of none first
        np.add.at(totals, 1 + place_of(clamped), steps)
        return totals[1:] * _STEPS

    return Selection("mode", domain, _checked(domain, weights), codes, score)


def _ranked(
    label: str, domain: Box, weights: PrivacyWeights | ArrayLike, candidates: int | ArrayLike, share: int
) -> Selection:
    """Return a selection by weighted rank; `share` of the weight, in steps, is wanted below."""
    points = _points(domain, candidates)

    def score(clamped: Floats, steps: Steps, _: float) -> Steps:
        below, above = _beside(points, clamped, steps)
        scores: Steps = -np.abs(below * (_STEPS - share) - above * share)
        return scores

    return Selection(label, domain, _checked(domain, weights), points, score)


def _extreme(label: str, domain: Box, weights: PrivacyWeights | ArrayLike, candidates: int | ArrayLike) -> Selection:
    """Return a selection of the value beyond which there is just enough weight to be noticed."""
    points = _points(domain, candidates)

    def score(clamped: Floats, steps: Steps, epsilon: float) -> Steps:
        # At least one item: beyond the last one, all candidates would be equally good.
        margin = max(1.0, (2 * math.log(points.size) + _SELDOM) / max(epsilon, 1e-300))
        wanted = min(domain.size / 4, margin)
        below, above = _beside(points, clamped, steps)
        short = round(wanted * _STEPS) - (above if label == "maximum" else below)
        # Too much beyond is half as bad as too little: of two ends as far away, the one inside the data is meant.
        scores: Steps = -np.maximum(short * _STEPS, -short * (_STEPS // 2))
        return scores

    return Selection(label, domain, _checked(domain, weights), points, score)


def _points(domain: Box, candidates: int | ArrayLike) -> Floats:
    if np.ndim(candidates) == 0:
        return np.linspace(domain.lower.min(), domain.upper.max(), whole("candidates", candidates, minimum=2))
    return np.unique(float_vector("candidates", candidates))


def _beside(points: Floats, clamped: Floats, steps: Steps) -> tuple[Steps, Steps]:
    """Return the weight below and above each candidate, in steps."""
    order = np.argsort(clamped, kind="stable")
    cumulative = np.concatenate([[0], np.cumsum(steps[order])])
    below: Steps = cumulative[np.searchsorted(clamped[order], points, side="left")]
    above: Steps = cumulative[-1] - cumulative[np.searchsorted(clamped[order], points, side="right")]
    return below, above


def _checked(domain: Box, weights: PrivacyWeights | ArrayLike) -> PrivacyWeights:
    if domain.size > _LARGEST_SIZE:
        raise InvalidInput(
            f"domain must have at most {_LARGEST_SIZE} items for a selection. Got {domain.size} instead."
        )
    return as_weights(weights, domain.size)


#: What `hetdp release` can choose for a column by name.
SELECTED_BY_NAME: Mapping[str, Callable[[Box, PrivacyWeights], Selection]] = {
    "median": median,
    "maximum": maximum,
    "minimum": minimum,
}


@mechanism_examples
def _examples() -> Iterator[Example]:
    wards = Categories(["er", "icu", "lab"])
    few = 11  # candidates, so that each has a probability worth measuring
    for name, mechanism in (
        ("median", median(UNIT, WEIGHTS, candidates=few)),
        ("quantile 0.25", quantile(UNIT, WEIGHTS, share=0.25, candidates=few)),
        ("maximum", maximum(UNIT, WEIGHTS, candidates=few)),
        ("minimum", minimum(UNIT, WEIGHTS, candidates=few)),
        ("mode", mode(Box.uniform(0, 3, size=6), WEIGHTS, categories=[0, 1, 2, 3])),
        ("mode of categories", mode(wards.domain(size=6), WEIGHTS, categories=wards)),
    ):
        yield Example(f"exponential {name}", mechanism, samples=40_000, items=(0, 1, 3))
