"""The state of a ledger and how one charge changes it, without any storage: values in, new values out.

Everything that callers hand in is checked here, before anything is spent.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.composition import (
    BOUNDLESS,
    DELTA_STEPS,
    MOST_STEPS,
    STEPS,
    UNITS,
    delta_steps,
    losses_of,
    rho_of_epsilon,
    rho_steps_up,
    steps_down,
    steps_of,
    steps_up,
)
from hetdp.accounting.ledger.accounts import Accounts, Totals, left_of
from hetdp.accounting.ledger.identity import Ids, canonical_ids
from hetdp.core.checks import Real, float_vector, not_negative, one_of
from hetdp.core.errors import BudgetExhausted, InvalidInput
from hetdp.core.text import counted
from hetdp.core.vectors import each

_Scalar = TypeVar("_Scalar", np.float64, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """One release to be paid for.

    Attributes
    ----------
    losses, unit, description, amount, weights_loss, delta
        The parameters of `Ledger.charge`.

    Examples
    --------
    >>> Charge([0.25, 0.05], description="mean", amount=0.5)
    Charge(unit='epsilon', description='mean', amount=0.5, weights_loss=0.0, delta=0.0)
    """

    losses: ArrayLike = field(repr=False)
    unit: str = "epsilon"
    description: str = ""
    amount: Real | None = None
    weights_loss: float = 0.0
    delta: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge in the history of a ledger.

    Attributes
    ----------
    time
        When, in UTC, as ISO 8601.
    description, unit, amount, weights_loss, delta
        As they were given to `Ledger.charge`.
    dropping
        Whether items that could not pay were dropped. That they may have been is public, which they are is not.
    """

    time: str
    description: str
    unit: str
    amount: float | None
    weights_loss: float
    dropping: bool
    delta: float = 0.0

    @classmethod
    def of(cls, charge: Charge, *, dropping: bool) -> "Entry":
        """Return what the history keeps of a charge made now, `dropping` or not, or explain why it is no charge."""
        if not isinstance(charge, Charge):
            raise InvalidInput("must be of type Charge", parameter="charges", got=type(charge))
        try:
            charge.description.encode()
        except (AttributeError, UnicodeEncodeError):
            raise InvalidInput("must be a valid text", parameter="description", got=type(charge.description)) from None
        return cls(
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            description=charge.description,
            unit=charge.unit,
            amount=None if charge.amount is None else _float_up(charge.amount),
            weights_loss=not_negative("weights_loss", charge.weights_loss),
            dropping=dropping,
            delta=not_negative("delta", charge.delta),
        )


class Roll(Protocol):
    """Where the accounts are: `Accounts` in memory, or chunks of them in a file."""

    @property
    def size(self) -> int:
        """How many accounts there are."""

    @property
    def labelled(self) -> bool:
        """Whether they are known by ids."""

    def whole(self) -> Accounts:
        """Return all accounts."""

    def ending_before(self, total: int, unit: str) -> Accounts:
        """Return the accounts that cannot pay for a total in the unit of the ledger."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class State:
    """Everything a ledger knows except its history."""

    totals: Totals
    roll: Roll

    @property
    def accounts(self) -> Accounts:
        """The accounts."""
        return self.roll.whole()

    @property
    def unit(self) -> str:
        """Unit of limits and losses."""
        return self.totals.unit

    @property
    def size(self) -> int:
        """How many items there are."""
        return self.roll.size

    @property
    def active(self) -> NDArray[np.bool_]:
        """Who was not dropped."""
        return self.accounts.still_active(self.totals)

    @property
    def spent(self) -> NDArray[np.float64]:
        """What each item has lost, in the unit of the ledger."""
        return self.lost(self.unit)

    @property
    def remaining(self) -> NDArray[np.float64]:
        """What each item may still lose, in the unit of the ledger."""
        accounts = self.accounts
        return losses_of(left_of(accounts.limits, accounts.lost(self.unit, self.totals)))

    def lost(self, unit: str) -> NDArray[np.float64]:
        """Return what each item has lost, in any unit."""
        return losses_of(self.accounts.lost(unit, self.totals))

    def affordable(self, losses: ArrayLike, unit: str) -> NDArray[np.bool_]:
        """Return which items could pay `losses`."""
        now = self.accounts.settled(self.totals)
        steps = self._added(now, self._checked(losses, unit), unit)[self.unit]
        return now.active & self._fits(now, steps)

    def pay(self, charge: Charge, *, drop: bool) -> "State":
        """Return the state after one charge, without (`drop`) or with an error about items that cannot pay.

        Inactive items pay nothing, because a release gives them weight 0.
        """
        self.require(of_profiles=False)
        losses = self._checked(charge.losses, charge.unit)
        totals = self.counted(charge, drop=drop)
        now = self.accounts.settled(self.totals)
        if not now.active.all():
            losses = np.where(now.active, losses, 0.0)
        after, active = self._added(now, losses, charge.unit), now.active
        fits = self._fits(now, after[self.unit])
        if not fits.all():
            if not drop:
                raise self._exhausted(now, self._in_unit(losses, charge.unit), fits)
            losses = np.where(fits, losses, 0.0)
            after, active = self._added(now, losses, charge.unit), active & fits
        paid = replace(now, epsilon=after["epsilon"], rho=after["rho"], active=active)
        if now.dialled:  # the others' accounts stay as they are
            places = np.flatnonzero((losses > 0.0) | (active != now.active))
            paid = self.accounts.changed(places, paid.take(places))
        return State(totals, paid)

    def counted(self, charge: Charge, *, drop: bool) -> Totals:
        """Return the totals with a charge counted, and what it costs weights and delta, if they can pay."""
        weights = steps_of(not_negative("weights_loss", charge.weights_loss), charge.unit, wanted=self.unit)
        weights = min(weights, BOUNDLESS - self.totals.weights_spent)
        delta = math.ceil(delta_steps(not_negative("delta", charge.delta)))
        for account, spent, more, limit, steps, unit in (
            ("weights", self.totals.weights_spent, weights, self.totals.weights_limit, STEPS, self.unit),
            ("delta", self.totals.delta, delta, self.totals.delta_limit, DELTA_STEPS, "delta"),
        ):
            if limit is not None and spent + more > limit:
                left = max(limit - spent, 0)
                raise BudgetExhausted(
                    requested=more / steps, remaining=left / steps, items=0, unit=unit, account=account
                )
        return replace(
            self.totals,
            charges=self.totals.charges + 1,
            weights_spent=self.totals.weights_spent + weights,
            delta=self.totals.delta + delta,
            dropping=self.totals.dropping or drop,
        )

    def after_all_paid(self, charge: Charge, *, drop: bool) -> Totals:
        """Return the totals after a charge of everybody in proportion to dials; `losses` are not looked at.

        Whether each can pay is another question: whoever ends before the new total cannot.
        """
        self._check_unit(charge.unit)
        if charge.amount is None:
            raise InvalidInput("must be a number >= 0", parameter="amount")
        not_negative("amount", charge.amount)
        totals = self.counted(charge, drop=drop)
        rho = totals.rho + steps_of(charge.amount, charge.unit, wanted="rho")
        pure = charge.unit == "epsilon"
        epsilon = totals.epsilon + (steps_of(charge.amount) if pure else 0)
        if max(epsilon, rho) >= MOST_STEPS:
            raise InvalidInput(f"must leave the total of the ledger below {MOST_STEPS / STEPS:.4g}", parameter="amount")
        gaussian = totals.gaussian if pure or rho == totals.rho else rho
        totals = replace(totals, epsilon=epsilon, rho=rho, gaussian=gaussian)
        return replace(totals, dropped=totals.total) if drop else totals

    def all_paid(self, charge: Charge) -> "State":
        """Return the state of a ledger of profiles after a charge, if what weight 1 loses stays within the limit."""
        self.require(of_profiles=True)
        totals, before = self.after_all_paid(charge, drop=False), self.totals
        if totals.limit is not None and totals.total > totals.limit:
            raise BudgetExhausted(
                requested=(totals.total - before.total) / STEPS,
                remaining=max(totals.limit - before.total, 0) / STEPS,
                items=0,
                unit=self.unit,
                account=f"profiles, against {counted(before.colluders or 1, 'recipient')} of lists,",
            )
        return State(totals, self.roll)

    def require(self, *, of_profiles: bool) -> None:
        """Refuse a charge of another kind than the ledger counts."""
        if of_profiles != (self.totals.colluders is not None):
            kinds = ("one of items, rows or people (Ledger, Ledger.of_people)", "one of profiles (Ledger.of_profiles)")
            wanted, got = kinds[of_profiles], kinds[not of_profiles]
            raise InvalidInput(f"must be {wanted} to count this release", parameter="ledger", got=got)

    def admitting(
        self, items: Ids, limit: float | None, *, new_people: bool = False
    ) -> tuple["State", NDArray[np.intp]]:
        """Return the state with the unknown ones among some items added at the end, and the place of each item."""
        self.require(of_profiles=False)
        known = self.accounts.ids
        if known is None:
            raise InvalidInput("must be omitted, as when the ledger was made (got labels)", parameter="items")
        places = known.find(items)
        (new,) = np.nonzero(places < 0)
        if not new.size:
            return self, places
        if limit is None:
            raise InvalidInput(f"must be known to the ledger (got {new.size} unknown ones)", parameter="items")
        limits = checked_limits(np.full(new.size, limit))
        check_not_mostly_new(new.size, len(items), self.size, new_people=new_people)
        places[new] = self.size + np.arange(new.size)
        added = Accounts.fresh(items.take(new), steps_down(limits), totals=self.totals)
        return replace(self, roll=Accounts.joined([self.accounts, added])), places

    def _added(self, accounts: Accounts, losses: NDArray[np.float64], unit: str) -> dict[str, NDArray[np.int64]]:
        """Return what accounts as of now have lost after some losses more."""
        in_rho = rho_steps_up if unit == "epsilon" else steps_up
        rho = each(lambda lost, more: np.minimum(lost + in_rho(more), BOUNDLESS), accounts.rho, losses)
        if unit == "epsilon":
            epsilon = each(lambda lost, more: np.minimum(lost + steps_up(more), BOUNDLESS), accounts.epsilon, losses)
        else:
            epsilon = each(lambda lost, more: np.where(more > 0.0, BOUNDLESS, lost), accounts.epsilon, losses)
        return {"epsilon": epsilon, "rho": rho}

    def _fits(self, accounts: Accounts, after: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whose account covers a loss; nothing can always be paid."""
        before = accounts.epsilon if self.unit == "epsilon" else accounts.rho
        return np.asarray((after <= accounts.limits) | (after == before))

    def _in_unit(self, losses: ArrayLike, unit: str) -> NDArray[np.float64]:
        return np.asarray(losses) if unit == self.unit else rho_of_epsilon(losses)

    def _exhausted(self, accounts: Accounts, costs: NDArray[np.float64], fits: NDArray[np.bool_]) -> BudgetExhausted:
        spent = accounts.epsilon if self.unit == "epsilon" else accounts.rho
        remaining = losses_of(left_of(accounts.limits, spent))
        worst = int(np.argmax(np.where(fits, -np.inf, costs - remaining)))
        return BudgetExhausted(
            requested=float(costs[worst]),
            remaining=float(remaining[worst]),
            items=int(np.count_nonzero(~fits)),
            unit=self.unit,
            protected=self.totals.protects,
        )

    def _check_unit(self, unit: str) -> None:
        if one_of("unit", unit, UNITS) == "rho" and self.unit == "epsilon":
            raise InvalidInput(
                "must be 'epsilon' on an epsilon ledger, for no finite epsilon covers a zCDP loss (got 'rho')",
                parameter="unit",
                hint=(
                    "A ledger with unit='rho' takes both, but begins without "
                    "what was charged here: keep that within your limit."
                ),
            )

    def _checked(self, losses: ArrayLike, unit: str) -> NDArray[np.float64]:
        self._check_unit(unit)
        vector = float_vector("losses", losses)
        if vector.size != self.size:
            raise InvalidInput(f"must hold one loss per item ({self.size})", parameter="losses", got=vector.size)
        if vector.min() < 0.0:
            raise InvalidInput("must be >= 0 (got a negative loss)", parameter="losses")
        return vector


#: From the present state to the next one and what the history says about it.
Change = Callable[[State], tuple[State, list[Entry]]]


def _float_up(amount: Real) -> float:
    """Return a public amount as the float that is not below it."""
    nearest = not_negative("amount", amount)
    return math.nextafter(nearest, math.inf) if isinstance(amount, Fraction) and nearest < amount else nearest


def check_not_mostly_new(new: int, given: int, known: int, *, new_people: bool) -> None:
    """Refuse a table most of whose people are new to a ledger that is not empty: their ids may have changed."""
    if known and 2 * new > given and not new_people:
        raise InvalidInput(
            f"is required: {new} of {given} people are new to a ledger that is not empty",
            parameter="new_people",
            hint="People who are known under other ids would get a second budget.",
        )


def checked_limits(limits: ArrayLike) -> NDArray[np.float64]:
    """Return limits as a read-only vector, or explain what is wrong with them.

    A single number is refused: it would be a ledger of one item where many may have been meant.
    """
    if np.isscalar(limits) or (isinstance(limits, np.ndarray) and limits.ndim == 0):
        raise InvalidInput("must be a vector with one limit per item (got a single value)", parameter="limits")
    vector = float_vector("limits", limits)
    if vector.min() < 0.0:
        raise InvalidInput("must be >= 0 (got a negative limit)", parameter="limits")
    return vector


def checked_items(items: object, size: int | None = None) -> Ids | None:
    """Return labels of items, `size` of them if given, or explain what is wrong with them.

    Labels may be secret, so errors do not show them. Two items under one label could be mistaken for each other, and
    one of them charged in place of the other.
    """
    if items is None:
        return None
    ids = canonical_ids(items, "items")
    if size is not None and len(ids) != size:
        raise InvalidInput(f"must hold one label per item ({size})", parameter="items", got=len(ids))
    if ids.repeated:
        raise InvalidInput(f"must be all different (got {ids.repeated} repeated)", parameter="items")
    return ids


def read_only_copy(vector: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a copy to hand out: whatever is done to it, the ledger keeps what it has recorded."""
    copied = vector.copy()
    copied.flags.writeable = False
    return copied
