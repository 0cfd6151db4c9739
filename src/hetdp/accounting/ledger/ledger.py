"""The ledger: what every item has lost so far, what it may lose at most, and whether the next release fits.

Check all, then commit, then release: a charge is recorded before the value it pays for exists. Sums are
rounded up, so a crash or a rounding error can only make the ledger count too much.
"""

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.composition import UNITS, group_loss
from hetdp.accounting.ledger.access import StoreAccess
from hetdp.accounting.ledger.arguments import checked_items, checked_limits, entry_of, refuse_other, resolved
from hetdp.accounting.ledger.file import LedgerFile, identity
from hetdp.accounting.ledger.memory import Memory, Store
from hetdp.accounting.ledger.report import LedgerReport, report_of
from hetdp.accounting.ledger.state import Charge, Entry, State, read_only_copy
from hetdp.core.checks import one_of, whole
from hetdp.core.errors import InvalidInput, LedgerError
from hetdp.core.words import counted

__all__ = ["Charge", "Entry", "Ledger", "LedgerReport"]

_ON_EXHAUSTED = ("raise", "drop")
#: At the end of the description of a charge that drops items; that it does is public, whom it drops is not.
_DROPPING = " (dropping)"


class Ledger(StoreAccess):
    """A privacy budget per item, in memory or in a file that survives crashes and is shared by processes.

    Parameters
    ----------
    limits
        The most that each item may ever lose, >= 0, in `unit`.
    path
        File of a durable ledger, created if missing. If it exists, limits, unit and items must be those
        stored in it; `Ledger.open` takes them from the file. It needs a local disk: SQLite's log does not
        work over NFS.
    unit
        "epsilon" (pure) or "rho" (zCDP). A pure charge e costs e^2/2 on a rho ledger; a rho charge on an
        epsilon ledger is refused, for no finite epsilon covers it.
    on_exhausted
        "raise" refuses a charge that some item cannot pay. "drop" goes on without such items: they count with
        weight 0 and are charged nothing, from then on and for good.
    items
        Optional labels, str or int, one per item and all different.

    Privacy
    -------
    Losses add up per item (sequential composition), so an item never loses more than its limit, give or take
    one part in a billion: that tolerance lets ten charges of 0.1 fit into 1.0. The bound holds against one
    adversary who sees every release charged here. `limits`, `spent`, `remaining` and `active` depend on the
    secret weights: they are for the owner's eyes. Restoring an old copy of the file forgets losses; nothing
    can detect that.

    Examples
    --------
    >>> ledger = Ledger(limits=[1.0, 1.0, 1.0])
    >>> ledger.charge([0.25, 0.125, 0.05], description="mean", amount=0.5, weights_loss=0.5)
    array([ True,  True,  True])
    >>> ledger.spent
    array([0.25 , 0.125, 0.05 ])
    >>> ledger
    Ledger(3 items, unit epsilon, 1 charge, in memory)
    """

    def __init__(
        self,
        limits: ArrayLike,
        path: str | os.PathLike[str] | None = None,
        *,
        unit: str = "epsilon",
        on_exhausted: str = "raise",
        items: Sequence[str | int] | None = None,
    ) -> None:
        checked = checked_limits(limits)
        one_of("on_exhausted", on_exhausted, _ON_EXHAUSTED)
        state = State.fresh(one_of("unit", unit, UNITS), checked_items(items, checked.size), checked)
        if path is None:
            self._start(Memory(state), None, on_exhausted)
            return
        place = resolved(path)
        if identity(place) is None:
            LedgerFile.create(place, state)
        file = LedgerFile(place)
        try:
            refuse_other(file.read(), state, place)
        except BaseException:
            file.close()
            raise
        self._start(file, place, on_exhausted)

    @classmethod
    def open(cls, path: str | os.PathLike[str], on_exhausted: str = "raise") -> Self:
        """Open the file of an existing ledger, with the limits, unit and items stored in it.

        Privacy
        -------
        Never makes a new file: a mistyped name must not look like an unspent budget.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Ledger(limits=[1.0], path=f"{folder}/ledger.db").close()
        ...     with Ledger.open(f"{folder}/ledger.db") as ledger:
        ...         ledger
        Ledger(1 item, unit epsilon, no charges, file ledger.db)
        """
        one_of("on_exhausted", on_exhausted, _ON_EXHAUSTED)
        place = resolved(path)
        if identity(place) is None:
            raise LedgerError(f"The ledger file {place} does not exist. Make it with Ledger(limits=..., path=...).")
        ledger = cls.__new__(cls)
        ledger._start(LedgerFile(place), place, on_exhausted)  # noqa: SLF001  (the second constructor)
        return ledger

    def _start(self, store: Store, path: Path | None, on_exhausted: str) -> None:
        self.path = path
        self._drop = on_exhausted == "drop"
        super().__init__(store)

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else f"file {self.path.name}"
        try:
            state = self._read()
        except LedgerError:
            return f"Ledger(closed or unreadable, {place})"
        items, charges = counted(state.limits.size, "item"), counted(state.charges, "charge")
        return f"Ledger({items}, unit {state.unit}, {charges}, {place})"

    def __reduce__(self) -> tuple[object, ...]:
        if self.path is None:
            message = "a ledger in memory cannot be copied or pickled: each copy could spend the same budget"
            raise TypeError(message)
        return type(self).open, (self.path, _ON_EXHAUSTED[self._drop])

    @property
    def size(self) -> int:
        """How many items there are."""
        return self._read().limits.size

    @property
    def unit(self) -> str:
        """Unit of limits and losses: "epsilon" or "rho"."""
        return self._read().unit

    @property
    def items(self) -> tuple[str | int, ...] | None:
        """Labels of the items, if they were given."""
        return self._read().items

    @property
    def limits(self) -> NDArray[np.float64]:
        """The most each item may lose (read-only). For the owner's eyes only."""
        return read_only_copy(self._read().limits)

    @property
    def spent(self) -> NDArray[np.float64]:
        """What each item has lost so far (read-only). For the owner's eyes only."""
        return read_only_copy(self._read().spent)

    @property
    def remaining(self) -> NDArray[np.float64]:
        """What each item may still lose (read-only). For the owner's eyes only."""
        return read_only_copy(self._read().remaining)

    @property
    def active(self) -> NDArray[np.bool_]:
        """False for items dropped because they could not pay (read-only). For the owner's eyes only."""
        return read_only_copy(self._read().active)

    @property
    def drops(self) -> bool:
        """Whether items may have been dropped: it was charged with on_exhausted="drop" at some time. Public."""
        return any(entry.description.endswith(_DROPPING) for entry in self.history)

    @property
    def weights_spent(self) -> float:
        """What each weight has lost by being used: the sum of `weights_loss`, in the unit of the ledger."""
        return self._read().weights_spent

    @property
    def history(self) -> tuple[Entry, ...]:
        """Every charge so far, oldest first, without anything about single items."""
        with self._opened() as store:
            return store.history()

    def charge(
        self,
        losses: ArrayLike,
        *,
        unit: str = "epsilon",
        description: str = "",
        amount: float | None = None,
        weights_loss: float = 0.0,
    ) -> NDArray[np.bool_]:
        """Charge one release; to be called before its value is made known to anybody.

        Parameters
        ----------
        losses
            What each item loses, >= 0: its realised loss S_i/scale, or rho_i for Gaussian noise.
        unit
            Unit of `losses`, `amount` and `weights_loss`.
        description, amount
            For the history: the query, and the public epsilon or rho of the release.
        weights_loss
            What each weight loses: weights are secret too; a release reveals up to its epsilon about each.

        Returns
        -------
        array of bool
            True for the items that paid. The release must give the others weight 0.

        Raises
        ------
        BudgetExhausted
            With on_exhausted="raise", if some item cannot pay. Nothing is spent.

        Privacy
        -------
        Returns only after the charge is recorded, so a crash can lose a release but never its cost.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0, 0.1], on_exhausted="drop")
        >>> ledger.charge([0.5, 0.5])
        array([ True, False])
        >>> ledger.spent
        array([0.5, 0. ])
        """
        return self.charge_all([Charge(losses, unit, description, amount, weights_loss)])[0]

    def charge_all(self, charges: Iterable[Charge]) -> list[NDArray[np.bool_]]:
        """Charge many releases in one transaction; one answer of `charge` for each.

        The iterable is read once, one charge at a time, so a generator keeps memory small. Other processes
        wait meanwhile. The ledger itself cannot be used from within the iterable.

        Raises
        ------
        BudgetExhausted
            With on_exhausted="raise", if the charges do not all fit one after the other. Nothing is spent.

        Privacy
        -------
        All or nothing.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0, 1.0])
        >>> keeps = ledger.charge_all(Charge([0.1, 0.05], description="mean") for _ in range(10))
        >>> len(keeps), ledger.remaining
        (10, array([0. , 0.5]))
        """
        keeps: list[NDArray[np.bool_]] = []

        def pay_all(state: State) -> tuple[State, list[Entry]]:
            entries = []
            for charge in charges:
                entry = entry_of(charge)
                if self._drop:
                    entry = dataclasses.replace(entry, description=entry.description + _DROPPING)
                entries.append(entry)
                state = state.pay(charge, drop=self._drop)
                keeps.append(state.active.view())  # of a read-only array that all charges without a drop share
            return state, entries

        self._update(pay_all)
        return keeps

    def preview(self, losses: ArrayLike, *, unit: str = "epsilon") -> NDArray[np.bool_]:
        """Return which items could pay such a charge.

        Privacy
        -------
        Spends nothing. The answer is for the owner's eyes.

        Examples
        --------
        >>> Ledger(limits=[1.0, 0.1]).preview([0.5, 0.5])
        array([ True, False])
        """
        return self._read().affordable(losses, unit)

    def group_spent(self, group: Iterable[int]) -> float:
        """Return what a group of items, given by positions, has lost if all of them may change at once.

        Privacy
        -------
        Pure losses add up over the group; for rho their square roots do, see `composition.group_loss`.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0, 1.0, 1.0])
        >>> _ = ledger.charge([0.25, 0.125, 0.05])
        >>> ledger.group_spent([0, 1])
        0.375
        """
        state = self._read()
        positions = sorted({whole("group", position, minimum=0) for position in group})
        if positions and positions[-1] >= state.limits.size:
            raise InvalidInput(f"group must hold positions below {state.limits.size}. Got {positions[-1]} instead.")
        return group_loss(state.spent[positions], state.unit)

    def report(self, delta: float = 1e-6) -> LedgerReport:
        """Return the losses so far in pure epsilon, in zCDP, and as (epsilon, delta).

        Privacy
        -------
        Spends nothing. See `LedgerReport` for what the numbers promise.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0])
        >>> _ = ledger.charge([0.5])
        >>> ledger.report(delta=1e-6).rho
        array([0.125])
        """
        return report_of(self._read(), delta)

    def extend(self, limits: ArrayLike, *, items: Sequence[str | int] | None = None) -> None:
        """Add items at the end, with nothing spent.

        Privacy
        -------
        Only for items that no earlier release has used; labels, if there are any, must be new.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0], items=["diary"])
        >>> ledger.extend([2.0], items=["recipes"])
        >>> ledger.items, ledger.limits
        (('diary', 'recipes'), array([1., 2.]))
        """
        added = checked_limits(limits)

        def lengthen(state: State) -> tuple[State, list[Entry]]:
            if (items is None) != (state.items is None):
                wanted, got = ("omitted", "labels") if state.items is None else ("given", "None")
                raise InvalidInput(f"items must be {wanted}, as when the ledger was made. Got {got} instead.")
            labels = None if items is None else (*(state.items or ()), *(checked_items(items, added.size) or ()))
            labels = checked_items(labels, state.limits.size + added.size)
            return state.extended(added, labels), []

        self._update(lengthen)
