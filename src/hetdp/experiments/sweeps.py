"""The configurations that a sweep consists of, and its tasks."""

from collections.abc import Iterator, Mapping

from hetdp.experiments.configurations import Configuration, Task
from hetdp.experiments.settings import Settings
from hetdp.experiments.weight_rules import Groups, Practice, Same, SharedSlices, Slices, WeightRule

__all__ = ["group_baseline", "overlap_baseline", "paper_configurations", "plan_tasks", "sweep_configurations"]


def sweep_configurations(settings: Settings) -> tuple[Configuration, ...]:
    """Return all configurations of a sweep, each once.

    Examples
    --------
    >>> paper, everything = paper_configurations(Settings()), sweep_configurations(Settings())
    >>> len(paper), len(everything)
    (142, 160)
    """
    found = list(paper_configurations(settings))
    if settings.extras:
        found += _extras(settings)
    return tuple(dict.fromkeys(found))


def paper_configurations(settings: Settings) -> tuple[Configuration, ...]:
    """Return the configurations of the paper's three figures: baseline, random, slices and groups.

    Examples
    --------
    >>> paper_configurations(Settings())[0].text
    'true neighbours (not private)'
    """
    rules: list[WeightRule] = [Slices(lower, n) for lower in settings.lower for n in settings.slices]
    rules.append(Same(1.0))
    rules += [Groups(*mix, per=per) for per in settings.per for mix in settings.group_mixes]  # type: ignore[arg-type]
    ends = [Configuration(engine=engine, k=settings.k) for engine in ("baseline", "random")]
    # What true neighbours give the people of each group: groups differ by who is in them, too.
    ends += [group_baseline(settings, mix) for mix in settings.group_mixes]
    return (*ends, *(_gossip(settings, rule) for rule in rules))


def group_baseline(settings: Settings, mix: tuple[float, float, float]) -> Configuration:
    """Return the configuration that measures the recall of true neighbours for each group of a mix.

    Examples
    --------
    >>> group_baseline(Settings(), (0.34, 0.43, 0.23)).private
    False
    """
    rule = Groups(*mix, per=settings.per[0])  # type: ignore[arg-type]
    return Configuration(engine="baseline", weights=rule, k=settings.k)


def overlap_baseline(settings: Settings) -> Configuration:
    """Return the configuration that measures the recall of true neighbours ranked by overlap, as the engines rank.

    Examples
    --------
    >>> overlap_baseline(Settings()).text
    'true neighbours by overlap (not private)'
    """
    return Configuration(engine="baseline", score="overlap", k=settings.k)


def plan_tasks(settings: Settings, data: Mapping[str, str]) -> list[Task]:
    """Return the tasks of a sweep, run by run, so that an interrupted sweep has seen all configurations.

    Parameters
    ----------
    settings
        The sweep.
    data
        Fingerprint of each data set by name.
    """
    configurations = sweep_configurations(settings)
    return [
        Task(mark, configuration, seed)
        for seed in range(settings.seed, settings.seed + settings.runs)
        for mark in data.values()
        for configuration in configurations
    ]


def _gossip(settings: Settings, rule: WeightRule, *, score: str = "", combine: str = "") -> Configuration:
    return Configuration(
        engine="gossip",
        weights=rule,
        epsilons=settings.epsilons,
        score=score or settings.score,
        combine=combine or settings.combine,
        k=settings.k,
        cycles=settings.cycles,
    )


def _extras(settings: Settings) -> Iterator[Configuration]:
    mix = settings.mixes[0]
    people = Groups(*mix, per=settings.per[0])  # type: ignore[arg-type]
    # The engines rank by overlap: what it gives without noise is what they aim at.
    yield overlap_baseline(settings)
    for score in ("cosine", "overlap", "squared-cosine"):
        yield _gossip(settings, people, score=score)
    yield _gossip(settings, people, score="overlap", combine="smaller")
    if mix[0] < 1.0:
        yield _gossip(settings, Practice(*mix))
    yield from (_gossip(settings, SharedSlices(min(settings.lower), n)) for n in settings.slices)
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
