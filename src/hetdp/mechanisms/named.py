"""Questions by name, about one value per person in a public range: the mechanism that answers each best."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hetdp.core.checks import one_of
from hetdp.core.errors import InvalidInput
from hetdp.mechanisms import queries, selection
from hetdp.mechanisms.estimation import best_multiplier
from hetdp.mechanisms.plan import Mechanism
from hetdp.mechanisms.stretching import stretch
from hetdp.profiles import Box, PrivacyWeights, WeightPrior

__all__ = ["QUERIES", "SELECTED", "mechanism_named"]

#: Chosen among 1,001 values of the range by a personalised exponential mechanism: noise as large as the range, which
#: stretching needs for an extreme, would drown them.
SELECTED = selection.SELECTED_BY_NAME
QUERIES = (*queries.RELEASED_BY_NAME, *SELECTED)


def mechanism_named(
    name: str,
    weights: PrivacyWeights | ArrayLike,
    *,
    lower: float | None = None,
    upper: float | None = None,
    center: float | None = None,
    bins: int = 10,
    multiplier: float | Literal["best"] = 1.0,
    prior: WeightPrior | None = None,
    epsilon: float | None = None,
) -> Mechanism:
    """Return what answers a question, fitted to the privacy weights of the people.

    `lower` and `upper` are the public range of the values; a count needs none: its values are 1 for who counts and 0
    for who does not. Values shrink to `center`, by default 0 if it lies in the range, else the midpoint; for a variance
    the midpoint. The `bins` of a histogram have the same width. For `multiplier` and `prior` see `hetdp.stretch`;
    "best" is `hetdp.best_multiplier` for the prior and `epsilon`.
    """
    own = weights if isinstance(weights, PrivacyWeights) else PrivacyWeights(weights)
    size = own.values.size
    one_of("name", name, QUERIES)
    if name != "count" and (lower is None or upper is None):
        raise InvalidInput(f"lower and upper must be given for a {name}: the range is public. Got None instead.")
    low, high = (0.0, 1.0) if lower is None or upper is None else (lower, upper)
    if name in SELECTED:
        if multiplier != 1.0 or prior is not None:
            raise InvalidInput(
                f"multiplier and prior must not be given for a {name}: nothing is stretched. Got one instead."
            )
        return SELECTED[name](Box.uniform(low, high, size=size, center=center), own)
    if name == "variance" and center is None:
        center = low / 2 + high / 2  # keeps the most of a variance
    domain = Box.uniform(0, 1, size=size) if name == "count" else Box.uniform(low, high, size=size, center=center)
    more = (np.linspace(low, high, bins + 1),) if name == "histogram" else ()
    query = queries.RELEASED_BY_NAME[name](domain, *more)
    if multiplier == "best":
        if prior is None or epsilon is None:
            raise InvalidInput("prior and epsilon must be given for multiplier='best'. Got None instead.")
        multiplier = best_multiplier(query, prior, epsilon)
    return stretch(query, own, multiplier=multiplier, prior=prior)
