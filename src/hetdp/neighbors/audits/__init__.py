"""`PrivateNeighbors` on the examination table: cases for the battery, and mutants that it must catch.

Each engine brings its own beside itself (`engines/audits.py`).
"""

from collections.abc import Sequence

from hetdp.auditing.mutants.base import Mutant
from hetdp.auditing.registry import Case
from hetdp.neighbors.audits import front_door, names

__all__ = ["MUTANTS", "audit_cases"]

MUTANTS: Sequence[Mutant] = (*front_door.MUTANTS, *names.MUTANTS)


def audit_cases(size: str) -> list[Case]:
    """Return the cases of `PrivateNeighbors`, for the battery."""
    return [*front_door.audit_cases(size), *names.audit_cases(size)]
