"""What each figure shows and how: titles, captions, axes, colours, distance from the published points."""

from collections.abc import Sequence
from dataclasses import dataclass

from hetdp.cards import BLUE, GREEN, ORANGE, PURPLE
from hetdp.experiments.figure_points import FigurePoint


@dataclass(frozen=True)
class Series:
    """A line or a row of dots, and its colour."""

    name: str
    color: str


@dataclass(frozen=True)
class Figure:
    """One figure with a panel for each data set.

    Attributes
    ----------
    key
        Name of its points.
    title, caption
        What it shows, in a line, and how to read it.
    x
        Title of the axis.
    series
        In the order of the legend.
    kind
        "lines", or "dots" where groups are compared.
    log
        Whether the axis is logarithmic.
    """

    key: str
    title: str
    caption: str
    x: str
    series: tuple[Series, ...]
    kind: str = "lines"
    log: bool = False


_LOWER = (Series("from 0", ORANGE), Series("from 0.5", GREEN), Series("from 0.9", BLUE))
_GROUPS = (Series("fundamentalists", ORANGE), Series("pragmatists", GREEN), Series("unconcerned", BLUE))
_ENGINES = (Series("exact", PURPLE), Series("gossip", ORANGE), Series("sketch", BLUE))

FIGURES = (
    Figure(
        "figure1",
        "Figure 1. Recall against the lower end of the weights",
        "All people draw weights between the lower end and 1; mean over the numbers of slices and over epsilon. At 1 "
        "everything weighs 1: ordinary differential privacy.",
        "lower end of the weights",
        (Series("gossip", BLUE),),
    ),
    Figure(
        "figure2",
        "Figure 2. Recall against the number of slices",
        "Weights are drawn from so many equally spaced values; 1 and 2 slices both mean the two ends. Mean over "
        "epsilon.",
        "number of slices",
        _LOWER,
    ),
    Figure(
        "figure3",
        "Figure 3. Three groups of people",
        "Recall of each group against the share of fundamentalists, at a given share of pragmatists; the rest are "
        "unconcerned. Mean over epsilon.",
        "share of fundamentalists",
        _GROUPS,
    ),
    Figure(
        "poll",
        "The three groups in the shares of the 2004 poll",
        "34 % fundamentalists, 43 % pragmatists, 23 % unconcerned. Mean over epsilon. The paper tried this mix, but "
        "printed no points.",
        "recall",
        (Series("34 / 43 / 23", BLUE),),
        kind="dots",
    ),
    Figure(
        "epsilon",
        "What the paper averages away: recall at each epsilon",
        "The same runs as in Figure 1, one epsilon at a time. Epsilon is what an item of weight 1 pays for one "
        "comparison.",
        "epsilon of one comparison",
        (*_LOWER, Series("all weights 1", PURPLE)),
        log=True,
    ),
    Figure(
        "engines_one",
        "Three engines, by what one observer learns",
        "Loss of an item of weight 1 to one curious recipient (exact), in one comparison (gossip; the list of a peer "
        "tells of other comparisons too, see the next figure), or to anybody (sketch). All rank by overlap, so the "
        "upper dashed line is true neighbours by overlap. People as in the poll.",
        "loss to one observer",
        _ENGINES,
        log=True,
    ),
    Figure(
        "engines_all",
        "Three engines, by what all observers together learn",
        "The same runs by total loss: every other user as a recipient (exact) or in a comparison (gossip), once "
        "(sketch). The upper dashed line is true neighbours by overlap.",
        "total loss",
        _ENGINES,
        log=True,
    ),
    Figure(
        "shared",
        "A second look at slices: whose weight is it?",
        "Weights from 0. The paper does not say whether owners of the same item have weights of their own, as ours "
        "have everywhere else, or share one. Mean over epsilon.",
        "number of slices",
        (Series("weights of each owner's own", ORANGE), Series("one weight for all owners", PURPLE)),
    ),
    Figure(
        "scores",
        "Three scores",
        "Gossip, people as in the poll. Cosine needs sizes declared public; overlap needs nothing. The square turns "
        "negative noise into similarity. The smaller of two weights keeps the promise as well as their product.",
        "epsilon of one comparison",
        (
            Series("overlap, smaller weight", BLUE),
            Series("overlap", GREEN),
            Series("cosine", ORANGE),
            Series("squared-cosine", PURPLE),
        ),
        log=True,
    ),
    Figure(
        "practice",
        "A dial for every item, or the homogeneous practice?",
        "People as in the poll. Homogeneous practice leaves the fundamentalists out: nobody finds them, and they are "
        "given random neighbours from those taking part. It protects everybody else at half the epsilon, the lowest "
        "weight among them. Mean over epsilon.",
        "recall",
        (Series("a dial for every item", BLUE), Series("homogeneous practice", ORANGE)),
        kind="dots",
    ),
    Figure(
        "ways",
        "Weights per item, or one per person",
        "People as in the poll. The groups draw a weight for every item, or one for all items of a person. Mean over "
        "epsilon.",
        "recall",
        (Series("weights per item", BLUE), Series("weights per user", ORANGE)),
        kind="dots",
    ),
)


def present_series(figure: Figure, points: list[FigurePoint]) -> list[Series]:
    """Return the series of a figure that have points, those unknown to it last."""
    names = dict.fromkeys(point.series for point in points)
    known = [series for series in figure.series if series.name in names]
    spare = [color for color in (BLUE, ORANGE, GREEN, PURPLE) if color not in {one.color for one in known}]
    others = [name for name in names if name not in {one.name for one in figure.series}]
    return known + [Series(name, (spare or [BLUE])[place % len(spare or [BLUE])]) for place, name in enumerate(others)]


def differences(points: Sequence[FigurePoint]) -> list[dict[str, str]]:
    """Return how far our points are from the published ones, by figure and data set."""
    titles = {"ends": "true and random neighbours"}
    titles |= {figure.key: figure.title.split(".")[0] for figure in FIGURES if figure.key.startswith("figure")}
    rows = []
    for key, title in titles.items():
        for data in _names(points):
            gaps = [
                point.recall - point.published
                for point in points
                if point.figure == key and point.data == data and point.published is not None
            ]
            if gaps:
                sizes = [abs(gap) for gap in gaps]
                rows.append(
                    {
                        "figure": title,
                        "data": data,
                        "points": str(len(gaps)),
                        "bias": f"{sum(gaps) / len(gaps):+.3f}",
                        "distance": f"{sum(sizes) / len(sizes):.3f}",
                        "largest": f"{max(sizes):.3f}",
                    }
                )
    return rows


def _names(points: Sequence[FigurePoint]) -> list[str]:
    return list(dict.fromkeys(point.data for point in points))
