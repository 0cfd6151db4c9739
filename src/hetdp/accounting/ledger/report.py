"""The losses in a ledger, told in three currencies."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import epsilon_delta_of_rho
from hetdp.accounting.ledger.state import State, read_only_copy
from hetdp.core.words import counted

__all__ = ["LedgerReport", "report_of"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LedgerReport:
    """The loss of every item so far, in three currencies.

    Attributes
    ----------
    epsilon
        Pure loss; infinite where a zCDP (Gaussian) charge was made.
    rho
        zCDP loss.
    epsilon_delta
        The epsilon of (epsilon, delta)-differential privacy: the smaller of `epsilon` and the converted `rho`.
    delta
        Probability with which the promise of `epsilon_delta` may fail.

    Privacy
    -------
    Per item and against everybody who has seen all releases. The owner's eyes only; `repr` shows only counts.

    Examples
    --------
    >>> from hetdp.accounting.ledger.ledger import Ledger
    >>> ledger = Ledger(limits=[1.0, 1.0], unit="rho")
    >>> _ = ledger.charge([0.1, 0.0], unit="rho")
    >>> report = ledger.report(delta=1e-6)
    >>> report
    LedgerReport(2 items, delta=1e-06)
    >>> report.epsilon, report.epsilon_delta.round(2)
    (array([inf,  0.]), array([2.14, 0.  ]))
    """

    epsilon: NDArray[np.float64]
    rho: NDArray[np.float64]
    epsilon_delta: NDArray[np.float64]
    delta: float

    def __repr__(self) -> str:
        return f"LedgerReport({counted(self.epsilon.size, 'item')}, delta={self.delta:g})"


def report_of(state: State, delta: float) -> LedgerReport:
    """Return the report of a state.

    Privacy
    -------
    Either bound on epsilon holds by itself, so the smaller one holds too.

    Examples
    --------
    >>> report_of(State.fresh("rho", None, np.array([1.0])), delta=1e-6).epsilon_delta
    array([0.])
    """
    converted = np.minimum(state.epsilon, epsilon_delta_of_rho(state.rho, delta))
    return LedgerReport(
        read_only_copy(state.epsilon), read_only_copy(state.rho), read_only_copy(converted), float(delta)
    )
