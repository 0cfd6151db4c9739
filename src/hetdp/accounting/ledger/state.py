"""The state of a ledger and how one charge changes it, without any storage: values in, new values out.

Everything that callers hand in is checked here, before anything is spent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.composition import UNITS, add_up, rho_of_epsilon
from hetdp.core.checks import float_vector, not_negative, one_of
from hetdp.core.errors import BudgetExhausted, InvalidInput

__all__ = ["Change", "Charge", "Entry", "State", "checked_items", "checked_limits", "read_only_copy"]

#: Sums are rounded up and 0.1 is no binary fraction, so ten charges of 0.1 come to a little over 1.0. A limit
#: gives way by one part in a billion so that they fit; exp(1e-9) is nothing in terms of privacy.
_TOLERANCE = 1e-9
_Scalar = TypeVar("_Scalar", np.float64, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """One release to be paid for; the fields are the parameters of `Ledger.charge`.

    Examples
    --------
    >>> Charge([0.25, 0.05], description="mean", amount=0.5)
    Charge(unit='epsilon', description='mean', amount=0.5, weights_loss=0.0)
    """

    losses: ArrayLike = field(repr=False)
    unit: str = "epsilon"
    description: str = ""
    amount: float | None = None
    weights_loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge in the history of a ledger.

    Attributes
    ----------
    time
        When, in UTC, as ISO 8601.
    description, unit, amount, weights_loss
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

    @classmethod
    def of(cls, charge: Charge, *, dropping: bool) -> "Entry":
        """Return what the history keeps of a charge made now, or explain why it is not a charge."""
        if not isinstance(charge, Charge):
            raise InvalidInput(f"charges must be of type Charge. Got {type(charge).__name__} instead.")
        try:
            charge.description.encode()
        except (AttributeError, UnicodeEncodeError):
            kind = type(charge.description).__name__
            raise InvalidInput(f"description must be a valid text. Got {kind} instead.") from None
        return cls(
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            description=charge.description,
            unit=charge.unit,
            amount=None if charge.amount is None else not_negative("amount", charge.amount),
            weights_loss=not_negative("weights_loss", charge.weights_loss),
            dropping=dropping,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class State:
    """Everything a ledger knows except its history. Vectors are replaced, never written to."""

    unit: str
    items: tuple[str | int, ...] | None
    limits: NDArray[np.float64]
    epsilon: NDArray[np.float64]
    rho: NDArray[np.float64]
    active: NDArray[np.bool_]
    weights_spent: float
    charges: int
    dropping: bool

    def __post_init__(self) -> None:
        for vector in (self.limits, self.epsilon, self.rho, self.active):
            vector.flags.writeable = False

    @classmethod
    def fresh(cls, unit: str, items: tuple[str | int, ...] | None, limits: NDArray[np.float64]) -> "State":
        """Return the state of a ledger that was never charged."""
        nothing = np.zeros(limits.size)
        active = np.ones(limits.size, dtype=np.bool_)
        return cls(unit, items, limits, nothing, nothing, active, weights_spent=0.0, charges=0, dropping=False)

    @property
    def spent(self) -> NDArray[np.float64]:
        """What each item has lost, in the unit of the ledger."""
        return self.epsilon if self.unit == "epsilon" else self.rho

    @property
    def remaining(self) -> NDArray[np.float64]:
        """What each item may still lose, in the unit of the ledger."""
        return np.maximum(self.limits - self.spent, 0.0)

    def affordable(self, losses: ArrayLike, unit: str) -> NDArray[np.bool_]:
        """Return which items could pay `losses`."""
        after = self._after(self._checked(losses, unit), unit)
        return self.active & after._within_limits()  # noqa: SLF001  (same class)

    def pay(self, charge: Charge, *, drop: bool) -> "State":
        """Return the state after one charge, without (`drop`) or with an error about items that cannot pay.

        Inactive items pay nothing, because a release gives them weight 0.
        """
        losses = self._checked(charge.losses, charge.unit)
        weights_loss = self._in_unit(not_negative("weights_loss", charge.weights_loss), charge.unit)
        if not self.active.all():
            losses = np.where(self.active, losses, 0.0)
        paid, active = self._after(losses, charge.unit), self.active
        fits = paid._within_limits()  # noqa: SLF001  (same class)
        if not fits.all():
            if not drop:
                raise self._exhausted(self._in_unit(losses, charge.unit), fits)
            paid, active = self._after(np.where(fits, losses, 0.0), charge.unit), active & fits
        return replace(
            paid,
            active=active,
            weights_spent=float(add_up(self.weights_spent, weights_loss)),
            charges=self.charges + 1,
            dropping=self.dropping or drop,
        )

    def extended(self, limits: NDArray[np.float64], items: Iterable[str | int] | None) -> "State":
        """Return the state with unspent items added at the end, labelled if the others are."""
        if (items is None) != (self.items is None):
            wanted, got = ("omitted", "labels") if self.items is None else ("given", "None")
            raise InvalidInput(f"items must be {wanted}, as when the ledger was made. Got {got} instead.")
        labels = None if items is None else (*(self.items or ()), *(checked_items(items, limits.size) or ()))
        added = State.fresh(self.unit, None, limits)
        return replace(
            self,
            items=checked_items(labels, self.limits.size + limits.size),
            limits=np.concatenate([self.limits, added.limits]),
            epsilon=np.concatenate([self.epsilon, added.epsilon]),
            rho=np.concatenate([self.rho, added.rho]),
            active=np.concatenate([self.active, added.active]),
        )

    def admitting(self, items: tuple[str | int, ...], limit: float | None) -> tuple["State", NDArray[np.intp]]:
        """Return the state with the unknown ones among some items added at the end, and the place of each item."""
        places = {label: place for place, label in enumerate(self.items or ())}
        new = [label for label in items if label not in places]
        if new and limit is None:
            raise InvalidInput(f"items must be known to the ledger. Got {len(new)} unknown ones instead.")
        places |= {label: place for place, label in enumerate(new, self.limits.size)}
        state = self.extended(checked_limits(np.full(len(new), limit)), new) if new else self
        return state, np.array([places[label] for label in items], dtype=np.intp)

    def _after(self, losses: NDArray[np.float64], unit: str) -> "State":
        if unit == "epsilon":
            epsilon, rho = add_up(self.epsilon, losses), add_up(self.rho, rho_of_epsilon(losses))
        else:
            epsilon, rho = np.where(losses > 0.0, np.inf, self.epsilon), add_up(self.rho, losses)
        return replace(self, epsilon=epsilon, rho=rho)

    def _within_limits(self) -> NDArray[np.bool_]:
        with np.errstate(over="ignore"):  # a limit near the largest float is no limit
            return self.spent <= self.limits * (1.0 + _TOLERANCE)

    def _in_unit(self, losses: ArrayLike, unit: str) -> NDArray[np.float64]:
        return np.asarray(losses) if unit == self.unit else rho_of_epsilon(losses)

    def _exhausted(self, costs: NDArray[np.float64], fits: NDArray[np.bool_]) -> BudgetExhausted:
        remaining = self.remaining
        worst = int(np.argmax(np.where(fits, -np.inf, costs - remaining)))
        return BudgetExhausted(
            requested=float(costs[worst]),
            remaining=float(remaining[worst]),
            items=int(np.count_nonzero(~fits)),
            unit=self.unit,
        )

    def _checked(self, losses: ArrayLike, unit: str) -> NDArray[np.float64]:
        if one_of("unit", unit, UNITS) == "rho" and self.unit == "epsilon":
            raise InvalidInput(
                "unit must be 'epsilon' on an epsilon ledger, for no finite epsilon covers a zCDP loss. "
                "Got 'rho' instead. Open a ledger with unit='rho' for Gaussian releases."
            )
        vector = float_vector("losses", losses)
        if vector.size != self.limits.size:
            raise InvalidInput(f"losses must hold one loss per item ({self.limits.size}). Got {vector.size} instead.")
        if vector.min() < 0.0:
            raise InvalidInput("losses must be >= 0. Got a negative loss instead.")
        return vector


#: From the present state to the next one and what the history says about it.
Change = Callable[[State], tuple[State, list[Entry]]]


def checked_limits(limits: ArrayLike) -> NDArray[np.float64]:
    """Return limits as a read-only vector, or explain what is wrong with them.

    A single number is refused: it would be a ledger of one item where many may have been meant.
    """
    if np.isscalar(limits) or (isinstance(limits, np.ndarray) and limits.ndim == 0):
        raise InvalidInput("limits must be a vector with one limit per item. Got a single value instead.")
    vector = float_vector("limits", limits)
    if vector.min() < 0.0:
        raise InvalidInput("limits must be >= 0. Got a negative limit instead.")
    return vector


def checked_items(items: Iterable[str | int] | None, size: int | None = None) -> tuple[str | int, ...] | None:
    """Return labels of items, `size` of them if given, or explain what is wrong with them.

    Labels may be secret, so errors do not show them. Two items under one label could be mistaken for each other, and
    one of them charged in place of the other.
    """
    if items is None:
        return None
    if isinstance(items, str):
        raise InvalidInput("items must be a sequence of labels. Got a single text instead.")
    labels = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    if any(isinstance(label, bool) or not isinstance(label, str | int) for label in labels):
        raise InvalidInput("items must be labels of type str or int. Got another type instead.")
    if size is not None and len(labels) != size:
        raise InvalidInput(f"items must hold one label per item ({size}). Got {len(labels)} instead.")
    if len(set(labels)) != len(labels):
        raise InvalidInput(f"items must be all different. Got {len(labels) - len(set(labels))} repeated instead.")
    return labels


def read_only_copy(vector: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a copy to hand out: whatever is done to it, the ledger keeps what it has recorded."""
    copied = vector.copy()
    copied.flags.writeable = False
    return copied
