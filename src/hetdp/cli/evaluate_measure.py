"""What `hetdp evaluate` measures: the recall of every method on the same splits, with intervals. Not private."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np
from numpy.typing import NDArray

from hetdp.cli.search_options import (
    DEFAULT_CYCLES,
    ENGINES,
    available_processors,
    check_size,
    check_together,
    progress_bar,
)
from hetdp.cli.source import as_remarks
from hetdp.core.checks import fraction
from hetdp.core.errors import DataError
from hetdp.core.words import rough_duration

if TYPE_CHECKING:
    from hetdp.profiles import Profiles
    from hetdp.profiles.policies import Policy

__all__ = ["ABOUT", "Wanted", "interval"]

_NORMAL_95 = 1.959964
ABOUT = (
    "Intervals of 95 %: users as a sample of users, runs as a sample of splits, weights and noise. The spread of the "
    "users' means over runs (normal) and of the runs' means (Student) are added in squares. All methods meet the same "
    "splits and users, so differences from the baseline are taken user by user and run by run, and their intervals say "
    "more than two that overlap."
)

#: A method and its epsilon, if it has one.
_Key = tuple[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to measure.

    Privacy
    -------
    Settings; what is measured is as private as the data.
    """

    policy: "Policy | None"
    per: Literal["item", "user"] | None
    epsilon: tuple[float, ...]
    neighbors: int
    engine: tuple[str, ...]
    score: str
    sizes: str | None
    cycles: int | None
    runs: int
    seed: int
    threads: int | None
    catalogue: str

    def check(self) -> None:
        """Refuse what cannot work, before anything is read."""
        for level in self.epsilon:
            fraction("--epsilon", level)
        check_together(self.engine or self.engines, self.score, self.sizes, self.cycles)
        if self.per is not None and self.policy is None:
            raise click.UsageError("--per is for --westin and --slices, which draw weights.")

    def check_data(self, profiles: "Profiles") -> None:
        """Refuse data on which nothing can be measured."""
        check_size(self.neighbors, profiles.n_users)
        if not (profiles.popularity > 1).any():
            raise DataError("an item must be shared by two users to be tested. Got no such item instead.")

    @property
    def levels(self) -> tuple[float, ...]:
        """The epsilons, each once."""
        return tuple(dict.fromkeys(self.epsilon))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines in the usual order; by default those that know the score."""
        usual = tuple(one for one in ENGINES if one != "sketch" or self.score == "overlap")
        return tuple(one for one in ENGINES if one in self.engine) if self.engine else usual

    def describe(self, profiles: "Profiles") -> str:
        """Return what it will take, in words."""
        from hetdp.neighbors.estimate import estimate

        threads, cycles = self.threads or available_processors(), self.cycles or DEFAULT_CYCLES
        each = [
            estimate(profiles, engine=engine, k=self.neighbors, cycles=cycles, threads=threads).seconds
            for engine in self.engines
        ]
        seconds = self.runs * (len(self.levels) * sum(each) + each[0])
        left_out = "" if self.engine or "sketch" in self.engines else " Sketches know overlaps only: left out."
        return f"{self._searches} searches, about {rough_duration(seconds)} (rough).{left_out}"

    @property
    def _searches(self) -> int:
        return self.runs * (2 + len(self.engines) * len(self.levels))

    def measure(self, profiles: "Profiles", *, quiet: bool) -> list[dict[str, Any]]:
        """Return one row per method and epsilon; the baseline comes first."""
        found: dict[_Key, list[NDArray[np.float64]]] = {}
        losses: dict[_Key, float] = {}
        with progress_bar("Evaluating", quiet=quiet) as advance, as_remarks(quiet=quiet):
            for run in range(self.runs):
                for key, recalls, loss in self._run(profiles, run):
                    found.setdefault(key, []).append(recalls)
                    if loss is not None:
                        losses[key] = max(loss, losses.get(key, 0.0))
                    advance(sum(map(len, found.values())), self._searches)
        baseline = np.array(found["baseline", None])
        return [
            {
                "method": method,
                "epsilon": level,
                **_recall(np.array(recalls)),
                **_difference(None if method == "baseline" else np.array(recalls) - baseline),
                "against_all": losses.get((method, level)),
            }
            for (method, level), recalls in found.items()
        ]

    def _run(self, profiles: "Profiles", run: int) -> Iterator[tuple[_Key, NDArray[np.float64], float | None]]:
        """Yield the method and epsilon, the recall of each user, and what it costs against all together."""
        from hetdp.neighbors.baselines import random_neighbors, true_neighbors
        from hetdp.neighbors.estimator import PrivateNeighbors
        from hetdp.neighbors.metrics import recall_of
        from hetdp.profiles import split

        seed = self.seed + run
        drawn = profiles if self.policy is None else self.policy.draw(profiles, seed, self.per or "item")
        train, test = split(drawn, random_state=seed)
        if not test.n_pairs:
            raise DataError(
                "a tenth of the items that two users share must be at least one item to look for, in every run. "
                f"Got none in run {run + 1} of {self.runs} instead: the data are too small to be evaluated."
            )
        threads = self.threads or available_processors()
        _, indices = true_neighbors(train, self.neighbors, score=self.score, threads=threads)
        yield ("baseline", None), recall_of(indices, drawn, test), None
        for engine in self.engines:
            for level in self.levels:
                model = PrivateNeighbors(
                    self.neighbors,
                    epsilon=level,
                    engine=engine,
                    score=self.score,
                    sizes=self.sizes or "noisy",
                    cycles=self.cycles or DEFAULT_CYCLES,
                    catalogue=self.catalogue,
                    n_jobs=threads,
                    random_state=seed,
                ).fit(train)
                yield (engine, level), recall_of(model.kneighbors()[1], drawn, test), model.guarantee_.total
        _, indices = random_neighbors(train.n_users, self.neighbors, random_state=seed)
        yield ("random", None), recall_of(indices, drawn, test), None


def _recall(recalls: NDArray[np.float64]) -> dict[str, float]:
    mean, half = interval(recalls)
    return {"recall": mean, "low": max(0.0, mean - half), "high": min(1.0, mean + half), "half_width": half}


def _difference(differences: NDArray[np.float64] | None) -> dict[str, float | None]:
    mean, half = (None, None) if differences is None else interval(differences)
    return {"difference": mean, "difference_half_width": half}


def interval(recalls: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of recalls, runs x users, and half the width of its 95 % confidence interval.

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

    runs, users = recalls.shape
    between_users = recalls.mean(axis=0).std(ddof=1) / math.sqrt(users)
    between_runs = recalls.mean(axis=1).std(ddof=1) / math.sqrt(runs)
    student = float(stdtrit(runs - 1, 0.975))
    return float(recalls.mean()), float(math.hypot(_NORMAL_95 * between_users, student * between_runs))
