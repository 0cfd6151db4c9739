"""What is audited: plans, mechanisms and functions; adjacent profiles; and outputs, which are numbers or labels."""

import inspect
import math
import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence, Set as AbstractSet, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.releasing import Release
from hetdp.auditing.events import Feature, Floats, Outputs, apparent_loss
from hetdp.core.checks import not_negative
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import Stream, seeded_stream
from hetdp.mechanisms.mechanism import Mechanism, NoisePlan, Plan
from hetdp.mechanisms.queries.query import Query
from hetdp.mechanisms.stretching import StretchedPlan
from hetdp.profiles import Box

#: Two adjacent profiles: they differ in one item.
Pair: TypeAlias = tuple[Any, Any]
#: A promised loss for all items, one per item, or a dict from item to loss.
Claims: TypeAlias = float | Sequence[float] | NDArray[np.float64] | Mapping[Hashable, float]

#: What the outputs of all runs share: the dimensions and size of vectors of numbers, or the type of labels.
Form: TypeAlias = tuple[int, int] | type

#: More items than this are sampled evenly by their claim.
_ITEMS = 8
#: The search for a pair: starting vertices, items that it flips, and runs per side where the answers are random.
_STARTS, _MOVERS, _PILOT_RUNS = 6, 48, 500
_LEAK = "If only some profiles lead to it, that is a leak; hetdp.auditing.replay_audit shows it."


def differing_item(one: object, two: object) -> Hashable:
    """Return the one item in which two profiles differ: a position, a key, or a member of a set."""
    (kind, first), (other_kind, second) = _items(one), _items(two)
    if kind != other_kind or (kind == "sequence" and len(first) != len(second)):
        got = f"a {kind} of {len(first)} and a {other_kind} of {len(second)} items"
        raise InvalidInput("must be pairs of profiles of one kind and length", parameter="adjacent", got=got)
    missing = object()
    both = dict.fromkeys([*first, *second])
    items = [item for item in both if not _same(first.get(item, missing), second.get(item, missing))]
    if len(items) != 1:
        raise InvalidInput("must be pairs that differ in exactly one item", parameter="adjacent", got=len(items))
    return items[0]


def _items(profile: Any) -> tuple[str, Mapping[Hashable, object]]:  # noqa: ANN401
    """Return what kind of profile it is, and its items by position, key or member."""
    if isinstance(profile, Mapping):
        return "dict", profile
    if isinstance(profile, AbstractSet):
        return "set", dict.fromkeys(profile)
    if isinstance(profile, str | bytes) or not isinstance(profile, Sized):
        return "value", {0: profile}
    column = hasattr(profile, "to_numpy") and getattr(profile, "ndim", 1) == 1
    if column or isinstance(profile, Sequence) or (isinstance(profile, np.ndarray) and profile.ndim):
        return "sequence", dict(enumerate(profile))  # type: ignore[arg-type]
    raise InvalidInput("must be pairs of sequences, columns, dicts or sets", parameter="adjacent", got=type(profile))


def _same(one: object, two: object) -> bool:
    try:
        both_nan = one != one and two != two  # noqa: PLR0124  (only nan differs from itself)
        return one is two or bool(both_nan or np.all(one == two))
    except (TypeError, ValueError):
        return False


def checked_pairs(adjacent: Sequence[Pair]) -> list[tuple[Hashable, Pair]]:
    """Return given pairs of profiles, each with the one item in which they differ."""
    listed = list(adjacent) if isinstance(adjacent, Sequence) else []
    if not listed or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in listed):  # noqa: PLR2004
        raise InvalidInput("must be a list of pairs of profiles", parameter="adjacent")
    return [(differing_item(one, two), (one, two)) for one, two in listed]


def worst_pair(query: Query, item: int, shrinkage: Floats) -> tuple[Floats, Floats]:
    """Return two vertices that differ in one item and (nearly) attain its sensitivity S_i(w).

    A greedy search: from several starting vertices, it flips one other item at a time while that moves the answers
    apart. It may miss the worst pair; an audit that finds nothing proves nothing.

    Parameters
    ----------
    query
        What is asked.
    item
        The item that differs.
    shrinkage
        How much each item is shrunk.

    Examples
    --------
    >>> from hetdp.mechanisms import queries
    >>> one, two = worst_pair(queries.scalar_product(Box.uniform(0, 1, size=4)), 0, np.ones(4))
    >>> float(one[2]), sorted({float(one[0]), float(two[0])})
    (1.0, [0.0, 1.0])
    """

    def apart(one: Floats, two: Floats) -> float:
        first, second = query.stretched(one, shrinkage), query.stretched(two, shrinkage)
        return float(np.abs(np.asarray(first) - np.asarray(second)).sum())

    return search_pair(query.domain, item, apart, movers=_MOVERS)


def search_pair(
    domain: Box, item: int, apart: Callable[[Floats, Floats], float], *, movers: int
) -> tuple[Floats, Floats]:
    """Return the pair of vertices that differ in one item and for which `apart` is largest."""
    low, middle, high = float(domain.lower[item]), float(domain.center[item]), float(domain.upper[item])
    # A norm is largest from the centre to an end; most other queries from end to end.
    ends = dict.fromkeys((one, two) for one, two in ((low, high), (middle, high), (low, middle)) if one != two)
    corners = seeded_stream(item).words((_STARTS - 3) * domain.size).reshape(-1, domain.size) >> np.uint64(63)
    starts = [domain.center, domain.lower, domain.upper]
    starts += [np.where(row, domain.upper, domain.lower) for row in corners]
    others = [place for place in range(domain.size) if place != item]
    if len(others) > movers:
        chosen = seeded_stream(item, 1).words(movers) % np.uint64(len(others))
        others = [others[int(place)] for place in chosen]

    def pair(point: Floats, first: float, second: float) -> tuple[Floats, Floats]:
        one, two = point.copy(), point.copy()
        one[item], two[item] = first, second
        return one, two

    best, distance = (domain.center, domain.center), -1.0
    for start in starts:
        for one, two in ends:
            point, found = start, apart(*pair(start, one, two))
            for mover in others * 2:
                flipped = point.copy()
                flipped[mover] = domain.lower[mover] if point[mover] != domain.lower[mover] else domain.upper[mover]
                gained = apart(*pair(flipped, one, two))
                if gained > found:
                    point, found = flipped, gained
            if found > distance:
                best, distance = pair(point, one, two), found
    return best


def read_outputs(raw: Sequence[object] | NDArray[Any]) -> tuple[Outputs, Form]:
    """Return the outputs of some runs as rows of numbers or as labels, and the form that they have in common."""
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf":
        rows = raw.reshape(len(raw), -1).astype(np.float64)
        form: Form = (raw.ndim - 1, rows.shape[1])
    else:
        values = [output.value if isinstance(output, Release) else output for output in raw]
        known = [_row(value) for value in values]
        forms: set[Form] = {
            type(value) if row is None else (np.ndim(value), len(row))  # type: ignore[arg-type]
            for value, row in zip(values, known, strict=True)
        }
        if len(forms) > 1:
            raise _other_form(*forms)
        form = forms.pop()
        if isinstance(form, type):
            return _labels(values), form
        rows = np.array(known, dtype=np.float64).reshape(len(values), -1)
    if rows.shape[1] == 0:
        raise InvalidInput("must return at least one number (got an empty vector)", parameter="mechanism")
    if np.isnan(rows).any():
        problem = "must not return nan: nothing can be said about it (got nan)"
        raise InvalidInput(problem, parameter="mechanism", hint=_LEAK)
    return rows, form


def _labels(values: Sequence[object]) -> Outputs:
    for value in values:
        try:
            hash(value)
        except TypeError:
            problem = "must return numbers, vectors or hashable labels"
            raise InvalidInput(problem, parameter="mechanism", got=type(value)) from None
        if _holds_nan(value):
            raise InvalidInput("must not return nan, not even inside a label (got nan)", parameter="mechanism")
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def _other_form(*forms: Form) -> InvalidInput:
    words = {form.__name__ if isinstance(form, type) else f"numbers in {form[0]}D, {form[1]} of them" for form in forms}
    got = " and ".join(sorted(words))
    return InvalidInput("must return the same type and shape in every run", parameter="mechanism", got=got)


def _row(value: object) -> list[float] | None:
    """Return a number or a vector of numbers as a list, anything else as None."""
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    cells = list(value) if isinstance(value, list | tuple) else [value]
    if not cells or not all(isinstance(cell, numbers.Real | np.bool_) for cell in cells):
        return None
    return [_float(cell) for cell in cells]


def _float(value: Any) -> float:  # noqa: ANN401  (a real number of any make)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _holds_nan(value: object) -> bool:
    """Return whether a label is nan or holds one, directly or in a tuple."""
    if isinstance(value, tuple | frozenset):
        return any(_holds_nan(part) for part in value)
    return isinstance(value, complex | float) and value != value  # noqa: PLR0124  (only nan differs from itself)


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
    #: What events are read off; learned from the outputs if not given.
    features: Sequence[Feature] | None = None
    #: Of all outputs, from the first run on.
    form: Form | None = None

    @property
    def cells(self) -> int:
        """How many numbers one output has; 0 for labels."""
        return self.form[1] if isinstance(self.form, tuple) else 0

    def draw(self, profile: object, count: int, stream: Stream) -> Outputs:
        """Return the outputs of `count` runs on a profile."""
        try:
            raw = self.run(profile, count, stream)
        except InvalidInput:
            raise
        except Exception as error:
            # Its message may quote a profile; the traceback still leads a programmer there.
            problem = "must return on every profile"
            raise InvalidInput(problem, parameter="mechanism", got=type(error), hint=_LEAK) from error
        sized = isinstance(raw, np.ndarray | Sequence) and not isinstance(raw, str) and getattr(raw, "ndim", 1) > 0
        if not sized or len(raw) != count:
            got = f"{len(raw)} outputs" if sized else type(raw).__name__
            raise InvalidInput(f"must return one output for each of {count} runs", parameter="mechanism", got=got)
        outputs, form = read_outputs(raw)
        if self.form not in (None, form):
            raise _other_form(self.form, form)
        self.form = form
        return outputs


def subject_of(mechanism: object, *, epsilon: object = None) -> Subject:
    """Return a plan, a mechanism together with `epsilon`, or a function of a profile as something to audit."""
    if isinstance(mechanism, Subject):
        return mechanism
    if isinstance(mechanism, Plan | Mechanism):
        return _plan_subject(planned(mechanism, epsilon=epsilon))
    if not callable(mechanism):
        problem = "must be a plan, a mechanism or a function of a profile"
        raise InvalidInput(problem, parameter="mechanism", got=type(mechanism))
    if epsilon is not None:
        raise InvalidInput("must come with a mechanism; give a function `claimed`", parameter="epsilon", got=epsilon)
    function: Callable[..., Any] = mechanism
    seeded, vectorised = accepts(function, "random_state"), accepts(function, "size")

    def run(profile: object, count: int, stream: Stream) -> object:
        def once(**keywords: object) -> object:
            return function(profile, **keywords, **({"random_state": fresh_seed(stream)} if seeded else {}))

        return once(size=count) if vectorised else [once() for _ in range(count)]

    return Subject(getattr(function, "__name__", type(function).__name__), run, vectorised)


def _plan_subject(plan: Plan) -> Subject:
    if plan.unit != "epsilon":
        raise InvalidInput(
            "must promise epsilon, a bound on every ratio", parameter="mechanism", got=plan.unit,
            hint="hetdp.auditing.replay_audit and sampler_audit check plans in rho.",
        )  # fmt: skip
    losses = plan.amount * plan.mechanism.weights.values * plan.mechanism.steps_to_replace
    keep = np.ones(losses.size, dtype=bool)

    def run(profile: Any, count: int, stream: Stream) -> object:  # noqa: ANN401
        return plan.answers(profile, keep, stream, count=count)

    return Subject(plan.mechanism.name, run, vectorised=True, claims=losses, plan=plan)


def planned(mechanism: Plan | Mechanism, *, epsilon: object = None, rho: object = None) -> Plan:
    """Return the plan itself, or the plan of a mechanism for the given epsilon or rho."""
    if isinstance(mechanism, Plan):
        if epsilon is not None or rho is not None:
            problem = "must not be given with a plan, which has its own"
            raise InvalidInput(problem, parameter="epsilon", got=epsilon or rho)
        return mechanism
    if (epsilon is None) == (rho is None):
        problem = "must be given with a mechanism (or rho, for a replay) (got both or none)"
        raise InvalidInput(problem, parameter="epsilon")
    noise, amount = ("laplace", epsilon) if rho is None else ("gaussian", rho)
    return mechanism.plan(noise=noise, amount=amount)


def claims_for(claimed: Claims, item: Hashable) -> float:
    """Return the loss that is claimed for an item."""
    if not isinstance(claimed, Mapping):
        if not isinstance(claimed, Sequence | np.ndarray) or np.ndim(claimed) != 1:
            return not_negative("claimed", claimed)
        claimed = dict(enumerate(claimed))
    losses = {key: not_negative("claimed", value) for key, value in claimed.items()}
    label = item if item in losses else str(item)  # the keys of a JSON object are text
    if label not in losses:
        raise InvalidInput(f"must hold a loss for every audited item (got none for {item!r})", parameter="claimed")
    return losses[label]


def default_items(claims: NDArray[np.float64]) -> list[int]:
    """Return all items, or an even sample from the smallest claim to the largest."""
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
        return [(item, pair) for item, pair in checked_pairs(adjacent) if items is None or item in items]
    plan = subject.plan
    if subject.claims is None or plan is None:
        raise InvalidInput("must be given with a function: pairs that differ in one item", parameter="adjacent")
    for item in items or ():
        if not 0 <= item < subject.claims.size:
            raise InvalidInput(f"must be positions below {subject.claims.size}", parameter="items", got=item)

    def worst(item: int) -> Pair:
        if isinstance(plan, NoisePlan):
            whole = np.ones(plan.mechanism.query.size)
            return worst_pair(plan.mechanism.query, item, plan.shrinkage if isinstance(plan, StretchedPlan) else whole)
        pilot = seeded_stream(item, 2)

        def apart(one: Floats, two: Floats) -> float:
            return apparent_loss(subject.draw(one, _PILOT_RUNS, pilot), subject.draw(two, _PILOT_RUNS, pilot))

        return search_pair(plan.mechanism.domain, item, apart, movers=0)  # a pilot is too coarse to climb by

    return [(item, worst(item)) for item in (default_items(subject.claims) if items is None else items)]
