"""Run tasks: split, draw weights, find neighbours at each epsilon, measure recall."""

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import seeded_stream
from hetdp.evaluation.metrics import recall_per_user
from hetdp.evaluation.neighbor_baselines import random_neighbors, same_neighbors, true_neighbors
from hetdp.experiments.configurations import Configuration, Task
from hetdp.experiments.weight_rules import GROUPS, Drawn
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import Run, Search
from hetdp.neighbors.scores import SCORES, Scoring
from hetdp.profiles import Profiles, split
from hetdp.profiles.steps import CodedProfiles, code_profiles

#: So that engines do not draw the numbers that splits and policies draw from the same seed.
_ENGINE = int.from_bytes(b"engine")
_OUTSIDE = int.from_bytes(b"outside")


@dataclass(frozen=True)
class Point:
    """What was measured at one epsilon.

    Attributes
    ----------
    epsilon
        The level, or None without noise.
    recall
        Mean recall of "all" users, and of each group that has members.
    met_mean, met_max
        Distinct peers that a node was compared with (gossip only).
    """

    epsilon: float | None
    recall: Mapping[str, float]
    met_mean: float | None = None
    met_max: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What one task found, and how many seconds of a processor it took."""

    task: Task
    points: tuple[Point, ...]
    seconds: float


def run_tasks(profiles: Profiles, tasks: Sequence[Task]) -> list[Outcome]:
    """Return the outcomes of some tasks on the same data set: what a worker is asked to do."""
    return [run_task(profiles, task) for task in tasks]


def run_task(profiles: Profiles, task: Task) -> Outcome:
    """Return the outcome of one task.

    Parameters
    ----------
    profiles
        The full profiles. Their own weights do not matter; the configuration says how weights are drawn.
    task
        What to do.

    Privacy
    -------
    A simulation with seeded noise, for those who may see the profiles.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([user for user in range(12) for _ in range(6)], list(range(6)) * 12)
    >>> run_task(profiles, Task("", Configuration(engine="baseline", k=2), 0)).points[0].epsilon is None
    True
    """
    start = time.process_time()  # of this task alone, whatever else the machine does
    configuration = task.configuration
    drawn = configuration.weights.draw(profiles, task.seed)
    train, test = split(drawn.profiles, random_state=task.seed)
    measure = functools.partial(_measure, drawn, test)
    points: tuple[Point, ...]
    if not configuration.private:
        points = (Point(None, measure(_reference(configuration, train, task.seed))),)
    else:
        searches = _Searches(configuration, train, task.seed, drawn.taking_part)
        points = tuple(searches.point(epsilon, drawn.level, measure) for epsilon in configuration.epsilons)
    return Outcome(task, points, time.process_time() - start)


def _measure(drawn: Drawn, test: Profiles, indices: NDArray[np.integer]) -> dict[str, float]:
    """Return the mean recall of all users and of each group."""
    found = recall_per_user((None, indices), drawn.profiles, test)
    recall = {"all": float(found.mean())}
    if drawn.groups is not None:
        for place, group in enumerate(GROUPS):
            members = drawn.groups == place
            if members.any():
                recall[group] = float(found[members].mean())
    return recall


def _reference(configuration: Configuration, train: Profiles, seed: int) -> NDArray[np.integer]:
    if configuration.engine == "random":
        return random_neighbors(train.n_users, configuration.k, random_state=seed)[1]
    if configuration.engine == "same":
        return same_neighbors(train, configuration.k)[1]
    score = "cosine" if SCORES[configuration.score].needs_sizes else "overlap"
    return true_neighbors(train, configuration.k, score=score)[1]


class _Searches:
    """Searches among the training profiles of one run; coding is shared by all epsilons."""

    def __init__(
        self, configuration: Configuration, train: Profiles, seed: int, taking_part: NDArray[np.bool_] | None
    ) -> None:
        self._engine = ENGINES[configuration.engine]
        self._seed = seed
        self._users = train.n_users
        self._people = np.arange(train.n_users) if taking_part is None else np.flatnonzero(taking_part)
        self._coded = _of_people(code_profiles(train), self._people)
        self._k = min(configuration.k, self._people.size - 1)  # few may be left
        self._search = Search(self._k, configuration.cycles, configuration.combine, watched=0)
        self._score = SCORES[configuration.score]
        # The paper's cosine: sizes of the training profiles, items of weight 0 included, declared public.
        self._factors = self._score.factors(train.sizes[self._people].astype(np.float64))

    def point(self, epsilon: float, level: Fraction, measure: "functools.partial[dict[str, float]]") -> Point:
        """Return what the engine gaps_closed at one epsilon."""
        if self._k < 1:  # nobody is left who could find somebody
            return Point(epsilon, measure(np.full((self._users, 1), -1)))
        exact = Fraction(repr(float(epsilon))) * level  # 0.1 is meant as one tenth
        run = Run(seeded_stream(self._seed, _ENGINE, exact.numerator, exact.denominator))
        found = self._engine.fit(self._coded, Scoring(self._score, self._factors, exact), self._search, run)
        report: Mapping[str, Any] = found.report.get("private", {})  # type: ignore[assignment]
        met = report.get("distinct_comparisons_mean"), report.get("distinct_comparisons_max")
        return Point(epsilon, measure(self._of_all(found.lists.indices)), *met)

    def _of_all(self, found: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the neighbours of all users: those found, and random ones for those who take no part."""
        if self._people.size == self._users:
            return found
        neighbors = np.full((self._users, self._k), -1, dtype=np.int64)
        neighbors[self._people] = np.where(found >= 0, self._people[found], -1)
        outside = np.setdiff1d(np.arange(self._users), self._people)
        neighbors[outside] = self._people[_draw_some(outside.size, self._people.size, self._k, self._seed)]
        return neighbors


def _draw_some(rows: int, of: int, k: int, seed: int) -> NDArray[np.int64]:
    """Return k different numbers below `of` in each row, uniformly."""
    keys = seeded_stream(seed, _OUTSIDE).uniforms(rows * of).reshape(rows, of)
    return np.argsort(keys, axis=1, kind="stable")[:, :k].astype(np.int64)


def _of_people(coded: CodedProfiles, people: NDArray[np.int64]) -> CodedProfiles:
    """Return the profiles of some people, in order; the catalogue stays."""
    if people.size == coded.n_users:
        return coded
    sizes = coded.sizes
    chosen = np.repeat(np.isin(np.arange(coded.n_users), people), sizes)
    indptr = np.concatenate([[0], np.cumsum(sizes[people], dtype=np.int64)])
    return CodedProfiles(indptr, coded.items[chosen], coded.codes[chosen], coded.n_items)
