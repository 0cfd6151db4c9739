"""Models on the examination table: cases for the battery, and mutants that it must catch."""

from collections.abc import Sequence

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.registry import Case
from hetdp.recommender.audits import front_door, matrix, sketched

__all__ = ["MUTANTS", "audit_cases"]

MUTANTS: Sequence[Mutant] = (*sketched.MUTANTS, *matrix.MUTANTS, *front_door.MUTANTS)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of models, for the battery."""
    return [*sketched.audit_cases(size), *matrix.audit_cases(size), *front_door.audit_cases(size)]
