"""The ledger on the examination table: nobody may lose more than their limit.

Who takes part in which release follows from a ledger; what each loses by that is added up here in exact fractions.
The last charge is chosen for one person: a single step of the ledger more than they can pay.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from hetdp.accounting.composition import STEPS
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.auditing.report import NOTHING, VIOLATED, Finding
from hetdp.core.randomness import RandomState, as_stream

__all__ = ["Payers", "ledger_audit", "paying"]

#: From a limit, dials and the epsilons of releases to who takes part in each.
Payers: TypeAlias = Callable[[Fraction, Sequence[Fraction], Sequence[Fraction]], list[list[bool]]]

#: Dials and limits as people set them: decimals, most of which are no floats, and thirds.
_DIALS = tuple(Fraction(*parts) for parts in ((1, 1), (1, 2), (1, 3), (7, 10), (11, 100), (13, 100), (1, 20), (0, 1)))
_LIMITS = (Fraction(1), Fraction(3), Fraction(1, 10), Fraction(2, 3))
_ROUNDS = 40
_CHARGES = 6


def ledger_audit(payers: Payers, *, random_state: RandomState = None) -> Finding:
    """Return whether anybody loses more than their limit by releases that they take part in.

    Examples
    --------
    >>> ledger_audit(lambda limit, dials, amounts: [[True] * len(dials)] * len(amounts), random_state=1).verdict
    'violated'
    """
    stream = as_stream(random_state)
    worst, overdrawn = Fraction(0), 0
    for turn in range(_ROUNDS):
        limit = _LIMITS[turn % len(_LIMITS)]
        amounts = [
            Fraction(int(2 * limit * STEPS / _CHARGES * share), STEPS) for share in stream.uniforms(_CHARGES).tolist()
        ]
        victim = _DIALS[turn % (len(_DIALS) - 1)]
        paid = sum(
            amount for amount, took in zip(amounts, _column(payers, limit, amounts, victim), strict=True) if took
        )
        left = limit / victim - paid
        amounts.append(Fraction(max(math.floor(left * STEPS), 0) + 1, STEPS))  # a step too much
        took_part = payers(limit, _DIALS, amounts)
        for place, dial in enumerate(_DIALS):
            lost = dial * sum(amount for amount, took in zip(amounts, took_part, strict=True) if took[place])
            overdrawn += lost > limit
            worst = max(worst, lost - limit)
    words = f"{overdrawn} of {_ROUNDS * len(_DIALS)} accounts were overdrawn, the worst by {float(worst):.3g}."
    return Finding("ledger", "", VIOLATED if overdrawn else NOTHING, words, {"overdrawn": overdrawn})


def _column(payers: Payers, limit: Fraction, amounts: Sequence[Fraction], dial: Fraction) -> list[bool]:
    return [took[_DIALS.index(dial)] for took in payers(limit, _DIALS, amounts)]


def paying(limit: Fraction, dials: Sequence[Fraction], amounts: Sequence[Fraction]) -> list[list[bool]]:
    """Return who takes part in releases charged to a ledger of people, some of them without a table."""
    ids, given = list(range(len(dials))), [float(dial) for dial in dials]
    ledger = Ledger.of_people(limit=float(limit), on_exhausted="drop")
    ledger.charge_people([(ids, given)], amount=0)
    taking = []
    for turn, amount in enumerate(amounts):
        allowed = dict(ledger.charge_people(None if turn % 2 else [(ids, given)], amount=amount))
        taking.append([allowed.get(person, dial) > 0 for person, dial in zip(ids, given, strict=True)])
    return taking
