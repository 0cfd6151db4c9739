"""The battery: every case that must pass and every mutant that must be caught, from all rooms of the package.

A mechanism brings examples of itself (`hetdp.mechanisms.examples`). Whoever else makes a promise, engine or node,
has a module with `audit_cases(size)` and `MUTANTS`, and a line in `PROVIDERS`. They live above this room, so they are
known by name here and loaded when a battery is asked for.

False alarms: every statistical, sampler, noise-scale and floating-point case errs with probability at most 1e-9, so
the whole battery does so less than once in a million runs. Replays are exact.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from hetdp.auditing.adjacency import Pair
from hetdp.auditing.mutants.base import CONFIDENCE, Mutant
from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.scales import FrontDoor, scale_audit
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Claims, fresh_seed
from hetdp.core.checks import one_of
from hetdp.core.optional import require
from hetdp.core.randomness import RandomState, as_stream
from hetdp.noise import discrete_laplace

__all__ = [
    "CONFIDENCE",
    "PROVIDERS",
    "BatteryReport",
    "Case",
    "all_mutants",
    "battery",
    "catch_all",
    "planned_cost",
    "replay_case",
    "run_battery",
    "run_cases",
    "scale_case",
    "statistical_case",
]

PROVIDERS = (
    "hetdp.auditing.cases",
    "hetdp.tables.audits",
    "hetdp.neighbors.engines.audits",
    "hetdp.neighbors.audits",
    "hetdp.recommender.audits",
    "hetdp.node.audits",
)

#: Seconds that each took on one machine, and that its pilot took there; for the planned cost on another.
_REFERENCE_S = {"full": 340.0, "quick": 40.0, "mutants": 75.0}
_REFERENCE_PILOT_S = 0.003


@dataclass(frozen=True)
class Case:
    """One audit of one subject, to be run in a battery.

    Attributes
    ----------
    name
        What is audited.
    audit
        Which audit it is.
    run
        From a seed to what the audit found.
    """

    name: str
    audit: str
    run: Callable[[int], Finding]


def statistical_case(
    name: str,
    function: Callable[..., Any],
    *,
    adjacent: Sequence[Pair],
    claimed: Claims,
    samples: int,
    delta: Claims = 0.0,
) -> Case:
    """Return the case in which what a function tells about its profile is measured."""

    def run(seed: int) -> Finding:
        return audit(
            function,
            adjacent=adjacent,
            claimed=claimed,
            delta=delta,
            samples=samples,
            confidence=CONFIDENCE,
            random_state=seed,
        ).finding

    return Case(name, "statistical", run)


def replay_case(name: str, function: Callable[..., Any], *, adjacent: Sequence[Pair], limits: Claims) -> Case:
    """Return the case in which a function is replayed on adjacent profiles."""

    def run(seed: int) -> Finding:
        return replay_audit(function, adjacent=adjacent, limits=limits, odd_values=False, random_state=seed)

    return Case(name, "replay", run)


def scale_case(name: str, front_door: FrontDoor) -> Case:
    """Return the case in which the noise that reaches an output is compared with what its guarantee implies."""

    def run(seed: int) -> Finding:
        return scale_audit(front_door, name=name, false_alarm=1 - CONFIDENCE, random_state=seed)

    return Case(name, "noise scale", run)


def _providers() -> Iterator[ModuleType]:
    # All of them or none: a battery without the node's would not be one of everything.
    return (require(name, extra="node", purpose="An audit of everything") for name in PROVIDERS)


def battery(size: str = "full") -> list[Case]:
    """Return the cases of the full or the quick battery: all that the package ships.

    Parameters
    ----------
    size
        "full" or "quick".

    Examples
    --------
    >>> sorted({case.audit for case in battery("quick")})
    ['floating point', 'ledger', 'noise scale', 'replay', 'sampler', 'statistical', 'timing']
    """
    one_of("size", size, ("full", "quick"))
    return [case for provider in _providers() for case in provider.audit_cases(size)]


def all_mutants() -> tuple[Mutant, ...]:
    """Return the mechanisms broken on purpose, from all rooms; each must be caught by the audit it names.

    Examples
    --------
    >>> len(all_mutants()) >= 28
    True
    """
    return tuple(mutant for provider in _providers() for mutant in provider.MUTANTS)


def run_cases(cases: Sequence[Case], *, random_state: RandomState = None) -> Iterator[Finding]:
    """Run cases one after the other; what has been yielded is known even if the rest is interrupted.

    Parameters
    ----------
    cases
        What `battery` returns, or some of it.
    random_state
        A seed, or None for a fresh one.

    Examples
    --------
    >>> [finding.verdict for finding in run_cases(battery("quick")[:2], random_state=1)]
    ['no violation found', 'no violation found']
    """
    stream = as_stream(random_state)
    for case in cases:
        yield replace(case.run(fresh_seed(stream)), subject=case.name)


def catch_all(
    chosen: Sequence[Mutant] | None = None,
    *,
    random_state: RandomState = None,
    progress: Callable[[Mutant, Finding], None] | None = None,
) -> dict[str, str | None]:
    """Return which audit caught each mutant; None for one that got away: then the audits cannot be relied on.

    Parameters
    ----------
    chosen
        Some of `all_mutants()`; default: all.
    random_state
        A seed, or None for a fresh one.
    progress
        Called with each mutant, and with what its audit found.

    Examples
    --------
    >>> catch_all(all_mutants()[:1], random_state=1)
    {'scale as standard deviation': 'statistical'}
    """
    stream = as_stream(random_state)
    caught: dict[str, str | None] = {}
    for mutant in all_mutants() if chosen is None else chosen:
        finding = mutant.examine(fresh_seed(stream))
        caught[mutant.name] = finding.audit if mutant.is_caught(finding) else None
        if progress is not None:
            progress(mutant, finding)
    return caught


@dataclass
class BatteryReport:
    """What a battery has found so far.

    Attributes
    ----------
    seed
        Repeats it.
    planned
        How many cases and mutants there are.
    findings
        One per case that has run.
    caught_by
        Which audit caught each mutant; None for one that got away.
    seconds
        How long it took.
    """

    seed: int
    planned: int
    findings: list[Finding] = field(default_factory=list)
    caught_by: dict[str, str | None] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """How many cases and mutants have run."""
        return len(self.findings) + len(self.caught_by)

    @property
    def verdict(self) -> str:
        """The worst verdict of all findings."""
        return VIOLATED if any(finding.verdict == VIOLATED for finding in self.findings) else NOTHING

    @property
    def escaped(self) -> list[str]:
        """The mutants that nobody caught."""
        return [name for name, audit in self.caught_by.items() if audit is None]

    def to_dict(self) -> dict[str, Any]:
        """Return the report, ready for JSON."""
        return {
            "verdict": self.verdict,
            "complete": self.done == self.planned,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "findings": [finding.to_dict() for finding in self.findings],
            "mutants": {"caught_by": self.caught_by, "escaped": self.escaped},
        }


def run_battery(
    cases: Sequence[Case],
    mutants: Sequence[Mutant],
    *,
    seed: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> BatteryReport:
    """Run cases and mutants; Ctrl-C ends it early, and the report holds what is known by then.

    Parameters
    ----------
    cases, mutants
        From `battery` and `all_mutants`.
    seed
        Makes it reproducible; a fresh one if not given.
    progress
        Called with the share that is done and what was done last.

    Examples
    --------
    >>> run_battery(battery("quick")[:1], [], seed=1).verdict
    'no violation found'
    """
    report = BatteryReport(fresh_seed(as_stream(None)) if seed is None else seed, len(cases) + len(mutants))
    begin = time.monotonic()

    def tell(what: str) -> None:
        if progress is not None:
            progress(report.done / report.planned, what)

    def note_mutant(mutant: Mutant, finding: Finding) -> None:
        report.caught_by[mutant.name] = finding.audit if mutant.is_caught(finding) else None
        tell(f"mutant: {mutant.name}")

    try:
        for finding in run_cases(cases, random_state=report.seed):
            report.findings.append(finding)
            tell(finding.subject)
        catch_all(mutants, random_state=report.seed, progress=note_mutant)
    except KeyboardInterrupt:
        pass  # `done` tells how far it came
    report.seconds = time.monotonic() - begin
    return report


def planned_cost(cases: int, mutants: int, *, size: str) -> str:
    """Return how much there is to do and about how long it takes here, from a short pilot."""
    taken = []
    for _ in range(5):  # what happens only once, such as compiling, is not part of the price: the fastest counts
        begin = time.perf_counter()
        discrete_laplace(2**20, 200_000)
        taken.append(time.perf_counter() - begin)
    speed = min(taken) / _REFERENCE_PILOT_S
    seconds = speed * (_REFERENCE_S[size] * bool(cases) + _REFERENCE_S["mutants"])
    return f"{cases} audits and {mutants} mutants, about {max(10, 10 * round(seconds / 10))} s"
