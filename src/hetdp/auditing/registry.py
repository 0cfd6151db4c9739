"""Audit everything: the cases of all packages, and how they are run.

A mechanism brings examples of itself (`hetdp.mechanisms.examples`). Anything else that makes a promise, engine or node,
has a module with `audit_cases(size)`, and a line in `PROVIDERS`. They live above this package, so they are known by
name here and loaded when they are asked for. Broken variants of all of them, which audits must catch, are in
`tests/privacy/broken`.

False alarms: every statistical, sampler, noise-scale and floating-point case errs with probability at most 1e-9, so
the whole battery does so less than once in a million runs. Replays are exact.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.scales import FrontDoor, scale_audit
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Claims, Pair, fresh_seed
from hetdp.core.checks import one_of
from hetdp.core.optional import require
from hetdp.core.randomness import RandomState, as_stream

PROVIDERS = (
    "hetdp.auditing.audit_cases",
    "hetdp.tables.audit_cases",
    "hetdp.neighbors.audit_cases",
    "hetdp.recommender.audit_cases",
    "hetdp.node.audit_cases",
)

#: False-alarm rate of one case 1e-9.
CONFIDENCE = 1 - 1e-9


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
    subject
        What is called by it, where that is one function.
    """

    name: str
    audit: str
    run: Callable[[int], Finding]
    subject: Callable[..., Any] | None = field(default=None, repr=False)


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

    return Case(name, "statistical", run, function)


def replay_case(name: str, function: Callable[..., Any], *, adjacent: Sequence[Pair], limits: Claims) -> Case:
    """Return the case in which a function is replayed on adjacent profiles."""

    def run(seed: int) -> Finding:
        return replay_audit(function, adjacent=adjacent, limits=limits, odd_values=False, random_state=seed)

    return Case(name, "replay", run, function)


def scale_case(name: str, front_door: FrontDoor) -> Case:
    """Return the case in which the noise that reaches an output is compared with what its guarantee implies."""

    def run(seed: int) -> Finding:
        return scale_audit(front_door, name=name, false_alarm=1 - CONFIDENCE, random_state=seed)

    return Case(name, "noise scale", run, front_door)


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
    ['floating point', 'ledger', 'noise scale', 'replay', 'sampler', 'statistical']
    """
    one_of("size", size, ("full", "quick"))
    return [case for provider in _providers() for case in provider.audit_cases(size)]


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


@dataclass
class BatteryReport:
    """What a battery has found so far.

    Attributes
    ----------
    seed
        Repeats it.
    planned
        How many cases there are.
    findings
        One per case that has run.
    seconds
        How long it took.
    """

    seed: int
    planned: int
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """How many cases have run."""
        return len(self.findings)

    @property
    def verdict(self) -> str:
        """The worst verdict of all findings."""
        return VIOLATED if any(finding.verdict == VIOLATED for finding in self.findings) else NOTHING

    def to_dict(self) -> dict[str, Any]:
        """Return the report, ready for JSON."""
        return {
            "verdict": self.verdict,
            "complete": self.done == self.planned,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def run_battery(
    cases: Sequence[Case],
    *,
    seed: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> BatteryReport:
    """Run cases; Ctrl-C ends it early, and the report holds what is known by then.

    Parameters
    ----------
    cases
        From `battery`.
    seed
        Makes it reproducible; a fresh one if not given.
    progress
        Called with the share that is done and what was done last.

    Examples
    --------
    >>> run_battery(battery("quick")[:1], seed=1).verdict
    'no violation found'
    """
    report = BatteryReport(fresh_seed(as_stream(None)) if seed is None else seed, len(cases))
    begin = time.monotonic()

    try:
        for finding in run_cases(cases, random_state=report.seed):
            report.findings.append(finding)
            if progress is not None:
                progress(report.done / report.planned, finding.subject)
    except KeyboardInterrupt:
        pass  # `done` tells how far it came
    report.seconds = time.monotonic() - begin
    return report
