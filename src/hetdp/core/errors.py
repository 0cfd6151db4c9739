"""Every exception and warning of hetdp, in one tree.

.. code-block:: text

    HetdpError
    ├── InvalidInput (ValueError)     a parameter breaks its constraint
    │   └── DataError                 a file, a column or a table is not what it should be
    ├── BudgetExhausted               a ledger refuses a charge; nothing was spent
    ├── LedgerError                   a ledger file is damaged, foreign, locked or read-only
    ├── MissingExtra (ImportError)    a package that only this needs is not installed; the message says how
    └── SimulatedResult               a seeded result was about to be published

    HetdpWarning (UserWarning)
    └── StretchingWarning             stretching is sound here but destroys the answer

No message ever holds a private value, a weight, a shrinkage factor or a true answer.
"""

from hetdp.core.words import counted, several

__all__ = [
    "BudgetExhausted",
    "DataError",
    "HetdpError",
    "HetdpWarning",
    "InvalidInput",
    "LedgerError",
    "MissingExtra",
    "SimulatedResult",
    "StretchingWarning",
]


class HetdpError(Exception):
    """Base of every exception raised on purpose by hetdp."""


class InvalidInput(HetdpError, ValueError):
    """A parameter breaks its constraint; the message names both and what was got."""


class DataError(InvalidInput):
    """A file, a column or a table is not what the command needs."""


class BudgetExhausted(HetdpError):
    """A charge does not fit into the limits of a ledger; nothing was spent.

    The numbers are those of the item with the largest shortfall (or row, or person: what the ledger protects). They
    tell its owner's remaining budget, so treat the message as the owner's, not as something to publish. The item itself
    is not named.

    Attributes
    ----------
    requested, remaining, short_by
        Loss asked for, loss still allowed, and the difference, in the unit of the ledger.
    items
        How many items cannot pay; 0 if it is another account that cannot: that of the weights, or of delta.
    """

    def __init__(
        self,
        *,
        requested: float,
        remaining: float,
        items: int,
        unit: str,
        account: str | None = None,
        protected: str = "item",
    ) -> None:
        self.requested = requested
        self.remaining = remaining
        self.short_by = requested - remaining
        self.items = items
        if account is not None:
            super().__init__(
                f"The privacy budget of {account} is exhausted; nothing was spent ({unit}). Requested: "
                f"{requested:.6g}. Remaining: {remaining:.6g}. Short by: {self.short_by:.6g}. Use a smaller {unit}."
            )
            return
        super().__init__(
            f"The privacy budget is exhausted; nothing was spent. Private, for the owner of the data: "
            f"{counted(items, protected, several(protected))} cannot pay; for the one with the largest shortfall "
            f"({unit}): Requested: {requested:.6g}. Remaining: {remaining:.6g}. Short by: {self.short_by:.6g}. "
            f"Use a smaller epsilon, or drop the spent {several(protected)} for good: on_exhausted='drop' "
            "(--on-exhausted drop)."
        )


class LedgerError(HetdpError):
    """A ledger file cannot be used as it is; it was left untouched."""


class MissingExtra(HetdpError, ImportError):
    """A package that only some of hetdp needs is not installed; the message says how to install it.

    Attributes
    ----------
    extra
        The extra that brings it, as in ``pip install 'hetdp[extra]'``.
    """

    def __init__(self, message: str, *, extra: str = "", name: str | None = None) -> None:
        super().__init__(message, name=name)
        self.extra = extra


class SimulatedResult(HetdpError):
    """A result made with a seed was about to be published; its noise can be recomputed by anyone."""


class HetdpWarning(UserWarning):
    """Base of every warning of hetdp."""


class StretchingWarning(HetdpWarning):
    """Stretching keeps its promise here but leaves nothing of the answer; another mechanism would serve better."""
