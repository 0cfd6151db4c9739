"""What every item has lost so far, what it may lose at most, and whether the next release fits."""

from hetdp.accounting.ledger.ledger import Ledger, LedgerView

__all__ = ["Ledger", "LedgerView"]
