"""The battery: every audit on everything the package ships, in two sizes.

False alarms: every statistical case, sampler and floating-point case errs with probability at most 1e-9, so the whole
battery does so less than once in a million runs. Replays are exact.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.release import release, release_distortion_bound
from hetdp.auditing.catalogue import Shipped, shipped_mechanisms
from hetdp.auditing.floating_point import floating_point_audit
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.auditing.statistical import audit
from hetdp.auditing.statistics import MINIMUM_SAMPLES
from hetdp.auditing.subjects import fresh_seed
from hetdp.auditing.timing import timing_audit
from hetdp.core.checks import one_of
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.mechanisms import queries
from hetdp.mechanisms.stretching import stretch
from hetdp.noise import discrete_gaussian, discrete_laplace
from hetdp.profiles import Box

__all__ = ["BUILDERS", "Case", "battery", "planned_cost", "run_cases"]

CONFIDENCE = 1 - 1e-9
#: Seconds that each took on one machine, and that its pilot took there; for the planned cost on another.
_REFERENCE_S = {"full": 190.0, "quick": 30.0, "mutants": 12.0}
_REFERENCE_PILOT_S = 0.003
_QUICK_SAMPLES = 20_000
_PAIRS = [([0.0, 1.0, 1.0], [1.0, 1.0, 1.0]), ([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]), ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0])]


@dataclass(frozen=True)
class Case:
    """One audit of one subject.

    Attributes
    ----------
    name
        What is audited.
    audit
        Which audit.
    run
        Runs it with a seed.
    """

    name: str
    audit: str
    run: Callable[[int], Finding]


def battery(size: str = "full") -> list[Case]:
    """Return the cases of the full or the quick battery.

    Examples
    --------
    >>> sorted({case.audit for case in battery("quick")})
    ['floating point', 'replay', 'sampler', 'statistical', 'timing']
    """
    one_of("size", size, ("full", "quick"))
    return [case for build in BUILDERS for case in build(quick=size == "quick")]


def run_cases(cases: Sequence[Case], *, random_state: RandomState = None) -> Iterator[Finding]:
    """Run cases one after the other; what has been yielded is known even if the rest is interrupted.

    Examples
    --------
    >>> [finding.verdict for finding in run_cases(battery("quick")[:2], random_state=1)]
    ['no violation found', 'no violation found']
    """
    stream = as_stream(random_state)
    for case in cases:
        yield replace(case.run(fresh_seed(stream)), subject=case.name)


def planned_cost(cases: int, mutants: int, *, size: str) -> str:
    """Return how much there is to do and about how long it takes here, from a short pilot.

    Examples
    --------
    >>> planned_cost(10, 2, size="quick")
    '10 audits and 2 mutants, about ...'
    """
    taken = []
    for _ in range(5):  # what happens only once, such as compiling, is not part of the price: the fastest counts
        begin = time.perf_counter()
        discrete_laplace(2**20, 200_000)
        taken.append(time.perf_counter() - begin)
    speed = min(taken) / _REFERENCE_PILOT_S
    seconds = speed * (_REFERENCE_S[size] * bool(cases) + _REFERENCE_S["mutants"])
    return f"{cases} audits and {mutants} mutants, about {max(10, 10 * round(seconds / 10))} s"


def _mechanism_cases(*, quick: bool) -> Iterator[Case]:
    """Laplace: statistical and replay; Gaussian: replay, because rho is no bound on a ratio."""
    for shipped in shipped_mechanisms():
        yield Case(shipped.name, "statistical", _statistical(shipped, quick=quick))
        yield Case(shipped.name, "replay", _replay(shipped, epsilon=0.7))
        if shipped.gaussian and not quick:
            yield Case(f"{shipped.name}, Gaussian", "replay", _replay(shipped, rho=0.2))


def _statistical(shipped: Shipped, *, quick: bool) -> Callable[[int], Finding]:
    def run(seed: int) -> Finding:
        return audit(
            shipped.mechanism,
            epsilon=1.0,
            confidence=CONFIDENCE,
            items=[0] if quick else shipped.items,
            samples=_quick_samples(shipped) if quick else shipped.samples,
            random_state=seed,
        ).finding

    return run


def _quick_samples(shipped: Shipped) -> int:
    return _QUICK_SAMPLES if shipped.samples is None else max(shipped.samples // 8, MINIMUM_SAMPLES)


def _replay(shipped: Shipped, **level: float) -> Callable[[int], Finding]:
    return lambda seed: replay_audit(
        shipped.mechanism,
        same_draws=shipped.same_draws,
        random_state=seed,
        **level,  # type: ignore[arg-type]
    )


def _release_cases(*, quick: bool) -> Iterator[Case]:
    """Audit the public functions themselves, end to end, one call per run."""
    query = queries.total(Box.uniform(0, 1, size=3))

    def released(profile: NDArray[np.float64], random_state: int) -> float:
        answer = release(stretch(query, [0.5, 0.0, 1.0]), profile, epsilon=1.0, random_state=random_state)
        return float(answer.value)

    def bounded(weights: NDArray[np.float64], random_state: int) -> float:
        bound = release_distortion_bound(stretch(query, weights), epsilon=1.0, random_state=random_state)
        return float(bound.value)

    subjects: tuple[tuple[str, Callable[..., float], object], ...] = (
        ("hetdp.release", released, [0.5, 0.0, 1.0]),
        ("hetdp.release_distortion_bound", bounded, 1.0),
    )
    for name, function, claimed in subjects:
        yield Case(name, "replay", _replayed(function, claimed))
        if not quick:  # about a millisecond per call
            yield Case(name, "statistical", _end_to_end(function, claimed))


def _end_to_end(function: Callable[..., float], claimed: Any) -> Callable[[int], Finding]:  # noqa: ANN401
    return lambda seed: (
        audit(
            function, neighbors=_PAIRS, claimed=claimed, samples=4_000, confidence=CONFIDENCE, random_state=seed
        ).finding
    )


def _replayed(function: Callable[..., float], limits: Any) -> Callable[[int], Finding]:  # noqa: ANN401
    # With S = 1 and epsilon = 1, what an item may lose is what it may move the answer by.
    return lambda seed: replay_audit(function, neighbors=_PAIRS, limits=limits, odd_values=False, random_state=seed)


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
            return floating_point_audit(plan, neighbors=pairs, samples=samples, random_state=seed)

        yield Case(f"total, {'default grid' if grid is None else 'grid 1/16'}", "floating point", run)


def _timing_cases(*, quick: bool) -> Iterator[Case]:
    draws = 200 if quick else 2_000
    for distribution in ("laplace", "gaussian"):

        def run(seed: int, distribution: str = distribution) -> Finding:
            return timing_audit(_draw(distribution, 2**20), name=distribution, draws=draws, random_state=seed)

        yield Case(f"{distribution.capitalize()} noise, scale 2**20", "timing", run)


#: Where the battery grows: functions that yield cases. Mechanisms go into `catalogue.SOURCES` instead.
BUILDERS: Sequence[Callable[..., Iterator[Case]]] = (
    _mechanism_cases,
    _release_cases,
    _sampler_cases,
    _floating_point_cases,
    _timing_cases,
)
