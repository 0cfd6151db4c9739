"""Estimates from noisy sums: means, variances, counts and totals that dials do not distort, with their intervals.

A noisy sum of w_i (x_i - c), divided by a noisy sum of w_i, estimates the mean of x weighted by dials; it is the mean
of x where dials do not go with values. Everything here is arithmetic on public and released numbers.

An interval holds every value that is not contradicted (Fieller): if the mean were c + t, then T - t W would be
noise and the chance of who has which dial, nothing else, so t stays in while abs(T - t W) is no larger than a quantile
of both together. Noise is taken for what it is, a sum of Laplace and Gaussian terms; chance is taken as normal with
its largest possible variance and half a person more (docs/proofs/estimation.md).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from hetdp.core.checks import finite, not_negative, one_of, positive
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms.intervals import MOST_LEVEL, up

#: Share of the permitted misses that goes to the range of the true sum of weights, to what is known of the spread of
#: the values, and to the mean of a variance.
_WEIGHT_SHARE, _ROOM_SHARE, _MEAN_SHARE = 1 / 20, 1 / 10, 1 / 4
#: Scales of Laplace terms are kept this far apart (upward), where their closed form is accurate.
_APART = 1.02
_STEPS = 40
_CLOSE = 1e-7
_STANDARD = NormalDist()
_ROOT_TWO = math.sqrt(2)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its confidence interval, or why there is none.

    Attributes
    ----------
    value
        The estimate, inside the public range.
    low, high
        Ends of the interval, inside the public range.
    reason
        Why there is no estimate, in a sentence; then the rest is None.
    """

    value: float | None
    low: float | None
    high: float | None
    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> "Estimate":
        """Return the absence of an estimate.

        Examples
        --------
        >>> Estimate.none("Nothing was released.").value is None
        True
        """
        return cls(None, None, None, reason)

    def times(self, factor: float) -> "Estimate":
        """Return the estimate of so many times as much.

        Examples
        --------
        >>> Estimate(0.3, 0.2, 0.4).times(100)
        Estimate(value=30.0, low=20.0, high=40.0, reason=None)
        """
        if self.value is None or self.low is None or self.high is None:
            return self
        return Estimate(self.value * factor, self.low * factor, self.high * factor)

    def placed(self, lower: float, upper: float) -> "Estimate":
        """Return the estimate of a place from 0 to 1 as a number of a range.

        Examples
        --------
        >>> Estimate(0.5, 0.25, 1.0).placed(20, 80)
        Estimate(value=50.0, low=35.0, high=80.0, reason=None)
        """
        if self.value is None or self.low is None or self.high is None:
            return self
        length = upper - lower
        value, low, high = (
            min(max(lower + length * place, lower), upper) for place in (self.value, self.low, self.high)
        )
        return Estimate(value, low, high)


@dataclass(frozen=True)
class NoisySum:
    """A released sum.

    Attributes
    ----------
    value
        As released.
    scale
        Scale of its Laplace noise, or standard deviation of its Gaussian noise; 0 for a public number.
    noise
        "laplace" or "gaussian".
    """

    value: float
    scale: float
    noise: str = "laplace"

    def __post_init__(self) -> None:
        finite("value", self.value)
        not_negative("scale", self.scale)
        one_of("noise", self.noise, ("laplace", "gaussian"))

    def plus(self, number: float) -> "NoisySum":
        """Return the sum with a public `number` added.

        Examples
        --------
        >>> NoisySum(3.0, 0.5).plus(2.0)
        NoisySum(value=5.0, scale=0.5, noise='laplace')
        """
        return NoisySum(self.value + number, self.scale, self.noise)

    def times(self, factor: float) -> "NoisySum":
        """Return the sum times a public `factor`, and so its noise.

        Examples
        --------
        >>> NoisySum(3.0, 0.5).times(2)
        NoisySum(value=6.0, scale=1.0, noise='laplace')
        """
        return NoisySum(self.value * factor, self.scale * abs(factor), self.noise)


#: A noisy sum and what its noise is multiplied by.
_Term = tuple[float, NoisySum]


def noise_quantile(terms: Sequence[tuple[float, NoisySum]], confidence: float, *, variance: float = 0.0) -> float:
    """Return what a sum of independent noises stays below, in absolute value, with a given confidence.

    Parameters
    ----------
    terms
        Pairs of a factor and a noisy sum, whose noise counts that many times.
    confidence
        In (0, 1).
    variance
        Of a further normal term.

    Examples
    --------
    >>> round(noise_quantile([(1.0, NoisySum(0.0, 1.0))], 0.95), 4), round(noise_quantile([], 0.95, variance=1.0), 4)
    (2.9957, 1.96)
    """
    return _quantile(terms, variance, 1 - check_confidence(confidence))


def weighted_mean(
    total: NoisySum,
    weight: NoisySum,
    *,
    center: float,
    lower: float,
    upper: float,
    confidence: float = 0.95,
    population: float | None = None,
    distorted: bool = True,
    variance: float | None = None,
    room: NoisySum | None = None,
) -> Estimate:
    """Estimate a mean: center + total / weight.

    Parameters
    ----------
    total
        Noisy sum of w_i (x_i - center).
    weight
        Noisy sum of w_i, with noise of its own.
    center, lower, upper
        Public range of the values, and what they shrink to.
    confidence
        Chance that the interval covers the mean, if dials do not go with values.
    population
        How many there are, if that is public; it makes the interval narrower where most weigh much.
    distorted
        False if all weights are publicly 1: then only noise is in between.
    variance
        Of the values, released, rounded up; else the largest that each mean leaves room for.
    room
        Noisy sum of w_i (upper - x_i) (x_i - lower), if there is one: what values away from the ends take of that.

    Returns
    -------
    Estimate
        None, with the reason, where the weight is not well above its noise.

    Examples
    --------
    >>> weighted_mean(NoisySum(-720.0, 80.0), NoisySum(120.0, 1.0), center=40, lower=0, upper=80)
    Estimate(value=34.0, low=26.4..., high=41.9..., reason=None)
    """
    if not lower <= center <= upper:
        raise InvalidInput(f"must lie between {lower:g} and {upper:g}", parameter="center", got=center)
    taken, miss = 0.0, 1 - check_confidence(confidence)
    if room is not None and distorted:
        inside = weighted_mean(
            room, weight, center=0.0, lower=0.0, upper=(upper - lower) ** 2 / 4, confidence=1 - _ROOM_SHARE * miss,
            population=population,
        )  # fmt: skip
        taken, miss = inside.low or 0.0, (1 - _ROOM_SHARE) * miss
    chance = _Chance.of(weight, confidence=1 - miss, population=population, distorted=distorted)
    if isinstance(chance, Estimate):
        return chance
    low, high = lower - center, upper - center

    def spread(mean: float) -> float:
        largest = max(0.0, (high - mean) * (mean - low) - taken)
        return largest if variance is None else min(largest, max(0.0, variance))

    shrunk = _Fieller(
        weight, low, high, terms=lambda mean: ((1.0, total), (mean, weight)), spread=spread, jump=high - low
    )
    value = min(max(total.value / weight.value, low), high)
    least, most = shrunk.ends(total.value, total.value, chance)
    return Estimate(center + value, max(center + least, lower), min(center + most, upper))


def weighted_variance(
    first: NoisySum,
    second: NoisySum,
    weight: NoisySum,
    *,
    shift: float,
    center: float,
    lower: float,
    upper: float,
    confidence: float = 0.95,
    population: float | None = None,
    distorted: bool = True,
) -> Estimate:
    """Estimate a variance: shift + second / weight - (first / weight)**2.

    Parameters
    ----------
    first
        Noisy sum of w_i (x_i - center).
    second
        Noisy sum of w_i ((x_i - center)**2 - shift).
    weight
        Noisy sum of w_i.
    shift
        The public number that squares are counted from; half of the largest square halves their sensitivity.
    center, lower, upper, confidence, population, distorted
        See `weighted_mean`.

    Examples
    --------
    >>> first, second, weight = NoisySum(0.0, 1.0), NoisySum(-600.0, 2.0), NoisySum(1000.0, 1.0)
    >>> weighted_variance(first, second, weight, shift=2.0, center=0, lower=-2, upper=2, distorted=False)
    Estimate(value=1.4, low=1.393..., high=1.406..., reason=None)
    """
    miss = 1 - check_confidence(confidence)
    about = weighted_mean(
        first, weight, center=center, lower=lower, upper=upper, confidence=1 - _MEAN_SHARE * miss,
        population=population, distorted=distorted,
    )  # fmt: skip
    chance = _Chance.of(weight, confidence=1 - (1 - _MEAN_SHARE) * miss, population=population, distorted=distorted)
    if isinstance(chance, Estimate):
        return chance
    if about.value is None or about.low is None or about.high is None:
        return about
    means = [about.low - center, about.value - center, about.high - center]
    largest = max((upper - center - mean) ** 2 for mean in means), max((mean + center - lower) ** 2 for mean in means)
    reach, farthest = max(largest), max(map(abs, means))
    low, high = -shift, (upper - lower) ** 2 / 4 - shift

    def around(mean: float) -> float:
        return second.value - 2 * mean * first.value + mean**2 * weight.value

    def terms(squares: float) -> tuple[_Term, ...]:
        # The square of a mean in the interval, minus this, is largest at one end or where the mean is 0.
        return (1.0, second), (2 * farthest, first), (max(abs(squares), abs(farthest**2 - squares)), weight)

    shrunk = _Fieller(
        weight, low, high, terms=terms,
        spread=lambda squares: max(0.0, (reach - shift - squares) * (squares + shift)), jump=reach,
    )  # fmt: skip
    value = min(max(around(means[1]) / weight.value, low), high)
    least, most = shrunk.ends(around(means[1]), max(around(means[0]), around(means[2])), chance)
    return Estimate(value + shift, max(0.0, min(least, value) + shift), max(most, value) + shift)


def scaled_count(
    part: NoisySum,
    whole: NoisySum | None,
    *,
    population: float | None = None,
    confidence: float = 0.95,
    distorted: bool = True,
) -> Estimate:
    """Estimate how many there are: population * part / whole.

    Parameters
    ----------
    part
        Noisy sum of the weights of those who count.
    whole
        Noisy sum of all weights. None if weights are publicly 1: then `part` is the estimate itself.
    population
        How many there are in all; public, never counted from the table.
    confidence, distorted
        See `weighted_mean`.

    Examples
    --------
    >>> scaled_count(NoisySum(200.0, 1.0), NoisySum(700.0, 1.0), population=1000)
    Estimate(value=285.7..., low=266.2..., high=305.9..., reason=None)
    >>> scaled_count(NoisySum(200.0, 1.0), None)
    Estimate(value=200.0, low=197.0..., high=202.9..., reason=None)
    """
    return scaled_total(
        part, whole, population=population, center=0.0, lower=0.0, upper=1.0, confidence=confidence,
        distorted=distorted,
    )  # fmt: skip


def scaled_total(
    total: NoisySum,
    whole: NoisySum | None,
    *,
    population: float | None = None,
    center: float,
    lower: float,
    upper: float,
    confidence: float = 0.95,
    distorted: bool = True,
    variance: float | None = None,
) -> Estimate:
    """Estimate a total: population * (center + total / whole).

    Parameters
    ----------
    total
        Noisy sum of w_i (x_i - center).
    whole
        Noisy sum of all weights. None if weights are publicly 1: then nothing needs to be divided.
    population
        How many there are in all; public, never counted from the table.
    center, lower, upper, confidence, distorted, variance
        See `weighted_mean`.

    Examples
    --------
    >>> scaled_total(NoisySum(50.0, 2.0), None, center=0, lower=0, upper=2)
    Estimate(value=50.0, low=44.0..., high=55.9..., reason=None)
    >>> scaled_total(NoisySum(50.0, 2.0), NoisySum(40.0, 1.0), center=0, lower=0, upper=2).reason
    'How many there are in all is not public here, so nothing can be scaled up; population= tells it.'
    """
    if population is not None:
        positive("population", population)
    if whole is not None:
        if population is None:
            return Estimate.none(
                "How many there are in all is not public here, so nothing can be scaled up; population= tells it."
            )
        return weighted_mean(
            total, whole, center=center, lower=lower, upper=upper, confidence=confidence, population=population,
            distorted=distorted, variance=variance,
        ).times(population)  # fmt: skip
    if population is None and center != 0:
        return Estimate.none("How many there are in all is not public here, so the centre cannot be added back.")
    reach = noise_quantile([(1.0, total)], confidence)
    base = 0.0 if population is None else population * center
    lowest, highest = (
        (-math.inf if lower < 0 else 0.0, math.inf if upper > 0 else 0.0)
        if population is None
        else (population * lower, population * upper)
    )
    value, low, high = (min(max(base + total.value + far, lowest), highest) for far in (0.0, -reach, reach))
    return Estimate(value, low, high)


# -- the chance of who has which dial ---------------------------------------------------------------------------------


def least_weight(weight: NoisySum, *, confidence: float) -> float:
    """Return what a noisy sum of weights must exceed to be divided by; it depends on its noise alone.

    Examples
    --------
    >>> round(least_weight(NoisySum(0.0, 4.0), confidence=0.95), 1)
    47.9
    """
    return 2 * _quantile([(1.0, weight)], 0.0, _WEIGHT_SHARE * (1 - check_confidence(confidence)))


@dataclass(frozen=True)
class _Chance:
    """How far the chance of who has which dial can move a sum of w_i y_i with mean 0: variance(y) * `most`."""

    most: float
    miss: float  # what is left of the permitted misses

    @classmethod
    def of(
        cls, weight: NoisySum, *, confidence: float, population: float | None, distorted: bool
    ) -> "_Chance | Estimate":
        miss = 1 - check_confidence(confidence)
        least = least_weight(weight, confidence=confidence)
        if weight.value <= least:
            return Estimate.none(
                f"The noisy sum of weights, {weight.value:.4g}, is not well above its noise: it would have to be more "
                f"than {least:.4g} to be divided by. More people or a larger epsilon would help."
            )
        reach = least / 2
        if not distorted:
            return cls(0.0, miss)
        low, high = weight.value - reach, weight.value + reach
        most = high
        if population is not None:
            size = positive("population", population)
            low, high = min(low, size), min(high, size)
            sure = min(max(size / 2, low), high)  # where w (n - w) is largest
            most = sure * (size - sure) / (size - 1) if size > 1 else 0.0
        return cls(most, (1 - _WEIGHT_SHARE) * miss)


@dataclass(frozen=True)
class _Fieller:
    """All values of a ratio that a noisy numerator and denominator do not contradict."""

    weight: NoisySum
    low: float
    high: float
    #: Of a supposed ratio: the noises of the numerator minus the ratio times the denominator; the variance of y.
    terms: Callable[[float], Sequence[_Term]]
    spread: Callable[[float], float]
    jump: float  # the most that one person can move the numerator

    def ends(self, least: float, most: float, chance: _Chance) -> tuple[float, float]:
        """Return the ends of the interval, for a numerator between two numbers."""

        def slack(ratio: float) -> float:
            reach = _quantile(self.terms(ratio), self.spread(ratio) * chance.most, chance.miss)
            return reach + (self.jump / 2 if chance.most else 0.0)

        # What lies outside of the public range is noise: moved to its end, no value in the range gets farther away.
        least, most = (min(max(top / self.weight.value, self.low), self.high) for top in (least, most))
        down = _last(lambda ratio: (least - ratio) * self.weight.value - slack(ratio), least, self.low)
        up = _last(lambda ratio: (ratio - most) * self.weight.value - slack(ratio), most, self.high)
        return down, up


def _last(excess: Callable[[float], float], inside: float, end: float) -> float:
    """Return where an excess turns positive on the way to an end, rounded toward the end; the end if nowhere."""
    outside, low, high = end, excess(inside), excess(end)
    if high <= 0:
        return end
    if low >= 0:  # there is no noise at all
        return inside
    tolerance = _CLOSE * abs(end - inside)
    side = 0
    for _ in range(_STEPS):
        if abs(outside - inside) <= tolerance:
            break
        # A little farther out than the straight line says: nearly straight ones would close in from inside only.
        middle = outside - high * (outside - inside) / (high - low)
        middle += math.copysign(min(tolerance, abs(outside - middle)) / 2, outside - inside)
        found = excess(middle)
        if found > 0:  # the Illinois rule: an end that stays has its excess halved, so that both close in
            outside, high, low, side = middle, found, low / 2 if side > 0 else low, 1
        else:
            inside, low, high, side = middle, found, high / 2 if side < 0 else high, -1
    return outside


# -- tails of noise ---------------------------------------------------------------------------------------------------


def check_confidence(confidence: float) -> float:
    """Return a confidence, or explain that it is none."""
    if not 0 < finite("confidence", confidence) < 1:
        raise InvalidInput("must lie strictly between 0 and 1", parameter="confidence", got=confidence)
    return confidence


def _quantile(terms: Sequence[_Term], variance: float, miss: float) -> float:
    """Return t with P[abs(sum of noises) > t] = miss.

    The density is log-concave, so the logarithm of its tail is concave and Newton's steps come down from above.
    """
    laplace = sorted(abs(factor) * term.scale for factor, term in terms if term.noise == "laplace")
    variance += sum((factor * term.scale) ** 2 for factor, term in terms if term.noise == "gaussian")
    scales: list[float] = []
    for scale in laplace:
        if scale > 0:
            scales.append(max(scale, scales[-1] * _APART) if scales else scale)
    normal = -_STANDARD.inv_cdf(miss / 2)
    if not scales:
        return normal * math.sqrt(variance)
    point = normal * math.sqrt(variance + 2 * sum(scale**2 for scale in scales))
    for _ in range(_STEPS):
        tail, density = _tail(point, scales, math.sqrt(variance))
        step = tail * math.log(2 * tail / miss) / density
        point += step
        if abs(step) <= _CLOSE * point / 100:
            break
    return point


def _tail(point: float, scales: Sequence[float], deviation: float) -> tuple[float, float]:
    """Return tail and density, at a point, of a sum of Laplace terms of different scales and a normal one.

    In partial fractions a sum of Laplace terms is a mixture of single ones, with weights of either sign.
    """
    tail = density = 0.0
    for scale in scales:
        share = math.prod(1 / (1 - (other / scale) * (other / scale)) for other in scales if other != scale)
        own_tail, own_density = _laplace_and_normal(point, scale, deviation)
        tail += share * own_tail
        density += share * own_density
    return tail, density


def _laplace_and_normal(point: float, scale: float, deviation: float) -> tuple[float, float]:
    if deviation <= scale * 1e-9:
        tail = math.exp(-point / scale) / 2
        return tail, tail / scale
    away, ratio = point / deviation, deviation / scale
    bell = math.exp(-away * away / 2)
    if away >= ratio:
        falling = math.exp(ratio * (ratio / 2 - away)) * math.erfc((ratio - away) / _ROOT_TWO) / 2
    else:
        falling = bell * _scaled_erfc((ratio - away) / _ROOT_TWO) / 2
    rising = bell * _scaled_erfc((ratio + away) / _ROOT_TWO) / 2
    return math.erfc(away / _ROOT_TWO) / 2 + (falling - rising) / 2, (falling + rising) / (2 * scale)


def _scaled_erfc(point: float) -> float:
    """Return exp(point**2) erfc(point) for point >= 0."""
    if point < 20:  # noqa: PLR2004  (beyond, erfc underflows soon and three terms of its series are exact)
        return math.exp(point * point) * math.erfc(point)
    inverse = 1 / (2 * point * point)
    return (1 - inverse + 3 * inverse**2 - 15 * inverse**3) / (point * math.sqrt(math.pi))


def smallest_level(reach: Callable[[float], float], goal: float, *, least: float = 1e-6) -> float:
    """Return the smallest level from `least` on, in three digits, at which something reaches no farther than a goal.

    Examples
    --------
    >>> smallest_level(lambda level: 1 / level, goal=0.3)
    3.34
    """
    low, high = math.log(least), math.log(MOST_LEVEL)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reach(math.exp(middle)) <= goal else (middle, high)
    return float(up(math.exp(high)))
