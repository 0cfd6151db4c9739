"""The replay audit: two adjacent profiles on the same random stream, compared to the last bit.

Noise of one distribution, added to answers that differ by at most v_i * m * S, keeps the promise; so the answers under
the same stream must differ by no more. Where v_i = 0 they must be the same bytes. The number of random words, warnings
and exceptions must not tell the two apart either. Odd values (nan, infinity, text) are among the profiles.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hetdp.auditing.events import Outputs
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.subjects import (
    Claims,
    OutputReader,
    Pair,
    accepts,
    checked_pairs,
    claims_for,
    default_items,
    pairs_for,
    planned,
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

_POINTS = 4


@dataclass(frozen=True)
class _SeenRun:
    """What one run shows to the outside."""

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
    same_draws: bool = True,
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
        With a mechanism: its level.
    odd_values
        Whether to put nan, infinity and text into the differing item too.
    same_draws
        Whether the number of random words must be the same. Turn it off only for rejection samplers that say so.
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
    """
    stream = as_stream(random_state)
    if isinstance(mechanism, Plan | Mechanism):
        plan = planned(mechanism, epsilon=epsilon, rho=rho)
        name, run, pairs, bounds = _plan_subject(plan, adjacent)
    elif callable(mechanism) and accepts(mechanism, "random_state"):
        subject = subject_of(mechanism)
        plan, name, bounds = None, subject.name, limits
        pairs = pairs_for(subject, adjacent, None)
        run = _function_run(mechanism)
    else:
        raise InvalidInput("must be a plan, a mechanism, or a function that takes random_state", parameter="mechanism")
    if odd_values:
        pairs = [*pairs, *_odd_pairs(pairs)]
    replays = 0
    for item, (one, two) in pairs:
        seed = int(stream.words(1)[0] >> np.uint64(1))
        first, second = (_watch(run, profile, seeded_stream(seed)) for profile in (one, two))
        fault = _side_fault(first, second, same_draws=same_draws)
        if fault is None and bounds is not None:
            fault = _difference_fault(first, second, _bound(bounds, item))
        replays += 1
        if fault is None and isinstance(plan, StretchedPlan) and isinstance(item, int):
            fault = _exact_fault(plan, item, one, two)
        if fault is not None:
            words = f"Item {item}: {fault}."
            return Finding("replay", name, VIOLATED, words, {"item": str(item), "replays": replays})
    return Finding("replay", name, NOTHING, f"{replays} pairs replayed.", {"replays": replays})


def _plan_subject(
    plan: Plan, adjacent: Sequence[Pair] | None
) -> tuple[str, Callable[..., Any], list[tuple[Hashable, Pair]], Claims | None]:
    """Return name, run, pairs and limits of a plan; a weight of 0 must leave no trace in any mechanism."""
    weights = plan.mechanism.weights.values
    keep = np.ones(weights.size, dtype=bool)
    pairs = _pairs(plan.mechanism.domain, default_items(weights)) if adjacent is None else checked_pairs(adjacent)
    limits = {item: 0.0 if isinstance(item, int) and weights[item] == 0 else math.inf for item, _ in pairs}

    def run(profile: object, stream: Stream) -> object:
        return plan.answers(profile, keep, stream, count=1)[0]  # type: ignore[arg-type]

    return f"{plan.mechanism.name} ({plan.noise})", run, pairs, limits


def _function_run(function: Callable[..., Any]) -> Callable[..., Any]:
    if accepts(function, "size"):
        return lambda profile, stream: function(profile, size=1, random_state=stream)[0]
    return lambda profile, stream: function(profile, random_state=stream)


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
    first = dict(reversed(pairs))
    odd: list[tuple[Hashable, Pair]] = []
    for item, (one, _) in first.items():
        if isinstance(one, list | tuple | np.ndarray) and isinstance(item, int):
            for value in ODD_VALUES:
                profile: list[object] = list(one)
                profile[item] = value
                odd.append((item, (list(one), profile)))
    return odd


def _watch(run: Callable[..., Any], profile: object, stream: Stream) -> _SeenRun:
    output, raised = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            raw = run(profile, stream)
        except Exception as error:  # noqa: BLE001  (whatever it is, it can be seen)
            raised = f"raises {type(error).__name__}"
        else:
            with np.errstate(invalid="ignore"):
                output, raised = _read(raw)
    return _SeenRun(output, stream.drawn, raised, tuple(sorted(entry.category.__name__ for entry in caught)))


def _read(raw: object) -> tuple[Outputs | None, str | None]:
    try:
        return OutputReader().singles([raw]), None
    except InvalidInput:
        return None, "returns nan or nothing usable"


def _side_fault(one: _SeenRun, two: _SeenRun, *, same_draws: bool) -> str | None:
    """Return what tells the two apart without a look at the numbers, in words."""
    if one.raised != two.raised:
        return f"one profile {one.raised or two.raised}, the adjacent one does not"
    if one.warned != two.warned:
        return "one profile warns, the adjacent one does not"
    if same_draws and one.drawn != two.drawn:
        return "the number of random words depends on the value"
    if one.output is None or two.output is None:
        raise InvalidInput(f"must run on the adjacent profiles: each of a pair {one.raised}", parameter="mechanism")
    if one.output.shape != two.output.shape or one.output.dtype != two.output.dtype:
        return "the type or shape of the output depends on the value"
    return None


def _difference_fault(one: _SeenRun, two: _SeenRun, limit: float) -> str | None:
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
    """Compare in whole grid steps, where there is no rounding to excuse anything."""
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


def _bound(limits: Claims, item: Hashable) -> float:
    if isinstance(limits, dict):
        return float(limits[item])
    return claims_for(limits, item)
