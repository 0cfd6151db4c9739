"""Ready-made queries, and the way to bring your own.

==================  ==============================  ====================
query               S_i(w)                          rounded
==================  ==============================  ====================
linear              w |a_i| r_i                     per item
total, mean, count  w r_i, w r_i / n, w             per item
histogram           2w (replace), w (add-remove)    per item
variance            w (4/9) r^2 / n, see there      per item
squared_norm        (w R_i)^2                       per item
power               (w r_i)^p                       per item
norm, order 1       w R_i                           per item
maximum, minimum    w r_i                           per item
l0                  1 for w > 0                     per item
norm, order 2       w R_i                           with slack
scalar_product      w r_i R_partner                 with slack
logistic            tanh(w |a_i| r_i / 4)           with slack
custom              w L_i r_i, or as declared       with slack
exhaustive          w S_i, computed                 with slack
==================  ==============================  ====================

r_i is the width of the range of item i, R_i its largest absolute value, n the number of items. Squared norms, powers
and norms are given for a centre of 0. Stretching shrinks item i by the largest w_i <= 1 with S_i(w_i) <= v_i S, where S
is max S_i(1).

The `domain` of a query is a `hetdp.Box`: the public range of each value, and the centre that it shrinks to.

"Per item": each item's contribution is rounded to the grid by itself, in integers; no rounding touches the promise to
another item. "With slack": the target v_i S is lowered by the rounding of the whole answer, and an item whose target
would be negative is dropped. Either way no item loses more than epsilon v_i, however small v_i is.
"""

from collections.abc import Callable, Mapping

from hetdp.mechanisms.queries.own import Falsification, custom, exhaustive, falsify
from hetdp.mechanisms.queries.powers import l0, norm, power, squared_norm
from hetdp.mechanisms.queries.query import Query
from hetdp.mechanisms.queries.statistics import logistic, maximum, minimum, variance
from hetdp.mechanisms.queries.sums import count, histogram, linear, mean, scalar_product, total

__all__ = [
    "Falsification",
    "Query",
    "count",
    "custom",
    "exhaustive",
    "falsify",
    "histogram",
    "l0",
    "linear",
    "logistic",
    "maximum",
    "mean",
    "minimum",
    "norm",
    "power",
    "scalar_product",
    "squared_norm",
    "total",
    "variance",
]

#: What `hetdp release` can ask of a column by name: from its domain (and for a histogram its edges) to a query.
BY_NAME: Mapping[str, Callable[..., Query]] = {
    "mean": mean,
    "total": total,
    "count": count,
    "histogram": histogram,
    "variance": variance,
    "l0": l0,
    "squared_norm": squared_norm,
}
