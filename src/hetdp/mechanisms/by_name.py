"""Questions by name, about one value per person in a public range: the mechanism that answers each best."""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import one_of
from hetdp.core.errors import InvalidInput, Problem
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.mechanisms.sampling import sample
from hetdp.mechanisms.stretching import stretch
from hetdp.mechanisms.weight_class import DEFAULT_BOUNDARIES, weight_classes
from hetdp.profiles import Box, Categories, PrivacyWeights

#: Chosen among round values of the range, or among categories, by a personalised exponential mechanism. Noise as large
#: as the range would drown them.
SELECTED = tuple(selection.SELECTED_BY_NAME)
QUERIES = (*queries.BY_NAME, *SELECTED)
#: What can be asked about categories; a mode about nothing else.
CATEGORICAL = ("histogram", "mode")
MECHANISMS = ("classes", "stretching", "exponential", "sampling")


def default_mechanism(name: str) -> str:
    """Return what answers a question unless another mechanism is chosen."""
    if name in SELECTED:
        return "exponential"
    return "stretching" if name == "variance" else "classes"


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
    boundaries: ArrayLike = DEFAULT_BOUNDARIES,
    multiplier: float = 1.0,
    public: bool = False,
) -> Mechanism:
    """Return what answers a question, fitted to the privacy weights of the people.

    `lower` and `upper` are the public range of the values; a count needs none: its values are 1 for who counts and 0
    for who does not. Stretched values shrink to `center`, by default 0 if it lies in the range, else the midpoint; for
    a variance the midpoint. Missing values count as the centre, which is the midpoint for the weight classes of a mean.
    The `bins` of a histogram have the same width; with `categories` instead of a range, values are their codes.
    `quantile` is the share of the people below the value that is asked for; it, a median and an extreme are one of the
    multiples of `step` (`hetdp.mechanisms.selection.round_values`). `mechanism` is one of `MECHANISMS`. `public` says
    that all weights are the same, and public.
    """
    own = PrivacyWeights(weights)
    one_of("name", name, QUERIES)
    kind = one_of("mechanism", mechanism or default_mechanism(name), MECHANISMS)
    if (quantile is None) == (name == "quantile"):
        raise InvalidInput("must be given for a quantile only", parameter="quantile", got=quantile)
    if step is not None and (name not in SELECTED or name == "mode"):
        raise InvalidInput("must be given for what is chosen among values of a range only", parameter="step", got=step)
    possible = ("exponential",) if name in SELECTED else ("classes", "stretching")[name == "variance" :]
    if kind not in (*possible, "sampling"):
        raise InvalidInput(f"must be {', '.join(possible)} or sampling for a {name}", parameter="mechanism", got=kind)
    domain = _domain(name, own.size, categories, (lower, upper, center))
    if center is None and (name == "variance" or (name, kind) == ("mean", "classes")):
        # There a variance keeps the most, and a missing value moves a mean the least.
        low, high = float(domain.lower[0]), float(domain.upper[0])
        domain = Box.uniform(low, high, size=own.size, center=low / 2 + high / 2)
    if name in SELECTED:
        given = {} if quantile is None else {"share": quantile}
        if categories is None:
            values = selection.round_values(domain.lower[0], domain.upper[0], step)
            chosen = partial(selection.SELECTED_BY_NAME[name], domain, candidates=values, **given)
        else:
            chosen = partial(selection.mode, domain, categories=categories)
        return sample(chosen, own) if kind == "sampling" else chosen(own)
    if name == "histogram":
        edges = np.linspace(domain.lower[0], domain.upper[0], bins + 1)
        query = queries.histogram(domain, edges if categories is None else categories)
    else:
        query = queries.BY_NAME[name](domain)
    if kind == "sampling":
        return sample(query, own)
    if kind == "classes":
        return weight_classes(query, own, (1.0,) if public else boundaries)
    return stretch(query, float(own.values[0]) if public else own, multiplier=multiplier)


def _domain(name: str, size: int, categories: Categories | None, limits: tuple[float | None, ...]) -> Box:
    lower, upper, center = limits
    if categories is not None:
        if name not in CATEGORICAL or limits != (None, None, None):
            problem = "must be given for a histogram or mode, without a range (got both)"
            raise InvalidInput(problem, parameter="categories")
        return categories.domain(size=size)
    if name == "mode":
        raise InvalidInput("must be given for a mode: they are public", parameter="categories")
    if name == "count":
        return Box.uniform(0, 1, size=size)
    if lower is None or upper is None:
        missing = [end for end, given in (("lower", lower), ("upper", upper)) if given is None]
        raise InvalidInput.several([Problem(f"is required for a {name}: the range is public", end) for end in missing])
    return Box.uniform(lower, upper, size=size, center=center)
