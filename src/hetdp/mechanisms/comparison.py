"""Which mechanism is best for this question, this crowd and this epsilon? Simulated from public knowledge alone."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.cards import GREEN, MUTED, Card, CardTable, bar
from hetdp.core.checks import Real, float_vector, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream, seeded_stream
from hetdp.core.text import printable
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.estimation import Denominator, best_multiplier
from hetdp.mechanisms.plan import Mechanism, Plan
from hetdp.mechanisms.queries.base import Floats, ItemwiseQuery, Query
from hetdp.mechanisms.queries.sums import LinearQuery
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.stretching import Stretched, StretchedPlan
from hetdp.mechanisms.thresholding import threshold
from hetdp.plots import WIDTH, amount, decades, drawn, layer, name_axis, text_of, titled, tooltip
from hetdp.profiles import Box, PrivacyWeights, WeightPrior

#: From weights to a mechanism, given what is public.
Maker = Callable[[PrivacyWeights], Mechanism]

#: Questions that can be compared by name alone, about values in [0, 1].
QUERY_NAMES = (*queries.COMPARED_BY_NAME, "median", "quantile")
#: A contender of one's own, in a line.
EXAMPLE = (
    "def f(weights, epsilon): return hetdp.stretch("
    "hetdp.queries.mean(hetdp.Box.uniform(0, 1, size=weights.size)), weights, multiplier=2)"
)
#: Crowds that a threshold is chosen on, at most; it is judged on others.
_TRIALS = 200
#: Why a contender that was given is what it is.
_UNCHECKED = "is your own, and nobody has checked that it keeps its promise: hetdp audit tries to break it"
#: Levels that are tried, at most.
_LEVELS = 32
#: Standard errors to either side of a simulated error.
_SURE = 1.96
#: Bars of a card end at this multiple of the smallest error, so that good contenders can be compared.
_LONGEST = 4


@dataclass(frozen=True)
class Contender:
    """One mechanism and its simulated error.

    Attributes
    ----------
    name, why
        The mechanism, and what it does to strict items.
    rmse, bias
        Root mean squared error and mean error of its answer (its `estimate`, where it has one).
    uncertainty
        Standard error of the rmse, from the number of simulated crowds.
    interval
        Whether a release with it has a confidence interval, which needs no prior.
    """

    name: str
    why: str
    rmse: float
    bias: float
    uncertainty: float
    interval: bool


@dataclass(frozen=True)
class Comparison:
    """Contenders, smallest error first.

    Attributes
    ----------
    query, epsilon, items
        What was asked, at which level, about how many items.
    contenders
        The mechanisms that were compared, smallest error first.
    """

    query: str
    epsilon: float
    items: int
    contenders: tuple[Contender, ...]

    @property
    def _title(self) -> str:
        return f"Error of the {self.query} of {self.items:,} items at epsilon = {self.epsilon:g}"

    def __repr__(self) -> str:
        return f"Comparison({self.query} of {self.items:,} items at epsilon {self.epsilon:g}: {self.reason})"

    @property
    def recommended(self) -> Contender:
        """The contender with the smallest error; of those as good as equal, the first that has an interval."""
        return next((one for one in self.contenders if one.interval and self._close(one)), self.contenders[0])

    def _close(self, contender: Contender) -> bool:
        """Whether the error of a contender is as good as equal to the smallest."""
        best = self.contenders[0]
        return contender.rmse - best.rmse <= 2 * math.hypot(best.uncertainty, contender.uncertainty)

    @property
    def reason(self) -> str:
        """Why it is recommended, in words."""
        best, found = self.contenders[0], self.recommended
        if found is not best:
            return (
                f"{found.name} needs no prior and has an interval, and its error, {found.rmse:.3g}, is as good as "
                f"equal to the smallest, {best.rmse:.3g} of {best.name}: it {found.why}."
            )
        text = f"{best.name} has the smallest error, {best.rmse:.3g}: it {best.why}."
        if len(self.contenders) > 1:
            second = self.contenders[1]
            equal = ", as good as equal" if self._close(second) else ""
            text += f" Next is {second.name} with {second.rmse:.3g}{equal}."
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison, ready for JSON."""
        return {
            "query": self.query,
            "items": self.items,
            "epsilon": self.epsilon,
            "recommended": self.recommended.name,
            "reason": self.reason,
            "mechanisms": [
                {
                    "mechanism": one.name,
                    "rmse": one.rmse,
                    "uncertainty": one.uncertainty,
                    "bias": one.bias,
                    "interval": one.interval,
                }
                for one in self.contenders
            ],
        }

    def plot(self) -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: the error of each mechanism and how sure the simulation is of it.

        Needs the extra `plot`; `hetdp.plots.save` writes it to a file.

        Examples
        --------
        >>> compare("mean", [0, 0.5, 1], 1.0, 100, runs=5).plot().title["text"]
        'Error of the mean of 100 items at epsilon = 1'
        """
        rows: list[dict[str, Any]] = [
            {
                "name": printable(one.name),
                "error": max(one.rmse, 1e-300),
                "low": max(one.rmse - _SURE * one.uncertainty, one.rmse / 10, 1e-300),
                "high": max(one.rmse + _SURE * one.uncertainty, 1e-300),
                "shown": f"{one.rmse:.3g}",
                "bias": f"{one.bias:+.2g}",
                "recommended": "yes" if one is self.recommended else "no",
            }
            for one in self.contenders
        ]
        title = titled(
            self._title, "Simulated from public knowledge, with the 95 % interval of each; green: recommended."
        )
        log = "root mean squared error (logarithmic)"
        scale = {"type": "log", "nice": False, "padding": 14}
        color = {"field": "recommended", "type": "nominal", "legend": None}
        color["scale"] = {"domain": ["yes", "no"], "range": [GREEN, MUTED]}  # type: ignore[assignment]
        told = tooltip({"name": "mechanism", "shown": "error", "bias": "bias", "recommended": "recommended"})
        at: dict[str, Any] = {"y": name_axis(rows), "color": color, "tooltip": told}
        axis = {"values": decades([row[end] for row in rows for end in ("low", "high")]), "format": "~g"}
        low, x, to = (amount(field, log, scale=scale, axis=axis) for field in ("low", "error", "high"))
        layers = [
            layer(
                rows,
                {"type": "rule", "strokeWidth": 7, "strokeCap": "round", "opacity": 0.32},
                **at,
                x=low,
                x2={"field": "high"},
            ),
            layer(rows, {"type": "point", "filled": True, "size": 80, "opacity": 1}, **at, x=x),
            layer(rows, {"type": "text", "align": "left", "dx": 10}, y=name_axis(rows), x=to, text=text_of("shown")),
        ]
        return drawn({"title": title, "width": WIDTH, "height": {"step": 28}, "layer": layers})

    def _repr_html_(self) -> str:
        most = _LONGEST * self.contenders[0].rmse or 1.0
        rows = [
            (
                one.name,
                f"{one.rmse:.3g} ± {one.uncertainty:.1g}",
                f"{one.bias:+.2g}",
                bar(one.rmse / most, f"{one.rmse:.3g}", GREEN if one is self.recommended else MUTED),
            )
            for one in self.contenders
        ]
        card = Card(
            "Comparison",
            about=f"{self.query} of {self.items:,} items, epsilon = {self.epsilon:g}, simulated",
            table=CardTable(
                ("mechanism", "error", "bias", f"up to {_LONGEST} times the smallest"), rows, numbers=(1, 2)
            ),
            sentences=[f"Recommended: {self.reason}"],
        )
        return card.html()


def compare(
    query: Query | str,
    weight_prior: WeightPrior | ArrayLike | Mapping[float, float],
    epsilon: Real,
    n: int | None = None,
    *,
    quantile: float | None = None,
    values: ArrayLike | None = None,
    contenders: Mapping[str, Callable[[PrivacyWeights, float], Mechanism]] | None = None,
    runs: int = 1000,
    random_state: int = 0,
) -> Comparison:
    """Simulate every applicable mechanism and recommend the one with the smallest error. Nothing is spent.

    Of those as good as equal, one that needs no prior and has an interval is recommended.

    Parameters
    ----------
    query
        A query of `hetdp.queries`, or one of the names mean, total, count, maximum, minimum, l0, squared_norm,
        variance, median and quantile, which stand for values in [0, 1]. A bin of a histogram is a count.
    weight_prior
        What weights one expects, from public knowledge: a `WeightPrior`, or what makes one.
    epsilon
        Of the release to come.
    n
        Number of items, with a name.
    quantile
        The share of the items below a quantile.
    values
        A public sample of plausible values to draw from, never the data at hand. Default: uniform over the domain.
    contenders
        Mechanisms of your own to simulate along, by name: functions from weights and epsilon to a mechanism with one
        item per weight. Its estimate is judged, or its answer where it has none.
    runs
        Simulated crowds; the standard error of an error is about 1 / sqrt(2 * runs) of it.
    random_state
        Seed; the comparison is a simulation.

    Examples
    --------
    >>> prior = WeightPrior.westin(0.34, 0.43, 0.23)
    >>> result = compare("mean", prior, 1.0, 1000, values=[0] * 7 + [1] * 3, runs=50)
    >>> result.recommended.rmse < 0.008
    True
    >>> {contender.name: round(contender.rmse, 2) for contender in result.contenders}["stretching (paper)"]
    0.08

    A contender of one's own:

    >>> from hetdp import mechanisms
    >>> def strict(weights, epsilon):
    ...     return mechanisms.threshold(queries.mean(Box.uniform(0, 1, size=weights.size)), weights, level=0.9)
    >>> result = compare("mean", prior, 1.0, 1000, contenders={"strict": strict}, runs=50)
    >>> "strict" in [contender.name for contender in result.contenders]
    True
    """
    level, prior = positive("epsilon", epsilon), WeightPrior.of(weight_prior)
    plausible = None if values is None else float_vector("values", values)
    question = _question(query, n, quantile)
    crowds = _Crowds(question, prior, plausible, level, random_state)
    judged = whole("runs", runs, minimum=2)
    ways = list(_ways(question, crowds, min(judged, _TRIALS)))
    for name, made in (contenders or {}).items():
        if not isinstance(name, str) or not callable(made) or name in {way.name for way in ways}:
            raise InvalidInput("must be functions under names of their own", parameter="contenders", got=name)
        ways.append(_Way(name, _UNCHECKED, partial(_of_ones_own, name, made, level, question.domain.size)))
    errors = crowds.errors(ways, judged)
    rated = [_rated(way, crowds, found) for way, found in zip(ways, errors.T, strict=True)]
    best_first = tuple(sorted(rated, key=lambda contender: contender.rmse))
    return Comparison(question.title, level, question.domain.size, best_first)


@dataclass(frozen=True)
class _Question:
    """What is asked, by name or as a query, and the values it may be asked about."""

    name: str
    domain: Box
    truth: Callable[[Floats], Any]
    query: Query | None  # None for a median or quantile
    share: float | None = None  # of a quantile

    @property
    def title(self) -> str:
        return self.name if self.share is None else f"{self.name} {self.share:g}"

    @property
    def chosen(self) -> Callable[..., selection.Selection] | None:
        """What chooses an answer, given a domain and weights; None where nothing does."""
        if self.share is not None:
            return partial(selection.quantile, share=self.share)
        return selection.SELECTED_BY_NAME.get(self.name)


@dataclass(frozen=True)
class _Way:
    """One way to answer the question."""

    name: str
    why: str
    maker: Maker
    #: Whether a sum of weights is drawn and divided by, where that makes sense: as in a release, unless told otherwise.
    divided: bool = True


@dataclass(frozen=True)
class _Crowds:
    """Simulated people, as many crowds as wanted, and how wrong an answer about each is."""

    question: _Question
    prior: WeightPrior
    plausible: Floats | None
    epsilon: float
    seed: int

    def errors(self, ways: list[_Way], runs: int, *, part: int = 0) -> Floats:
        """Return one error per crowd and way; different parts are different crowds."""
        box = self.question.domain
        errors = np.empty((runs, len(ways)))
        for run in range(runs):
            stream = seeded_stream(self.seed, run, 2 * part)
            crowd, weights = _crowd(box, self.plausible, stream), _weights(self.prior, box.size, stream)
            right = float(self.question.truth(crowd))
            for place, way in enumerate(ways):
                plan = way.maker(weights).plan(noise="laplace", amount=self.epsilon)
                # The same noise for all: differences between contenders are then less a matter of luck.
                noise = seeded_stream(self.seed, run, 2 * part + 1)
                errors[run, place] = _answer(plan, crowd, noise, divided=way.divided) - right
        return errors


def _answer(plan: Plan, crowd: Floats, stream: Stream, *, divided: bool) -> float:
    """Return the estimate of a release, or its value where there is none."""
    everybody = np.ones(crowd.size, dtype=bool)
    (cells,) = plan.answers(crowd, everybody, stream, count=1)
    value = float(plan.finish(cells))
    if divided and _has_interval(plan):
        weight = Denominator.planned(plan.noise, plan.level).release(plan.effective_weights, everybody, stream)
        (found,) = plan.estimates(cells, weight, confidence=0.95, distorted=True, population=crowd.size)
        if found.value is not None:
            return found.value
    estimate = plan.estimate(value)
    return value if estimate is None else estimate


def _has_interval(plan: Plan) -> TypeGuard[StretchedPlan]:
    return isinstance(plan, StretchedPlan) and plan.mechanism.query.why_no_estimate is None


def _rated(way: _Way, crowds: _Crowds, errors: Floats) -> Contender:
    squares = errors**2
    rmse = float(np.sqrt(squares.mean()))
    spread = float(squares.std(ddof=1)) / math.sqrt(errors.size)
    uncertainty = spread / (2 * rmse) if rmse else 0.0
    equal = way.maker(PrivacyWeights(np.ones(crowds.question.domain.size)))
    interval = way.divided and _has_interval(equal.plan(noise="laplace", amount=crowds.epsilon))
    return Contender(way.name, way.why, rmse, float(errors.mean()), uncertainty, interval)


def _of_ones_own(
    name: str, made: Callable[[PrivacyWeights, float], Mechanism], epsilon: float, size: int, weights: PrivacyWeights
) -> Mechanism:
    mechanism = made(weights, epsilon)
    if not isinstance(mechanism, Mechanism) or mechanism.domain.size != size:
        what = f"{mechanism.domain.size} items" if isinstance(mechanism, Mechanism) else type(mechanism).__name__
        raise InvalidInput(
            f"contender {name!r} must make a mechanism with one item per weight",
            got=what,
            hint=f"An example: {EXAMPLE}",
        )
    if mechanism.plan(noise="laplace", amount=epsilon).is_vector:
        raise InvalidInput(f"contender {name!r} must have a number as its answer (got a vector)")
    return mechanism


def _question(query: Query | str, size: int | None, share: float | None) -> _Question:
    if (share is None) == (query == "quantile"):
        raise InvalidInput("must be given for a quantile only", parameter="quantile", got=share)
    if isinstance(query, Query):
        if query.is_vector:
            raise InvalidInput("must have a number as its answer", parameter="query", got=query.name)
        if size not in (None, query.size):
            raise InvalidInput(f"must be left out or be the size of the query ({query.size})", parameter="n", got=size)
        return _Question(query.name, query.domain, query, query)
    if query not in QUERY_NAMES:
        raise InvalidInput(f"must be a query or one of {', '.join(QUERY_NAMES)}", parameter="query", got=query)
    center = 0.5 if query == "variance" else 0.0  # as `hetdp release` has it
    box = Box.uniform(0, 1, size=whole("n", size, minimum=2), center=center)
    if query == "median":
        return _Question(query, box, np.median, None)
    if share is not None:
        return _Question(query, box, partial(np.quantile, q=share), None, share)
    asked = queries.COMPARED_BY_NAME[query](box)
    return _Question(query, asked.domain, asked, asked)


# -- contenders -------------------------------------------------------------------------------------------------------


def _ways(question: _Question, crowds: _Crowds, trials: int) -> Iterator[_Way]:
    if question.query is not None:
        yield from _noisy_ways(question.query, crowds, trials)
    if question.chosen is not None:
        chosen = partial(question.chosen, question.domain)
        yield _Way("personalised exponential", "lets every item vote with its weight", chosen)
        yield _Way("sampling + exponential", "keeps strict items now and then", partial(sample, chosen))


def _noisy_ways(query: Query, crowds: _Crowds, trials: int) -> Iterator[_Way]:
    yield _Way(
        "stretching (paper)",
        "shrinks strict items",
        lambda weights: Stretched(query, weights),
        divided=False,
    )
    if query.why_no_estimate is None:
        yield from _stretched("weights", query, crowds)
    if isinstance(query, LinearQuery) and query.homogeneous:
        yield from _stretched("prior", query, crowds)
    helps = isinstance(query, ItemwiseQuery) and query.additive  # a prior tells how many are left
    prior = crowds.prior if helps else None
    yield _Way(
        "sampling",
        "keeps strict items now and then",
        lambda weights: sample(query, weights, prior=prior),
    )
    lowest, *levels = _levels(crowds.prior)
    thresholded = partial(_thresholded, query, prior if query.why_no_estimate else None)
    yield thresholded(lowest, name="uniform", why="treats everyone at the strictest positive level")
    tried = [
        thresholded(level, name=f"threshold {level:g}", why=f"drops items below {level:g} and treats the others alike")
        for level in levels
    ]
    if tried:
        squares = (crowds.errors(tried, trials, part=1) ** 2).mean(axis=0)
        yield tried[int(np.argmin(squares))]


def _stretched(divided_by: str, query: Query, crowds: _Crowds) -> Iterator[_Way]:
    """Yield stretching, with and without a multiplier, divided by a sum of weights or by what a prior expects."""
    by_prior = divided_by == "prior"
    prior = crowds.prior if by_prior else None
    divisor = "the shrinkage the prior expects" if by_prior else "a noisy sum of weights, charged to weights"
    yield _Way(
        f"stretching, by {divided_by}",
        f"shrinks strict items and divides by {divisor}",
        lambda weights: Stretched(query, weights, 1.0, prior),
        divided=not by_prior,
    )
    if not isinstance(query, LinearQuery):
        return
    best = best_multiplier(query, crowds.prior, crowds.epsilon, values=crowds.plausible, divided_by=divided_by)
    best = float(f"{best:.2g}")  # as good, and easier to type
    if best > 1:
        yield _Way(
            f"stretching x {best:g}, by {divided_by}",
            f"adds {best:g} times the noise to shrink strict items less, and divides by {divisor}",
            lambda weights: Stretched(query, weights, best, prior),
            divided=not by_prior,
        )


def _thresholded(query: Query, prior: WeightPrior | None, level: float, *, name: str, why: str) -> _Way:
    return _Way(name, why, lambda weights: threshold(query, weights, level=level, prior=prior))


def _levels(prior: WeightPrior) -> list[float]:
    """Return the thresholds worth trying, increasing: the weights that people may have.

    Between two of them a threshold keeps the same people as at the upper one, with more noise.
    """
    levels = np.unique(prior.weights[(prior.weights > 0) & (prior.probabilities > 0)])
    if levels.size == 0:
        raise InvalidInput("must give some weight above 0 a chance (got only zeros)", parameter="weight_prior")
    spread = np.linspace(0, levels.size - 1, min(levels.size, _LEVELS))
    return [float(level) for level in levels[np.rint(spread).astype(np.intp)]]


def _crowd(box: Box, plausible: Floats | None, stream: Stream) -> Floats:
    where = stream.uniforms(box.size)
    if plausible is None:
        return box.lower + where * box.ranges
    return box.clamp(plausible[(where * plausible.size).astype(np.intp)])


def _weights(prior: WeightPrior, size: int, stream: Stream) -> PrivacyWeights:
    edges = np.cumsum(prior.probabilities)
    place: NDArray[np.intp] = np.searchsorted(edges / edges[-1], stream.uniforms(size), side="right")
    return PrivacyWeights(prior.weights[np.minimum(place, prior.weights.size - 1)])
