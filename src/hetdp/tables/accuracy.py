"""Which epsilon makes the intervals of a table narrow enough: from public numbers alone, before anything is read."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hetdp.core.checks import positive
from hetdp.core.errors import InvalidInput
from hetdp.core.text import listed
from hetdp.mechanisms.accuracy import MOST_LEVEL, smallest_level, up
from hetdp.mechanisms.ratios import Estimate, NoisySum
from hetdp.tables.sums import PEOPLE

if TYPE_CHECKING:
    from hetdp.tables.plan import TablePlan

__all__ = ["epsilon_within"]

#: Where the mean of a group may be, from the centre of the range (0) to its end (1).
_MEANS = (0.0, 0.5, 0.9)


def epsilon_within(plan: "TablePlan", within: float | Mapping[str, float], people: float | None) -> float:
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


def _goals(plan: "TablePlan", within: float | Mapping[str, float]) -> dict[str, float]:
    """Return how far the interval of each aggregate may reach, of those that were named."""
    goals = within if isinstance(within, Mapping) else dict.fromkeys(plan.aggregates, within)
    strangers = [name for name in goals if name not in plan.aggregates]
    if strangers or not goals:
        got = listed([repr(name) for name in strangers]) if strangers else "none"
        raise InvalidInput("must name aggregates", parameter="within", got=got)
    return {name: positive("within", goal) for name, goal in goals.items()}


def _dialled(plan: "TablePlan") -> bool:
    return plan.question.weights is not None


def _expected(plan: "TablePlan", goals: Mapping[str, float], weight: float) -> list[tuple[str, Estimate]]:
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
