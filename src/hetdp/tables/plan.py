"""What a release of a table will do and cost, from public numbers alone: checked before anything is read or charged."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hetdp.accounting.guarantee import Guarantee, in_digits
from hetdp.core.checks import Real, float_up, fraction, positive, whole
from hetdp.core.errors import InvalidInput
from hetdp.core.text import counted, listed
from hetdp.mechanisms.intervals import MOST_LEVEL, up
from hetdp.noise.samplers import MAXIMUM_SCALE
from hetdp.profiles.reading import checked_default
from hetdp.tables.aggregates import Aggregate, Context
from hetdp.tables.conditions import parse_condition
from hetdp.tables.keys import UnknownKeys, threshold
from hetdp.tables.ratios import Estimate, NoisySum, least_weight, smallest_level
from hetdp.tables.sums import PEOPLE, STEPS, KeyColumn, Question, Sum

#: What `by` takes: public keys for each column, or `hetdp.unknown_keys()`.
Keys = Mapping[str, Sequence[Any] | UnknownKeys]

#: Columns that every answer has beside its keys.
ANSWER_COLUMNS = ("aggregate", "estimate", "low", "high", "value")
_MOST_GROUPS = 10_000_000


@dataclass(frozen=True, repr=False)
class TablePlan:
    """How epsilon is split, and the noise that follows; everything here is public.

    Attributes
    ----------
    question, aggregates
        What the engine is to add up, and what will be made of it, by name.
    epsilon, delta
        The level, and the chance that a key gives somebody away.
    population
        How many people there are, if that was given.
    confidence
        Chance that an interval covers the truth.
    shares
        The part of epsilon that each sum costs, exactly; free ones are not among them.
    stated_groups
        Whether the caller has said how many groups people are in, rather than left it at 1.
    keys_share
        The part that choosing keys from the data costs, 0 where they are public.
    """

    question: Question
    aggregates: Mapping[str, Aggregate]
    epsilon: Fraction
    shares: Mapping[Sum, Fraction]
    keys_share: Fraction
    delta: float
    population: float | None
    confidence: float
    stated_groups: bool

    def __repr__(self) -> str:
        return f"TablePlan({', '.join(self.aggregates)}; epsilon={float(self.epsilon):g})"

    @property
    def description(self) -> str:
        """What is asked, for the history of a ledger: nothing that depends on the data."""
        question = self.question
        by = f" by {listed([key.column for key in question.by])}" if question.by else ""
        return f"{', '.join(self.aggregates)}{by}" + (f" where {question.where.text}" if question.where else "")

    def at(self, epsilon: Real) -> "TablePlan":
        """Return the same release at another epsilon, split in the same way."""
        factor = fraction("epsilon", epsilon) / self.epsilon
        shares = {added: share * factor for added, share in self.shares.items()}
        return replace(self, epsilon=self.epsilon * factor, shares=shares, keys_share=self.keys_share * factor)

    @property
    def split(self) -> dict[str, float]:
        """What each part costs, by name; together it is epsilon."""
        own = {_called(added, self.question): float_up(share) for added, share in self.shares.items()}
        return {"keys": float_up(self.keys_share), **own} if self.keys_share else own

    @property
    def scales(self) -> dict[str, float]:
        """The scale of the Laplace noise on each sum, by name, in its own unit."""
        return {_called(added, self.question): self.scale(added) for added in self.released}

    @property
    def n_groups(self) -> int:
        """How many groups are answered, where all keys are public."""
        return math.prod(len(key.keys) for key in self.question.by if isinstance(key.keys, tuple))

    @property
    def unknown(self) -> bool:
        """Whether keys are chosen from the data."""
        return any(isinstance(key.keys, UnknownKeys) for key in self.question.by)

    @property
    def people_for_a_key(self) -> float:
        """How many people of dial 1 a key that is chosen from the data needs to come out half of the time."""
        return threshold(self.keys_share, self.delta, steps=STEPS, groups=self.question.max_groups) / STEPS

    @property
    def people_for_an_estimate(self) -> float | None:
        """How many people of dial 1 a group must be worth for a mean or variance to be told; None if none is asked."""
        if all(aggregate.grows for aggregate in self.aggregates.values()):
            return None
        return least_weight(NoisySum(0.0, self.scale(PEOPLE)), confidence=self.confidence)

    @property
    def released(self) -> tuple[Sum, ...]:
        """Every sum that is released, those that cost nothing included."""
        return tuple(added for added in self.question.sums if added.beside in self.shares)

    def spread(self, added: Sum) -> Fraction:
        """Return the scale of the Laplace noise on an `added` sum, in steps."""
        return self.question.max_groups * added.beside.most / self.shares[added.beside]

    def scale(self, added: Sum) -> float:
        """Return the scale of the Laplace noise on an `added` sum, in its own unit."""
        return float(self.spread(added)) / added.steps_per_unit

    @property
    def several_groups(self) -> bool:
        """Whether somebody may be in several groups."""
        if self.question.unit is None or not self.question.by:
            return False
        return self.unknown or self.n_groups > 1

    @property
    def shrinks_by_groups(self) -> bool:
        """Whether somebody may be in more groups than they count fully in."""
        return self.several_groups and (self.unknown or self.n_groups > self.question.max_groups)

    def obstacle(self, *, dialled: bool) -> str | None:
        """Return why nobody can tell what counts and totals would be if everybody counted fully, if so.

        Parameters
        ----------
        dialled
            Whether people may count with dials other than 1.
        """
        groups = self.question.max_groups
        if self.shrinks_by_groups and not self.stated_groups:
            return (
                "People in several groups count for less in each of them. Say how many groups a person can be in "
                "(max_groups)."
            )
        if dialled and self.several_groups and groups > 1:
            return (
                f"With up to {groups} groups per person, weighted people count for more if they are in fewer groups. "
                "Set max_groups to 1 if nobody is in more than one group."
            )
        if dialled and self.population is None:
            return (
                "People count in proportion to their privacy weights, and their number is not public. Give the "
                "population, their number in all groups together as known from elsewhere, to scale it up."
            )
        return None

    def context(self, everybody: NoisySum | None, *, dialled: bool) -> Context:
        """Return what estimates need to know beside the sums of their group.

        Parameters
        ----------
        everybody
            The noisy sum of all groups, where there is one.
        dialled
            Whether people may count with dials other than 1.
        """
        weighted = dialled or self.shrinks_by_groups
        obstacle = self.obstacle(dialled=dialled)
        return Context(everybody, self.population, dialled, weighted, obstacle, self.confidence)

    def guarantee(self, *, simulated: bool) -> Guarantee:
        """Return the promise of a release made as planned; none, if it is `simulated`."""
        person = self.question.unit is not None
        who = "person" if person else "row"
        present = f"all rows of one person ({self.question.unit}) being" if person else "one row being"
        stays = (
            f"A {who} that stays, and whose {'rows' if person else 'cells'} and dial change from v_i to v'_i, costs at"
        )
        level = f"exp({in_digits(float_up(self.epsilon))} * (v_i + v'_i))"
        slack = " and delta * (1 + exp(epsilon)) on top" if self.delta else ""
        equally = len(set(self.split.values())) == 1
        parts = listed([name if equally else f"{name} {in_digits(share)}" for name, share in self.split.items()])
        return Guarantee(
            "epsilon",
            float_up(self.epsilon),
            adjacent=f"{present} present or absent",
            adversary=f"anyone who sees this release, whatever else they know, all other {who}s included",
            delta=self.delta,
            protected=who,
            remarks=(f"{stays} most {level}{slack}.", f"Epsilon is split{' equally' * equally}: {parts}."),
            simulated=simulated,
        )


def plan_table(
    aggregates: Mapping[str, Aggregate],
    *,
    epsilon: Real | None = None,
    by: Keys | None = None,
    weights: str | None = None,
    default_weight: float | None = None,
    unit: str | None = None,
    max_groups: int | None = None,
    where: str | None = None,
    population: float | None = None,
    confidence: float = 0.95,
    within: float | Mapping[str, float] | None = None,
    people: float | None = None,
) -> TablePlan:
    """Return what `release_table` with the same arguments would do and cost; reads nothing, spends nothing.

    Parameters
    ----------
    aggregates, epsilon, by, weights, default_weight, unit, max_groups, where, population, confidence
        As for `release_table`.
    within
        Instead of epsilon: how far the ends of an interval may be from the estimate, for all aggregates or by name. The
        plan has the epsilon that all of them together then cost.
    people
        With `within`: a public guess of how many people of dial 1 the smallest group of interest is worth. Counts and
        totals of undistorted tables need none.

    Examples
    --------
    >>> from hetdp.tables import count, mean
    >>> asked = {"people": count(), "hours": mean("hours", lower=0, upper=99)}
    >>> plan_table(asked, epsilon=1.0).split
    {'count of rows': 0.5, 'sum of hours': 0.5}
    >>> float(plan_table(asked, within={"hours": 0.5}, people=2000).epsilon)
    0.39
    """
    if (epsilon is None) == (within is None):
        raise InvalidInput("epsilon or within must be given, and not both (got neither or both)")
    named = _checked_aggregates(aggregates)
    level = Fraction(1) if epsilon is None else fraction("epsilon", epsilon)
    columns = _checked_by(by)
    for name, column in (("weights", weights), ("unit", unit)):
        if column is not None and not isinstance(column, str):
            raise InvalidInput("must be the name of a column", parameter=name, got=type(column))
    default = _checked_default(default_weight, weights)
    groups = 1 if max_groups is None else whole("max_groups", max_groups, minimum=1)
    if groups > 1 and (unit is None or not columns):
        raise InvalidInput(
            f"must be 1 without unit and by: {'a row is in one group' if columns else 'there is one group'}",
            parameter="max_groups",
            got=max_groups,
        )
    everybody = None if population is None else positive("population", population)
    unknown = [key.keys for key in columns if isinstance(key.keys, UnknownKeys)]
    if not 0 < confidence < 1:
        raise InvalidInput("must lie between 0 and 1", parameter="confidence", got=confidence)
    if everybody is not None and unknown:
        raise InvalidInput(
            "must not be given with unknown keys: people of keys that do not come out would be counted with "
            "the others (got both)",
            parameter="population",
        )
    kind = {"scaled_up": everybody is not None, "weighted": weights is not None or unit is not None}
    sums = list(dict.fromkeys(added for each in named.values() for added in each.sums(**kind)))
    paying = dict.fromkeys(added.beside for added in sums)
    share = level / (len(paying) + bool(unknown))
    read = tuple(dict.fromkeys([PEOPLE, *sums] if unknown else sums))  # keys are chosen by how many people they have
    plan = TablePlan(
        Question(read, columns, weights, unit, groups, None if where is None else parse_condition(where), default),
        named,
        level,
        dict.fromkeys(paying, share),
        share if unknown else Fraction(0),
        min((float(keys.delta) for keys in unknown), default=0.0),
        everybody,
        confidence,
        max_groups is not None,
    )
    if everybody is not None and plan.shrinks_by_groups and max_groups is None:
        raise InvalidInput(
            "needs max_groups where unit and by are given",
            parameter="population",
            hint="Say how many groups a person can be in: 1 if nobody is in two.",
        )
    if within is not None:
        plan = plan.at(epsilon_within(plan, within, people))
    _check_size(plan)
    return plan


def _check_size(plan: TablePlan) -> None:
    if max(plan.spread(added) for added in plan.shares) >= MAXIMUM_SCALE:
        raise InvalidInput(
            f"must be above {float(plan.epsilon * max(map(plan.spread, plan.shares)) / MAXIMUM_SCALE):.2g} "
            f"for {counted(len(plan.shares), 'sum')} and {counted(plan.question.max_groups, 'group')} per person",
            parameter="epsilon",
            got=float(plan.epsilon),
        )
    if not plan.unknown and plan.n_groups > _MOST_GROUPS:
        raise InvalidInput(f"must have at most {_MOST_GROUPS:,} groups", parameter="by", got=plan.n_groups)


def _checked_default(default_weight: float | None, weights: str | None) -> float | None:
    if default_weight is None:
        return None
    if weights is None:
        raise InvalidInput("must come with weights, the column it is for (got it alone)", parameter="default_weight")
    return checked_default(default_weight)


def _checked_aggregates(aggregates: Mapping[str, Aggregate]) -> dict[str, Aggregate]:
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise InvalidInput(
            "must be a mapping of names to tables.count(), tables.mean(...) and the like, at least one",
            parameter="aggregates",
            got=type(aggregates) if aggregates else "none",
        )
    for name, aggregate in aggregates.items():
        if not isinstance(name, str) or not isinstance(aggregate, Aggregate):
            raise InvalidInput(
                f"must map a name to tables.count(), tables.mean(...) and the like (got {type(name).__name__} "
                f"and {type(aggregate).__name__})",
                parameter="aggregates",
            )
    return dict(aggregates)


def _checked_by(by: Keys | None) -> tuple[KeyColumn, ...]:
    if by is not None and not isinstance(by, Mapping):
        raise InvalidInput(
            'must map columns to their keys, such as {"ward": ["er", "icu"]}, or to hetdp.unknown_keys()',
            parameter="by",
            got=type(by),
        )
    return tuple(_checked_keys(column, keys) for column, keys in (by or {}).items())


def _checked_keys(column: str, keys: Sequence[Any] | UnknownKeys) -> KeyColumn:
    if not isinstance(column, str):
        raise InvalidInput("must map names of columns to their keys", parameter="by", got=type(column))
    if column in ANSWER_COLUMNS:
        raise InvalidInput(
            f"must name columns other than those of the answer ({', '.join(ANSWER_COLUMNS)}): rename yours",
            parameter="by",
            got=column,
        )
    if isinstance(keys, UnknownKeys):
        return KeyColumn(column, keys)
    if isinstance(keys, str) or not isinstance(keys, Sequence):
        raise InvalidInput(
            f"keys of {column!r} must be a list, or hetdp.unknown_keys(delta=...) to have them chosen from the data",
            got=type(keys),
        )
    own = tuple(keys)
    if not own:
        raise InvalidInput(f"keys of {column!r} must be at least one")
    kinds = {type(key) for key in own}
    if len(kinds) > 1 or not kinds <= {str, int, bool, dt.date}:
        raise InvalidInput(
            f"keys of {column!r} must be all texts, all whole numbers, all booleans or all dates",
            got=listed(sorted(kind.__name__ for kind in kinds)),
        )
    if len(set(own)) < len(own):
        raise InvalidInput(f"keys of {column!r} must be all different (got {len(own) - len(set(own))} twice)")
    return KeyColumn(column, own)


def _called(added: Sum, question: Question) -> str:
    """Return what a sum is called where its cost is shown."""
    if added == PEOPLE:
        return "count of rows" if question.unit is None else "count of people"
    if added.free:
        return f"room of {added.column} (free)"
    squared = "squared " if added.power == 2 else ""  # noqa: PLR2004
    return f"{'total' if added.added_up else 'sum'} of {squared}{added.column}"


#: Where the mean of a group may be, from the centre of the range (0) to its end (1).
_MEANS = (0.0, 0.5, 0.9)


def epsilon_within(plan: TablePlan, within: float | Mapping[str, float], people: float | None) -> float:
    """Return the smallest epsilon, in three digits, at which no interval reaches farther than it may.

    For a group worth so many people of dial 1, wherever their mean is, with values spread evenly.
    """
    goals = _goals(plan, within)
    weight = 0.0 if people is None else positive("people", people)

    def reach(epsilon: float, only: str | None = None) -> float:
        own = goals if only is None else {only: goals[only]}
        return max(_reach(found) / goals[name] for name, found in _expected(plan.at(epsilon), own, weight))

    if reach(MOST_LEVEL) <= 1:
        return smallest_level(reach, 1.0)
    for name, found in _expected(plan.at(MOST_LEVEL), goals, weight):
        if found.reason is not None:
            unsaid = not plan.aggregates[name].grows or plan.obstacle(dialled=_dialled(plan)) is None
            if people is None and unsaid:
                raise InvalidInput("is required: a guess of the sum of privacy weights in a group", parameter="people")
            raise InvalidInput(f"needs answers that have an estimate. {found.reason}", parameter="within")
    least = {name: up(goal * reach(MOST_LEVEL, name)) for name, goal in goals.items() if reach(MOST_LEVEL, name) > 1}
    apart = ""
    if len(goals) > 1:
        each = ", ".join(f'"{name}": {"..." if name in least else f"{goal:g}"}' for name, goal in goals.items())
        apart = f" Aggregates may have a number each, within={{{each}}}, or be asked one at a time."
    raise InvalidInput(
        f"must be at least {listed([f'{most:,f} for {name}' for name, most in least.items()])}: who has which "
        "privacy weight is chance, and makes intervals that wide for this number of people, for every epsilon",
        parameter="within",
        got=listed([f"{goals[name]:,g}" for name in least]),
        hint=f"{apart} What helps: more people in a group, or a lower confidence.",
    )


def _goals(plan: TablePlan, within: float | Mapping[str, float]) -> dict[str, float]:
    """Return how far the interval of each aggregate may reach, of those that were named."""
    goals = within if isinstance(within, Mapping) else dict.fromkeys(plan.aggregates, within)
    strangers = [name for name in goals if name not in plan.aggregates]
    if strangers or not goals:
        got = listed([repr(name) for name in strangers]) if strangers else "none"
        raise InvalidInput("must name aggregates", parameter="within", got=got)
    return {name: positive("within", goal) for name, goal in goals.items()}


def _dialled(plan: TablePlan) -> bool:
    return plan.question.weights is not None


def _expected(plan: TablePlan, goals: Mapping[str, float], weight: float) -> list[tuple[str, Estimate]]:
    """Return what would be estimated of a group worth so much, without any noise but with its intervals."""
    groups = 1 if plan.unknown else plan.n_groups
    everybody = None
    if PEOPLE in plan.shares:
        everybody = NoisySum(weight * groups, plan.scale(PEOPLE) * math.sqrt(groups))
    context = plan.context(everybody, dialled=_dialled(plan))
    return [
        (name, plan.aggregates[name].estimate(noisy, context))
        for place in _MEANS
        for noisy in [{added: NoisySum(weight * added.of(place), plan.scale(added)) for added in plan.released}]
        for name in goals
    ]


def _reach(found: Estimate) -> float:
    if found.value is None or found.low is None or found.high is None:
        return math.inf
    return max(found.high - found.value, found.value - found.low)
