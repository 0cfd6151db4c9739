"""One face for everything that can be audited: plans, mechanisms, and any function of a profile."""

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.adjacency import Pair, checked_pairs, search_pair, worst_pair
from hetdp.auditing.events import apparent_loss
from hetdp.auditing.outputs import OutputReader, Outputs
from hetdp.core.checks import not_negative
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream, seeded_stream
from hetdp.mechanisms.plan import Mechanism, Plan
from hetdp.mechanisms.stretching import StretchedPlan

__all__ = [
    "Claims",
    "Subject",
    "accepts",
    "claims_for",
    "default_items",
    "fresh_seed",
    "pairs_for",
    "planned",
    "subject_of",
]

#: A promised loss for all items, one per item, or a dict from item to loss.
Claims: TypeAlias = float | Sequence[float] | NDArray[np.float64] | Mapping[Hashable, float]

#: More items than this are sampled evenly by their claim.
_ITEMS = 8
_PILOT_RUNS = 500


@dataclass
class Subject:
    """Something to audit: `run(profile, count, stream)` returns the raw outputs of `count` runs."""

    name: str
    run: Callable[[Any, int, Stream], Any]
    #: Whether `run` returns all outputs at once.
    vectorised: bool
    #: Of a plan: the promised loss per item.
    claims: NDArray[np.float64] | None = None
    plan: Plan | None = None
    reader: OutputReader = field(default_factory=OutputReader)

    def draw(self, profile: object, count: int, stream: Stream) -> Outputs:
        """Return the outputs of `count` runs on a profile."""
        try:
            raw = self.run(profile, count, stream)
        except InvalidInput:
            raise
        except Exception as error:
            # Its message may quote a profile; the traceback still leads a programmer there.
            raise InvalidInput(
                "must return on every profile",
                parameter="mechanism",
                got=type(error),
                hint=("If only some profiles lead to it, that is a leak; hetdp.auditing.replay_audit shows it."),
            ) from error
        return self.reader.batch(raw, count) if self.vectorised else self.reader.singles(raw)

    def pair_for(self, item: int, plan: Plan) -> Pair:
        """Return the pair of adjacent profiles that shows an item of a plan most."""
        if isinstance(plan, StretchedPlan):
            return worst_pair(plan.mechanism.query, item, plan.shrinkage)
        pilot = seeded_stream(item, 2)

        def apart(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
            return apparent_loss(self.draw(one, _PILOT_RUNS, pilot), self.draw(two, _PILOT_RUNS, pilot))

        return search_pair(plan.mechanism.domain, item, apart, movers=0)  # a pilot is too coarse to climb by


def subject_of(mechanism: object, *, epsilon: object = None) -> Subject:
    """Return a plan, a mechanism together with `epsilon`, or a function of a profile as something to audit."""
    if isinstance(mechanism, Plan | Mechanism):
        plan = planned(mechanism, epsilon=epsilon)
        if plan.unit != "epsilon":
            raise InvalidInput(
                f"mechanism must promise epsilon, a bound on every ratio. Got a plan in {plan.unit} instead; "
                "hetdp.auditing.replay_audit and sampler_audit check those."
            )
        losses = plan.amount * plan.mechanism.weights.values
        if isinstance(plan, StretchedPlan):
            losses = losses * plan.mechanism.query.steps_to_replace
        keep = np.ones(losses.size, dtype=bool)
        return Subject(
            name=plan.mechanism.name,
            run=lambda profile, count, stream: plan.answers(profile, keep, stream, count=count),
            vectorised=True,
            claims=losses,
            plan=plan,
        )
    if not callable(mechanism):
        raise InvalidInput(
            "must be a plan, a mechanism or a function of a profile",
            parameter="mechanism",
            got=type(mechanism),
        )
    if epsilon is not None:
        raise InvalidInput("must come with a mechanism; give a function `claimed`", parameter="epsilon", got=epsilon)
    return _function_subject(mechanism)


def _function_subject(function: Callable[..., Any]) -> Subject:
    seeded, vectorised = accepts(function, "random_state"), accepts(function, "size")

    def keywords(stream: Stream) -> dict[str, Any]:
        return {"random_state": fresh_seed(stream)} if seeded else {}

    def run(profile: object, count: int, stream: Stream) -> object:
        if vectorised:
            return function(profile, size=count, **keywords(stream))
        return [function(profile, **keywords(stream)) for _ in range(count)]

    return Subject(name=getattr(function, "__name__", type(function).__name__), run=run, vectorised=vectorised)


def planned(mechanism: Plan | Mechanism, *, epsilon: object = None, rho: object = None) -> Plan:
    """Return the plan itself, or the plan of a mechanism at the given level."""
    if isinstance(mechanism, Plan):
        if epsilon is not None or rho is not None:
            raise InvalidInput(
                "must not be given with a plan, which has its own", parameter="epsilon", got=epsilon or rho
            )
        return mechanism
    if (epsilon is None) == (rho is None):
        raise InvalidInput(
            "must be given with a mechanism (or rho, for a replay) (got both or none)", parameter="epsilon"
        )
    if rho is not None:
        return mechanism.plan(noise="gaussian", amount=rho)
    return mechanism.plan(noise="laplace", amount=epsilon)


def claims_for(claimed: Claims, item: Hashable) -> float:
    """Return the loss that is claimed for an item."""
    if isinstance(claimed, Mapping):
        losses = {key: not_negative("claimed", value) for key, value in claimed.items()}
        label = item if item in losses else str(item)  # the keys of a JSON object are text
        if label not in losses:
            raise InvalidInput(f"must hold a loss for every audited item (got none for {item!r})", parameter="claimed")
        return losses[label]
    if isinstance(claimed, Sequence | np.ndarray) and np.ndim(claimed) == 1:
        listed = [
            not_negative("claimed", float(value) if isinstance(value, np.floating) else value) for value in claimed
        ]
        if not isinstance(item, int) or item >= len(listed):
            raise InvalidInput(f"claimed must hold a loss for every item. Got {len(listed)}, none for {item!r}.")
        return listed[item]
    return not_negative("claimed", claimed)


def default_items(claims: NDArray[np.float64]) -> list[int]:
    """Return all items, or an even sample from the strictest claim to the most relaxed."""
    if claims.size <= _ITEMS:
        return list(range(claims.size))
    places = np.linspace(0, claims.size - 1, _ITEMS).astype(int)
    return [int(item) for item in np.argsort(claims, kind="stable")[places]]


def accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether a function names a parameter."""
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def fresh_seed(stream: Stream) -> int:
    """Return a seed that numpy, scikit-learn and hetdp accept alike."""
    return int(stream.words(1)[0] >> np.uint64(33))


def pairs_for(
    subject: Subject, adjacent: Sequence[Pair] | None, items: Sequence[int] | None
) -> list[tuple[Hashable, Pair]]:
    """Return the pairs to audit, each with the item it is about: those given, or the worst that can be found."""
    if adjacent is not None:
        found = checked_pairs(adjacent)
        return found if items is None else [(item, pair) for item, pair in found if item in items]
    plan = subject.plan
    if subject.claims is None or plan is None:
        raise InvalidInput("adjacent must be given with a function: pairs of profiles that differ in one item.")
    for item in items or ():
        if not 0 <= item < subject.claims.size:
            raise InvalidInput(f"must be positions below {subject.claims.size}", parameter="items", got=item)
    chosen = default_items(subject.claims) if items is None else items
    return [(item, subject.pair_for(item, plan)) for item in chosen]
