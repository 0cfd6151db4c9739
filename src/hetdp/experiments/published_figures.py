"""The published points of the paper's figures, with their source."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

__all__ = [
    "PUBLISHED_MIXES",
    "PUBLISHED_SETS",
    "Published",
    "published_for",
    "published_source",
]

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
    """What was printed about one data set. What was not is None, or not there.

    Attributes
    ----------
    name
        The name of the data set where it was printed.
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
    baseline: float | None = None
    random: float | None = None
    by_lower: Mapping[float, float] = field(default_factory=dict)
    by_slices: Mapping[tuple[float, int], float] = field(default_factory=dict)
    by_groups: Mapping[tuple[float, str, float], float] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """The distance between random and true neighbours."""
        return None if self.baseline is None or self.random is None else self.baseline - self.random


def published_for(name: str | None) -> Published | None:
    """Return what the paper printed about one of its data sets, by its name there; None if it has no such set."""
    return _papers().get(name or "")


def published_source() -> str:
    """Return where the paper's points come from."""
    return str(json.loads(_papers_text())["source"])


@functools.cache
def _papers() -> dict[str, Published]:
    return _sets(json.loads(_papers_text()))


@functools.cache
def _papers_text() -> str:
    return resources.files("hetdp.experiments").joinpath("data/published_figures.json").read_text(encoding="utf-8")


def _sets(figures: dict[str, Any]) -> dict[str, Published]:
    """Return the points by data set. What comes after the recall of a point (an error bar) is not used."""
    return {
        name: Published(
            name,
            ends["baseline"],
            ends["random"],
            by_lower={lower: recall for lower, recall, *_ in ends["hdp_by_lower_weight"]},
            by_slices={
                (float(key.removeprefix("lower_")), int(n)): recall
                for key, points in figures["figure2"][name].items()
                for n, recall, *_ in points
            },
            by_groups={
                (float(key.removeprefix("pragmatists_")), group, share): recall
                for key, curves in figures["figure3"][name].items()
                for group, points in curves.items()
                for share, recall, *_ in points
            },
        )
        for name, ends in figures["figure1"].items()
    }
