"""The cases of the rooms below: mechanisms, releases, samplers, and what their last bits and their time may tell."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.by_dial import release_by_dial
from hetdp.accounting.releasing import Release, release, release_distortion_bound
from hetdp.auditing import front_door
from hetdp.auditing.adjacency import Pair
from hetdp.auditing.bounds import MINIMUM_SAMPLES
from hetdp.auditing.floating_point import floating_point_audit
from hetdp.auditing.ledgers import ledger_audit, paying
from hetdp.auditing.mutants import MUTANTS as MECHANISM_MUTANTS
from hetdp.auditing.registry import CONFIDENCE, Case, replay_case, scale_case, statistical_case
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import Finding
from hetdp.auditing.samplers import sampler_audit
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Claims
from hetdp.auditing.timing import timing_audit
from hetdp.core.randomness import Stream
from hetdp.mechanisms import queries
from hetdp.mechanisms.examples import Example, examples
from hetdp.mechanisms.stretching import stretch
from hetdp.noise import discrete_gaussian, discrete_laplace
from hetdp.profiles import Box

__all__ = ["MUTANTS", "audit_cases"]

#: Mechanisms, ledgers and releases, broken on purpose.
MUTANTS = (*MECHANISM_MUTANTS, *front_door.MUTANTS)

_QUICK_SAMPLES = 20_000
_PAIRS = [([0.0, 1.0, 1.0], [1.0, 1.0, 1.0]), ([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]), ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0])]


def audit_cases(size: str) -> Iterator[Case]:
    """Yield the cases of the full or the quick battery."""
    for build in (_mechanism_cases, _release_cases, _sampler_cases, _floating_point_cases, _timing_cases):
        yield from build(quick=size == "quick")
    doors = list(front_door.FRONT_DOORS.items())
    yield from (scale_case(name, door) for name, door in (doors[:1] if size == "quick" else doors))
    if size == "full":
        yield statistical_case(
            "hetdp.release, histogram", front_door.told_by_bins, adjacent=[([0.0], [1.0])], claimed=1.0, samples=60_000
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

    def released(profile: NDArray[np.float64], random_state: int) -> list[float]:
        return _seen(release(stretch(query, [0.5, 0.0, 1.0]), profile, epsilon=1.0, random_state=random_state))

    def weighted(weights: NDArray[np.float64], random_state: int) -> list[float]:
        return _seen(release(stretch(query, weights), [1.0, 1.0, 1.0], epsilon=1.0, random_state=random_state))

    def by_dial(weights: NDArray[np.float64], random_state: int) -> list[float]:
        levels = release_by_dial(
            stretch(query, weights), [1.0, 1.0, 1.0], levels=[0, 0.5, 1], epsilon=1.0, random_state=random_state
        )
        return [number for answer in levels.answers for number in _seen(answer)]

    def bounded(weights: NDArray[np.float64], random_state: int) -> float:
        bound = release_distortion_bound(stretch(query, weights), epsilon=1.0, random_state=random_state)
        return float(bound.value)

    moving = [([0.5, 1.0, 1.0], [1.0, 1.0, 1.0])]  # from one level to the other
    subjects: tuple[tuple[str, Callable[..., float | list[float]], list[Pair], Claims], ...] = (
        ("hetdp.release", released, _PAIRS, [0.5, 0.0, 1.0]),
        ("hetdp.release, weights", weighted, _PAIRS[:1], 2.0),
        ("hetdp.release_by_dial, weights", by_dial, moving, 4.0),
        ("hetdp.release_distortion_bound", bounded, _PAIRS, 1.0),
    )
    for name, function, pairs, claimed in subjects:
        # With S = 1 and epsilon = 1, what an item may lose is what it may move the answer by.
        yield replay_case(name, function, adjacent=pairs, limits=claimed)
        if not quick:  # about a millisecond per call
            yield statistical_case(name, function, adjacent=pairs, claimed=claimed, samples=4_000)


def _seen(answer: Release) -> list[float]:
    """Return every number that a release draws: of the answer, and of its denominator."""
    assert answer.denominator is not None  # noqa: S101  (a total has one)
    return [float(answer.value), answer.denominator.value]


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


def _timing_cases(*, quick: bool) -> Iterator[Case]:
    draws = 200 if quick else 2_000
    for distribution in ("laplace", "gaussian"):

        def run(seed: int, distribution: str = distribution) -> Finding:
            return timing_audit(_draw(distribution, 2**20), name=distribution, draws=draws, random_state=seed)

        yield Case(f"{distribution.capitalize()} noise, scale 2**20", "timing", run)
