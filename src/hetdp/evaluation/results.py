"""What an evaluation found: a row per method, for neighbours and for recommendations, with intervals."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import one_of
from hetdp.core.files import as_frame
from hetdp.core.text import counted

#: Tables of an evaluation.
WHAT = ("neighbors", "items")
#: Names of methods that are no engines.
MODEL, MATRIX_MODEL = "model", "matrix model"
TRUE, SAME, RANDOM = "true neighbours", "same people", "random"
PRIVATE_POPULARITY, HOLDER_POPULARITY = "private popularity", "holder's popularity"
POPULARITY, EASE = "popularity", "EASE, no privacy"
#: How much a common item counts in gossip.
WAYS_TO_COMBINE = ("smaller", "product")
#: Items by popularity: the most popular ones that make up a third of all pairs, the next third, and the many others.
THIRDS = ("head", "middle", "tail")
#: What is measured of recommendations: means over users, and the share of hidden items found of each third.
MEASURES = ("precision", "recall", "ndcg", *THIRDS)
_NORMAL_95 = 1.959964
ABOUT_INTERVALS = (
    "Intervals of 95 %: users as a sample of users, runs as a sample of splits, weights and noise. The spread of the "
    "users' means over runs (normal) and of the runs' means (Student) are added in squares. All methods meet the same "
    "splits and users, so differences are taken user by user and run by run, and their intervals say more than two "
    "that overlap."
)


class MethodKey(NamedTuple):
    """A method, its level if it has one, and how weights were chosen if they matter to it."""

    method: str
    epsilon: float | None = None
    weights: str | None = None


@dataclass(frozen=True)
class NeighborRow:
    """How much the neighbours of one method have of what was hidden: the paper's recall.

    Attributes
    ----------
    method, epsilon, weights
        An engine, its level and how weights were chosen; or "true neighbours", "same people" and "random", which have
        neither.
    recall, low, high, half_width
        Mean recall over runs and users, and its 95 % interval.
    difference, difference_half_width
        How far from true neighbours, and half the width of the interval of that.
    against_all
        What an item of weight 1 loses against everybody together, at most.
    """

    method: str
    epsilon: float | None
    weights: str | None
    recall: float
    low: float
    high: float
    half_width: float
    difference: float | None
    difference_half_width: float | None
    against_all: float | None


@dataclass(frozen=True)
class ItemRow:
    """How good the recommendations of one method are.

    Attributes
    ----------
    method, epsilon, weights
        "model" (from sketches) or "matrix model" (of a trusted holder), its level and how weights were chosen; "private
        popularity" and "holder's popularity"; or what knows no privacy: "popularity" and "EASE, no
        privacy".
    precision, recall, ndcg
        Of the first n recommendations, over the users from whom something was hidden.
    precision_half_width, recall_half_width, ndcg_half_width, head_half_width, middle_half_width, tail_half_width
        Half the widths of their 95 % intervals.
    head, middle, tail
        The share of hidden items that were recommended, of items by popularity in training: each third of all pairs.
        None if nothing of that third was hidden.
    beyond_popularity, beyond_popularity_half_width
        How much more NDCG than private popularity at the same epsilon (a holder's for what a holder makes of a
        matrix), and half the width of the interval of that; None for what is not private.
    beats_popularity
        Whether that is more, surely: "yes", "no" (surely less) or "unsure".
    against_all
        What an item of weight 1 loses against everybody together, at most; of a matrix, except with probability 1e-6.
    """

    method: str
    epsilon: float | None
    weights: str | None
    precision: float
    precision_half_width: float
    recall: float
    recall_half_width: float
    ndcg: float
    ndcg_half_width: float
    head: float | None
    head_half_width: float | None
    middle: float | None
    middle_half_width: float | None
    tail: float | None
    tail_half_width: float | None
    beyond_popularity: float | None
    beyond_popularity_half_width: float | None
    beats_popularity: str | None
    against_all: float | None


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What was measured, one row per method, epsilon and choice of weights; a table that was not asked for is empty.

    Attributes
    ----------
    neighbors, items
        How good neighbours are, and recommendations.
    """

    neighbors: tuple[NeighborRow, ...]
    items: tuple[ItemRow, ...]

    def __repr__(self) -> str:
        tables = {"neighbors": self.neighbors, "items": self.items}
        found = [f"{name}: {counted(len(rows), 'row')}" for name, rows in tables.items()]
        return f"Evaluation({', '.join(found)}; private: to_frame() and plot() show them)"

    def to_frame(self, table: str = "items") -> Any:  # noqa: ANN401  (pandas is optional)
        """Return the table "items" or "neighbors" as a data frame, of pandas if it is installed, else of arrow."""
        chosen: Sequence[NeighborRow | ItemRow]
        chosen = self.items if one_of("table", table, ("items", "neighbors")) == "items" else self.neighbors
        kind = ItemRow if table == "items" else NeighborRow
        return as_frame(
            {field.name: [getattr(row, field.name) for row in chosen] for field in dataclasses.fields(kind)}
        )

    def plot(self, table: str | None = None, *, measure: str = "ndcg") -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: quality against total loss, beside popularity and no privacy.

        Needs the extra `plot`. Notebooks show it as an image; `hetdp.plots.save` writes it to a file.

        Parameters
        ----------
        table
            "items" or "neighbors"; both that were measured by default, below each other, a panel for each choice of
            weights.
        measure
            What recommendations are judged by: "ndcg", "recall" or "precision".

        Privacy
        -------
        Exact, as the tables are: computed from the data without noise, for their owner. The chart says so.
        """
        from hetdp.evaluation.plot import plot_evaluation

        return plot_evaluation(self, table, measure)


def neighbor_row(
    key: MethodKey, recalls: NDArray[np.float64], true: NDArray[np.float64] | None, against_all: float | None
) -> NeighborRow:
    """Return the row of recalls, runs x users, beside those of true neighbours."""
    mean, half = interval(recalls)
    difference, half_difference = (None, None) if true is None else interval(recalls - true)
    return NeighborRow(
        *key, mean, max(0.0, mean - half), min(1.0, mean + half), half, difference, half_difference, against_all
    )


def item_row(
    key: MethodKey,
    found: NDArray[np.float64],
    sizes: NDArray[np.float64],
    rival: NDArray[np.float64] | None,
    against_all: float | None,
) -> ItemRow:
    """Return the row of what was found, runs x `MEASURES` x users, of so much to find, beside private popularity."""
    shown: dict[str, float | None] = {}
    for place, name in enumerate(MEASURES):
        shown |= _named(name, ratio_interval(found[:, place], sizes[:, place]))
    ndcg = MEASURES.index("ndcg")
    beyond = None if rival is None else ratio_interval((found - rival)[:, ndcg], sizes[:, ndcg])
    shown |= _named("beyond_popularity", beyond)
    return ItemRow(*key, **shown, beats_popularity=beyond and _verdict(*beyond), against_all=against_all)  # type: ignore[arg-type]


def _named(name: str, found: tuple[float, float] | None) -> Mapping[str, float | None]:
    value, half = found or (None, None)
    return {name: value, f"{name}_half_width": half}


def _verdict(difference: float, half: float) -> str:
    if abs(difference) <= half:
        return "unsure"
    return "yes" if difference > 0 else "no"


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of values, runs x users, and half the width of its 95 % confidence interval.

    Users and runs are both taken as samples. The spread between users (of their means over the runs) and between runs
    (of their means over the users) both contain the spread of single numbers, so adding them counts it twice: the
    interval is a little too wide rather than too narrow. Few runs are met by Student's distribution.

    Examples
    --------
    >>> mean, half = interval(np.array([[0.0, 1.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.5]]))
    >>> round(mean, 3), round(half, 3)
    (0.5, 0.4)
    """
    from scipy.special import stdtrit

    runs, users = values.shape
    between_users = values.mean(axis=0).std(ddof=1) / math.sqrt(users)
    between_runs = values.mean(axis=1).std(ddof=1) / math.sqrt(runs)
    student = float(stdtrit(runs - 1, 0.975))
    return float(values.mean()), float(math.hypot(_NORMAL_95 * between_users, student * between_runs))


def ratio_interval(values: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the sum of values over that of sizes, both runs x users, and half the width of its interval.

    A mean over the users who have test items is one (sizes 0 or 1), and so is the share of all test items that were
    found. The interval is that of what each user adds beyond the ratio. None if all sizes are 0.

    Examples
    --------
    >>> ratio, half = ratio_interval(np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]), np.array([[1.0, 1, 0], [1, 1, 0]]))
    >>> round(ratio, 3), round(half, 2)
    (0.75, 3.2)
    """
    if not sizes.any():
        return None
    ratio = float(values.sum() / sizes.sum())
    _, half = interval((values - ratio * sizes) / sizes.mean())
    return ratio, half
