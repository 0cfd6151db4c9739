"""The state of a ledger and how one charge changes it, without any storage: values in, new values out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.composition import UNITS, add_up, rho_of_epsilon
from hetdp.core.checks import float_vector, not_negative, one_of
from hetdp.core.errors import BudgetExhausted, InvalidInput

__all__ = ["Change", "Charge", "Entry", "State", "read_only_copy"]

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

    Examples
    --------
    >>> Entry("2026-01-01T00:00:00+00:00", "mean", "epsilon", 0.5, 0.5).amount
    0.5
    """

    time: str
    description: str
    unit: str
    amount: float | None
    weights_loss: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class State:
    """Everything a ledger knows except its history. Vectors are replaced, never written to.

    Examples
    --------
    >>> import numpy as np
    >>> State.fresh("epsilon", None, np.array([1.0, 0.25])).remaining
    array([1.  , 0.25])
    """

    unit: str
    items: tuple[str | int, ...] | None
    limits: NDArray[np.float64]
    epsilon: NDArray[np.float64]
    rho: NDArray[np.float64]
    active: NDArray[np.bool_]
    weights_spent: float
    charges: int

    def __post_init__(self) -> None:
        for vector in (self.limits, self.epsilon, self.rho, self.active):
            vector.flags.writeable = False

    @classmethod
    def fresh(cls, unit: str, items: tuple[str | int, ...] | None, limits: NDArray[np.float64]) -> "State":
        """Return the state of a ledger that was never charged.

        Examples
        --------
        >>> import numpy as np
        >>> State.fresh("rho", ("diary",), np.array([1.0])).rho
        array([0.])
        """
        nothing = np.zeros(limits.size)
        return cls(unit, items, limits, nothing, nothing, np.ones(limits.size, dtype=np.bool_), 0.0, 0)

    @property
    def spent(self) -> NDArray[np.float64]:
        """What each item has lost, in the unit of the ledger."""
        return self.epsilon if self.unit == "epsilon" else self.rho

    @property
    def remaining(self) -> NDArray[np.float64]:
        """What each item may still lose, in the unit of the ledger."""
        return np.maximum(self.limits - self.spent, 0.0)

    def affordable(self, losses: ArrayLike, unit: str) -> NDArray[np.bool_]:
        """Return which items could pay `losses`.

        Privacy
        -------
        An item can pay as long as its total stays within its limit, give or take one part in a billion.

        Examples
        --------
        >>> import numpy as np
        >>> State.fresh("epsilon", None, np.array([1.0, 0.25])).affordable([0.5, 0.5], "epsilon")
        array([ True, False])
        """
        after = self._after(self._checked(losses, unit), unit)
        return self.active & after._within_limits()  # noqa: SLF001  (same class)

    def pay(self, charge: Charge, *, drop: bool) -> "State":
        """Return the state after one charge, without (`drop`) or with an error about items that cannot pay.

        Privacy
        -------
        Inactive items pay nothing, because a release gives them weight 0.

        Examples
        --------
        >>> import numpy as np
        >>> state = State.fresh("epsilon", None, np.array([1.0, 0.25]))
        >>> state.pay(Charge([0.5, 0.5]), drop=True).spent
        array([0.5, 0. ])
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
        weights_spent = float(add_up(self.weights_spent, weights_loss))
        return replace(paid, active=active, weights_spent=weights_spent, charges=self.charges + 1)

    def extended(self, limits: NDArray[np.float64], items: tuple[str | int, ...] | None) -> "State":
        """Return the state with items added at the end; `items` are the labels of all, old and new.

        Privacy
        -------
        The new items have spent nothing, the old ones what they had.

        Examples
        --------
        >>> import numpy as np
        >>> State.fresh("epsilon", None, np.array([1.0])).extended(np.array([2.0]), None).limits
        array([1., 2.])
        """
        added = State.fresh(self.unit, items, limits)
        return replace(
            self,
            items=items,
            limits=np.concatenate([self.limits, added.limits]),
            epsilon=np.concatenate([self.epsilon, added.epsilon]),
            rho=np.concatenate([self.rho, added.rho]),
            active=np.concatenate([self.active, added.active]),
        )

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


def read_only_copy(vector: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a copy to hand out.

    Privacy
    -------
    Whatever is done to the copy, the ledger keeps what it has recorded.

    Examples
    --------
    >>> read_only_copy(np.array([0.5])).flags.writeable
    False
    """
    copied = vector.copy()
    copied.flags.writeable = False
    return copied
