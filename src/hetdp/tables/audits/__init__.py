"""Tables on the examination table: cases for the battery, and mutants that it must catch."""

from collections.abc import Sequence

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.registry import Case
from hetdp.tables.audits import front_door, keys, sums

__all__ = ["MUTANTS", "audit_cases"]

MUTANTS: Sequence[Mutant] = (*keys.MUTANTS, *sums.MUTANTS, *front_door.MUTANTS)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of tables, for the battery."""
    return [*keys.audit_cases(size), *sums.audit_cases(size), *front_door.audit_cases(size)]
