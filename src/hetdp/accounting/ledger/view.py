"""Some items of a ledger, in an order of one's own: for tables whose rows come and go."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.ledger.ledger import Ledger
from hetdp.core.errors import InvalidInput

__all__ = ["Chargeable", "LedgerView"]


class Chargeable(Protocol):
    """What a release needs of a ledger."""

    def charge(
        self, losses: ArrayLike, *, unit: str, description: str, amount: float, weights_loss: float
    ) -> NDArray[np.bool_]:
        """Charge every item its loss, all or nothing, and return which items still count."""


class LedgerView:
    """The named items of a ledger, in the given order; charging the view charges the ledger.

    Parameters
    ----------
    ledger
        A ledger with named items.
    items
        Which of them, in the order of the table at hand.

    Privacy
    -------
    Items that are not named pay nothing: they are not in the table.

    Examples
    --------
    >>> ledger = Ledger(limits=[1, 1, 1], items=["ann", "bob", "cem"])
    >>> view = LedgerView(ledger, ["cem", "ann"])
    >>> view.charge([0.5, 0.25], unit="epsilon", description="mean", amount=0.5, weights_loss=0.5)
    array([ True,  True])
    >>> ledger.spent
    array([0.25, 0.  , 0.5 ])
    """

    def __init__(self, ledger: Ledger, items: Sequence[str]) -> None:
        places = {label: place for place, label in enumerate(ledger.items or ())}
        missing = sum(label not in places for label in items)
        if missing:
            raise InvalidInput(f"items must be known to the ledger. Got {missing} unknown ones instead.")
        if len(set(items)) != len(items):
            raise InvalidInput(f"items must be all different. Got {len(items) - len(set(items))} repeated instead.")
        self._ledger = ledger
        self._places = np.array([places[label] for label in items], dtype=np.intp)

    def charge(
        self, losses: ArrayLike, *, unit: str, description: str, amount: float, weights_loss: float
    ) -> NDArray[np.bool_]:
        """Charge the named items; see `Ledger.charge`.

        Privacy
        -------
        As for the ledger: checked first, then committed, then returned.
        """
        keep = self._ledger.charge(
            self._spread(losses), unit=unit, description=description, amount=amount, weights_loss=weights_loss
        )
        return keep[self._places]

    def preview(self, losses: ArrayLike, *, unit: str) -> NDArray[np.bool_]:
        """Return which of the named items could pay; see `Ledger.preview`.

        Privacy
        -------
        Spends nothing.
        """
        return self._ledger.preview(self._spread(losses), unit=unit)[self._places]

    @property
    def remaining(self) -> NDArray[np.float64]:
        """What each named item may still lose; without end for a dropped one, which pays nothing. The owner's."""
        left = np.where(self._ledger.active, self._ledger.remaining, np.finfo(np.float64).max)
        return left[self._places]

    @property
    def drops(self) -> bool:
        """Whether items may have been dropped; see `Ledger.drops`. Public."""
        return self._ledger.drops

    @property
    def active(self) -> NDArray[np.bool_]:
        """False for items dropped because they could not pay. The owner's."""
        return self._ledger.active[self._places]

    def _spread(self, losses: ArrayLike) -> NDArray[np.float64]:
        everyone = np.zeros(self._ledger.size)
        everyone[self._places] = losses
        return everyone
