"""The node on the examination table: cases for the battery, and mutants that it must catch."""

from collections.abc import Sequence

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.registry import Case
from hetdp.node.audits import bits, front_door, group_dials

__all__ = ["MUTANTS", "audit_cases"]

MUTANTS: Sequence[Mutant] = (*bits.MUTANTS, *front_door.MUTANTS, *group_dials.MUTANTS)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of a node, for the battery."""
    return [*bits.audit_cases(size), *front_door.audit_cases(size), *group_dials.audit_cases(size)]
