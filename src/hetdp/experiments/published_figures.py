"""The points of the paper's figures, as facts with their source."""

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["PUBLISHED_MIXES", "PUBLISHED_SETS", "Published", "published_for", "published_source"]

#: Which of the paper's data sets each built-in one was made to resemble.
PUBLISHED_SETS = {"survey_like": "survey", "digg_like": "digg", "delicious_like": "delicious"}

#: The mixes of Figure 3 that have points, the same for all data sets: shares of fundamentalists and of pragmatists.
PUBLISHED_MIXES = frozenset(
    {
        *((fundamentalists, 0.1) for fundamentalists in (0.2, 0.3, 0.7, 0.8)),
        *((fundamentalists, 0.2) for fundamentalists in (0.2, 0.6, 0.7)),
        *((fundamentalists, 0.6) for fundamentalists in (0.2, 0.3)),
        (0.2, 0.7),
    }
)


@dataclass(frozen=True)
class Published:
    """What the paper printed about one data set.

    Attributes
    ----------
    name
        The paper's name of the data set.
    baseline, random
        Recall of true and of random neighbours.
    by_lower
        Figure 1: recall by lower end.
    by_slices
        Figure 2: recall by lower end and number of slices.
    by_groups
        Figure 3: recall by share of pragmatists, group and share of fundamentalists.
    """

    name: str
    baseline: float
    random: float
    by_lower: dict[float, float]
    by_slices: dict[tuple[float, int], float]
    by_groups: dict[tuple[float, str, float], float]


def published_for(data: str) -> Published | None:
    """Return what the paper printed about the data set that a built-in one resembles, or None."""
    name = PUBLISHED_SETS.get(data)
    if name is None:
        return None
    figures = _figures()
    first, second, third = (figures[f"figure{number}"][name] for number in (1, 2, 3))
    return Published(
        name=name,
        baseline=first["baseline"],
        random=first["random"],
        by_lower={lower: recall for lower, recall, _ in first["hdp_by_lower_weight"]},
        by_slices={
            (float(lower.removeprefix("lower_")), int(n)): recall
            for lower, points in second.items()
            for n, recall, _ in points
        },
        by_groups={
            (float(pragmatists.removeprefix("pragmatists_")), group, share): recall
            for pragmatists, groups in third.items()
            for group, points in groups.items()
            for share, recall in points
        },
    )


def published_source() -> str:
    """Return where the points come from."""
    return str(_figures()["source"])


@functools.cache
def _figures() -> dict[str, Any]:
    text = resources.files("hetdp.experiments").joinpath("data/published_figures.json").read_text(encoding="utf-8")
    figures: dict[str, Any] = json.loads(text)
    return figures
