"""What privacy costs on data at hand: neighbours and recommendations beside their rivals, with intervals. Not private.

Some items of each profile are hidden, methods see the rest, and count for what they find of the hidden ones. All
methods of a run meet the same split, so that they can be compared user by user.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import Real, finite, fraction, one_of, whole
from hetdp.core.errors import DataError, HetdpWarning, InvalidInput
from hetdp.core.randomness import seeded_stream
from hetdp.evaluation.item_baselines import ease, popularity, private_popularity
from hetdp.evaluation.metrics import Recommends, judge_per_user, recall_per_user
from hetdp.evaluation.neighbor_baselines import Neighbors, random_neighbors, same_neighbors, true_neighbors
from hetdp.evaluation.results import (
    EASE,
    HOLDER_POPULARITY,
    MATRIX_MODEL,
    MODEL,
    POPULARITY,
    PRIVATE_POPULARITY,
    RANDOM,
    SAME,
    THIRDS,
    TRUE,
    WAYS_TO_COMBINE,
    WHAT,
    Evaluation,
    MethodKey,
    item_row,
    neighbor_row,
)
from hetdp.neighbors.engines import ENGINES
from hetdp.neighbors.engines.base import Progress, Run, Search, Shares
from hetdp.neighbors.estimator import PrivateNeighbors
from hetdp.neighbors.scores import SCORES, scoring
from hetdp.profiles import Profiles, split
from hetdp.profiles.policies import Policy
from hetdp.profiles.profiles import require_profiles
from hetdp.profiles.steps import code_profiles
from hetdp.recommender import PrivateRecommender

_FEWEST_RUNS = 2
#: So that engines do not draw the numbers that splits and policies draw from the same seed.
_ENGINE = int.from_bytes(b"engine")
#: The most items that the model and EASE relate to each other.
_HEAD = 4096

_RIVALS = (PRIVATE_POPULARITY, HOLDER_POPULARITY)

#: What one method found in one run, and what an item of weight 1 loses by it.
_Found = tuple[MethodKey, NDArray[np.float64], float | None]


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """What to measure; see `evaluate`."""

    epsilon: Sequence[Real] = (1.0,)
    what: Sequence[str] = WHAT
    neighbors: int = 10
    items: int = 10
    engine: Sequence[str] = ()
    score: str = "overlap"
    sizes: str = "noisy"
    cycles: int = 20
    combine: str = "smaller"
    runs: int = 5
    share: float = 0.1
    policy: Sequence[Policy] = ()
    per: Literal["item", "user"] = "item"
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for level in self.epsilon:
            fraction("epsilon", level)
        for name in self.what:
            one_of("what", name, WHAT)
        for name in self.engine:
            one_of("engine", name, (MODEL, *ENGINES))
        one_of("score", self.score, tuple(SCORES))
        one_of("combine", self.combine, WAYS_TO_COMBINE)
        whole("items", self.items, minimum=1)
        whole("runs", self.runs, minimum=_FEWEST_RUNS)
        if not 0.0 < finite("share", self.share) < 1.0:
            raise InvalidInput("must be above 0 and below 1", parameter="share", got=self.share)
        for policy in self.policy:
            if not hasattr(policy, "draw"):
                raise InvalidInput(
                    "must be one of hetdp.policies, such as hetdp.policies.slices(0.5, 1, 3), or several",
                    parameter="policy",
                    got=type(policy),
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
    def recommenders(self) -> tuple[str, ...]:
        """Who recommends: the model of each release, unless only engines were asked for."""
        return (MODEL, MATRIX_MODEL) if MODEL in self.engine or not self.engine else ()

    @property
    def finds_neighbors(self) -> bool:
        """Whether neighbours are judged: if that was asked for, and something looks for them."""
        return "neighbors" in self.what and bool(self.engines)

    @property
    def finds_items(self) -> bool:
        """Whether recommendations are judged: if that was asked for, and something recommends."""
        return "items" in self.what and bool(self.recommenders)

    @property
    def searches(self) -> int:
        """How many lists of everybody it takes."""
        private = max(1, len(self.policy)) * len(self.levels)
        neighbors = 3 + private * len(self.engines) if self.finds_neighbors else 0
        items = 2 + private * (len(self.recommenders) + len(_RIVALS)) if self.finds_items else 0
        return self.runs * (neighbors + items)

    def check(self, profiles: Profiles) -> None:
        """Refuse data on which nothing can be measured."""
        require_profiles("profiles", profiles)
        if self.neighbors >= profiles.n_users:
            raise InvalidInput(
                f"must be below the number of users ({profiles.n_users})", parameter="neighbors", got=self.neighbors
            )
        for name in self.engines:
            self._neighbors(name).promise(profiles.n_users)  # refuses a score that it does not know
        if not (profiles.popularity > 1).any():
            raise DataError("No item is shared by two users, so nothing can be tested")

    def measure(self, profiles: Profiles, progress: Progress | None = None) -> Evaluation:
        """Return what was measured."""
        self.check(profiles)
        warning = SCORES[self.score].warning
        if warning is not None:
            warnings.warn(warning, HetdpWarning, stacklevel=2)
        tally = _Tally(self.searches, progress)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HetdpWarning)  # said once is enough
            for run in range(self.runs):
                split_run = self._split(profiles, run)
                if self.finds_neighbors:
                    tally.add("neighbors", self._find_neighbors(split_run))
                if self.finds_items:
                    tally.add("items", self._find_items(split_run))
                    tally.sizes.append(split_run.sizes)
        return tally.evaluation()

    def _split(self, profiles: Profiles, run: int) -> "_SplitRun":
        seed = self.seed + run
        _, test = split(profiles, share=self.share, random_state=seed)
        if not test.n_pairs:
            raise DataError(
                f"Too few shared items: no item is hidden in run {run + 1} of {self.runs}",
                hint="Use more data, or a larger share.",
            )
        trains: dict[str | None, Profiles] = {}
        for policy in self.policy or (None,):
            drawn = profiles if policy is None else policy.draw(profiles, seed, self.per)
            # Which pairs are hidden does not depend on weights.
            label = None if policy is None else f"{policy} per {self.per}"
            trains[label], _ = split(drawn, share=self.share, random_state=seed)
        return _SplitRun(profiles, test, trains, seed)

    def _find_neighbors(self, run: "_SplitRun") -> Iterator[_Found]:
        """Yield the recall of each user by each method."""

        def found(neighbors: Neighbors | tuple[None, NDArray[np.int32]]) -> NDArray[np.float64]:
            return recall_per_user(neighbors, run.profiles, run.test)

        train = run.train
        score = "cosine" if SCORES[self.score].needs_sizes else "overlap"
        yield MethodKey(TRUE), found(true_neighbors(train, self.neighbors, score=score, threads=self.threads)), None
        for weights, weighted in run.trains.items():
            for name in self.engines:
                for level in self.levels:
                    indices, loss = self._lists(name, fraction("epsilon", level), weighted, run.seed)
                    yield MethodKey(name, level, weights), found((None, indices)), loss
        yield MethodKey(SAME), found(same_neighbors(train, self.neighbors)), None
        yield MethodKey(RANDOM), found(random_neighbors(train.n_users, self.neighbors, random_state=run.seed)), None

    def _lists(self, name: str, level: Fraction, train: Profiles, seed: int) -> tuple[NDArray[np.int32], float]:
        """Return the lists of an engine, and what they cost against all together."""
        engine, score = ENGINES[name], SCORES[self.score]
        coded = code_profiles(train)
        stream = seeded_stream(seed, _ENGINE)
        how = scoring(score, coded, train.sizes, sizes=self.sizes, epsilon=level, stream=stream)
        search = Search(self.neighbors, cycles=self.cycles, combine=self.combine)
        found = engine.fit(coded, how, search, Run(stream, self.threads))
        shares = Shares(how.pair_epsilon, how.size_epsilon)
        return found.lists.indices, engine.promise(shares, most_recipients=coded.n_users - 1).total

    def _find_items(self, run: "_SplitRun") -> Iterator[_Found]:
        """Yield what each user found by each method."""
        yield MethodKey(EASE), run.judge(ease(run.train, n_head=_HEAD), self.items), None
        for weights, train in run.trains.items():
            for level in self.levels:
                for name in self.recommenders:
                    model = self._model(name, fraction("epsilon", level), run.seed).fit(train)
                    # Of a matrix, level is the epsilon at a delta of 1e-6.
                    yield MethodKey(name, level, weights), run.judge(model, self.items), level
                for name in _RIVALS:
                    trusted = name == HOLDER_POPULARITY
                    rival = private_popularity(train, epsilon=level, trusted=trusted, random_state=run.seed)
                    yield MethodKey(name, level, weights), run.judge(rival, self.items), level
        yield MethodKey(POPULARITY), run.judge(popularity(run.train), self.items), None

    def _model(self, name: str, level: Fraction, seed: int) -> PrivateRecommender:
        release = "sketch" if name == MODEL else "matrix"
        return PrivateRecommender(
            level, release=release, catalogue="given", n_head=_HEAD, n_jobs=self.threads, random_state=seed
        )

    def _neighbors(self, engine: str) -> PrivateNeighbors:
        return PrivateNeighbors(
            self.neighbors, engine=engine, score=self.score, sizes=self.sizes, cycles=self.cycles, catalogue="given"
        )


@dataclass(frozen=True, repr=False, eq=False)
class _SplitRun:
    """One split: all profiles, what was hidden, and what is left with weights chosen in each way."""

    profiles: Profiles
    test: Profiles
    trains: dict[str | None, Profiles]
    seed: int

    @property
    def train(self) -> Profiles:
        """What is left, where weights do not matter."""
        return next(iter(self.trains.values()))

    def judge(self, model: Recommends, n: int) -> NDArray[np.float64]:
        """Return `MEASURES` x users."""
        found = judge_per_user(model, self.profiles, self.test, n)
        thirds = self._by_third(found.users, found.items)
        return np.vstack([found.precision, found.recall, found.ndcg, thirds])

    @property
    def sizes(self) -> NDArray[np.float64]:
        """What there is to find: whether a user has something hidden, and how much of each third, as `judge` has it."""
        tested = np.tile(self.test.sizes > 0, (3, 1))
        return np.vstack([tested, self._by_third(self.test.owners, self.test.indices)])

    def _by_third(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> NDArray[np.float64]:
        thirds = popularity_thirds(self.train.popularity)[items]
        counts = [np.bincount(users[thirds == third], minlength=self.test.n_users) for third in range(len(THIRDS))]
        return np.array(counts, dtype=np.float64)


class _Tally:
    """What was found so far, by table and method."""

    def __init__(self, searches: int, progress: Progress | None) -> None:
        self.sizes: list[NDArray[np.float64]] = []
        self._found: dict[str, dict[MethodKey, list[NDArray[np.float64]]]] = {name: {} for name in WHAT}
        self._losses: dict[tuple[str, MethodKey], float] = {}
        self._searches, self._progress, self._done = searches, progress, 0

    def add(self, table: str, found: Iterator[_Found]) -> None:
        for key, measured, loss in found:
            self._found[table].setdefault(key, []).append(measured)
            if loss is not None:
                self._losses[table, key] = max(loss, self._losses.get((table, key), 0.0))
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._searches)

    def evaluation(self) -> Evaluation:
        neighbors, items = ({key: np.array(runs) for key, runs in self._found[name].items()} for name in WHAT)
        true = neighbors.get(MethodKey(TRUE))
        sizes = np.array(self.sizes)
        return Evaluation(
            tuple(
                neighbor_row(key, recalls, None if key.method == TRUE else true, self._losses.get(("neighbors", key)))
                for key, recalls in neighbors.items()
            ),
            tuple(
                item_row(key, found, sizes, self._rival(items, key), self._losses.get(("items", key)))
                for key, found in items.items()
            ),
        )

    @staticmethod
    def _rival(items: dict[MethodKey, NDArray[np.float64]], key: MethodKey) -> NDArray[np.float64] | None:
        """Return what private popularity found at the same level, unless that is the method, or it has no level."""
        rival = HOLDER_POPULARITY if key.method == MATRIX_MODEL else PRIVATE_POPULARITY
        return None if key.method in _RIVALS else items.get(key._replace(method=rival))


def popularity_thirds(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the place in `THIRDS` of each item: head, middle and tail make up a third of all pairs each.

    Examples
    --------
    >>> popularity_thirds(np.array([1, 6, 1, 3, 1, 3, 2, 1])).tolist()
    [2, 0, 2, 1, 2, 1, 2, 2]
    """
    order = np.argsort(-counts, kind="stable")
    middles = np.cumsum(counts[order]) - counts[order] / 2  # an item belongs where the middle of its pairs lies
    thirds = np.empty(counts.size, dtype=np.int64)
    thirds[order] = np.minimum(3 * middles // max(1, int(counts.sum())), 2)
    return thirds


def evaluate(
    profiles: Profiles,
    *,
    epsilon: Real | Sequence[Real] = 1.0,
    what: str | Sequence[str] = WHAT,
    neighbors: int = 10,
    items: int = 10,
    engine: str | Sequence[str] = (),
    score: str = "overlap",
    sizes: str = "noisy",
    cycles: int = 20,
    combine: str = "smaller",
    runs: int = 5,
    share: float = 0.1,
    policy: Policy | Sequence[Policy] | None = None,
    per: Literal["item", "user"] = "item",
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure how good private neighbours and recommendations are, beside their rivals: `hetdp evaluate`.

    The protocol of the paper: a tenth of the items that somebody else has too is hidden. Neighbours are judged by the
    share of hidden items that their profiles hold, beside true and random ones and the same people for everybody.
    Recommendations are judged by precision, recall and NDCG, beside popularity (private at the same level, and exact)
    and EASE without privacy.

    Parameters
    ----------
    profiles
        The data.
    epsilon
        One level or several.
    what
        "neighbors", "items" (recommendations), or both.
    neighbors, items
        Length of a list of neighbours, and of recommendations.
    engine
        Who is judged: "model" (`PrivateRecommender` with each release, by its recommendations) and engines of
        `PrivateNeighbors` (by their neighbours), one or several; by default the model and all engines that know the
        score.
    score, sizes, cycles
        As for `PrivateNeighbors`.
    combine
        How much a common item counts in gossip: the "smaller" of both weights, or their "product" (the paper).
    runs
        Splits, each with new noise; two at least.
    share
        How much is hidden.
    policy, per
        Draw weights in each run, per "item" or per "user": one of `hetdp.policies`, or several to be compared; None for
        those of the profiles.
    seed
        Same seed, same result.
    threads
        The result does not depend on it.
    progress
        Called now and then with what is done and what there is.

    Privacy
    -------
    None: computed from the data without noise, for their owner.

    Examples
    --------
    >>> profiles = Profiles.from_pairs(
    ...     [user for user in range(40) for _ in range(20)],
    ...     [30 * (user % 4) + (user + place) % 30 for user in range(40) for place in range(20)],
    ... )
    >>> found = evaluate(profiles, epsilon=20, engine=("model", "exact"), neighbors=3, runs=2)
    >>> [row.method for row in found.neighbors]
    ['true neighbours', 'exact', 'same people', 'random']
    >>> [row.method for row in found.items]
    ['EASE, no privacy', 'model', 'matrix model', 'private popularity', "holder's popularity", 'popularity']
    >>> found.items[1].beats_popularity
    'yes'
    """
    return EvaluationPlan(
        epsilon=tuple(epsilon) if isinstance(epsilon, Sequence) else (epsilon,),
        what=(what,) if isinstance(what, str) else tuple(what),
        neighbors=neighbors,
        items=items,
        engine=(engine,) if isinstance(engine, str) else tuple(engine),
        score=score,
        sizes=sizes,
        cycles=cycles,
        combine=combine,
        runs=runs,
        share=share,
        policy=tuple(policy) if isinstance(policy, Sequence) else () if policy is None else (policy,),
        per=per,
        seed=seed,
        threads=threads,
    ).measure(profiles, progress)
