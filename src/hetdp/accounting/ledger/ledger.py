"""The ledger: what every item has lost so far, what it may lose at most, and whether the next release fits.

Check all, then commit, then release: a charge is recorded before the value it pays for exists. Sums are
rounded up, so a crash or a rounding error can only make the ledger count too much.
"""

import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.composition import UNITS, epsilon_delta_of_rho, group_loss
from hetdp.accounting.ledger.file import LedgerFile, is_there, resolved
from hetdp.accounting.ledger.state import (
    Change,
    Charge,
    Entry,
    State,
    checked_items,
    checked_limits,
    read_only_copy,
)
from hetdp.core.checks import float_vector, one_of, whole
from hetdp.core.errors import InvalidInput, LedgerError
from hetdp.core.words import counted

__all__ = ["Charge", "Chargeable", "Entry", "Ledger", "LedgerReport", "LedgerView"]

_ON_EXHAUSTED = ("raise", "drop")


class Chargeable(Protocol):
    """What a release needs of a ledger."""

    def charge(
        self, losses: ArrayLike, *, unit: str, description: str, amount: float, weights_loss: float
    ) -> NDArray[np.bool_]:
        """Charge every item its loss, all or nothing, and return which items still count."""


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


class Ledger:
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
    lazy
        True to make a missing file with the first charge, so that a refused one leaves none behind.

    Privacy
    -------
    Losses add up per item (sequential composition), so an item never loses more than its limit, give or take
    one part in a billion: that tolerance lets ten charges of 0.1 fit into 1.0. The bound holds against one
    adversary who sees every release charged here. `limits`, `spent`, `remaining` and `active` depend on the
    secret weights: they are for the owner's eyes. Two threads, or a process and its fork, can never spend the
    same budget. Restoring an old copy of the file forgets losses; nothing can detect that.

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
        lazy: bool = False,
    ) -> None:
        checked = checked_limits(limits)
        one_of("on_exhausted", on_exhausted, _ON_EXHAUSTED)
        state = State.fresh(one_of("unit", unit, UNITS), checked_items(items, checked.size), checked)
        if path is None:
            self._start(_Memory(state), None, on_exhausted)
            return
        place = resolved(path)
        if not is_there(place):
            if lazy:
                self._start(LedgerFile(place, make=state), place, on_exhausted)
                return
            LedgerFile.create(place, state, [])
        file = LedgerFile(place)
        try:
            _refuse_other(file.read(), state, place)
        except BaseException:
            file.close()
            raise
        self._start(file, place, on_exhausted)

    @classmethod
    def open(cls, path: str | os.PathLike[str], on_exhausted: str = "raise") -> Self:
        """Open the file of an existing ledger, with the limits, unit and items stored in it.

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
        if not is_there(place):
            raise LedgerError(f"The ledger file {place} does not exist. Make it with Ledger(limits=..., path=...).")
        ledger = cls.__new__(cls)
        ledger._start(LedgerFile(place), place, on_exhausted)  # noqa: SLF001  (the second constructor)
        return ledger

    def _start(self, store: "_Store", path: Path | None, on_exhausted: str) -> None:
        self.path = path
        self._drop = on_exhausted == "drop"
        self._store: _Store | None = store
        self._lock = threading.RLock()
        self._charging = False
        _all.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger; it answers nothing from then on. Closing twice is harmless.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0])
        >>> ledger.close()
        >>> ledger
        Ledger(closed or unreadable, in memory)
        """
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()

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
        """Whether items are dropped that cannot pay, by this ledger or by an earlier charge to it. Public."""
        return self._drop or self._read().dropping

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
                entries.append(Entry.of(charge, dropping=self._drop))
                state = state.pay(charge, drop=self._drop)
                keeps.append(state.active.view())  # of a read-only array that all charges without a drop share
            return state, entries

        self._update(pay_all)
        return keeps

    def view(self, items: Iterable[str | int], *, limit: float | None = None) -> "LedgerView":
        """Return some items of this ledger, in an order of one's own: for tables whose rows come and go.

        Parameters
        ----------
        items
            Labels, in the order of the table at hand; the ledger must have labels.
        limit
            The most that items new to the ledger may ever lose. They are added when the view is charged, in the same
            transaction: either they are added and charged, or nothing happens. Without it, new items are refused.

        Privacy
        -------
        Items that are not named pay nothing: they are not in the table. New ones must be new: no earlier release may
        have used them under another label.

        Examples
        --------
        >>> ledger = Ledger(limits=[1, 1, 1], items=["ann", "bob", "cem"])
        >>> view = ledger.view(["dee", "ann"], limit=3)
        >>> view.charge([0.5, 0.25], description="mean", amount=0.5)
        array([ True,  True])
        >>> ledger.items, ledger.spent
        (('ann', 'bob', 'cem', 'dee'), array([0.25, 0.  , 0.  , 0.5 ]))
        """
        return LedgerView(self, items, limit)

    def preview(self, losses: ArrayLike, *, unit: str = "epsilon") -> NDArray[np.bool_]:
        """Return which items could pay such a charge. Spends nothing; the answer is for the owner's eyes.

        Examples
        --------
        >>> Ledger(limits=[1.0, 0.1]).preview([0.5, 0.5])
        array([ True, False])
        """
        return self._read().affordable(losses, unit)

    def group_spent(self, group: Iterable[int]) -> float:
        """Return what a group of items, given by positions, has lost if all of them may change at once.

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

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0])
        >>> _ = ledger.charge([0.5])
        >>> ledger.report(delta=1e-6).rho
        array([0.125])
        """
        state = self._read()
        # Either bound on epsilon holds by itself, so the smaller one holds too.
        converted = np.minimum(state.epsilon, epsilon_delta_of_rho(state.rho, delta))
        return LedgerReport(
            read_only_copy(state.epsilon), read_only_copy(state.rho), read_only_copy(converted), float(delta)
        )

    def extend(self, limits: ArrayLike, *, items: Sequence[str | int] | None = None) -> None:
        """Add items at the end, with nothing spent.

        Only for items that no earlier release has used; labels, if there are any, must be new.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0], items=["diary"])
        >>> ledger.extend([2.0], items=["recipes"])
        >>> ledger.items, ledger.limits
        (('diary', 'recipes'), array([1., 2.]))
        """
        added = checked_limits(limits)
        self._update(lambda state: (state.extended(added, items), []))

    @contextmanager
    def _opened(self) -> Iterator["_Store"]:
        with self._lock:
            if self._charging:
                raise LedgerError("The ledger cannot be used while it reads the charges given to charge_all.")
            if self._store is None:
                raise LedgerError("The ledger is closed. Open a durable one again with Ledger.open(path).")
            yield self._store

    def _read(self) -> State:
        with self._opened() as store:
            return store.read()

    def _update(self, change: Change) -> None:
        with self._opened() as store:
            self._charging = True
            try:
                store.update(change)
            finally:
                self._charging = False

    def _after_fork(self) -> None:
        # Another thread of the parent may have held the lock; that thread does not exist here.
        self._lock = threading.RLock()
        self._charging = False
        if self._store is not None:
            self._store.abandon()


class LedgerView:
    """Some items of a ledger, in the given order; charging the view charges the ledger. Made by `Ledger.view`."""

    def __init__(self, ledger: Ledger, items: Iterable[str | int], limit: float | None) -> None:
        self._ledger = ledger
        self._items = checked_items(items) or ()
        self._limit = limit
        self._seen()  # unknown items are refused at once

    def charge(
        self,
        losses: ArrayLike,
        *,
        unit: str = "epsilon",
        description: str = "",
        amount: float | None = None,
        weights_loss: float = 0.0,
    ) -> NDArray[np.bool_]:
        """Charge these items, and add those that are new to the ledger; see `Ledger.charge`."""
        charge = Charge(losses, unit, description, amount, weights_loss)
        keeps: list[NDArray[np.bool_]] = []

        def pay(before: State) -> tuple[State, list[Entry]]:
            drop = self._ledger._drop  # noqa: SLF001  (same module)
            state, places = before.admitting(self._items, self._limit)
            everyone = replace(charge, losses=_spread(losses, places, state.limits.size))
            state = state.pay(everyone, drop=drop)
            keeps.append(state.active[places])
            return state, [Entry.of(charge, dropping=drop)]

        self._ledger._update(pay)  # noqa: SLF001  (same module)
        return keeps[0]

    def preview(self, losses: ArrayLike, *, unit: str = "epsilon") -> NDArray[np.bool_]:
        """Return which of these items could pay such a charge; see `Ledger.preview`."""
        state, places = self._seen()
        return state.affordable(_spread(losses, places, state.limits.size), unit)[places]

    @property
    def active(self) -> NDArray[np.bool_]:
        """False for items dropped because they could not pay. For the owner's eyes only."""
        state, places = self._seen()
        return state.active[places]

    @property
    def drops(self) -> bool:
        """Whether items may have been dropped; see `Ledger.drops`. Public."""
        return self._ledger.drops

    @property
    def new(self) -> int:
        """How many of these items the ledger does not know yet."""
        known = self._ledger._read()  # noqa: SLF001  (same module)
        return known.admitting(self._items, self._limit)[0].limits.size - known.limits.size

    def _seen(self) -> tuple[State, NDArray[np.intp]]:
        return self._ledger._read().admitting(self._items, self._limit)  # noqa: SLF001  (same module)


def _spread(losses: ArrayLike, places: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    vector = float_vector("losses", losses)
    if vector.size != places.size:
        raise InvalidInput(f"losses must hold one loss per item ({places.size}). Got {vector.size} instead.")
    everyone = np.zeros(size)
    everyone[places] = vector
    return everyone


class _Store(Protocol):
    """Where a ledger keeps its state; `LedgerFile` says what each method promises."""

    def read(self) -> State: ...

    def history(self) -> tuple[Entry, ...]: ...

    def update(self, change: Change) -> None: ...

    def abandon(self) -> None: ...

    def close(self) -> None: ...


class _Memory:
    """The state and history of a ledger that lives as long as its process.

    A forked process has a copy that its parent knows nothing of, so it may read but not charge.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._history: list[Entry] = []
        self._inherited = False

    def read(self) -> State:
        return self._state

    def history(self) -> tuple[Entry, ...]:
        return tuple(self._history)

    def update(self, change: Change) -> None:
        state, entries = change(self._state)
        if self._inherited:
            raise LedgerError(
                "A ledger in memory cannot be charged in a forked process: its parent would not know. "
                "Give the ledger a path to share it."
            )
        self._state = state
        self._history += entries

    def abandon(self) -> None:
        self._inherited = True

    def close(self) -> None:
        """There is nothing to let go of."""


def _refuse_other(stored: State, given: State, path: Path) -> None:
    """Refuse a stored ledger that is not the one asked for: lower limits must not turn into higher ones."""
    same = {
        "limits": np.array_equal(stored.limits, given.limits),
        "unit": stored.unit == given.unit,
        "items": stored.items == given.items,
    }
    for name, equal in same.items():
        if not equal:
            raise InvalidInput(
                f"{name} must be the same as in the ledger file {path.name}. Got other {name} instead. "
                "Use Ledger.open(path) to take them from the file."
            )


_all: weakref.WeakSet[Ledger] = weakref.WeakSet()


def _after_fork() -> None:
    for ledger in tuple(_all):
        ledger._after_fork()  # noqa: SLF001  (same module)


os.register_at_fork(after_in_child=_after_fork)
