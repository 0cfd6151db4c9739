"""Audit cases of mechanisms, `hetdp.release`, ledgers and noise."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import STEPS
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.accounting.releasing import release, release_distortion_bound
from hetdp.auditing.audit_all import Case, replay_case, scale_case, statistical_case
from hetdp.auditing.examples import examples
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.samplers import floating_point_audit, sampler_audit
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.auditing.statistical import MINIMUM_SAMPLES
from hetdp.core.randomness import RandomState, as_stream
from hetdp.mechanisms import queries
from hetdp.mechanisms.mechanism import Mechanism
from hetdp.mechanisms.stretching import stretch
from hetdp.mechanisms.weight_class import weight_classes
from hetdp.noise import discrete_gaussian, discrete_laplace
from hetdp.profiles import Box

_QUICK_SAMPLES = 20_000


def audit_cases(size: str) -> Iterator[Case]:
    """Yield the cases of the full or the quick battery."""
    for build in (_mechanism_cases, _release_cases, _sampler_cases, _floating_point_cases):
        yield from build(quick=size == "quick")
    calls = list(PUBLIC_CALLS.items())
    yield from (scale_case(name, call) for name, call in (calls[:1] if size == "quick" else calls))
    if size == "full":
        pair = [([0.0], [1.0])]
        yield statistical_case("hetdp.release, histogram", _seen_in_bins, adjacent=pair, claimed=1.0, samples=60_000)
    yield Case("Ledger.charge_people", "ledger", lambda seed: ledger_audit(paying, random_state=seed))


def _mechanism_cases(*, quick: bool) -> Iterator[Case]:
    """Laplace: statistical and replay; Gaussian: replay, because rho is no bound on a ratio."""
    for example in examples():
        name, mechanism, items, samples = example.name, example.mechanism, example.items, example.samples
        if quick:
            items = (0,)
            samples = _QUICK_SAMPLES if samples is None else max(samples // 8, MINIMUM_SAMPLES)
        yield statistical_case(name, mechanism, epsilon=1.0, items=items, samples=samples)
        yield replay_case(name, mechanism, epsilon=0.7, odd_values=True)
        if example.gaussian and not quick:
            yield replay_case(f"{name}, Gaussian", mechanism, rho=0.2, odd_values=True)


def _release_cases(*, quick: bool) -> Iterator[Case]:
    """Audit the public functions themselves, end to end, one call per run."""
    query, mixed, full = queries.total(Box.uniform(0, 1, size=3)), [0.5, 0.0, 1.0], [1.0] * 3
    in_classes = partial(weight_classes, query, boundaries=(1, 0.5))

    def released(mechanism: Mechanism, values: Sequence[float], random_state: RandomState) -> list[float]:
        answer = release(mechanism, values, epsilon=1.0, random_state=random_state)
        return [float(one.value) for one in answer.classes or (answer,)]

    def by_profile(profile: Sequence[float], random_state: RandomState) -> list[float]:
        return released(stretch(query, mixed), profile, random_state)

    def by_weights(weights: Sequence[float], random_state: RandomState) -> list[float]:
        return released(stretch(query, weights), full, random_state)

    def classes_by_profile(profile: Sequence[float], random_state: RandomState) -> list[float]:
        return released(in_classes(mixed), profile, random_state)

    def classes_by_weights(weights: Sequence[float], random_state: RandomState) -> list[float]:
        return released(in_classes(weights), full, random_state)

    def bound(weights: Sequence[float], random_state: RandomState) -> float:
        return float(release_distortion_bound(stretch(query, weights), epsilon=1.0, random_state=random_state).value)

    pairs = [([float(place != item) for place in range(3)], full) for item in (0, 2, 1)]
    moving = [([0.5, 1.0, 1.0], full)]  # from one class to the other: half of the range leaves a sum and enters another
    subjects: tuple[tuple[str, Callable[..., Any], Any, Any, Any], ...] = (
        # Its name, adjacent profiles or weights, claims, and what an item may move the answer by (S = epsilon = 1).
        ("hetdp.release", by_profile, pairs, mixed, mixed),
        ("hetdp.release, weights", by_weights, pairs[:1], 1.0, 1.0),
        ("hetdp.release, weight classes", classes_by_profile, pairs, mixed, [1.0, 0.0, 1.0]),
        ("hetdp.release_distortion_bound", bound, pairs, 1.0, 1.0),
        ("hetdp.release, weights of classes", classes_by_weights, moving, 0.75, 1.0),
    )
    for name, function, adjacent, claimed, limits in subjects:
        yield replay_case(name, function, adjacent=adjacent, limits=limits)
        if not quick:  # about a millisecond per call
            yield statistical_case(name, function, adjacent=adjacent, claimed=claimed, samples=4_000)


def _sampler_cases(*, quick: bool) -> Iterator[Case]:
    def run(draw: Callable[..., NDArray[np.int64]], distribution: str, scale: Fraction | int, seed: int) -> Finding:
        sampler = partial(draw, scale)
        return sampler_audit(sampler, distribution=distribution, scale=scale, false_alarm=1e-9, random_state=seed)

    scales: tuple[Fraction | int, ...] = (Fraction(1, 3), 10, 2**20)
    for scale in scales if quick else (*scales, Fraction(7, 5), 1000, 2**40):
        yield Case(f"Laplace noise, scale {scale}", "sampler", partial(run, discrete_laplace, "laplace", scale))
        yield Case(f"Gaussian noise, sigma {scale}", "sampler", partial(run, discrete_gaussian, "gaussian", scale))


def _floating_point_cases(*, quick: bool) -> Iterator[Case]:
    # An exact answer of 0 against 1: where floating-point noise shows most.
    pairs = [([0.0, 0.0], [1.0, 0.0]), ([0.0, 0.0], [0.0, 1.0])]
    samples = _QUICK_SAMPLES if quick else 100_000
    stretched = stretch(queries.total(Box.uniform(0, 1, size=2)), [1.0, 0.5])

    def run(grid: float | None, seed: int) -> Finding:
        plan = stretched.plan(noise="laplace", amount=1.0, grid=grid)
        return floating_point_audit(plan, adjacent=pairs, samples=samples, random_state=seed)

    yield Case("total, default grid", "floating point", partial(run, None))
    yield Case("total, grid 1/16", "floating point", partial(run, 1 / 16))


# `hetdp.release`: every number that comes out, against the guarantee beside it.
def _histogram(
    random_state: RandomState, *, rho: float | None = None, boundaries: Sequence[float] = (), bins: int = 240_000
) -> list[Reached]:
    """Look at bins that nobody is in, enough to see 2 %; an item that moves from one to another moves two by 1."""
    query = queries.histogram(Box.uniform(0, 1, size=1), edges=bins + 1)
    mechanism = weight_classes(query, [0.0], boundaries=boundaries) if boundaries else stretch(query, [1.0])
    level: dict[str, Any] = {"epsilon": 1.0} if rho is None else {"rho": rho}
    answer = release(mechanism, [0.0], random_state=random_state, **level)
    amount = answer.guarantee.amount
    scale, law = (amount / 2, "laplace") if rho is None else (math.sqrt(amount), "gaussian")
    if answer.classes is None:
        return [Reached("bins", np.asarray(answer.value)[1:] * scale, law)]
    return [
        Reached(f"class {one.boundary:g}", np.asarray(one.value) * scale * one.boundary, law) for one in answer.classes
    ]


def _total(random_state: RandomState, *, releases: int = 2_500) -> list[Reached]:
    """Look at totals of nothing."""
    stretched, stream = stretch(queries.total(Box.uniform(0, 1, size=1)), [1.0]), as_stream(random_state)
    answers = [release(stretched, [0.0], epsilon=1.0, random_state=stream) for _ in range(releases)]
    return [Reached("answer", np.array([answer.value for answer in answers]) * answers[0].guarantee.amount)]


def _distortion_bound(random_state: RandomState, *, items: int = 50) -> list[Reached]:
    """Look at bounds on the distortion of items that do not count: one less another, a public margin drops out."""
    stretched, stream = stretch(queries.total(Box.uniform(0, 1, size=items)), [0.0] * items), as_stream(random_state)
    bounds = [release_distortion_bound(stretched, epsilon=1.0, random_state=stream) for _ in range(5_000)]
    values = np.array([bound.value for bound in bounds]).reshape(2, -1)
    return [Reached("bound", (values[0] - values[1]) * bounds[0].guarantee.amount, "difference")]


#: Every public way to a release, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
    "hetdp.release, histogram": _histogram,
    "hetdp.release, Gaussian histogram": partial(_histogram, rho=0.5),
    "hetdp.release, total": _total,
    "hetdp.release, weight classes": partial(_histogram, boundaries=(1, 0.25)),
    "hetdp.release, Gaussian weight classes": partial(_histogram, boundaries=(1, 0.25), rho=0.5),
    "hetdp.release_distortion_bound": _distortion_bound,
}


def _seen_in_bins(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return what `hetdp.release` tells of as many items as runs, each in one of two bins of its own."""
    query = queries.histogram(Box.uniform(0, 2 * size, size=size), edges=2 * size)
    places = 2 * np.arange(size) + 0.5 + (profile[0] >= 0.5)  # noqa: PLR2004  (an indicator)
    answer = release(stretch(query, [1.0] * size), places, epsilon=1.0, random_state=random_state)
    return np.asarray(answer.value).reshape(size, 2)


# Ledgers: nobody may lose more than their limit. Who takes part in which release follows from a ledger; what each loses
# by that is added up in exact fractions. The last charge is one step more than one person can spend.
#: From a limit, weights and the epsilons of releases to who takes part in each.
Payers: TypeAlias = Callable[[Fraction, Sequence[Fraction], Sequence[Fraction]], list[list[bool]]]

#: Weights and limits as people set them: decimals, most of which are no floats, and thirds.
_WEIGHTS = tuple(Fraction(weight) for weight in ("1", "1/2", "1/3", "0.7", "0.11", "0.13", "0.05", "0"))
_LIMITS = (Fraction(1), Fraction(3), Fraction(1, 10), Fraction(2, 3))
_ROUNDS, _CHARGES = 40, 6


def ledger_audit(payers: Payers, *, random_state: RandomState = None) -> Finding:
    """Return whether anybody loses more than their limit by releases that they take part in.

    Examples
    --------
    >>> ledger_audit(lambda limit, weights, amounts: [[True] * len(weights)] * len(amounts), random_state=1).verdict
    'violated'
    """

    def losses(limit: Fraction, amounts: Sequence[Fraction]) -> list[Fraction]:
        took_part = list(zip(amounts, payers(limit, _WEIGHTS, amounts), strict=True))
        return [
            weight * sum((amount for amount, took in took_part if took[place]), Fraction(0))
            for place, weight in enumerate(_WEIGHTS)
        ]

    stream = as_stream(random_state)
    worst, overdrawn = Fraction(0), 0
    for turn in range(_ROUNDS):
        limit, victim = _LIMITS[turn % len(_LIMITS)], turn % (len(_WEIGHTS) - 1)
        most = 2 * limit * STEPS / _CHARGES
        amounts = [Fraction(int(most * share), STEPS) for share in stream.uniforms(_CHARGES).tolist()]
        left = (limit - losses(limit, amounts)[victim]) / _WEIGHTS[victim]
        amounts.append(Fraction(max(math.floor(left * STEPS), 0) + 1, STEPS))  # a step too much
        lost = losses(limit, amounts)
        overdrawn += sum(one > limit for one in lost)
        worst = max(worst, max(lost) - limit)
    words = f"{overdrawn} of {_ROUNDS * len(_WEIGHTS)} accounts were overdrawn, the worst by {float(worst):.3g}."
    verdict = VIOLATED if overdrawn else NOTHING
    return Finding("ledger", "", verdict, words, {"overdrawn": overdrawn}, "one step of the ledger")


def paying(limit: Fraction, weights: Sequence[Fraction], amounts: Sequence[Fraction]) -> list[list[bool]]:
    """Return who takes part in releases charged to a ledger of people, some of them without a table."""
    ids, given = list(range(len(weights))), [float(weight) for weight in weights]
    ledger = Ledger.of_people(limit=float(limit), on_exhausted="drop")
    ledger.charge_people([(ids, given)], amount=0)
    taking = []
    for turn, amount in enumerate(amounts):
        allowed = dict(ledger.charge_people(None if turn % 2 else [(ids, given)], amount=amount))
        taking.append([allowed.get(person, weight) > 0 for person, weight in zip(ids, given, strict=True)])
    return taking
