"""Published points of figures, as facts with their source: the paper's, and those of a file in the same shape."""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from hetdp.core.checks import finite
from hetdp.core.errors import DataError, InvalidInput
from hetdp.experiments.weight_rules import GROUPS

__all__ = [
    "PAPER_SETS",
    "PUBLISHED_MIXES",
    "PUBLISHED_SETS",
    "Published",
    "published_for",
    "published_source",
    "read_published",
]

#: Which of the paper's data sets each built-in one was made to resemble.
PUBLISHED_SETS = {"survey_like": "survey", "digg_like": "digg", "delicious_like": "delicious"}
#: The paper's data sets, by its names.
PAPER_SETS = tuple(PUBLISHED_SETS.values())

#: The mixes of Figure 3 that have points, the same for all data sets: shares of fundamentalists and of pragmatists.
PUBLISHED_MIXES = frozenset(
    {
        *((fundamentalists, 0.1) for fundamentalists in (0.2, 0.3, 0.7, 0.8)),
        *((fundamentalists, 0.2) for fundamentalists in (0.2, 0.6, 0.7)),
        *((fundamentalists, 0.6) for fundamentalists in (0.2, 0.3)),
        (0.2, 0.7),
    }
)
_CURVE, _ENDS = "hdp_by_lower_weight", ("baseline", "random")


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


def read_published(path: Path) -> dict[str, Published]:
    """Return the points of a file in the shape of `published_figures.json`, by data set, or say what is wrong with it.

    `source` is a text; `figure1`, `figure2` and `figure3`, each of which may be missing, hold for each data set: the
    ends `baseline` and `random` and a curve `hdp_by_lower_weight` of [lower end, recall]; curves `lower_0.5` of
    [slices, recall]; and, for each `pragmatists_0.1`, a curve of [share of fundamentalists, recall] for each group.
    What comes after the recall of a point (an error bar) is not used.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("--published must be a file that can be read", got=str(path)) from error
    except json.JSONDecodeError as error:
        raise DataError(f"--published must be a JSON file. Got {str(path)!r} instead: {error}.") from error
    try:
        return _sets(found)
    except InvalidInput as error:
        raise DataError(f"In {path.name}: {error}") from error


@functools.cache
def _papers() -> dict[str, Published]:
    return _sets(json.loads(_papers_text()))


@functools.cache
def _papers_text() -> str:
    return resources.files("hetdp.experiments").joinpath("data/published_figures.json").read_text(encoding="utf-8")


def _sets(found: object) -> dict[str, Published]:
    figures = _entries("the file", found, ("source", "figure1", "figure2", "figure3"))
    ones, twos, threes = (_entries(key, figures.get(key, {})) for key in ("figure1", "figure2", "figure3"))
    names = dict.fromkeys([*ones, *twos, *threes])
    if not names:
        raise InvalidInput("figure1, figure2 or figure3 must hold points of a data set")
    return {name: _one_set(name, ones.get(name, {}), twos.get(name, {}), threes.get(name, {})) for name in names}


def _one_set(name: str, first: object, second: object, third: object) -> Published:
    where = [f"figure{number}.{name}" for number in (1, 2, 3)]
    ends = _entries(where[0], first, (*_ENDS, _CURVE))
    groups = {
        (share, group): dict(_curve(f"{where[2]}.{key}.{group}", points))
        for key, curves in _entries(where[2], third).items()
        for share in [_number_after("pragmatists_", where[2], key)]
        for group, points in _entries(f"{where[2]}.{key}", curves, GROUPS).items()
    }
    return Published(
        name,
        **{end: _recall(f"{where[0]}.{end}", ends[end]) for end in _ENDS if end in ends},
        by_lower=dict(_curve(f"{where[0]}.{_CURVE}", ends.get(_CURVE, []))),
        by_slices={
            (lower, int(n)): recall
            for key, points in _entries(where[1], second).items()
            for lower in [_number_after("lower_", where[1], key)]
            for n, recall in _curve(f"{where[1]}.{key}", points)
        },
        by_groups={
            (share, group, place): recall
            for (share, group), points in groups.items()
            for place, recall in points.items()
        },
    )


def _entries(where: str, found: object, known: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} must be an object with names", got=type(found))
    strange = [key for key in found if known and key not in known]
    if strange:
        raise InvalidInput(f"{where} must hold {', '.join(known)} only", got=strange[0])
    return found


def _curve(where: str, points: object) -> Iterator[tuple[float, float]]:
    if not isinstance(points, list):
        raise InvalidInput(f"{where} must be a list of points", got=type(points))
    for point in points:
        if not isinstance(point, list) or len(point) < 2:  # noqa: PLR2004  (a place and a recall)
            raise InvalidInput(f"{where} must hold points [place, recall]", got=point)
        yield finite(where, point[0]), _recall(where, point[1])


def _recall(where: str, value: object) -> float:
    recall = finite(where, value)
    if not 0.0 <= recall <= 1.0:
        raise InvalidInput(f"{where} must be a recall, from 0 to 1", got=value)
    return recall


def _number_after(prefix: str, where: str, key: str) -> float:
    try:
        return finite(where, float(key.removeprefix(prefix) if key.startswith(prefix) else ""))
    except ValueError as error:  # ours is one, too
        raise InvalidInput(f"{where} must have names such as {prefix}0.5", got=key) from error
