"""Which mechanism suits a question, the weights that one expects, and an epsilon: simulated from public numbers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hetdp.cards import Card, CardTable, bar
from hetdp.core.checks import Real, float_vector, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream, seeded_stream
from hetdp.core.text import printable
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.mechanism import Floats, Mechanism, Plan
from hetdp.mechanisms.queries.query import Query
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.stretching import Stretched
from hetdp.mechanisms.weight_class import DEFAULT_BOUNDARIES, weight_classes
from hetdp.plots import WIDTH, amount, decades, drawn, interval_layers, layer, name_axis, text_of, titled
from hetdp.profiles import Box, PrivacyWeights
from hetdp.profiles.policies import Policy

#: Weights that one expects: a policy, weights that are all as likely, or a mapping of weights to their shares.
Expected = Policy | ArrayLike | Mapping[float, float]
#: Plausible values: a sample, or a sample for each weight.
Plausible = ArrayLike | Mapping[float, ArrayLike]
#: What a mechanism does to items of small weight, and what makes it from weights; by name.
Ways = dict[str, tuple[str, Callable[[PrivacyWeights], Mechanism]]]

_EXTREMES = {"maximum": queries.maximum, "minimum": queries.minimum}
#: Questions that can be compared by name alone, about values in [0, 1].
QUERY_NAMES = (*(name for name in queries.BY_NAME if name != "histogram"), *_EXTREMES, "median", "quantile")
#: A contender of one's own, in a line.
EXAMPLE = (
    "def f(weights, epsilon): return hetdp.stretch("
    "hetdp.queries.mean(hetdp.Box.uniform(0, 1, size=weights.size)), weights, multiplier=2)"
)
_KEEPS = "keeps items of small weight now and then"
_PER_CLASS = "answers per class of weights, with noise that fits each class"
_UNCHECKED = "is your own, and nobody has checked that it keeps its promise: hetdp audit tries to break it"
#: More different weights than these get no classes of their own.
_MOST_LEVELS = 8
#: Standard errors to either side of a simulated error.
_SURE = 1.96
#: Drawn for an error of 0, which has no logarithm.
_TINY = 1e-300
#: Bars of a card end at this multiple of the smallest error, so that good contenders can be compared.
_LONGEST = 4


@dataclass(frozen=True)
class Contender:
    """One mechanism and its simulated error.

    Attributes
    ----------
    name, why
        The mechanism, and what it does to items of small weight.
    rmse, bias, uncertainty
        Root mean squared error and mean error of its estimate, or of its raw value where it has no estimate; and the
        standard error of the first.
    """

    name: str
    why: str
    rmse: float
    bias: float
    uncertainty: float


@dataclass(frozen=True)
class Comparison:
    """Contenders, smallest error first.

    Attributes
    ----------
    query, epsilon, items, contenders
        What was asked, with which epsilon, about how many items; and the mechanisms, smallest error first.
    """

    query: str
    epsilon: float
    items: int
    contenders: tuple[Contender, ...]

    def __repr__(self) -> str:
        return f"Comparison({self.query} of {self.items:,} items at epsilon {self.epsilon:g}: {self.reason})"

    @property
    def recommended(self) -> Contender:
        """The contender with the smallest error."""
        return self.contenders[0]

    @property
    def reason(self) -> str:
        """Why it is recommended, in words."""
        best, second, *_ = self.contenders
        close = second.rmse - best.rmse <= 2 * math.hypot(best.uncertainty, second.uncertainty)
        return (
            f"{best.name} has the smallest error, {best.rmse:.3g}: it {best.why}. "
            f"Next is {second.name} with {second.rmse:.3g}{', as good as equal' if close else ''}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison, ready for JSON."""
        return {
            "query": self.query,
            "items": self.items,
            "epsilon": self.epsilon,
            "recommended": self.recommended.name,
            "reason": self.reason,
            "mechanisms": [
                {"mechanism": one.name, "rmse": one.rmse, "uncertainty": one.uncertainty, "bias": one.bias}
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
                "estimate": max(one.rmse, _TINY),
                "low": max(one.rmse - _SURE * one.uncertainty, one.rmse / 10, _TINY),
                "high": max(one.rmse + _SURE * one.uncertainty, _TINY),
                "value": None,
                "shown": f"{one.rmse:.3g}",
                "bias": f"{one.bias:+.2g}",
            }
            for one in self.contenders
        ]
        title = f"Error of the {self.query} of {self.items:,} items at epsilon = {self.epsilon:g}"
        about = "Simulated from public knowledge, with 95 % intervals. The first is recommended."
        ticks = {"values": decades([row[end] for row in rows for end in ("low", "high")]), "format": "~g"}
        axis: dict[str, Any] = {
            "title": "root mean squared error (logarithmic)",
            "scale": {"type": "log"},
            "axis": ticks,
        }
        layers = interval_layers(rows, shown={"name": "mechanism", "shown": "error", "bias": "bias"}, axis=axis)
        words = {"type": "text", "align": "left", "dx": 10}
        layers.append(layer(rows, words, y=name_axis(rows), x=amount("high", **axis), text=text_of("shown")))
        return drawn({"title": titled(title, about), "width": WIDTH, "height": {"step": 28}, "layer": layers})

    def _repr_html_(self) -> str:
        most = _LONGEST * self.recommended.rmse or 1.0
        header = ("mechanism", "error", "bias", f"up to {_LONGEST} times the smallest")
        rows = []
        for one in self.contenders:
            error = f"{one.rmse:.3g}"
            rows.append((one.name, f"{error} ± {one.uncertainty:.1g}", f"{one.bias:+.2g}", bar(one.rmse / most, error)))
        about = f"{self.query} of {self.items:,} items, epsilon = {self.epsilon:g}, simulated"
        table = CardTable(header, rows, numbers=(1, 2))
        return Card("Comparison", about=about, table=table, sentences=[f"Recommended: {self.reason}"]).html()


def compare(
    query: Query | str,
    weights: Expected,
    epsilon: Real,
    n: int | None = None,
    *,
    quantile: float | None = None,
    values: Plausible | None = None,
    contenders: Mapping[str, Callable[[PrivacyWeights, float], Mechanism]] | None = None,
    runs: int = 1000,
    random_state: int = 0,
) -> Comparison:
    """Simulate every applicable mechanism and recommend the one with the smallest error. Nothing is spent.

    Parameters
    ----------
    query
        A query of `hetdp.queries`, or one of the names mean, total, count, variance, l0, squared_norm, maximum,
        minimum, median and quantile, which stand for values in [0, 1]. A bin of a histogram is a count.
    weights
        What weights one expects, from public knowledge: a policy such as `hetdp.policies.westin`, weights that are all
        as likely, or a mapping of weights to their shares.
    epsilon
        Of the release to come.
    n
        Number of items, with a name.
    quantile
        The share of the items below a quantile.
    values
        A public sample of plausible values to draw from, never the data at hand; or a mapping of weights to such
        samples, where values depend on weights. Default: uniform over the domain.
    contenders
        Mechanisms of your own to simulate along, by name: functions from weights and epsilon to a mechanism with one
        item per weight.
    runs
        Simulated data sets; the standard error of an error is about 1 / sqrt(2 * runs) of it.
    random_state
        Seed; the comparison is a simulation.

    Examples
    --------
    >>> sick_and_strict = {1: [0] * 7 + [1] * 3, 0.25: [0] * 3 + [1] * 7}
    >>> result = compare("mean", {1: 0.8, 0.25: 0.2}, 1.0, 10_000, values=sick_and_strict, runs=20)
    >>> errors = {contender.name: round(contender.rmse, 3) for contender in result.contenders}
    >>> errors["weight classes 1, 0.5, 0.25"], errors["one class from 1"], errors["stretching (paper)"]
    (0.001, 0.04, 0.105)
    """
    level, expected = positive("epsilon", epsilon), _expected(weights)
    title, domain, truth, ways = _question(query, n, quantile, expected[0])
    for name, made in (contenders or {}).items():
        if not isinstance(name, str) or not callable(made) or name in ways:
            raise InvalidInput("must be functions under names of their own", parameter="contenders", got=name)
        ways[name] = (_UNCHECKED, lambda own, made=made: made(own, level))  # type: ignore[misc]
    samples = _samples(values, expected[0])
    errors = np.empty((whole("runs", runs, minimum=2), len(ways)))
    for run, row in enumerate(errors):
        data, own = _data(domain, expected, samples, seeded_stream(random_state, run, 0))
        right = float(truth(data))
        for place, (name, (_, make)) in enumerate(ways.items()):
            plan = _plan(name, make(own), level, data.size)
            # The same noise for all: differences between contenders are then less a matter of chance.
            (cells,) = plan.answers(data, np.ones(data.size, dtype=bool), seeded_stream(random_state, run, 1), count=1)
            found = plan.read(cells, confidence=0.95)
            row[place] = (found.value if found.estimate is None else found.estimate) - right
    rated = [_rated(name, why, of) for (name, (why, _)), of in zip(ways.items(), errors.T, strict=True)]
    best_first = tuple(sorted(rated, key=lambda contender: contender.rmse))
    return Comparison(title, level, domain.size, best_first)


def _question(
    query: Query | str, size: int | None, share: float | None, levels: Floats
) -> tuple[str, Box, Callable[[Floats], Any], Ways]:
    """Return what is asked, about which values, the exact answer, and what can give it with privacy."""
    if (share is None) == (query == "quantile"):
        raise InvalidInput("must be given for a quantile only", parameter="quantile", got=share)
    if isinstance(query, Query):
        if query.is_vector:
            raise InvalidInput("must have a number as its answer", parameter="query", got=query.name)
        if size not in (None, query.size):
            raise InvalidInput(f"must be left out or be the size of the query ({query.size})", parameter="n", got=size)
        return query.name, query.domain, query, _ways(query, levels)
    if query not in QUERY_NAMES:
        raise InvalidInput(f"must be a query or one of {', '.join(QUERY_NAMES)}", parameter="query", got=query)
    center = 0.5 if query == "variance" else 0.0  # as `hetdp release` has it
    box = Box.uniform(0, 1, size=whole("n", size, minimum=2), center=center)
    if share is not None:
        choose = partial(selection.quantile, share=share)
        return f"quantile {share:g}", box, partial(np.quantile, q=share), _choices(choose, box)
    if query == "median":
        return query, box, np.median, _choices(selection.median, box)
    asked = (queries.BY_NAME | _EXTREMES)[query](box)  # type: ignore[operator]
    choices = _choices(selection.SELECTED_BY_NAME[query], asked.domain) if query in _EXTREMES else {}
    return query, asked.domain, asked, _ways(asked, levels) | choices


def _choices(choose: Callable[..., Mechanism], domain: Box) -> Ways:
    chosen = partial(choose, domain)
    return {
        "personalised exponential": ("lets every item vote with its weight", chosen),
        "sampling + exponential": (_KEEPS, partial(sample, chosen)),
    }


def _ways(query: Query, levels: Floats) -> Ways:
    ways: Ways = {
        "stretching (paper)": ("shrinks items of small weight", partial(Stretched, query)),
        "sampling": (_KEEPS, partial(sample, query)),
    }
    if query.additive:
        for boundaries, why in _boundaries(np.unique(levels[levels > 0])[::-1].tolist()).items():
            kind = "weight classes" if len(boundaries) > 1 else "one class from"
            listed = ", ".join(f"{boundary:g}" for boundary in boundaries)
            ways[f"{kind} {listed}"] = (why, partial(weight_classes, query, boundaries=boundaries))
    return ways


def _boundaries(levels: list[float]) -> dict[tuple[float, ...], str]:
    """Return the usual classes, one per expected weight, and what people would use instead of classes."""
    whys: dict[tuple[float, ...], str] = {DEFAULT_BOUNDARIES: _PER_CLASS}
    if len(levels) <= _MOST_LEVELS:
        whys.setdefault(tuple(levels), _PER_CLASS)
    whys.setdefault((levels[-1],), "treats all items alike, at the smallest expected weight")
    whys.setdefault((levels[0],), "leaves out all items below the largest expected weight")
    return whys


def _plan(name: str, mechanism: object, level: float, size: int) -> Plan:
    """Return the plan of a mechanism; refuse what a contender of one's own must not make."""
    if not isinstance(mechanism, Mechanism) or mechanism.domain.size != size:
        got = f"{mechanism.domain.size} items" if isinstance(mechanism, Mechanism) else type(mechanism).__name__
        problem = f"contender {name!r} must make a mechanism with one item per weight"
        raise InvalidInput(problem, got=got, hint=f"An example: {EXAMPLE}")
    plan = mechanism.plan(noise="laplace", amount=level)
    if plan.is_vector:
        raise InvalidInput(f"contender {name!r} must have a number as its answer (got a vector)")
    return plan


def _expected(weights: Expected) -> tuple[Floats, Floats]:
    """Return the weights that one expects, and the share of each."""
    if isinstance(weights, PrivacyWeights):
        raise InvalidInput("must be public: what one expects, not the secret weights in use", parameter="weights")
    if isinstance(weights, Policy):
        if weights.labelled:
            raise InvalidInput("must not depend on items", parameter="weights", got=weights.name)
        levels, sizes = weights.values, [len(of) for of in weights.weights]
        shares = np.repeat(np.divide(weights.shares, sizes), sizes)
    elif isinstance(weights, Mapping):
        levels, shares = (float_vector("weights", list(column)) for column in (weights, weights.values()))
    else:
        levels = float_vector("weights", weights)
        shares = np.full(levels.size, 1 / levels.size)
    if ((levels < 0) | (levels > 1)).any() or not (levels[shares > 0] > 0).any():
        raise InvalidInput("must lie in [0, 1], some of them above 0", parameter="weights")
    if (shares < 0).any() or abs(float(shares.sum()) - 1) > 1e-9:  # noqa: PLR2004  (rounding of the sum)
        raise InvalidInput("must have shares that are at least 0 and sum to 1", parameter="weights")
    return levels, shares


def _samples(values: Plausible | None, levels: Floats) -> list[Floats]:
    """Return a sample of plausible values for each expected weight; none where values are uniform."""
    if values is None:
        return []
    if not isinstance(values, Mapping):
        return [float_vector("values", values)] * levels.size
    if not set(levels.tolist()) <= set(values):
        raise InvalidInput("must have a sample for every weight that is expected", parameter="values")
    return [float_vector("values", values[level]) for level in levels.tolist()]


def _data(
    box: Box, expected: tuple[Floats, Floats], samples: list[Floats], stream: Stream
) -> tuple[Floats, PrivacyWeights]:
    """Return simulated values and weights."""
    levels, shares = expected
    where, edges = stream.uniforms(box.size), np.cumsum(shares)
    kinds = np.searchsorted(edges / edges[-1], stream.uniforms(box.size), side="right")
    data = box.lower + where * box.ranges
    for kind, plausible in enumerate(samples):
        there = kinds == kind
        data[there] = plausible[(where[there] * plausible.size).astype(np.intp)]
    return box.clamp(data), PrivacyWeights(levels[kinds])


def _rated(name: str, why: str, errors: Floats) -> Contender:
    squares = errors**2
    rmse = float(np.sqrt(squares.mean()))
    spread = float(squares.std(ddof=1)) / math.sqrt(errors.size)
    return Contender(name, why, rmse, float(errors.mean()), spread / (2 * rmse) if rmse else 0.0)
