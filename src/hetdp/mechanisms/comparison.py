"""Which mechanism is best for this question, this crowd and this epsilon? Simulated from public knowledge alone."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.core.checks import Real, float_vector, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream, seeded_stream
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.plan import Mechanism
from hetdp.mechanisms.queries.base import Floats, Query
from hetdp.mechanisms.queries.sums import LinearQuery
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.stretching import Stretched
from hetdp.mechanisms.thresholding import threshold, uniform
from hetdp.profiles import Box, PrivacyWeights, WeightPrior

__all__ = ["QUERY_NAMES", "Comparison", "Contender", "compare"]

#: From public knowledge to a mechanism for given weights.
Maker = Callable[[PrivacyWeights], Mechanism]

#: Questions that can be compared by name alone, about values in [0, 1].
QUERY_NAMES = (*queries.COMPARED_BY_NAME, "median")


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
    """

    name: str
    why: str
    rmse: float
    bias: float
    uncertainty: float


@dataclass(frozen=True)
class Comparison:
    """Contenders, best first."""

    query: str
    epsilon: float
    items: int
    contenders: tuple[Contender, ...]

    @property
    def recommended(self) -> Contender:
        """The contender with the smallest error."""
        return self.contenders[0]

    @property
    def reason(self) -> str:
        """Why it is recommended, in words."""
        best = self.contenders[0]
        text = f"{best.name} has the smallest error, {best.rmse:.3g}: it {best.why}."
        if len(self.contenders) > 1:
            second = self.contenders[1]
            close = second.rmse - best.rmse < 2 * math.hypot(best.uncertainty, second.uncertainty)
            text += f" Next is {second.name} with {second.rmse:.3g}{', as good as equal' if close else ''}."
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
                {"mechanism": one.name, "rmse": one.rmse, "uncertainty": one.uncertainty, "bias": one.bias}
                for one in self.contenders
            ],
        }

    def svg(self) -> str:
        """Return a bar chart of the errors as a self-contained SVG image, on a logarithmic scale."""
        errors = [max(contender.rmse, 1e-300) for contender in self.contenders]
        low, high = math.log10(min(errors)) - 0.3, math.log10(max(errors)) + 1e-9
        rows = []
        for place, (contender, error) in enumerate(zip(self.contenders, errors, strict=True)):
            width = 20 + 260 * (math.log10(error) - low) / (high - low)
            y, color = 46 + 30 * place, "#2f7f79" if place == 0 else "#9aa5b1"
            rows.append(
                f'<text x="250" y="{y + 14}" text-anchor="end">{escape(contender.name)}</text>'
                f'<rect x="260" y="{y}" width="{width:.0f}" height="20" rx="3" fill="{color}"/>'
                f'<text x="{268 + width:.0f}" y="{y + 14}">{contender.rmse:.3g}</text>'
            )
        title = f"Error of the {self.query} of {self.items} items at epsilon = {self.epsilon:g} (log scale)"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {60 + 30 * len(rows)}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="13" fill="#52606d">'
            f'<text x="12" y="24" font-size="15">{escape(title)}</text>{"".join(rows)}</svg>\n'
        )

    def _repr_html_(self) -> str:
        return f"{self.svg()}<p>{escape(self.reason)}</p>"


def compare(
    query: Query | str,
    weight_prior: WeightPrior | ArrayLike | Mapping[float, float],
    epsilon: Real,
    n: int | None = None,
    *,
    values: ArrayLike | None = None,
    runs: int = 1000,
    random_state: int = 0,
) -> Comparison:
    """Simulate every applicable mechanism and recommend the one with the smallest error. Nothing is spent.

    Parameters
    ----------
    query
        A query of `hetdp.queries`, or one of the names mean, total, count, maximum, minimum, l0, squared_norm, variance
        and median, which stand for values in [0, 1].
    weight_prior
        What weights one expects, from public knowledge: a `WeightPrior`, or what makes one.
    epsilon
        Of the release to come.
    n
        Number of items, with a name.
    values
        A public sample of plausible values to draw from, never the data at hand. Default: uniform over the domain.
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
    """
    level, prior = positive("epsilon", epsilon), WeightPrior.of(weight_prior)
    plausible = None if values is None else float_vector("values", values)
    name, box, truth, made = _question(query, n, plausible)
    contenders = list(made(prior, level))
    errors = np.empty((whole("runs", runs, minimum=2), len(contenders)))
    for run in range(runs):
        stream = seeded_stream(random_state, run, 0)
        crowd, weights = _crowd(box, plausible, stream), _weights(prior, box.size, stream)
        right = truth(crowd)
        for place, (_, _, maker) in enumerate(contenders):
            plan = maker(weights).plan(noise="laplace", amount=level)
            # The same noise for all: differences between contenders are then less a matter of luck.
            value = float(plan.answer(crowd, np.ones(box.size, dtype=bool), seeded_stream(random_state, run, 1)))
            estimate = plan.estimate(value)
            errors[run, place] = (value if estimate is None else estimate) - right
    rated = [_rated(label, why, found) for (label, why, _), found in zip(contenders, errors.T, strict=True)]
    return Comparison(name, level, box.size, tuple(sorted(rated, key=lambda contender: contender.rmse)))


def _rated(name: str, why: str, errors: Floats) -> Contender:
    squares = errors**2
    rmse = float(np.sqrt(squares.mean()))
    spread = float(squares.std(ddof=1)) / math.sqrt(errors.size)
    return Contender(name, why, rmse, float(errors.mean()), spread / (2 * rmse) if rmse else 0.0)


Makers = Iterator[tuple[str, str, Maker]]


def _question(
    query: Query | str, size: int | None, plausible: Floats | None
) -> tuple[str, Box, Callable[[Floats], float], Callable[[WeightPrior, float], Makers]]:
    """Return the name, the domain, the true answer and the contenders of a question."""
    if isinstance(query, Query):
        if query.is_vector:
            raise InvalidInput(f"query must have a number as its answer. Got {query.name!r} instead.")
        if size not in (None, query.size):
            raise InvalidInput(f"n must be left out or be the size of the query ({query.size}). Got {size!r} instead.")
        asked = query
    else:
        if query not in QUERY_NAMES:
            raise InvalidInput(f"query must be a query or one of {', '.join(QUERY_NAMES)}. Got {query!r} instead.")
        box = Box.uniform(0, 1, size=whole("n", size, minimum=2))
        if query == "median":
            return query, box, lambda crowd: float(np.median(crowd)), partial(_rank_makers, query, box)
        asked = queries.COMPARED_BY_NAME[query](box)
    rank = partial(_rank_makers, asked.name, asked.domain) if asked.name in selection.SELECTED_BY_NAME else None
    makers = partial(_query_makers, asked, rank, plausible)
    return asked.name, asked.domain, lambda crowd: float(asked(crowd)), makers


def _rank_makers(name: str, box: Box, prior: WeightPrior, epsilon: float) -> Makers:  # noqa: ARG001
    chosen = selection.SELECTED_BY_NAME[name]
    yield "personalised exponential", "lets every item vote with its weight", partial(chosen, box)
    yield (
        "sampling + exponential",
        "keeps strict items now and then",
        lambda weights: sample(partial(chosen, box), weights, prior=prior),
    )


def _query_makers(
    query: Query, rank: Callable[..., Makers] | None, plausible: Floats | None, prior: WeightPrior, epsilon: float
) -> Makers:
    yield "stretching (paper)", "shrinks strict items", lambda weights: Stretched(query, weights)
    if isinstance(query, LinearQuery) and query.homogeneous:
        best = best_multiplier(query, prior, epsilon, values=plausible)
        yield (
            "stretching, normalised",
            "shrinks strict items and divides by the expected shrinkage",
            lambda weights: Stretched(query, weights, 1.0, prior),
        )
        if best > 1:
            yield (
                "stretching, best multiplier",
                f"adds {best:.3g} times the noise to shrink strict items less, and divides by the expected shrinkage",
                lambda weights: Stretched(query, weights, best, prior),
            )
    yield "sampling", "keeps strict items now and then", lambda weights: sample(query, weights, prior=prior)
    yield (
        "uniform",
        "treats everyone at the strictest positive level",
        lambda weights: uniform(query, weights, prior=prior),
    )
    middle = float(np.median(prior.weights[(prior.weights > 0) & (prior.probabilities > 0)]))
    yield (
        f"threshold {middle:g}",
        f"drops items below {middle:g} and treats the others alike",
        lambda weights: threshold(query, weights, level=middle, prior=prior),
    )
    if rank is not None:
        yield from rank(prior, epsilon)


def _crowd(box: Box, plausible: Floats | None, stream: Stream) -> Floats:
    where = stream.uniforms(box.size)
    if plausible is None:
        return box.lower + where * box.ranges
    return box.clamp(plausible[(where * plausible.size).astype(np.intp)])


def _weights(prior: WeightPrior, size: int, stream: Stream) -> PrivacyWeights:
    edges = np.cumsum(prior.probabilities)
    place: NDArray[np.intp] = np.searchsorted(edges / edges[-1], stream.uniforms(size), side="right")
    return PrivacyWeights(prior.weights[np.minimum(place, prior.weights.size - 1)])
