"""Choose one of many public candidates by a score in which every item has a say no larger than its weight.

The personalised exponential mechanism, for what stretching cannot do well: medians, quantiles, extremes, modes. The
candidate with the best score s* always gets a coin that lands True, another one a coin of probability
exp(-(epsilon / 2) (s* - s)); a winner is drawn uniformly among the True ones ("permute and flip", as private as the
exponential mechanism and never less accurate). All coins are exact, and their number does not depend on the data.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import finite, float_vector, fraction, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream
from hetdp.mechanisms.mechanism import Floats, FullLossPlan, Mechanism, as_weights, require_plain_epsilon
from hetdp.noise.exact_coins import choose_one, survive
from hetdp.profiles import Box, Categories, PrivacyWeights

Steps = NDArray[np.int64]

#: Weights and quantiles are counted in steps of 2**-20, rounded down; scores are exact integers below 2**62.
_STEPS = 2**20
_LARGEST_SIZE = 2**21
#: Round values in a range unless told otherwise, at most; and the most that one may ask for.
_USUAL_VALUES, _MOST_VALUES = 2000, 100_000
#: How far inside the data an extreme is looked for, times 1 / epsilon: so far that all candidates beyond the data
#: together, each exp(-(epsilon / 2) margin) as likely as the right one, win once in twenty times (e^-3) at most.
_SELDOM = 6.0


@dataclass(frozen=True, repr=False, eq=False)
class Selection(Mechanism):
    """A choice among public candidates.

    Attributes
    ----------
    label
        What is chosen, in words.
    box, weights
        The domain of the values, and the weight of each.
    candidates
        What may be chosen.
    score
        From clamped values, weight steps and epsilon to one whole score per candidate, in steps of 2**-40. Replacing or
        leaving out item i must not move any score by more than its weight (docs/proofs/mechanisms.md).
    """

    label: str
    box: Box
    weights: PrivacyWeights
    candidates: Floats
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
class SelectionPlan(FullLossPlan):
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
    domain: Box, weights: PrivacyWeights | ArrayLike, *, share: float, candidates: int | ArrayLike | None = None
) -> Selection:
    """Choose the value below which a given share of the items lies, every item counting with its weight.

    Parameters
    ----------
    domain
        The box that the values lie in.
    weights
        One secret weight per item.
    share
        Which quantile, between 0 and 1. Public.
    candidates
        The values to choose among, or how many equally spaced ones from the lowest to the highest value of the box.
        Default: `round_values` of the box. Public. Every value counts as the nearest candidate, so where data are
        rounded (ages, ratings), candidates that hit them are best.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a candidate is 0 if weight below <= share * all weight <= weight
    below or at it, and else minus what is missing; one item moves it by at most its weight.

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
        raise InvalidInput("must lie in [0, 1]", parameter="share", got=share)
    return _ranked(f"quantile {share:g}", domain, weights, candidates, round(share * _STEPS))


def median(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: int | ArrayLike | None = None) -> Selection:
    """Choose the median, every item counting with its weight.

    Parameters
    ----------
    domain, weights, candidates
        As for `quantile`.

    Privacy
    -------
    (epsilon, v)-differentially private; see `quantile`.

    Examples
    --------
    >>> median(Box.uniform(0, 1, size=5), [1, 1, 0.5, 0.5, 0])
    Selection(median of Box(5 items, 0 <= value <= 1, center 0), 2001 candidates)
    """
    return _ranked("median", domain, weights, candidates, _STEPS // 2)


def maximum(
    domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: int | ArrayLike | None = None
) -> Selection:
    """Choose the largest value that items of a weight of about 20 / epsilon reach together: they are at it or above.

    The largest value itself cannot be told from anything above it within one item's privacy; that of twenty can. With
    few items it is a quarter of their number. Where as many share the largest value, as in rounded data, it is found.

    Parameters
    ----------
    domain, weights, candidates
        As for `quantile`.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a candidate is minus the weight that is missing at or above it,
    or minus half of what is too much above it; one item moves it by at most its weight. What is wanted depends on
    epsilon and the numbers of items and candidates.

    Examples
    --------
    >>> maximum(Box.uniform(0, 1, size=5), [1, 1, 1, 1, 1]).name
    'maximum'
    """
    return _extreme("maximum", domain, weights, candidates)


def minimum(
    domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: int | ArrayLike | None = None
) -> Selection:
    """Choose the smallest value that items of a weight of about 20 / epsilon reach together: they are at it or below.

    Parameters
    ----------
    domain, weights, candidates
        As for `quantile`.

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
            raise InvalidInput("domain of categories must be categories.domain(size=n)", got=domain)
        codes, place_of = np.arange(float(len(categories))), categories.places
    else:
        codes = np.unique(float_vector("categories", categories))
        place_of = partial(_nearest, codes)

    def score(clamped: Floats, steps: Steps, epsilon: float) -> Steps:  # noqa: ARG001
        totals = np.zeros(1 + codes.size, dtype=np.int64)  # those of none first
        np.add.at(totals, 1 + place_of(clamped), steps)
        return totals[1:] * _STEPS

    return Selection("mode", domain, _checked(domain, weights), codes, score)


def round_values(lower: float, upper: float, step: float | None = None) -> Floats:
    """Return the multiples of a step in a range, and its ends: the decimals as they are written.

    Parameters
    ----------
    lower, upper
        The public range.
    step
        Public. Default: the smallest of 1, 2 or 5 times a power of ten that gives at most two thousand.

    Examples
    --------
    >>> round_values(1, 5, 1)
    array([1., 2., 3., 4., 5.])
    >>> float(round_values(15, 100)[758]), round_values(15, 100).size
    (52.9, 1701)
    """
    low, high = _decimals(finite("lower", lower), finite("upper", upper))
    if step is None:
        least = (high - low) / _USUAL_VALUES or Decimal(1)
        unit = next(unit for of in (1, 2, 5, 10) if (unit := Decimal(of).scaleb(least.adjusted())) >= least)
    else:
        (unit,) = _decimals(positive("step", step))
    if high - low > _MOST_VALUES * unit:
        raise InvalidInput(f"must be at least 1 / {_MOST_VALUES} of the range", parameter="step", got=step)
    first = int((low / unit).to_integral_value(ROUND_CEILING))
    last = int((high / unit).to_integral_value(ROUND_FLOOR))
    multiples = (float(place * unit) for place in range(first, last + 1))
    return np.unique([float(low), *multiples, float(high)])


def _ranked(
    label: str, domain: Box, weights: PrivacyWeights | ArrayLike, candidates: int | ArrayLike | None, share: int
) -> Selection:
    """Return a selection by weighted rank; `share` of the weight, in steps, is wanted below."""
    points = _points(domain, candidates)

    def score(clamped: Floats, steps: Steps, _: float) -> Steps:
        below, at, above = _beside(points, clamped, steps)
        wanted = share * (below + at + above)
        scores: Steps = -np.maximum(0, np.maximum(below * _STEPS - wanted, wanted - (below + at) * _STEPS))
        return scores

    return Selection(label, domain, _checked(domain, weights), points, score)


def _extreme(
    label: str, domain: Box, weights: PrivacyWeights | ArrayLike, candidates: int | ArrayLike | None
) -> Selection:
    """Return a selection of the last value that just enough weight reaches to be noticed."""
    points = _points(domain, candidates)

    def score(clamped: Floats, steps: Steps, epsilon: float) -> Steps:
        # At least one item: beyond the last one, all candidates would be equally good.
        margin = max(1.0, (2 * math.log(points.size) + _SELDOM) / max(epsilon, 1e-300))
        wanted = round(min(domain.size / 4, margin) * _STEPS)
        below, at, above = _beside(points, clamped, steps)
        beyond = above if label == "maximum" else below
        # Too much beyond is half as bad as too little: of two ends as far away, the one inside the data is meant.
        missing, too_much = wanted - (beyond + at), beyond - wanted
        scores: Steps = -np.maximum(0, np.maximum(missing * _STEPS, too_much * (_STEPS // 2)))
        return scores

    return Selection(label, domain, _checked(domain, weights), points, score)


def _points(domain: Box, candidates: int | ArrayLike | None) -> Floats:
    low, high = float(domain.lower.min()), float(domain.upper.max())
    if candidates is None:
        return round_values(low, high)
    if np.ndim(candidates) == 0:
        last = whole("candidates", candidates, minimum=2) - 1
        begin, end = _decimals(low, high)
        return np.array([float(begin + (end - begin) * place / last) for place in range(last + 1)])
    return np.unique(float_vector("candidates", candidates))


def _decimals(*numbers: float) -> tuple[Decimal, ...]:
    """Return numbers as they are written: 3 times the float 0.1 is not the float 0.3, of decimals it is."""
    return tuple(Decimal(repr(number)) for number in numbers)


def _nearest(points: Floats, clamped: Floats) -> NDArray[np.intp]:
    """Return the place of the nearest point to each value; of two as near, the lower one."""
    places: NDArray[np.intp] = np.searchsorted(points[:-1] / 2 + points[1:] / 2, clamped)
    return places


def _beside(points: Floats, clamped: Floats, steps: Steps) -> tuple[Steps, Steps, Steps]:
    """Return the weight below, at and above each candidate, in steps, where every value is its nearest candidate.

    So that values between candidates are at one of them: what many share could never be chosen otherwise.
    """
    at = np.zeros(points.size, dtype=np.int64)
    np.add.at(at, _nearest(points, clamped), steps)
    up_to = np.cumsum(at)
    return up_to - at, at, up_to[-1] - up_to


def _checked(domain: Box, weights: PrivacyWeights | ArrayLike) -> PrivacyWeights:
    if domain.size > _LARGEST_SIZE:
        raise InvalidInput(
            f"must have at most {_LARGEST_SIZE} items for a selection", parameter="domain", got=domain.size
        )
    return as_weights(weights, domain.size)


#: What `hetdp release` can choose for a column by name.
SELECTED_BY_NAME: Mapping[str, Callable[..., Selection]] = {
    "median": median,
    "maximum": maximum,
    "minimum": minimum,
}
