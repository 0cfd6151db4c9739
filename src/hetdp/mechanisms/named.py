"""Questions by name, about one value per person in a public range: the mechanism that answers each best."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import one_of
from hetdp.core.errors import InvalidInput, Problem
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.plan import Mechanism
from hetdp.mechanisms.queries.base import Query
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.stretching import stretch
from hetdp.mechanisms.thresholding import threshold as thresholded
from hetdp.profiles import Box, Categories, PrivacyWeights, WeightPrior

#: Chosen among round values of the range, or among categories, by a personalised exponential mechanism: noise as large
#: as the range, which stretching needs for an extreme, would drown them.
SELECTED = (*selection.SELECTED_BY_NAME, "quantile", "mode")
QUERIES = (*queries.RELEASED_BY_NAME, *SELECTED)
#: What can be asked about categories; a mode about nothing else.
CATEGORICAL = ("histogram", "mode")
MECHANISMS = ("stretching", "exponential", "sampling", "threshold")


def default_mechanism(name: str) -> str:
    """Return what answers a question unless told otherwise."""
    return "exponential" if name in SELECTED else "stretching"


def mechanism_named(
    name: str,
    weights: PrivacyWeights | ArrayLike,
    *,
    lower: float | None = None,
    upper: float | None = None,
    center: float | None = None,
    bins: int = 10,
    quantile: float | None = None,
    step: float | None = None,
    categories: Categories | None = None,
    mechanism: str | None = None,
    threshold: float | None = None,
    multiplier: float | Literal["best"] = 1.0,
    prior: WeightPrior | None = None,
    epsilon: float | None = None,
    public: bool = False,
) -> Mechanism:
    """Return what answers a question, fitted to the privacy weights of the people.

    `lower` and `upper` are the public range of the values; a count needs none: its values are 1 for who counts and 0
    for who does not. Values shrink to `center`, by default 0 if it lies in the range, else the midpoint; for a variance
    the midpoint. The `bins` of a histogram have the same width; with `categories` instead of a range, values are their
    codes. `quantile` is the share of the people below the value that is asked for; it, a median and an extreme are one
    of the multiples of `step` (`hetdp.mechanisms.selection.round_values`). `mechanism` is one of `MECHANISMS`;
    `threshold` the level below which that of this name drops people. For `multiplier` and `prior` see `hetdp.stretch`;
    "best" is `hetdp.best_multiplier` for the prior and `epsilon`. `public` tells that everybody knows the weights,
    which are all the same.
    """
    own = weights if isinstance(weights, PrivacyWeights) else PrivacyWeights(weights)
    one_of("name", name, QUERIES)
    kind = one_of("mechanism", mechanism or default_mechanism(name), MECHANISMS)
    if (threshold is None) == (kind == "threshold"):
        raise InvalidInput("must be given for the mechanism threshold only", parameter="threshold", got=threshold)
    if (quantile is None) == (name == "quantile"):
        raise InvalidInput("must be given for a quantile only", parameter="quantile", got=quantile)
    if kind != "stretching" and multiplier != 1.0:
        raise InvalidInput("must not be given where nothing is stretched", parameter="multiplier", got=multiplier)
    if name in SELECTED and prior is not None:
        raise InvalidInput(f"must not be given for a {name}: nothing is stretched", parameter="prior")
    domain = _domain(name, own.size, (lower, upper, center), categories)
    if name in SELECTED and kind in ("exponential", "sampling"):
        chosen = _selection(name, domain, quantile, categories, step)
        return chosen(own) if kind == "exponential" else sample(chosen, own)
    _refuse(step)
    query = _query(name, domain, kind, bins, categories)
    if kind == "sampling":
        return sample(query, own, prior=prior)
    if threshold is not None:
        return thresholded(query, own, level=threshold, prior=prior)
    if multiplier == "best":
        if prior is None or epsilon is None:
            raise InvalidInput("needs prior and epsilon to be 'best'", parameter="multiplier")
        multiplier = best_multiplier(query, prior, epsilon)
    return stretch(query, float(own.values[0]) if public else own, multiplier=multiplier, prior=prior)


def _domain(
    name: str, size: int, limits: tuple[float | None, float | None, float | None], categories: Categories | None
) -> Box:
    """Return the domain of the values of a question, from their lower and upper limit and centre."""
    lower, upper, center = limits
    if categories is not None:
        if name not in CATEGORICAL or limits != (None, None, None):
            raise InvalidInput(
                "must be given for a histogram or mode, without a range (got both)", parameter="categories"
            )
        return categories.domain(size=size)
    if name == "mode":
        raise InvalidInput("must be given for a mode: they are public", parameter="categories")
    if name == "count":
        return Box.uniform(0, 1, size=size)
    if lower is None or upper is None:
        missing = [end for end, given in (("lower", lower), ("upper", upper)) if given is None]
        raise InvalidInput.several([Problem(f"is required for a {name}: the range is public", end) for end in missing])
    if name == "variance" and center is None:
        center = lower / 2 + upper / 2  # keeps the most of a variance
    return Box.uniform(lower, upper, size=size, center=center)


def _selection(
    name: str, domain: Box, quantile: float | None, categories: Categories | None, step: float | None
) -> Callable[[PrivacyWeights], Mechanism]:
    if name == "mode" and categories is not None:
        _refuse(step)
        return partial(selection.mode, domain, categories=categories)
    values = selection.round_values(domain.lower[0], domain.upper[0], step)
    if quantile is not None:
        return partial(selection.quantile, domain, share=quantile, candidates=values)
    return partial(selection.SELECTED_BY_NAME[name], domain, candidates=values)


def _query(name: str, domain: Box, kind: str, bins: int, categories: Categories | None) -> Query:
    known = {**queries.COMPARED_BY_NAME, **queries.RELEASED_BY_NAME}
    if name not in known or kind == "exponential":
        possible = "exponential or sampling" if name in SELECTED else "stretching, sampling or threshold"
        raise InvalidInput(f"must be {possible} for a {name}", parameter="mechanism", got=kind)
    if name != "histogram":
        return known[name](domain)
    edges = np.linspace(domain.lower[0], domain.upper[0], bins + 1)
    return queries.histogram(domain, edges if categories is None else categories)


def _refuse(step: float | None) -> None:
    if step is not None:
        raise InvalidInput("must be given for what is chosen among values of a range only", parameter="step", got=step)
