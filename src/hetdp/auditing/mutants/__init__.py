"""Mechanisms broken on purpose: the auditor's own test. Every mutant must be caught by the audit it names."""

from collections.abc import Callable, Sequence

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.mutants.noise import NOISE_MUTANTS
from hetdp.auditing.mutants.releases import RELEASE_MUTANTS
from hetdp.auditing.mutants.shrinking import SHRINKING_MUTANTS
from hetdp.auditing.report import Finding
from hetdp.auditing.subjects import fresh_seed
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["MUTANTS", "Mutant", "catch_all"]

#: All of them. Add yours to one of the three lists, with a repaired twin that must pass.
MUTANTS: Sequence[Mutant] = (*NOISE_MUTANTS, *SHRINKING_MUTANTS, *RELEASE_MUTANTS)


def catch_all(
    mutants: Sequence[Mutant] = MUTANTS,
    *,
    random_state: RandomState = None,
    progress: Callable[[Mutant, Finding], None] | None = None,
) -> dict[str, str | None]:
    """Return which audit caught each mutant; None for one that got away.

    Privacy
    -------
    Runs on made-up profiles. A mutant that gets away means that the audits cannot be relied on.

    Examples
    --------
    >>> catch_all(MUTANTS[:1], random_state=1)
    {'scale as standard deviation': 'statistical'}
    """
    stream = as_stream(random_state)
    caught: dict[str, str | None] = {}
    for mutant in mutants:
        finding = mutant.examine(fresh_seed(stream))
        caught[mutant.name] = finding.audit if mutant.is_caught(finding) else None
        if progress is not None:
            progress(mutant, finding)
    return caught
