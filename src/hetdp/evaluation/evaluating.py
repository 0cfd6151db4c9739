"""How much recall privacy costs on data at hand, by the protocol of the paper, with intervals. Not private."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, fraction, one_of, whole
from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.files import as_frame
from hetdp.evaluation.metrics import recall_per_user
from hetdp.evaluation.neighbor_baselines import random_neighbors, true_neighbors
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import Progress
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.profiles import Profiles, split
from hetdp.profiles.policies import Policy
from hetdp.profiles.profiles import require_profiles

__all__ = ["ABOUT_INTERVALS", "Evaluation", "EvaluationPlan", "EvaluationRow", "evaluate", "interval"]

_NORMAL_95 = 1.959964
_FEWEST_RUNS = 2
ABOUT_INTERVALS = (
    "Intervals of 95 %: users as a sample of users, runs as a sample of splits, weights and noise. The spread of the "
    "users' means over runs (normal) and of the runs' means (Student) are added in squares. All methods meet the same "
    "splits and users, so differences from the baseline are taken user by user and run by run, and their intervals say "
    "more than two that overlap."
)

#: A method and its epsilon, if it has one.
_Key = tuple[str, float | None]


@dataclass(frozen=True)
class EvaluationRow:
    """The recall of one method.

    Attributes
    ----------
    method, epsilon
        An engine and its level; or "baseline" (true neighbours) and "random", which have none.
    recall, low, high, half_width
        Mean recall over runs and users, and its 95 % interval.
    difference, difference_half_width
        How far from the baseline, and half the width of the interval of that.
    against_all
        What an item of weight 1 loses against everybody together, at most.
    """

    method: str
    epsilon: float | None
    recall: float
    low: float
    high: float
    half_width: float
    difference: float | None
    difference_half_width: float | None
    against_all: float | None


@dataclass(frozen=True)
class Evaluation:
    """What was measured, one row per method and epsilon; the baseline comes first, random neighbours last."""

    rows: tuple[EvaluationRow, ...]

    def to_frame(self) -> Any:  # noqa: ANN401  (pandas is optional)
        """Return the rows as a data frame, of pandas if it is installed, else of arrow."""
        records = [asdict(row) for row in self.rows]
        return as_frame({name: [record[name] for record in records] for name in records[0]})


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """What to measure; see `evaluate`."""

    epsilon: Sequence[Real] = (1.0,)
    neighbors: int = 10
    engine: Sequence[str] = ()
    score: str = "overlap"
    sizes: str = "noisy"
    cycles: int = 20
    runs: int = 5
    policy: Policy | None = None
    per: Literal["item", "user"] = "item"
    seed: int = 0
    threads: int = 1
    catalogue: str = "observed"

    def __post_init__(self) -> None:
        for level in self.epsilon:
            fraction("epsilon", level)
        for name in self.engine:
            one_of("engine", name, tuple(ENGINES))
        whole("runs", self.runs, minimum=_FEWEST_RUNS)
        if self.policy is not None and not hasattr(self.policy, "draw"):
            raise InvalidInput(
                "policy must be one of hetdp.policies, such as hetdp.policies.slices(0.5, 1, 3). "
                f"Got {type(self.policy).__name__} instead."
            )

    @property
    def levels(self) -> tuple[float, ...]:
        """The epsilons, each once."""
        return tuple(dict.fromkeys(map(float, self.epsilon)))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines in the usual order; by default those that know the score."""
        return tuple(
            name
            for name, engine in ENGINES.items()
            if (name in self.engine if self.engine else self.score in engine.scores)
        )

    @property
    def searches(self) -> int:
        """How many searches it takes."""
        return self.runs * (2 + len(self.engines) * len(self.levels))

    def seconds(self, profiles: Profiles) -> float:
        """Return roughly how long it takes."""
        each = [self._model(name, 1.0, 0).estimate(profiles).seconds for name in self.engines]
        return self.runs * (len(self.levels) * sum(each) + each[0])

    def check(self, profiles: Profiles) -> None:
        """Refuse data on which nothing can be measured."""
        require_profiles("profiles", profiles)
        if self.neighbors >= profiles.n_users:
            raise InvalidInput(
                f"neighbors must be below the number of users ({profiles.n_users}). Got {self.neighbors} instead."
            )
        if not (profiles.popularity > 1).any():
            raise DataError("an item must be shared by two users to be tested. Got no such item instead.")

    def measure(self, profiles: Profiles, progress: Progress | None = None) -> Evaluation:
        """Return what was measured."""
        self.check(profiles)
        found: dict[_Key, list[NDArray[np.float64]]] = {}
        losses: dict[_Key, float] = {}
        for run in range(self.runs):
            for key, recalls, loss in self._run(profiles, run):
                found.setdefault(key, []).append(recalls)
                if loss is not None:
                    losses[key] = max(loss, losses.get(key, 0.0))
                if progress is not None:
                    progress(sum(map(len, found.values())), self.searches)
        baseline = np.array(found["baseline", None])
        return Evaluation(
            tuple(
                _row(key, np.array(recalls), None if key[0] == "baseline" else baseline, losses.get(key))
                for key, recalls in found.items()
            )
        )

    def _run(self, profiles: Profiles, run: int) -> Iterator[tuple[_Key, NDArray[np.float64], float | None]]:
        """Yield the method and epsilon, the recall of each user, and what it costs against all together."""
        seed = self.seed + run
        drawn = profiles if self.policy is None else self.policy.draw(profiles, seed, self.per)
        train, test = split(drawn, random_state=seed)
        if not test.n_pairs:
            raise DataError(
                "a tenth of the items that two users share must be at least one item to look for, in every run. "
                f"Got none in run {run + 1} of {self.runs} instead: the data are too small to be evaluated."
            )
        true = true_neighbors(train, self.neighbors, score=self.score, threads=self.threads)
        yield ("baseline", None), recall_per_user(true, drawn, test), None
        for name in self.engines:
            for level in self.levels:
                model = self._model(name, level, seed).fit(train)
                yield (name, level), recall_per_user(model, drawn, test), model.guarantee_.total
        lots = random_neighbors(train.n_users, self.neighbors, random_state=seed)
        yield ("random", None), recall_per_user(lots, drawn, test), None

    def _model(self, engine: str, epsilon: float, seed: int) -> PrivateNeighbors:
        return PrivateNeighbors(
            self.neighbors,
            n_voters=1,  # nothing is recommended
            epsilon=epsilon,
            engine=engine,
            score=self.score,
            sizes=self.sizes,
            cycles=self.cycles,
            catalogue=self.catalogue,
            n_jobs=self.threads,
            random_state=seed,
        )


def evaluate(
    profiles: Profiles,
    *,
    epsilon: Real | Sequence[Real] = 1.0,
    neighbors: int = 10,
    engine: str | Sequence[str] = (),
    score: str = "overlap",
    sizes: str = "noisy",
    cycles: int = 20,
    runs: int = 5,
    policy: Policy | None = None,
    per: Literal["item", "user"] = "item",
    seed: int = 0,
    threads: int = 1,
    catalogue: str = "observed",
    progress: Progress | None = None,
) -> Evaluation:
    """Measure the recall of true neighbours, of random ones, and of those of each engine: `hetdp evaluate`.

    The protocol of the paper: a tenth of the items that somebody else has too is hidden, and recall is the share of
    them found in the profiles of the neighbours.

    Parameters
    ----------
    profiles
        The data.
    epsilon
        One level or several.
    neighbors
        Length of a list.
    engine
        One engine or several; by default all that know the score.
    score, sizes, cycles, catalogue
        As for `PrivateNeighbors`.
    runs
        Splits, each with new noise; two at least.
    policy, per
        Draw weights in each run, per "item" or per "user" (`hetdp.policies`); None for those of the profiles.
    seed
        Same seed, same result.
    threads
        The result does not depend on it.
    progress
        Called now and then with what is done and what there is.

    Privacy
    -------
    None: computed from the data without noise, for whoever may see them.

    Examples
    --------
    >>> profiles = Profiles.from_pairs(
    ...     [user for user in range(40) for _ in range(20)],
    ...     [30 * (user % 4) + (user + place) % 30 for user in range(40) for place in range(20)],
    ... )
    >>> found = evaluate(profiles, epsilon=20, engine="exact", neighbors=3, runs=2)
    >>> [row.method for row in found.rows]
    ['baseline', 'exact', 'random']
    >>> found.rows[1].recall > found.rows[2].recall + 0.2
    True
    """
    return EvaluationPlan(
        epsilon=tuple(epsilon) if isinstance(epsilon, Sequence) else (epsilon,),
        neighbors=neighbors,
        engine=(engine,) if isinstance(engine, str) else tuple(engine),
        score=score,
        sizes=sizes,
        cycles=cycles,
        runs=runs,
        policy=policy,
        per=per,
        seed=seed,
        threads=threads,
        catalogue=catalogue,
    ).measure(profiles, progress)


def _row(
    key: _Key, recalls: NDArray[np.float64], baseline: NDArray[np.float64] | None, against_all: float | None
) -> EvaluationRow:
    mean, half = interval(recalls)
    difference, half_difference = (None, None) if baseline is None else interval(recalls - baseline)
    return EvaluationRow(
        *key, mean, max(0.0, mean - half), min(1.0, mean + half), half, difference, half_difference, against_all
    )


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
