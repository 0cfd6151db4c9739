"""Choose one of many public candidates by a score in which every item has a say no larger than its weight.

The personalised exponential mechanism, for what stretching cannot do well: medians, quantiles, extremes, modes. The
candidate with the best score s* always gets a coin that lands True, another one a coin of probability
exp(-(epsilon / 2) (s* - s)); a winner is drawn uniformly among the True ones ("permute and flip", as private as the
exponential mechanism and never less accurate). All coins are exact, and their number does not depend on the data.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

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
    rate
        From the weight at each candidate, in steps, and epsilon to the score of each, in steps of 2**-40. Weight that
        moves or is left out must not move any score by more (docs/proofs/mechanisms.md).
    place_of
        The candidate that each clamped value is at, -1 for none. Default: the nearest one.
    """

    label: str
    box: Box
    weights: PrivacyWeights
    candidates: Floats
    rate: Callable[[Steps, float], Steps]
    place_of: Callable[[Floats], NDArray[np.intp]] | None = None

    def __post_init__(self) -> None:
        if self.box.size > _LARGEST_SIZE:
            problem = f"must have at most {_LARGEST_SIZE} items for a selection"
            raise InvalidInput(problem, parameter="domain", got=self.box.size)

    def __repr__(self) -> str:
        return f"Selection({self.label} of {self.box!r}, {self.candidates.size} candidates)"

    @property
    def name(self) -> str:
        return self.label

    @property
    def domain(self) -> Box:
        return self.box

    def score(self, clamped: Floats, steps: Steps, epsilon: float) -> Steps:
        """Return the score of each candidate for `clamped` values, their weights in `steps`, and `epsilon`."""
        borders = self.candidates[:-1] / 2 + self.candidates[1:] / 2
        places = np.searchsorted(borders, clamped) if self.place_of is None else self.place_of(clamped)
        at = np.zeros(self.candidates.size + 1, dtype=np.int64)
        np.add.at(at, places, steps)  # -1 is the last cell
        return self.rate(at[:-1], epsilon)

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

    def answers(self, values: ArrayLike, keep: NDArray[np.bool_], stream: Stream, *, count: int) -> Floats:
        clamped = self.mechanism.domain.clamp(values)
        steps = np.floor(np.where(keep, self.mechanism.weights.values, 0.0) * _STEPS).astype(np.int64)
        scores = self.mechanism.score(clamped, steps, self.amount)
        behind = scores.max() - scores
        unit = self.level / (2 * _STEPS**2)
        rough = np.tile(behind * float(unit), count)
        alive = survive(rough, lambda lane: int(behind[lane % behind.size]) * unit, stream).reshape(count, -1)
        return np.array([[self.mechanism.candidates[choose_one(row, stream)]] for row in alive])


def quantile(
    domain: Box, weights: PrivacyWeights | ArrayLike, *, share: float, candidates: ArrayLike | None = None
) -> Selection:
    """Choose the value below which a given share of the items lies, every item counting with its weight.

    Parameters
    ----------
    domain, weights
        The box that the values lie in, and one secret weight per item.
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
    >>> import hetdp
    >>> ages = quantile(Box.uniform(0, 100, size=3), [1, 1, 1], share=0.9, candidates=101)
    >>> hetdp.release(ages, [20, 30, 40], epsilon=100.0).value
    40.0
    """
    if not 0 <= finite("share", share) <= 1:
        raise InvalidInput("must lie in [0, 1]", parameter="share", got=share)
    wanted = round(share * _STEPS)

    def rate(at: Steps, _: float) -> Steps:
        up_to = np.cumsum(at)
        below, enough = (up_to - at) * _STEPS, wanted * up_to[-1]
        scores: Steps = -np.maximum(0, np.maximum(below - enough, enough - up_to * _STEPS))
        return scores

    points = _points(domain, candidates)
    return Selection(f"quantile {share:g}", domain, as_weights(weights, domain.size), points, rate)


def median(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: ArrayLike | None = None) -> Selection:
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
    return replace(quantile(domain, weights, share=0.5, candidates=candidates), label="median")


def minimum(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: ArrayLike | None = None) -> Selection:
    """Choose the smallest value that items of a weight of about 20 / epsilon reach together: they are at it or below.

    The smallest value itself cannot be told from anything below it within one item's privacy; that of twenty can. With
    few items it is a quarter of their number. Where as many share the smallest value, as in rounded data, it is found.

    Parameters
    ----------
    domain, weights, candidates
        As for `quantile`.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a candidate is minus the weight that is missing at or below it,
    or minus half of what is too much below it; one item moves it by at most its weight. What is wanted depends on
    epsilon and the numbers of items and candidates.

    Examples
    --------
    >>> minimum(Box.uniform(0, 1, size=5), [1, 1, 1, 1, 1]).name
    'minimum'
    """

    def rate(at: Steps, epsilon: float) -> Steps:
        # At least one item: beyond the last one, all candidates would be equally good.
        margin = max(1.0, (2 * math.log(at.size) + _SELDOM) / max(epsilon, 1e-300))
        wanted = round(min(domain.size / 4, margin) * _STEPS)
        reached = np.cumsum(at)
        # Too much below is half as bad as too little: of two ends as far away, the one inside the data is meant.
        missing, too_much = (wanted - reached) * _STEPS, (reached - at - wanted) * (_STEPS // 2)
        scores: Steps = -np.maximum(0, np.maximum(missing, too_much))
        return scores

    return Selection("minimum", domain, as_weights(weights, domain.size), _points(domain, candidates), rate)


def maximum(domain: Box, weights: PrivacyWeights | ArrayLike, *, candidates: ArrayLike | None = None) -> Selection:
    """Choose the largest value that items of a weight of about 20 / epsilon reach together: they are at it or above.

    Parameters
    ----------
    domain, weights, candidates
        As for `quantile`.

    Privacy
    -------
    (epsilon, v)-differentially private; see `minimum`.

    Examples
    --------
    >>> maximum(Box.uniform(0, 1, size=5), [1, 1, 1, 1, 1]).name
    'maximum'
    """
    low = minimum(domain, weights, candidates=candidates)  # of the candidates from the largest to the smallest
    return replace(low, label="maximum", rate=lambda at, epsilon: low.rate(at[::-1], epsilon)[::-1])


def mode(domain: Box, weights: PrivacyWeights | ArrayLike, *, categories: ArrayLike | Categories) -> Selection:
    """Choose the most frequent category, every item counting with its weight.

    Parameters
    ----------
    domain, weights
        The box that the category codes lie in, for `Categories` `categories.domain(size=n)`; a secret weight per item.
    categories
        The public codes; a value counts for the nearest one. Or `Categories`: values are then their codes,
        `categories.codes(cells)`, and an item of none counts for none.

    Privacy
    -------
    (epsilon, v)-differentially private: the score of a category is the weight of its items; replacing an item takes
    its weight from one and gives it to another, or to none.

    Examples
    --------
    >>> import hetdp
    >>> wards = Categories(["er", "icu", "lab"])
    >>> most = mode(wards.domain(size=3), [1, 1, 1], categories=wards)
    >>> wards.labels[int(hetdp.release(most, wards.codes(["lab", "er", "lab"]), epsilon=100.0).value)]
    'lab'
    """
    if not isinstance(categories, Categories):
        codes, place_of = np.unique(float_vector("categories", categories)), None
    elif domain == categories.domain(size=domain.size):
        codes, place_of = np.arange(float(len(categories))), categories.places
    else:
        raise InvalidInput("domain of categories must be categories.domain(size=n)", got=domain)
    return Selection("mode", domain, as_weights(weights, domain.size), codes, lambda at, _: at * _STEPS, place_of)


def round_values(lower: float, upper: float, step: float | None = None) -> Floats:
    """Return the multiples of a step in a public range, and its ends: the decimals as they are written.

    By default the step is the smallest of 1, 2 or 5 times a power of ten that gives at most two thousand values.

    Examples
    --------
    >>> float(round_values(15, 100)[758]), round_values(15, 100).size
    (52.9, 1701)
    """
    low, high = _decimal(finite("lower", lower)), _decimal(finite("upper", upper))
    if step is None:
        least = (high - low) / _USUAL_VALUES or Decimal(1)
        unit = next(unit for of in (1, 2, 5, 10) if (unit := Decimal(of).scaleb(least.adjusted())) >= least)
    else:
        unit = _decimal(positive("step", step))
    if high - low > _MOST_VALUES * unit:
        raise InvalidInput(f"must be at least 1 / {_MOST_VALUES} of the range", parameter="step", got=step)
    first = int((low / unit).to_integral_value(ROUND_CEILING))
    last = int((high / unit).to_integral_value(ROUND_FLOOR))
    multiples = (float(place * unit) for place in range(first, last + 1))
    return np.unique([float(low), *multiples, float(high)])


def _points(domain: Box, candidates: ArrayLike | None) -> Floats:
    low, high = float(domain.lower.min()), float(domain.upper.max())
    if candidates is None:
        return round_values(low, high)
    if np.ndim(candidates) == 0:
        last = whole("candidates", candidates, minimum=2) - 1
        begin, end = _decimal(low), _decimal(high)
        return np.array([float(begin + (end - begin) * place / last) for place in range(last + 1)])
    return np.unique(float_vector("candidates", candidates))


def _decimal(number: float) -> Decimal:
    """Return a number as it is written: 3 times the float 0.1 is not the float 0.3, of decimals it is."""
    return Decimal(repr(number))


#: What `hetdp release` can choose for a column by name.
SELECTED_BY_NAME: Mapping[str, Callable[..., Selection]] = {
    choose.__name__: choose for choose in (median, maximum, minimum, quantile, mode)
}
