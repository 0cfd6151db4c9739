"""The replay audit: two adjacent profiles on the same random stream, compared to the last bit.

Noise of one distribution, added to answers that differ by at most v_i * m * S, keeps the promise; so the answers under
the same stream must differ by no more. Where v_i = 0 they must be the same bytes. The number of random words, warnings
and exceptions must be the same too. Odd values (nan, infinity, text) are among the profiles.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from hetdp.auditing.events import Outputs
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.subjects import (
    Claims,
    Pair,
    accepts,
    checked_pairs,
    claims_for,
    default_items,
    pairs_for,
    planned,
    read_outputs,
    subject_of,
)
from hetdp.core.checks import Real
from hetdp.core.errors import InvalidInput
from hetdp.core.randomness import RandomState, Stream, as_stream, seeded_stream
from hetdp.mechanisms.mechanism import Mechanism, Plan
from hetdp.mechanisms.stretching import StretchedPlan
from hetdp.profiles import Box

#: Values that no profile should hold and some do.
ODD_VALUES: tuple[object, ...] = (math.nan, math.inf, -math.inf, 1e300, "text", None)
#: Random profiles per item of a plan.
_POINTS = 4


@dataclass(frozen=True)
class _Run:
    """Everything that can be seen of one run."""

    output: Outputs | None
    drawn: int
    raised: str | None
    warned: tuple[str, ...]


def replay_audit(
    mechanism: object,
    *,
    adjacent: Sequence[Pair] | None = None,
    limits: Claims | None = None,
    epsilon: Real | None = None,
    rho: Real | None = None,
    odd_values: bool = True,
    random_state: RandomState = 0,
) -> Finding:
    """Run adjacent profiles on the same random stream and compare everything that can be seen.

    Finds what no number of samples would: differences of one bit, draws or exceptions that depend on a value.
    Reports the type of an exception, never its text.

    Parameters
    ----------
    mechanism
        A plan; a mechanism with `epsilon` or `rho`; or a function that takes a profile and `random_state`, a
        `hetdp.core.randomness.Stream`.
    adjacent
        Pairs that differ in one item; found for plans and mechanisms.
    limits
        With a function: the most an item may move the answer (L1), v_i * m * S, as one number, per item, or a dict.
        Not checked if not given, except by plans that know theirs.
    epsilon, rho
        With a mechanism: what to plan it for.
    odd_values
        Whether to put nan, infinity and text into the differing item too.
    random_state
        Where the seeds of the replays come from.

    Examples
    --------
    >>> from hetdp.mechanisms import queries, stretching
    >>> stretched = stretching.stretch(queries.total(Box.uniform(0, 1, size=3)), [0, 0.01, 1])
    >>> replay_audit(stretched, epsilon=1.0).verdict
    'no violation found'
    >>> def leaky(profile, random_state):
    ...     return float(profile[0] > 0.5) * 1e-9
    >>> print(replay_audit(leaky, adjacent=[([0.0], [1.0])], limits=0.0))
    leaky (replay audit): violated. Item 0: the outputs differ although the item must have no influence.
    Would have found: one bit (item 0).
    """
    stream, plan = as_stream(random_state), None
    if isinstance(mechanism, Plan | Mechanism):
        plan = planned(mechanism, epsilon=epsilon, rho=rho)
        weights = plan.mechanism.weights.values
        pairs = _pairs(plan.mechanism.domain, default_items(weights)) if adjacent is None else checked_pairs(adjacent)
        # A weight of 0 must leave no trace in any mechanism; other weights are checked in exact steps below.
        bounds = {item: 0.0 if isinstance(item, int) and weights[item] == 0 else math.inf for item, _ in pairs}
        name, run = f"{plan.mechanism.name} ({plan.noise})", partial(_answer_of, plan)
    elif callable(mechanism) and accepts(mechanism, "random_state"):
        subject = subject_of(mechanism)
        pairs = pairs_for(subject, adjacent, None)
        bounds = {item: math.inf if limits is None else claims_for(limits, item) for item, _ in pairs}
        name, run = subject.name, partial(_output_of, mechanism)
    else:
        raise InvalidInput("must be a plan, a mechanism, or a function that takes random_state", parameter="mechanism")
    smallest = _smallest(bounds, exact=isinstance(plan, StretchedPlan))
    if odd_values:
        pairs = [*pairs, *_odd_pairs(pairs)]
    for place, (item, (one, two)) in enumerate(pairs):
        seed = int(stream.words(1)[0] >> np.uint64(1))
        first, second = (_watch(run, profile, seeded_stream(seed)) for profile in (one, two))
        fault = _side_fault(first, second) or _difference_fault(first, second, bounds[item])
        if fault is None and isinstance(plan, StretchedPlan) and isinstance(item, int):
            fault = _exact_fault(plan, item, one, two)
        if fault is not None:
            figures = {"item": str(item), "replays": place + 1}
            return Finding("replay", name, VIOLATED, f"Item {item}: {fault}.", figures, smallest)
    return Finding("replay", name, NOTHING, f"{len(pairs)} pairs replayed.", {"replays": len(pairs)}, smallest)


def _smallest(bounds: dict[Hashable, float], *, exact: bool) -> str:
    """Return the smallest difference that a replay sees, in words."""
    item = min(bounds, key=lambda item: bounds[item])
    if bounds[item] == 0:
        return f"one bit (item {item})"
    if exact:
        return "one step of the grid"
    if math.isfinite(bounds[item]):
        return f"a difference above {bounds[item]:.6g} (item {item})"
    return "one random word, one warning or one exception"


def _answer_of(plan: Plan, profile: Any, stream: Stream) -> object:  # noqa: ANN401
    return plan.answers(profile, np.ones(plan.mechanism.weights.values.size, dtype=bool), stream, count=1)[0]


def _output_of(function: Callable[..., Any], profile: object, stream: Stream) -> object:
    one_of_many = accepts(function, "size")
    return function(profile, size=1, random_state=stream)[0] if one_of_many else function(profile, random_state=stream)


def _pairs(domain: Box, items: Sequence[int]) -> list[tuple[Hashable, Pair]]:
    """Return adjacent profiles at vertices and inner points, from end to end and from the centre."""
    found: list[tuple[Hashable, Pair]] = []
    for item in items:
        uniform = seeded_stream(item, 3).uniforms(_POINTS * domain.size)
        for turn, where in enumerate(uniform.reshape(_POINTS, domain.size)):
            one = domain.lower + (where.round() if turn % 2 else where) * domain.ranges
            for end in (domain.lower[item], domain.upper[item]):
                two = one.copy()
                two[item] = end
                if one[item] != end:
                    found.append((item, (one, two)))
    return found


def _odd_pairs(pairs: Sequence[tuple[Hashable, Pair]]) -> list[tuple[Hashable, Pair]]:
    """Return, for the first pair of every item, its first profile against one with an odd value."""
    odd: list[tuple[Hashable, Pair]] = []
    for item, (one, _) in dict(reversed(pairs)).items():
        if isinstance(one, list | tuple | np.ndarray) and isinstance(item, int):
            for value in ODD_VALUES:
                profile: list[object] = list(one)
                profile[item] = value
                odd.append((item, (list(one), profile)))
    return odd


def _watch(run: Callable[..., Any], profile: object, stream: Stream) -> _Run:
    output, raised = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            raw = run(profile, stream)
        except Exception as error:  # noqa: BLE001  (all exceptions can be seen)
            raised = f"raises {type(error).__name__}"
        else:
            try:
                with np.errstate(invalid="ignore"):
                    output, _ = read_outputs([raw])
            except InvalidInput:
                raised = "returns nan or nothing usable"
    return _Run(output, stream.drawn, raised, tuple(sorted(entry.category.__name__ for entry in caught)))


def _side_fault(one: _Run, two: _Run) -> str | None:
    """Return what differs apart from the numbers, in words."""
    if one.raised != two.raised:
        return f"one profile {one.raised or two.raised}, the adjacent one does not"
    if one.warned != two.warned:
        return "one profile warns, the adjacent one does not"
    if one.drawn != two.drawn:
        return "the number of random words depends on the value"
    if one.output is None or two.output is None:
        raise InvalidInput(f"must run on the adjacent profiles: each of a pair {one.raised}", parameter="mechanism")
    if one.output.shape != two.output.shape or one.output.dtype != two.output.dtype:
        return "the type or shape of the output depends on the value"
    return None


def _difference_fault(one: _Run, two: _Run, limit: float) -> str | None:
    """Return how the outputs differ by more than they may, in words."""
    first, second = np.ravel(one.output), np.ravel(two.output)  # type: ignore[arg-type]
    if limit == 0:
        same = first.tobytes() == second.tobytes() if first.dtype != object else list(first) == list(second)
        return None if same else "the outputs differ although the item must have no influence"
    if math.isinf(limit) or first.dtype == object:
        return None
    if not np.isfinite([first, second]).all():
        return None if np.array_equal(first, second) else "the outputs differ by infinity"
    apart = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True))
    # The conversion of an exact answer to floats rounds, which is public and after the fact.
    rounding = Fraction(limit) / 2**40 + Fraction(1e-15) * Fraction(float(np.abs(first).max()))
    return f"the outputs differ by {float(apart):.6g}, more than {limit:.6g}" if apart > limit + rounding else None


def _exact_fault(plan: StretchedPlan, item: int, one: object, two: object) -> str | None:
    """Compare in whole grid steps, where no rounding needs to be allowed for."""
    query, keep = plan.mechanism.query, np.ones(plan.spans.size, dtype=bool)
    first, second = (plan._exact_steps(profile, keep) for profile in (one, two))  # type: ignore[arg-type]  # noqa: SLF001
    apart = sum(abs(a - b) for a, b in zip(first, second, strict=True))
    span, cells, steps = int(plan.spans[item]), query.cells, query.steps_to_replace
    if apart > steps * cells * span:
        return f"the exact answers differ by {apart} grid steps, more than the {steps * cells * span} planned"
    weight = Fraction(float(plan.mechanism.weights.values[item]))
    if plan.noise == "laplace":
        loss, promised = cells * span / plan.spread, Fraction(plan.amount) * weight
    else:
        loss, promised = cells * span**2 / (2 * plan.spread), Fraction(plan.amount) * weight**2
    return None if loss <= promised else f"the planned loss {float(loss):.6g} is above {float(promised):.6g}"
