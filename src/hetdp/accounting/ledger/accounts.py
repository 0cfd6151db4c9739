"""The accounts of people, as vectors of whole steps: what each may lose, has lost, and at which total it ends.

A person with a dial v loses v times what weight 1 loses (v^2 times in zCDP), so nothing is written when all are
charged: only the public totals grow. `Totals` are those; `Accounts` hold, for each, the loss up to the last change and
the totals then. `docs/proofs/ledger.md` proves that this never counts too little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import BOUNDLESS, MOST_STEPS
from hetdp.accounting.ledger.identity import Ids
from hetdp.core.vectors import constant

#: Where the account of somebody without a limit, or without a dial or with dial 0, ends.
NEVER = 2**62
Steps = NDArray[np.int64]
#: How many accounts are calculated with at a time, where temporary vectors would take more room than the result.
_TOGETHER = 2**17


@dataclass(frozen=True, slots=True)
class Totals:
    """What is public about a ledger, in whole steps.

    Attributes
    ----------
    epsilon, rho
        What weight 1 has lost through charges of everybody.
    gaussian
        `rho` after the last such charge in zCDP; pure losses of those who paid for it are boundless.
    dropped
        The total in the unit of the ledger after the last charge that dropped people; whoever ended before is out.
    delta
        What weight 1 has lost in delta, in steps of `DELTA_STEPS`.
    limit, weights_limit, delta_limit
        The most that people new to the ledger, weights, and delta may come to; None for no such limit.
    protects
        Whose losses are counted: those of an item, a row or a person.
    dialled
        Whether somebody was given another dial than their table has.
    colluders
        Of a ledger of profiles: how many recipients may share what they have. None where there are accounts.
    """

    unit: str
    charges: int = 0
    dropping: bool = False
    weights_spent: int = 0
    epsilon: int = 0
    rho: int = 0
    gaussian: int = 0
    dropped: int = 0
    delta: int = 0
    limit: int | None = None
    weights_limit: int | None = None
    delta_limit: int | None = None
    protects: str = "item"
    dialled: bool = False
    colluders: int | None = None

    @property
    def total(self) -> int:
        """What weight 1 has lost, in the unit of the ledger."""
        return self.epsilon if self.unit == "epsilon" else self.rho


@dataclass(frozen=True, eq=False, repr=False)
class Accounts:
    """Accounts in order. Vectors are replaced, never written to; one that is constant takes the room of one number.

    Attributes
    ----------
    ids
        Who they are; None for items that have no labels.
    limits, epsilon, rho
        What each may lose, and has lost up to the last change of the account. `BOUNDLESS` is infinite, or no limit.
    active
        False for those who were dropped when they could not pay losses of their own.
    dials
        Nan for those who are charged losses of their own only.
    epsilon_then, rho_then
        The totals at the last change of the account.
    """

    ids: Ids | None
    limits: Steps
    epsilon: Steps
    rho: Steps
    active: NDArray[np.bool_]
    dials: NDArray[np.float64]
    epsilon_then: Steps
    rho_then: Steps

    def __post_init__(self) -> None:
        for name in VECTORS:
            getattr(self, name).flags.writeable = False

    @classmethod
    def fresh(
        cls,
        ids: Ids | None,
        limits: Steps,
        dials: NDArray[np.float64] | None = None,
        totals: Totals | None = None,
    ) -> "Accounts":
        """Return accounts that were never charged, opened at the present totals."""
        size = limits.size
        then = (0, 0) if totals is None else (totals.epsilon, totals.rho)
        return cls(
            ids,
            limits,
            epsilon=constant(np.int64(0), size),
            rho=constant(np.int64(0), size),
            active=constant(np.True_, size),
            dials=constant(np.float64("nan"), size) if dials is None else dials,
            epsilon_then=constant(np.int64(then[0]), size),
            rho_then=constant(np.int64(then[1]), size),
        )

    @property
    def size(self) -> int:
        """How many there are."""
        return self.limits.size

    @property
    def labelled(self) -> bool:
        """Whether they are known by ids."""
        return self.ids is not None

    @property
    def dialled(self) -> bool:
        """Whether anybody has a dial; quick where nobody has."""
        return not (self.dials.strides == (0,) and (not self.size or bool(np.isnan(self.dials[0]))))

    @cached_property
    def _ends_of_epsilon(self) -> Steps:
        return self._ends(self.epsilon, self.epsilon_then, power=1)

    @cached_property
    def _ends_of_rho(self) -> Steps:
        return self._ends(self.rho, self.rho_then, power=2)

    def _ends(self, lost: Steps, then: Steps, *, power: int) -> Steps:
        ends = np.empty(self.size, dtype=np.int64)
        for begin in range(0, self.size, _TOGETHER):
            some = slice(begin, begin + _TOGETHER)
            paying = ends_of(left_of(self.limits[some], lost[some]), self.dials[some], then[some], power=power)
            ends[some] = np.where(self.active[some], paying, -1)
        return ends

    def ends(self, unit: str) -> Steps:
        """Return the largest total, in the unit of the ledger, that each can pay for; -1 for those who were dropped."""
        if not self.dialled:
            return constant(np.int64(NEVER), self.size)
        return self._ends_of_epsilon if unit == "epsilon" else self._ends_of_rho

    def whole(self) -> "Accounts":
        """Return these accounts; those in a file are read first."""
        return self

    def ending_before(self, total: int, unit: str) -> "Accounts":
        """Return the accounts that cannot pay for a total in the unit of the ledger."""
        return self.take(np.flatnonzero(self.ends(unit) < total))

    def still_active(self, totals: Totals) -> NDArray[np.bool_]:
        """Return who was not dropped so far."""
        if not totals.dropped or not self.dialled:
            return self.active
        return self.active & (self.ends(totals.unit) >= totals.dropped)

    def lost(self, unit: str, totals: Totals) -> Steps:
        """Return what each has lost in "epsilon" or "rho", rounded up.

        In the unit of the ledger, nobody with a dial is shown to have lost more than the limit: who cannot pay a
        charge is not in the release.
        """
        alone = self.epsilon if unit == "epsilon" else self.rho
        if not self.dialled:
            return alone
        then, now = (self.epsilon_then, totals.epsilon) if unit == "epsilon" else (self.rho_then, totals.rho)
        power = power_of(unit)
        shares = shares_of(self.dials, power)
        steps = np.ceil(shares * (now - then) * (1.0 - power * 2.0**-52))
        together = np.minimum(steps, float(MOST_STEPS)).astype(np.int64)
        lost: Steps = np.minimum(alone + together, BOUNDLESS)
        if unit == totals.unit:
            lost = np.where(together > 0, np.maximum(np.minimum(lost, self.limits), alone), lost)
        if unit == "epsilon" and totals.gaussian:
            lost = np.where((shares > 0) & (self.rho_then < totals.gaussian), BOUNDLESS, lost)
        return lost

    def settled(self, totals: Totals) -> "Accounts":
        """Return the same accounts as of now: what was lost through totals is written into each."""
        if not self.dialled:
            return self
        return replace(
            self,
            epsilon=self.lost("epsilon", totals),
            rho=self.lost("rho", totals),
            active=self.still_active(totals),
            epsilon_then=constant(np.int64(totals.epsilon), self.size),
            rho_then=constant(np.int64(totals.rho), self.size),
        )

    def changed(self, places: NDArray[np.intp], others: "Accounts") -> "Accounts":
        """Return accounts in which those at some places are taken from others, one for each place."""
        vectors = {}
        for name in VECTORS:
            vector, new = getattr(self, name), getattr(others, name)
            if not same_bits(vector[places], new):  # one that stays constant goes on taking no room
                vectors[name] = vector.copy()
                vectors[name][places] = new
        return replace(self, **vectors)

    def take(self, places: NDArray[np.intp]) -> "Accounts":
        """Return the accounts at some places."""
        ids = None if self.ids is None else self.ids.take(places)
        return Accounts(ids, **{name: getattr(self, name)[places] for name in VECTORS})

    def part(self, begin: int, end: int) -> "Accounts":
        """Return the accounts from one place to another."""
        ids = None if self.ids is None else self.ids.part(begin, end)
        return Accounts(ids, **{name: getattr(self, name)[begin:end] for name in VECTORS})

    @staticmethod
    def joined(parts: Sequence["Accounts"]) -> "Accounts":
        """Return accounts one after the other."""
        if len(parts) == 1:
            return parts[0]
        every = [part.ids for part in parts if part.ids is not None]
        ids = Ids.joined(every) if len(every) == len(parts) else None
        return Accounts(ids, **{name: _joined([getattr(part, name) for part in parts]) for name in VECTORS})


#: The names of the vectors, in the order in which they are stored.
VECTORS = tuple(one.name for one in fields(Accounts) if one.name != "ids")


def left_of(limits: Steps, lost: Steps) -> Steps:
    """Return what is left of limits, at least 0; of no limit everything is."""
    return np.where(limits >= BOUNDLESS, BOUNDLESS, np.maximum(limits - lost, 0))


def ends_of(remaining: Steps, dials: NDArray[np.float64], then: Steps, *, power: int) -> Steps:
    """Return the largest totals that accounts can pay for: those then plus `remaining / dial**power`, rounded down.

    A dial is counted as `dial * (1 - 2**-51)`, by which every release shrinks it; so a limit of 1 and a dial of 0.1,
    which no float is, end at 10 exactly.
    """
    shares = shares_of(dials, power)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        more = np.floor(np.maximum(remaining, 0) / shares * (1.0 + power * 2.0**-52))
        finite = np.minimum(np.where(shares > 0, more, float(MOST_STEPS)), float(MOST_STEPS)).astype(np.int64)
    return np.where((shares > 0) & (remaining < BOUNDLESS), then + finite, NEVER)


def shares_of(dials: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """Return `dials**power`, the share of weight 1 that each loses; 0 for who has no dial.

    What is too small for a float to hold with all its digits is taken for the smallest that is not.
    """
    return np.where(dials > 0, np.maximum(dials**power, np.finfo(np.float64).tiny), 0.0)  # nan is not above 0


def same_bits(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Return whether two vectors of one kind and size are the same to the last bit; nan is nan here."""
    if left is right or (left.strides == right.strides == (0,) and left[:1].tobytes() == right[:1].tobytes()):
        return True
    bits = f"u{left.itemsize}"
    return np.array_equal(left.view(bits), right.view(bits))


def power_of(unit: str) -> int:
    """Return how a loss in a unit grows with a dial."""
    return 1 if unit == "epsilon" else 2


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    whole = [part for part in parts if part.size] or parts[:1]
    first = whole[0][:1].tobytes()
    if all(part.strides == (0,) and part[:1].tobytes() == first for part in whole) and first:
        return constant(whole[0][0], sum(part.size for part in whole))
    return whole[0] if len(whole) == 1 else np.concatenate(whole)
