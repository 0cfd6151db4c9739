"""Audit everything: the cases of all packages, and how they are run.

Mechanisms have examples in `hetdp.auditing.examples`. Any other package that makes a promise has a module `audit_cases`
with a function `audit_cases(size)`, named in `PROVIDERS`. These modules are in higher layers, so they are loaded by
name when they are needed. They audit public calls only; the steps beneath those, and broken variants that the audits
must find, are in `tests/privacy`.

False alarms: every statistical, sampler, noise-scale and floating-point case has a false-alarm rate of at most 1e-9, so
that of a whole run is below 1e-6. Replays are exact.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hetdp.auditing.replay import replay_audit
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.auditing.scales import PublicCall, scale_audit
from hetdp.auditing.statistical import audit
from hetdp.auditing.subjects import Pair, fresh_seed
from hetdp.core.checks import one_of
from hetdp.core.optional import require
from hetdp.core.randomness import as_stream

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
    """One audit of one subject.

    Attributes
    ----------
    name
        What is audited.
    audit
        Which audit it is.
    run
        From a seed to what the audit found.
    subject
        The audited function or mechanism, if there is one.
    """

    name: str
    audit: str
    run: Callable[[int], Finding]
    subject: object = field(default=None, repr=False)


def statistical_case(name: str, function: Any, **settings: Any) -> Case:  # noqa: ANN401
    """Return the case of a statistical audit of a function or mechanism, with settings of `audit`."""

    def run(seed: int) -> Finding:
        return audit(function, confidence=CONFIDENCE, random_state=seed, **settings).finding

    return Case(name, "statistical", run, function)


def replay_case(name: str, function: Any, *, odd_values: bool = False, **settings: Any) -> Case:  # noqa: ANN401
    """Return the case of a replay of a function or mechanism, with settings of `replay_audit`."""

    def run(seed: int) -> Finding:
        return replay_audit(function, odd_values=odd_values, random_state=seed, **settings)

    return Case(name, "replay", run, function)


def scale_case(name: str, call: PublicCall) -> Case:
    """Return the case that compares the noise in the result of a public call with its guarantee."""

    def run(seed: int) -> Finding:
        return scale_audit(call, name=name, false_alarm=1 - CONFIDENCE, random_state=seed)

    return Case(name, "noise scale", run, call)


def without(items: Sequence[int], n_items: int) -> list[Pair]:
    """Return pairs of indicators, for each of some items: everything is there, and everything but that item."""
    return [([1.0] * n_items, [float(place != item) for place in range(n_items)]) for item in items]


def weight_zero_case(name: str, function: Callable[..., Any], item: int, n_items: int) -> Case:
    """Return the case of a replay with and without an item of weight 0, which must leave every bit as it was."""
    return replay_case(name, function, adjacent=without([item], n_items), limits={item: 0.0})


def battery(size: str = "full") -> list[Case]:
    """Return all cases that the package ships.

    Parameters
    ----------
    size
        "full", or "quick" for small samples and no statistical audits of public calls.

    Examples
    --------
    >>> sorted({case.audit for case in battery("quick")})
    ['floating point', 'ledger', 'noise scale', 'replay', 'sampler', 'statistical']
    """
    one_of("size", size, ("full", "quick"))
    # Without the extra "node" nothing is audited: a battery that lacks the node would not be one of everything.
    modules = [require(name, extra="node", purpose="An audit of everything") for name in PROVIDERS]
    return [case for module in modules for case in module.audit_cases(size)]


@dataclass
class BatteryReport:
    """What has been found so far.

    Attributes
    ----------
    seed
        Repeats the run.
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
    """Run cases; Ctrl-C ends the run early, and the report holds what is known by then.

    Parameters
    ----------
    cases
        What `battery` returns, or some of it.
    seed
        Makes the run reproducible; a fresh one if not given.
    progress
        Called with the share that is done and the name of the last case.

    Examples
    --------
    >>> report = run_battery(battery("quick")[:1], seed=1)
    >>> report.verdict, report.findings[0].smallest
    ('no violation found', 'a loss of ... for item 0 (claimed 0.8)')
    """
    report = BatteryReport(fresh_seed(as_stream(None)) if seed is None else seed, len(cases))
    begin, stream = time.monotonic(), as_stream(report.seed)
    try:
        for case in cases:
            report.findings.append(replace(case.run(fresh_seed(stream)), subject=case.name))
            if progress is not None:
                progress(report.done / report.planned, case.name)
    except KeyboardInterrupt:
        pass  # `done` says how many cases are complete
    report.seconds = time.monotonic() - begin
    return report
