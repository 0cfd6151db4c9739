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
from hetdp.accounting.releasing import Release, release, release_distortion_bound
from hetdp.auditing.audit_all import CONFIDENCE, Case, replay_case, scale_case, statistical_case
from hetdp.auditing.examples import Example, examples
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.samplers import floating_point_audit, sampler_audit
from hetdp.auditing.scales import PublicCall, Reached
from hetdp.auditing.statistical import MINIMUM_SAMPLES, audit
from hetdp.auditing.subjects import Claims, Pair
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.mechanisms import queries
from hetdp.mechanisms.stretching import stretch
from hetdp.mechanisms.weight_class import weight_classes
from hetdp.noise import discrete_gaussian, discrete_laplace
from hetdp.profiles import Box

_QUICK_SAMPLES = 20_000
_PAIRS = [([0.0, 1.0, 1.0], [1.0, 1.0, 1.0]), ([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]), ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0])]


def audit_cases(size: str) -> Iterator[Case]:
    """Yield the cases of the full or the quick battery."""
    for build in (_mechanism_cases, _release_cases, _sampler_cases, _floating_point_cases):
        yield from build(quick=size == "quick")
    calls = list(PUBLIC_CALLS.items())
    yield from (scale_case(name, call) for name, call in (calls[:1] if size == "quick" else calls))
    if size == "full":
        yield statistical_case(
            "hetdp.release, histogram", told_by_bins, adjacent=[([0.0], [1.0])], claimed=1.0, samples=60_000
        )
    yield Case("Ledger.charge_people", "ledger", lambda seed: ledger_audit(paying, random_state=seed))


def _mechanism_cases(*, quick: bool) -> Iterator[Case]:
    """Laplace: statistical and replay; Gaussian: replay, because rho is no bound on a ratio."""
    for example in examples():
        yield Case(example.name, "statistical", _statistical(example, quick=quick))
        yield Case(example.name, "replay", _replay(example, epsilon=0.7))
        if example.gaussian and not quick:
            yield Case(f"{example.name}, Gaussian", "replay", _replay(example, rho=0.2))


def _statistical(example: Example, *, quick: bool) -> Callable[[int], Finding]:
    def run(seed: int) -> Finding:
        return audit(
            example.mechanism,
            epsilon=1.0,
            confidence=CONFIDENCE,
            items=[0] if quick else example.items,
            samples=_quick_samples(example) if quick else example.samples,
            random_state=seed,
        ).finding

    return run


def _quick_samples(example: Example) -> int:
    return _QUICK_SAMPLES if example.samples is None else max(example.samples // 8, MINIMUM_SAMPLES)


def _replay(example: Example, **level: float) -> Callable[[int], Finding]:
    return lambda seed: replay_audit(example.mechanism, random_state=seed, **level)  # type: ignore[arg-type]


def _release_cases(*, quick: bool) -> Iterator[Case]:
    """Audit the public functions themselves, end to end, one call per run."""
    query = queries.total(Box.uniform(0, 1, size=3))

    def released(profile: NDArray[np.float64], random_state: int) -> float:
        answer = release(stretch(query, [0.5, 0.0, 1.0]), profile, epsilon=1.0, random_state=random_state)
        return float(answer.value)

    def weighted(weights: NDArray[np.float64], random_state: int) -> float:
        return float(release(stretch(query, weights), [1.0] * 3, epsilon=1.0, random_state=random_state).value)

    def classed(profile: NDArray[np.float64], random_state: int) -> list[float]:
        mechanism = weight_classes(query, [0.5, 0.0, 1.0], boundaries=(1, 0.5))
        return _sums(release(mechanism, profile, epsilon=1.0, random_state=random_state))

    def changed(weights: NDArray[np.float64], random_state: int) -> list[float]:
        mechanism = weight_classes(query, weights, boundaries=(1, 0.5))
        return _sums(release(mechanism, [1.0] * 3, epsilon=1.0, random_state=random_state))

    def bounded(weights: NDArray[np.float64], random_state: int) -> float:
        bound = release_distortion_bound(stretch(query, weights), epsilon=1.0, random_state=random_state)
        return float(bound.value)

    moving = [([0.5, 1.0, 1.0], [1.0, 1.0, 1.0])]  # from one class to the other
    subjects: tuple[tuple[str, Callable[..., float | list[float]], list[Pair], Claims], ...] = (
        ("hetdp.release", released, _PAIRS, [0.5, 0.0, 1.0]),
        ("hetdp.release, weights", weighted, _PAIRS[:1], 1.0),
        ("hetdp.release, weight classes", classed, _PAIRS, [0.5, 0.0, 1.0]),
        ("hetdp.release_distortion_bound", bounded, _PAIRS, 1.0),
    )
    for name, function, pairs, claimed in subjects:
        # With S = 1 and epsilon = 1, what an item may lose is what it may move the answer by.
        limits = [1.0, 0.0, 1.0] if function is classed else claimed
        yield replay_case(name, function, adjacent=pairs, limits=limits)
        if not quick:  # about a millisecond per call
            yield statistical_case(name, function, adjacent=pairs, claimed=claimed, samples=4_000)
    # Half of the range leaves one sum and enters the other.
    name = "hetdp.release, weights of classes"
    yield replay_case(name, changed, adjacent=moving, limits=1.0)
    if not quick:
        yield statistical_case(name, changed, adjacent=moving, claimed=0.75, samples=4_000)


def _sums(answer: Release) -> list[float]:
    """Return every number that a release of weight classes draws."""
    return [float(one.value) for one in answer.classes or ()]


def _sampler_cases(*, quick: bool) -> Iterator[Case]:
    scales: tuple[Fraction | int, ...] = (Fraction(1, 3), 10, 2**20)
    for scale in scales if quick else (*scales, Fraction(7, 5), 1000, 2**40):
        yield Case(f"Laplace noise, scale {scale}", "sampler", _sampled("laplace", scale))
        yield Case(f"Gaussian noise, sigma {scale}", "sampler", _sampled("gaussian", scale))


def _draw(distribution: str, scale: Fraction | int) -> Callable[..., NDArray[np.int64]]:
    def sampler(size: int, random_state: Stream) -> NDArray[np.int64]:
        if distribution == "laplace":
            return discrete_laplace(scale, size, random_state=random_state)
        return discrete_gaussian(scale, size, random_state=random_state)

    return sampler


def _sampled(distribution: str, scale: Fraction | int) -> Callable[[int], Finding]:
    return lambda seed: sampler_audit(
        _draw(distribution, scale), distribution=distribution, scale=scale, false_alarm=1e-9, random_state=seed
    )


def _floating_point_cases(*, quick: bool) -> Iterator[Case]:
    samples = _QUICK_SAMPLES if quick else 100_000
    # An exact answer of 0 against 1: where floating-point noise shows most.
    query = queries.total(Box.uniform(0, 1, size=2))
    for grid in (None, 1 / 16):
        plan = stretch(query, [1.0, 0.5]).plan(noise="laplace", amount=1.0, grid=grid)

        def run(seed: int, plan: object = plan) -> Finding:
            pairs = [([0.0, 0.0], [1.0, 0.0]), ([0.0, 0.0], [0.0, 1.0])]
            return floating_point_audit(plan, adjacent=pairs, samples=samples, random_state=seed)

        yield Case(f"total, {'default grid' if grid is None else 'grid 1/16'}", "floating point", run)


# `hetdp.release`: every number that comes out, against the guarantee beside it.
#: As many bins as it takes to see that noise is 2 % too small, and as many releases of one number as take seconds.
_BINS, _RELEASES = 212_000, 2_500
_ITEMS = 50


def _histogram(random_state: RandomState, *, rho: float | None = None) -> list[Reached]:
    """Look at bins that nobody is in; who moves from one to another moves two of them by 1."""
    query = queries.histogram(Box.uniform(0, 1, size=1), edges=_BINS + 1)
    level: dict[str, Any] = {"epsilon": 1.0} if rho is None else {"rho": rho}
    answer = release(stretch(query, [1.0]), [0.0], random_state=random_state, **level)
    bins = np.asarray(answer.value)[1:]
    if rho is None:
        return [Reached("bins", bins * answer.guarantee.amount / 2)]
    return [Reached("bins", bins * np.sqrt(answer.guarantee.amount), "gaussian")]


def _total(random_state: RandomState) -> list[Reached]:
    """Look at totals of nothing."""
    query, stream = queries.total(Box.uniform(0, 1, size=1)), as_stream(random_state)
    answers = [release(stretch(query, [1.0]), [0.0], epsilon=1.0, random_state=stream) for _ in range(_RELEASES)]
    return [Reached("answer", np.array([answer.value for answer in answers]) * answers[0].guarantee.amount)]


def _weight_classes(random_state: RandomState, *, rho: float | None = None) -> list[Reached]:
    """Look at bins of each weight class that nobody is in; an item that moves from one to another moves two by 1."""
    level: dict[str, Any] = {"epsilon": 1.0} if rho is None else {"rho": rho}
    query = queries.histogram(Box.uniform(0, 1, size=1), edges=_BINS + 1)
    mechanism = weight_classes(query, [0.0], boundaries=(1, 0.25))
    answer = release(mechanism, [0.0], random_state=random_state, **level)
    found = []
    for one in answer.classes or ():
        if rho is None:
            share = np.asarray(one.value) * answer.guarantee.amount * one.boundary / 2
            found.append(Reached(f"class {one.boundary:g}", share))
        else:
            share = np.asarray(one.value) * np.sqrt(answer.guarantee.amount) * one.boundary
            found.append(Reached(f"class {one.boundary:g}", share, "gaussian"))
    return found


def _distortion_bound(random_state: RandomState) -> list[Reached]:
    """Look at bounds on the distortion of items that do not count: one less another, a public margin drops out."""
    stretched, stream = stretch(queries.total(Box.uniform(0, 1, size=_ITEMS)), [0.0] * _ITEMS), as_stream(random_state)
    bounds = [release_distortion_bound(stretched, epsilon=1.0, random_state=stream) for _ in range(2 * _RELEASES)]
    values = np.array([bound.value for bound in bounds]).reshape(2, -1)
    return [Reached("bound", (values[0] - values[1]) * bounds[0].guarantee.amount, "difference")]


#: Every public way to a release, by name.
PUBLIC_CALLS: dict[str, PublicCall] = {
    "hetdp.release, histogram": _histogram,
    "hetdp.release, Gaussian histogram": partial(_histogram, rho=0.5),
    "hetdp.release, total": _total,
    "hetdp.release, weight classes": _weight_classes,
    "hetdp.release, Gaussian weight classes": partial(_weight_classes, rho=0.5),
    "hetdp.release_distortion_bound": _distortion_bound,
}


def told_by_bins(profile: Sequence[float], size: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return what `hetdp.release` tells of as many items as runs, each in one of two bins of its own."""
    query = queries.histogram(Box.uniform(0, 2 * size, size=size), edges=2 * size)
    places = 2 * np.arange(size) + 0.5 + (profile[0] >= 0.5)  # noqa: PLR2004  (an indicator)
    answer = release(stretch(query, [1.0] * size), places, epsilon=1.0, random_state=random_state)
    return np.asarray(answer.value).reshape(size, 2)


# Ledgers: nobody may lose more than their limit. Who takes part in which release follows from a ledger; what each loses
# by that is added up in exact fractions. The last charge is one step more than one person can spend.
#: From a limit, dials and the epsilons of releases to who takes part in each.
Payers: TypeAlias = Callable[[Fraction, Sequence[Fraction], Sequence[Fraction]], list[list[bool]]]

#: Dials and limits as people set them: decimals, most of which are no floats, and thirds.
_DIALS = tuple(Fraction(*parts) for parts in ((1, 1), (1, 2), (1, 3), (7, 10), (11, 100), (13, 100), (1, 20), (0, 1)))
_LIMITS = (Fraction(1), Fraction(3), Fraction(1, 10), Fraction(2, 3))
_ROUNDS = 40
_CHARGES = 6


def ledger_audit(payers: Payers, *, random_state: RandomState = None) -> Finding:
    """Return whether anybody loses more than their limit by releases that they take part in.

    Examples
    --------
    >>> ledger_audit(lambda limit, dials, amounts: [[True] * len(dials)] * len(amounts), random_state=1).verdict
    'violated'
    """
    stream = as_stream(random_state)
    worst, overdrawn = Fraction(0), 0
    for turn in range(_ROUNDS):
        limit = _LIMITS[turn % len(_LIMITS)]
        amounts = [
            Fraction(int(2 * limit * STEPS / _CHARGES * share), STEPS) for share in stream.uniforms(_CHARGES).tolist()
        ]
        victim = _DIALS[turn % (len(_DIALS) - 1)]
        paid = sum(
            amount for amount, took in zip(amounts, _column(payers, limit, amounts, victim), strict=True) if took
        )
        left = limit / victim - paid
        amounts.append(Fraction(max(math.floor(left * STEPS), 0) + 1, STEPS))  # a step too much
        took_part = payers(limit, _DIALS, amounts)
        for place, dial in enumerate(_DIALS):
            lost = dial * sum(amount for amount, took in zip(amounts, took_part, strict=True) if took[place])
            overdrawn += lost > limit
            worst = max(worst, lost - limit)
    words = f"{overdrawn} of {_ROUNDS * len(_DIALS)} accounts were overdrawn, the worst by {float(worst):.3g}."
    return Finding(
        "ledger", "", VIOLATED if overdrawn else NOTHING, words, {"overdrawn": overdrawn}, "one step of the ledger"
    )


def _column(payers: Payers, limit: Fraction, amounts: Sequence[Fraction], dial: Fraction) -> list[bool]:
    return [took[_DIALS.index(dial)] for took in payers(limit, _DIALS, amounts)]


def paying(limit: Fraction, dials: Sequence[Fraction], amounts: Sequence[Fraction]) -> list[list[bool]]:
    """Return who takes part in releases charged to a ledger of people, some of them without a table."""
    ids, given = list(range(len(dials))), [float(dial) for dial in dials]
    ledger = Ledger.of_people(limit=float(limit), on_exhausted="drop")
    ledger.charge_people([(ids, given)], amount=0)
    taking = []
    for turn, amount in enumerate(amounts):
        allowed = dict(ledger.charge_people(None if turn % 2 else [(ids, given)], amount=amount))
        taking.append([allowed.get(person, dial) > 0 for person, dial in zip(ids, given, strict=True)])
    return taking
