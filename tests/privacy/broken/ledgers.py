"""Ledgers broken on purpose: somebody overdraws their account."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hetdp.accounting.composition import STEPS
from hetdp.accounting.ledger.accounts import ends_of
from hetdp.accounting.ledger.ledger import Ledger
from hetdp.auditing.audit_cases import Payers, ledger_audit
from hetdp.auditing.report import Finding
from hetdp.core.randomness import Stream
from tests.privacy.broken.base import Attack, Build, variant


def _by_ledger(build: Build) -> Attack:
    def run(function: Payers, stream: Stream) -> Finding:
        return ledger_audit(function, random_state=stream)

    return Attack("ledger", build, run)


@variant("a total checked before the charge", _by_ledger)
def _checked_before(broken):
    """Who could pay so far takes part, and is charged afterwards."""

    def paying(limit: Fraction, dials: Sequence[Fraction], amounts: Sequence[Fraction]) -> list[list[bool]]:
        ledger = Ledger.of_people(limit=float(limit), on_exhausted="drop")
        ledger.charge_people([(range(len(dials)), [float(dial) for dial in dials])], amount=0)
        taking = []
        for amount in amounts:
            before = ledger.active
            ledger.charge_people(None, amount=amount)
            taking.append((before if broken else ledger.active).tolist())
        return taking

    return paying


@variant("an end rounded up", _by_ledger)
def _rounded_up(broken):
    """An account ends a step too late: what remains over the dial, rounded up."""

    def paying(limit: Fraction, dials: Sequence[Fraction], amounts: Sequence[Fraction]) -> list[list[bool]]:
        limits = np.full(len(dials), int(limit * STEPS))
        ends = ends_of(limits, np.array(dials, dtype=np.float64), np.zeros_like(limits), power=1) + broken
        totals = np.cumsum([int(amount * STEPS) for amount in amounts]).tolist()
        return [(ends >= total).tolist() for total in totals]

    return paying


@variant("an account for every way to write an id", _by_ledger)
def _many_ids(broken):
    """1, "1.0" and " 1" are three people, each with a limit of their own."""

    def paying(limit: Fraction, dials: Sequence[Fraction], amounts: Sequence[Fraction]) -> list[list[bool]]:
        ledger = Ledger.of_people(limit=float(limit), on_exhausted="drop")
        taking = []
        for turn, amount in enumerate(amounts):
            ids = [("{}", "{}.0", " {}")[turn % 3].format(person) for person in range(len(dials))]
            known = [repr(one) for one in ids] if broken else ids
            table = [(known, [float(dial) for dial in dials])]
            allowed = dict(ledger.charge_people(table, amount=amount, new_people=True))
            taking.append([allowed.get(one, float(dial)) > 0 for one, dial in zip(known, dials, strict=True)])
        return taking

    return paying


VARIANTS = (_checked_before, _rounded_up, _many_ids)
