"""What a sweep covers: its settings, from a TOML file perhaps, the configurations they stand for, and its tasks."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from hetdp.core.checks import finite, one_of, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.datasets import BUILT_IN
from hetdp.experiments.configurations import SCORES, WAYS_TO_COMBINE, Configuration, Task
from hetdp.experiments.weight_rules import GroupRule, PracticeRule, SameRule, SharedSliceRule, SliceRule, WeightRule

_POLL = (0.34, 0.43, 0.23)
#: How far shares may miss 1 by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SweepSettings:
    """A sweep: every combination is a configuration, and every configuration is run several times.

    Attributes
    ----------
    data
        Names of built-in data sets, or files.
    runs, seed
        Runs of each configuration, with the seeds `seed`, `seed + 1`, ...
    k, cycles
        Neighbours per user, and cycles of gossip.
    epsilons
        Levels to average over, and to show one by one.
    engine_epsilons
        Levels at which the three engines are compared, down to where the total loss of all three is small.
    lower, slices
        Figures 1 and 2: lower ends of the weights, and numbers of slices.
    pragmatists, unconcerned
        Figure 3: shares of these groups, all combinations that are possible; fundamentalists are the rest.
    mixes
        Further shares (fundamentalists, pragmatists, unconcerned); the first one is used for all further comparisons.
    per
        Groups draw weights per "item", once per "user", or both; Figure 3 shows the first.
    score, combine
        Of the gossip engine; the paper uses "cosine" and "product".
    extras
        Whether to add what the paper does not show.
    """

    data: tuple[str, ...] = tuple(BUILT_IN)
    runs: int = 40
    seed: int = 0
    k: int = 10
    cycles: int = 20
    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 3.0)
    engine_epsilons: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0)
    lower: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    slices: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    pragmatists: tuple[float, ...] = (0.1, 0.2, 0.6, 0.7)
    unconcerned: tuple[float, ...] = (0.1, 0.2, 0.6, 0.7)
    mixes: tuple[tuple[float, float, float], ...] = (_POLL,)
    per: tuple[str, ...] = ("item", "user")
    score: str = "cosine"
    combine: str = "product"
    extras: bool = True

    def __post_init__(self) -> None:
        for name, minimum in (("runs", 1), ("seed", 0), ("k", 1), ("cycles", 1)):
            whole(name, getattr(self, name), minimum=minimum)
        self._check_lists()
        self._check_shares()
        one_of("score", self.score, SCORES)
        one_of("combine", self.combine, WAYS_TO_COMBINE)

    def _check_lists(self) -> None:
        for name in ("data", "epsilons", "engine_epsilons", "lower", "slices", "mixes", "per"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise InvalidInput("must be a list of different values, at least one", parameter=name, got=values)
        for name in ("epsilons", "engine_epsilons"):
            for epsilon in getattr(self, name):
                positive(name, epsilon)
        for lower, n in itertools.product(self.lower, self.slices):
            SliceRule(lower, n)
        for way in self.per:
            one_of("per", way, ("item", "user"))
        for mix in self.mixes:
            _check_mix(mix)

    def _check_shares(self) -> None:
        for share in (*self.pragmatists, *self.unconcerned):
            if not 0.0 <= finite("pragmatists and unconcerned", share) <= 1.0:
                raise InvalidInput("pragmatists and unconcerned must lie between 0 and 1", got=share)
        if self.dropped_mixes and len(self.dropped_mixes) == len(self.pragmatists) * len(self.unconcerned):
            raise InvalidInput(
                "pragmatists and unconcerned must have a combination that leaves room for fundamentalists: "
                f"shares that sum to 1 at most (got pragmatists {list(self.pragmatists)} and unconcerned "
                f"{list(self.unconcerned)})"
            )

    @classmethod
    def quick(cls) -> Self:
        """Return a small sweep that still draws every figure, in less than a minute of one processor once compiled."""
        return cls(
            runs=3,
            lower=(0.0, 0.5, 0.9),
            slices=(1, 3, 10),
            pragmatists=(0.1, 0.6),
            unconcerned=(0.1, 0.2, 0.7),
            per=("item",),
            engine_epsilons=(0.01, 0.1, 1.0, 3.0, 10.0),
        )

    @property
    def group_mixes(self) -> tuple[tuple[float, float, float], ...]:
        """Shares of all mixes: the possible combinations, then the further ones."""
        found = [
            (round(max(0.0, 1.0 - pragmatists - unconcerned), 9), pragmatists, unconcerned)
            for pragmatists, unconcerned in self._combinations
            if (pragmatists, unconcerned) not in self.dropped_mixes
        ]
        return (*found, *(mix for mix in self.mixes if mix not in found))

    @property
    def dropped_mixes(self) -> tuple[tuple[float, float], ...]:
        """Combinations of pragmatists and unconcerned that are impossible: more than everybody."""
        return tuple(pair for pair in self._combinations if 1.0 - sum(pair) < -_ROUNDING)

    @property
    def _combinations(self) -> list[tuple[float, float]]:
        return list(itertools.product(self.pragmatists, self.unconcerned))


def _check_mix(mix: object) -> None:
    if not isinstance(mix, tuple) or len(mix) != 3:  # noqa: PLR2004  (three groups)
        raise InvalidInput(
            "must be lists of three shares: fundamentalists, pragmatists, unconcerned", parameter="mixes", got=mix
        )
    GroupRule(*mix)


def sweep_configurations(settings: SweepSettings) -> tuple[Configuration, ...]:
    """Return all configurations of a sweep, each once."""
    found = list(paper_configurations(settings))
    if settings.extras:
        found += _extras(settings)
    return tuple(dict.fromkeys(found))


def paper_configurations(settings: SweepSettings) -> tuple[Configuration, ...]:
    """Return the configurations of the paper's three figures: baseline, random, slices and groups."""
    rules: list[WeightRule] = [SliceRule(lower, n) for lower in settings.lower for n in settings.slices]
    rules.append(SameRule(1.0))
    rules += [GroupRule(*mix, per=per) for per in settings.per for mix in settings.group_mixes]  # type: ignore[arg-type]
    ends = [Configuration(engine=engine, k=settings.k) for engine in ("baseline", "random", "same")]
    return (*ends, *(_gossip(settings, rule) for rule in rules))


def overlap_baseline(settings: SweepSettings) -> Configuration:
    """Return the configuration that measures the recall of true neighbours ranked by overlap, as the engines rank."""
    return Configuration(engine="baseline", score="overlap", k=settings.k)


def plan_tasks(settings: SweepSettings, data: Mapping[str, str]) -> list[Task]:
    """Return the tasks of a sweep, run by run, so that an interrupted sweep has seen all configurations."""
    return [
        Task(data[name], configuration, seed)
        for seed in range(settings.seed, settings.seed + settings.runs)
        for name in data
        for configuration in sweep_configurations(settings)
    ]


def _gossip(settings: SweepSettings, rule: WeightRule, *, score: str = "", combine: str = "") -> Configuration:
    return Configuration(
        engine="gossip",
        weights=rule,
        epsilons=settings.epsilons,
        score=score or settings.score,
        combine=combine or settings.combine,
        k=settings.k,
        cycles=settings.cycles,
    )


def _extras(settings: SweepSettings) -> Iterator[Configuration]:
    mix = settings.mixes[0]
    people = GroupRule(*mix, per=settings.per[0])  # type: ignore[arg-type]
    # The engines rank by overlap: what it gives without noise is what they aim at.
    yield overlap_baseline(settings)
    for score in ("cosine", "overlap", "squared-cosine"):
        yield _gossip(settings, people, score=score)
    yield _gossip(settings, people, score="overlap", combine="smaller")
    if mix[0] < 1.0:
        yield _gossip(settings, PracticeRule(*mix))
    yield from (_gossip(settings, SharedSliceRule(min(settings.lower), n)) for n in settings.slices)
    for engine in ("exact", "gossip", "sketch"):
        yield Configuration(
            engine=engine,
            weights=people,
            epsilons=settings.engine_epsilons,
            score="overlap",
            combine="smaller",
            k=settings.k,
            cycles=settings.cycles,
        )
