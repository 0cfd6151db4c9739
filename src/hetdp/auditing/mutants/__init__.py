"""Mechanisms broken on purpose: the auditor's own test. Every mutant must be caught by the audit it names."""

from collections.abc import Sequence

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.mutants.denominators import DENOMINATOR_MUTANTS
from hetdp.auditing.mutants.ledgers import LEDGER_MUTANTS
from hetdp.auditing.mutants.noise import NOISE_MUTANTS
from hetdp.auditing.mutants.releases import RELEASE_MUTANTS
from hetdp.auditing.mutants.shrinking import SHRINKING_MUTANTS

__all__ = ["MUTANTS"]

#: All that break a mechanism or a release. Add yours to one of the lists, with a repaired twin that must pass.
MUTANTS: Sequence[Mutant] = (
    *NOISE_MUTANTS,
    *SHRINKING_MUTANTS,
    *RELEASE_MUTANTS,
    *DENOMINATOR_MUTANTS,
    *LEDGER_MUTANTS,
)
