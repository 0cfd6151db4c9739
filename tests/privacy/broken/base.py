"""A broken variant: something broken on purpose, its repaired twin, and the audit that must tell them apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import VIOLATED, Finding
from hetdp.auditing.samplers import floating_point_audit, sampler_audit
from hetdp.auditing.scales import PublicCall, scale_audit
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Claims, Pair
from hetdp.core.randomness import RandomState, Stream, as_stream
from hetdp.noise.samplers import laplace_integers

Floats = NDArray[np.float64]
#: What is audited: a mechanism as a function of a profile, or a sampler.
Function: TypeAlias = Callable[..., Any]
#: Makes it, broken or repaired.
Build: TypeAlias = Callable[[bool], Function]

GRID = 2.0**-20
#: Enough for every statistical variant that sets no number of its own: in three seeds, 15 % above the claim or more.
SAMPLES = 30_000
#: False-alarm rate of one attack 1e-9: a repaired twin is accused less than once in ten million test runs.
CONFIDENCE = 1 - 1e-9


@dataclass(frozen=True)
class Attack:
    """An audit, and the function that it is run on, broken or repaired."""

    audit: str
    build: Build
    run: Callable[[Function, Stream], Finding]


@dataclass(frozen=True)
class Variant:
    """Its attack must find a violation in the broken variant and none in its repaired twin."""

    name: str
    attack: Attack = field(repr=False)

    @property
    def caught_by(self) -> str:
        """The audit that must catch it."""
        return self.attack.audit

    def examine(self, random_state: RandomState = None, *, broken: bool = True) -> Finding:
        """Return what its audit finds, in the broken variant or in its repaired twin."""
        found = self.attack.run(self.attack.build(broken), as_stream(random_state))
        return replace(found, subject=self.name if broken else f"{self.name}, repaired")

    def is_caught(self, finding: Finding) -> bool:
        """Return whether a `finding` is a violation, found by the named audit."""
        return finding.verdict == VIOLATED and finding.audit == self.caught_by


def variant(
    name: str, attack: Callable[..., Attack], *arguments: object, **keywords: object
) -> Callable[[Build], Variant]:
    """Make a variant of a function that builds a mechanism, broken or repaired; its docstring says what is wrong."""
    return lambda build: Variant(name, attack(build, *arguments, **keywords))


def laplace(scale: float, size: int | tuple[int, ...], stream: RandomState) -> Floats:
    """Return exact Laplace noise on a grid of 2**-20."""
    steps = laplace_integers(Fraction(scale) / Fraction(GRID), int(np.prod(size)), as_stream(stream))
    return on_grid(steps.reshape(size))


def on_grid(steps: NDArray[np.int64]) -> Floats:
    """Return whole steps of the grid as numbers."""
    return np.asarray(steps * GRID, dtype=np.float64)


def released(
    exact: Callable[[list[Any]], float], scale: float = 1.0, *, reshaped: Callable[[Floats], Floats] = np.positive
) -> Function:
    """Return the mechanism that adds Laplace noise, or what is made of it, to an exact answer."""

    def mechanism(profile: list[Any], size: int, random_state: RandomState) -> Floats:
        return exact(profile) + reshaped(laplace(scale, size, as_stream(random_state)))

    return mechanism


def by_statistics(build: Build, adjacent: Sequence[Pair], claimed: Claims, delta: Claims = 0.0) -> Attack:
    """Return the attack by the statistical audit."""

    def run(function: Function, stream: Stream) -> Finding:
        return audit(
            function,
            adjacent=adjacent,
            claimed=claimed,
            delta=delta,
            samples=SAMPLES,
            confidence=CONFIDENCE,
            random_state=stream,
        ).finding

    return Attack("statistical", build, run)


def by_replay(build: Build, adjacent: Sequence[Pair], limits: Claims | None, *, odd_values: bool = True) -> Attack:
    """Return the attack by the replay audit."""

    def run(function: Function, stream: Stream) -> Finding:
        return replay_audit(function, adjacent=adjacent, limits=limits, odd_values=odd_values, random_state=stream)

    return Attack("replay", build, run)


def by_sampler(build: Build, scale: float) -> Attack:
    """Return the attack by the sampler audit."""

    def run(function: Function, stream: Stream) -> Finding:
        return sampler_audit(function, scale=scale, false_alarm=1e-9, random_state=stream)

    return Attack("sampler", build, run)


def by_floating_point(build: Build, adjacent: Sequence[Pair], claimed: Claims) -> Attack:
    """Return the attack by the floating-point audit."""

    def run(function: Function, stream: Stream) -> Finding:
        return floating_point_audit(
            function, adjacent=adjacent, claimed=claimed, confidence=CONFIDENCE, random_state=stream
        )

    return Attack("floating point", build, run)


def by_scale(call: PublicCall, broken: PublicCall) -> Attack:
    """Return the attack by the noise scale audit on a public call, and on one for which something is broken."""

    def run(function: Function, stream: Stream) -> Finding:
        return scale_audit(function, false_alarm=1 - CONFIDENCE, random_state=stream)

    return Attack("noise scale", lambda is_broken: broken if is_broken else call, run)


def behind(call: PublicCall, name: str, where: object, **broken: Callable[[Any], object]) -> Variant:
    """Return the variant of a public call behind which attributes of a module or class are made of the real ones."""
    return Variant(name, by_scale(call, patched(call, where, **broken)))


def narrower(share: Fraction) -> Callable[[Function], Function]:
    """Return how to make a drawer of noise, or of its tables, one whose scale (or variance) is a share of the right."""
    return lambda real: lambda scale, *rest: real(scale * share, *rest)


def told_otherwise(**wrong: Callable[[Any], object]) -> Callable[[Function], Function]:
    """Return how to make a function one that gets something else in some of its keywords."""

    def make(real: Function) -> Function:
        return lambda *given, **keywords: real(
            *given, **keywords | {key: to(keywords[key]) for key, to in wrong.items()}
        )

    return make


def patched(function: Function, where: object, **broken: Callable[[Any], object]) -> Function:
    """Return a function during which attributes of a module or class are what is made of the real ones."""

    @wraps(function)  # an audit looks at what it takes
    def call(*arguments: object, **keywords: object) -> object:
        fakes: dict[str, Any] = {name: make(getattr(where, name)) for name, make in broken.items()}
        with patch.multiple(where, **fakes):
            return function(*arguments, **keywords)

    return call
