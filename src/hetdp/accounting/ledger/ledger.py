"""The ledger: what every item has lost so far, what it may lose at most, and whether the next release fits.

Check all, then commit, then release: a charge is recorded before the value it pays for exists. Losses are
rounded up, so a crash or a rounding error can only make the ledger count too much.
"""

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetdp.accounting.composition import (
    ADDED,
    DELTA_STEPS,
    UNITS,
    delta_steps,
    epsilon_delta_of_rho,
    loss_of,
    losses_of,
    steps_down,
    steps_of,
)
from hetdp.accounting.label import Label, LabelOptions
from hetdp.accounting.ledger.accounts import Accounts, Totals
from hetdp.accounting.ledger.file import LedgerFile, is_there, resolved
from hetdp.accounting.ledger.identity import Ids
from hetdp.accounting.ledger.rollcall import (
    AllowedDials,
    Batches,
    PeoplePreview,
    RollCall,
    call_roll,
    checked_dials,
)
from hetdp.accounting.ledger.state import (
    Change,
    Charge,
    Entry,
    State,
    checked_items,
    checked_limits,
    read_only_copy,
)
from hetdp.core.checks import Real, float_vector, not_negative, one_of, whole
from hetdp.core.errors import InvalidInput, LedgerError
from hetdp.core.text import counted, several

if TYPE_CHECKING:
    from hetdp.accounting.guarantee import Guarantee

_ON_EXHAUSTED = ("raise", "drop")
_PROTECTED = ("item", "row", "person")
_Seen = TypeVar("_Seen")


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
    delta_spent
        Probability with which any of the promises may fail besides, because of charges that had a delta: for weight 1;
        for a dial v at most v times that.

    Privacy
    -------
    Per item and against everybody who has seen all releases. The owner's eyes only; `repr` shows only counts.

    Examples
    --------
    >>> ledger = Ledger(limits=[1.0, 1.0], unit="rho")
    >>> _ = ledger.charge([0.1, 0.0], unit="rho")
    >>> report = ledger.report(delta=1e-6)
    >>> report
    LedgerReport(delta=1e-06; private: 2 items)
    >>> report.epsilon, report.epsilon_delta.round(2)
    (array([inf,  0.]), array([2.14, 0.  ]))
    """

    epsilon: NDArray[np.float64]
    rho: NDArray[np.float64]
    epsilon_delta: NDArray[np.float64]
    delta: float
    delta_spent: float = 0.0

    def __repr__(self) -> str:
        return f"LedgerReport(delta={self.delta:g}; private: {counted(self.epsilon.size, 'item')})"


class Ledger:
    """A privacy budget per item, in memory or in a file that survives crashes and is shared by processes.

    Parameters
    ----------
    limits
        The most that each item may ever lose, >= 0, in `unit`; more than 9 million is no limit, shown as infinity.
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
        Canonical: 1, 1.0 and " 1" are one label, see `hetdp.accounting.ledger.identity`.
    lazy
        True to make a missing file with the first charge, so that a refused one leaves none behind.
    weights_limit
        The most that weights may ever lose by being used, in `unit`; a charge beyond is refused. None for no limit.
    protects
        What an item stands for: "item", "row" or "person". A person with several rows loses what they lose together.

    Privacy
    -------
    Losses add up per item (sequential composition), so an item never loses more than its limit. Losses are counted in
    whole steps of 1/252,000,000,000, rounded up; a float stands for the decimal that it was typed as, so that ten
    charges of 0.1 fit into 1.0, and that is all the tolerance there is: less than 1e-15 of a loss. The bound holds
    against one
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
    Ledger(unit epsilon, 1 charge, in memory; private: 3 items)
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
        weights_limit: float | None = None,
        protects: str = "item",
    ) -> None:
        checked = checked_limits(limits)
        totals = Totals(
            one_of("unit", unit, UNITS),
            weights_limit=_limit_steps("weights_limit", weights_limit),
            protects=one_of("protects", protects, _PROTECTED),
        )
        people = Accounts.fresh(checked_items(items, checked.size), steps_down(checked))
        self._begin(State(totals, people), path, on_exhausted, lazy=lazy)

    @classmethod
    def of_people(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        unit: str = "epsilon",
        limit: float | None = None,
        weights_limit: float | None = None,
        delta_limit: float | None = None,
        on_exhausted: str = "raise",
        lazy: bool = False,
    ) -> Self:
        """Make a ledger that knows nobody yet, for tables of people: `charge_people` admits them.

        Parameters
        ----------
        path, unit, on_exhausted, lazy, weights_limit
            See `Ledger`. If the file exists, the limits and the unit must be those stored in it.
        limit
            The most that people may ever lose who come without another limit, in `unit`. Kept in the ledger.
        delta_limit
            The most that the deltas of all releases may add up to, for weight 1; a charge beyond is refused.

        Examples
        --------
        >>> ledger = Ledger.of_people(limit=3)
        >>> ledger.charge_people([(["ann", "bob"], [1.0, 0.5])], amount=2, description="hours by department")
        AllowedDials(private: 0 people)
        >>> ledger.items, ledger.spent
        (('bob', 'ann'), array([1., 2.]))
        """
        totals = Totals(
            one_of("unit", unit, UNITS),
            limit=_limit_steps("limit", limit),
            weights_limit=_limit_steps("weights_limit", weights_limit),
            delta_limit=_delta_limit_steps(delta_limit),
            protects="person",
        )
        ledger = cls.__new__(cls)
        nobody = Accounts.fresh(Ids.none(), np.empty(0, dtype=np.int64))
        ledger._begin(State(totals, nobody), path, on_exhausted, lazy=lazy)  # noqa: SLF001  (another constructor)
        return ledger

    @classmethod
    def of_profiles(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        limit: float | None = None,
        delta_limit: float | None = None,
        colluders: int = 1,
        unit: str = "epsilon",
        protects: str = "item",
        lazy: bool = False,
    ) -> Self:
        """Make a ledger for one set of profiles: `PrivateNeighbors` and `PrivateRecommender` charge it.

        An item of weight v loses v times what weight 1 loses (v^2 times in zCDP), so one running total is enough.

        Parameters
        ----------
        path, lazy
            See `Ledger`. If the file exists, everything else must be as it is stored in it.
        limit, delta_limit
            The most that an item of weight 1 may ever lose, in `unit`, and that deltas may add up to. None for no
            limit.
        colluders
            How many recipients of lists may share what they have.
        unit
            "epsilon", or "rho", which a noisy matrix needs; there a pure epsilon costs epsilon^2/2.
        protects
            What has a weight: an "item" of a profile, or a whole "person" (`unit="user"` of a recommender).

        Privacy
        -------
        Counts what `colluders` recipients, who share their lists and read everything public, may have learned: of every
        release the lists of `colluders` recipients and what all see alike. A person's own list costs that person
        nothing. Use one ledger for all releases from one set of profiles, and for no other.

        Examples
        --------
        >>> ledger = Ledger.of_profiles(limit=3)
        >>> ledger
        Ledger(of profiles, 0 of 3 spent at weight 1, unit epsilon, no charges, in memory)
        """
        totals = Totals(
            one_of("unit", unit, UNITS),
            limit=_limit_steps("limit", limit),
            delta_limit=_delta_limit_steps(delta_limit),
            protects=one_of("protects", protects, ("item", "person")),
            colluders=whole("colluders", colluders, minimum=1),
        )
        ledger = cls.__new__(cls)
        none = Accounts.fresh(None, np.empty(0, dtype=np.int64))
        ledger._begin(State(totals, none), path, "raise", lazy=lazy)  # noqa: SLF001  (another constructor)
        return ledger

    def _begin(self, state: State, path: str | os.PathLike[str] | None, on_exhausted: str, *, lazy: bool) -> None:
        """Start with a state, or with the file that is there already and agrees with it."""
        one_of("on_exhausted", on_exhausted, _ON_EXHAUSTED)
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
            file.look(lambda stored: _refuse_other(stored, state, place))
        except BaseException:
            file.close()
            raise
        self._start(file, place, on_exhausted)

    @classmethod
    def open(cls, path: str | os.PathLike[str], on_exhausted: str = "raise") -> Self:
        """Open the file of an existing ledger, with the limits, unit and items stored in it.

        Never makes a new file: a mistyped name must not look like an unspent budget.

        Parameters
        ----------
        path
            The file.
        on_exhausted
            What becomes of a charge that some item cannot pay, as in `Ledger`.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Ledger(limits=[1.0], path=f"{folder}/ledger.db").close()
        ...     with Ledger.open(f"{folder}/ledger.db") as ledger:
        ...         ledger
        Ledger(unit epsilon, no charges, file ledger.db; private: 1 item)
        """
        one_of("on_exhausted", on_exhausted, _ON_EXHAUSTED)
        place = resolved(path)
        if not is_there(place):
            raise LedgerError(f"Ledger not found: {place}.")
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
            state = self._peek()
        except LedgerError:
            return f"Ledger(closed or unreadable, {place})"
        facts = f"unit {state.unit}, {counted(state.totals.charges, 'charge')}, {place}"
        if state.totals.colluders is not None:
            limit = "" if self.limit is None or math.isinf(self.limit) else f" of {self.limit:g}"
            return f"Ledger(of profiles, {self.spent_by_weight_1:.6g}{limit} spent at weight 1, {facts})"
        who = state.totals.protects
        return f"Ledger({facts}; private: {counted(state.size, who, several(who))})"

    def _repr_html_(self) -> str:
        from hetdp.accounting.display import ledger_card

        return ledger_card(self).html()

    def __copy__(self) -> Self:
        """Return the ledger itself: a copy could spend the same budget again."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """Return the ledger itself, so that copies of an estimator share it."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if self.path is None:
            message = "a ledger in memory cannot be pickled: each copy could spend the same budget"
            raise TypeError(message)
        return type(self).open, (self.path, _ON_EXHAUSTED[self._drop])

    @property
    def size(self) -> int:
        """How many items there are."""
        return self._peek().size

    @property
    def unit(self) -> str:
        """Unit of limits and losses: "epsilon" or "rho"."""
        return self._peek().unit

    @property
    def protects(self) -> str:
        """Whose losses are counted: those of an "item", a "row" or a "person", against one who sees all releases."""
        return self._peek().totals.protects

    @property
    def colluders(self) -> int | None:
        """Of a ledger of profiles: how many recipients may share what they have; None for other ledgers."""
        return self._peek().totals.colluders

    @property
    def adversary(self) -> str:
        """Whose knowledge is counted, in words. Public."""
        colluders = self.colluders
        if colluders is None:
            return "one who sees every release charged here"
        if colluders == 1:
            return "one recipient of lists, who also reads everything public, whatever else they know"
        return f"{colluders:,} recipients who share their lists, and read everything public, whatever else they know"

    @property
    def labelled(self) -> bool:
        """Whether items have labels."""
        return self._peek().roll.labelled

    @property
    def items(self) -> tuple[str | int, ...] | None:
        """Labels of the items, if they were given, in canonical form."""
        ids = self._read().accounts.ids
        return None if ids is None else ids.labels()

    @property
    def limits(self) -> NDArray[np.float64]:
        """The most each item may lose (read-only). For the owner's eyes only."""
        return read_only_copy(losses_of(self._read().accounts.limits))

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
        return self._drop or self._peek().totals.dropping

    @property
    def dialled(self) -> bool:
        """Whether people may have dials other than 1: some charge used dials, or `set_dials` did. Public."""
        totals = self._peek().totals
        return totals.dialled or totals.weights_spent > 0

    @property
    def weights_spent(self) -> float:
        """What each weight has lost by being used: the sum of `weights_loss`, in the unit of the ledger."""
        return loss_of(self._peek().totals.weights_spent)

    @property
    def weights_limit(self) -> float | None:
        """The most that weights may ever lose; None if there is no limit."""
        limit = self._peek().totals.weights_limit
        return None if limit is None else loss_of(limit)

    @property
    def limit(self) -> float | None:
        """The most that people new to the ledger, or items of weight 1 of profiles, may ever lose. None for none."""
        limit = self._peek().totals.limit
        return None if limit is None else loss_of(limit)

    @property
    def total(self) -> float:
        """What weight 1 has lost through charges of people or of profiles, in the unit of the ledger. Public."""
        return loss_of(self._peek().totals.total)

    @property
    def spent_by_weight_1(self) -> float:
        """What weight 1 has lost through charges of every kind, in the unit of the ledger. Public.

        The sum of their levels; infinite where a charge did not say its `amount`.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0, 1.0])
        >>> _ = ledger.charge([0.25, 0.125], amount=0.5)
        >>> ledger.spent_by_weight_1
        0.5
        """
        unit, levels = self.unit, [(entry.amount, entry.unit) for entry in self.history]
        if any(amount is None for amount, _ in levels):
            return math.inf
        return loss_of(sum(steps_of(amount, own, wanted=unit) for amount, own in levels if amount is not None))

    @property
    def delta_spent(self) -> float:
        """The sum of all deltas, for weight 1; a dial v has lost at most v times that. Public."""
        return self._peek().totals.delta / DELTA_STEPS

    @property
    def delta_limit(self) -> float | None:
        """The most that deltas may add up to; None if there is no limit."""
        limit = self._peek().totals.delta_limit
        return None if limit is None else limit / DELTA_STEPS

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
        amount: Real | None = None,
        weights_loss: float = 0.0,
        delta: float = 0.0,
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
        delta
            Probability with which the promise of the release may fail, at most; deltas add up.

        Returns
        -------
        array of bool
            True for the items that paid. The release must give the others weight 0.

        Raises
        ------
        BudgetExhausted
            With on_exhausted="raise", if some item cannot pay; always, if weights or delta cannot. Nothing is spent.

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
        return self.charge_all([Charge(losses, unit, description, amount, weights_loss, delta)])[0]

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

    def charge_people(
        self,
        people: Batches | None,
        *,
        amount: Real,
        delta: float = 0.0,
        unit: str = "epsilon",
        description: str = "",
        weights_loss: float = 0.0,
        limit: float | None = None,
        new_people: bool = False,
        update_dials: bool = False,
    ) -> AllowedDials:
        """Charge everybody in proportion to their dials, and admit who is new: for tables of millions.

        One transaction, whatever the size: either the new are admitted and all are charged, or nothing happens. Other
        processes wait meanwhile.

        Parameters
        ----------
        people
            Batches of (ids, dials): all ids of the table, each once. Ids are a pyarrow or numpy array or a sequence of
            texts and numbers, dials numbers in [0, 1]. None charges all whom the ledger knows, and admits nobody.
        amount
            The epsilon (or rho) of the release: a person of dial v loses amount * v (amount * v^2).
        delta
            A person of dial v loses at most delta * v.
        unit, description, weights_loss
            See `charge`.
        limit
            The most that people new to the ledger may ever lose; the one kept in the ledger by default. Without either,
            new people are refused.
        new_people
            True to allow that most of the table are new to a ledger that is not empty.
        update_dials
            True to let the dials of the table take the place of those in the ledger, from this release on.

        Returns
        -------
        AllowedDials
            Those who must not count with the dial given, with the largest dial that they may count with: that of the
            ledger where the table's is larger, 0 for those who cannot pay or were dropped.

        Raises
        ------
        BudgetExhausted
            With on_exhausted="raise", if somebody in the table cannot pay; always, if weights or delta cannot. Nothing
            is spent.

        Privacy
        -------
        Everybody in the ledger is charged, whether they are in the table or not: who is absent loses nothing and is
        charged too much, which is sound. A dial counts as `dial * (1 - 2**-51)`, by which releases must shrink it. A
        person's dial is the one with which they were admitted until `update_dials` or `set_dials` changes it; without,
        a smaller one in the table is charged as that one.

        Examples
        --------
        >>> ledger = Ledger.of_people(limit=1, on_exhausted="drop")
        >>> list(ledger.charge_people([([1, 2, 3], [1, 0.5, 0])], amount=1))
        []
        >>> list(ledger.charge_people([(["1", "2", "3"], [1, 1, 1])], amount=1))
        [('1', 0.0), ('2', 0.5), ('3', 0.0)]
        """
        charge = Charge((), unit, description, amount, weights_loss, delta)
        told = {"new_people": new_people, "update_dials": update_dials}
        calls: list[RollCall] = []

        def pay(state: State) -> tuple[State, list[Entry]]:
            entry = Entry.of(charge, dropping=self._drop)
            calls.append(self._roll_call(state, people, charge, limit=limit, **told))
            if not self._drop:
                calls[0].refuse_unable()
            return calls[0].after, [entry]

        self._update(pay)
        return calls[0].allowed

    def charge_profiles(self, guarantee: "Guarantee", *, description: str = "") -> None:
        """Charge a release from the profiles of the ledger; to be called before anything is drawn for it.

        Parameters
        ----------
        guarantee
            What the release promises, before the fact. What `colluders` recipients learn together is charged.
        description
            For the history.

        Raises
        ------
        BudgetExhausted
            If weight 1 would lose more than the limit, or deltas add up to more than theirs. Nothing is spent.
        InvalidInput
            If the ledger protects something else, or counts in a unit that cannot hold the promise.

        Examples
        --------
        >>> from hetdp.accounting import Guarantee
        >>> ledger = Ledger.of_profiles(limit=3)
        >>> ledger.charge_profiles(Guarantee("epsilon", 1.0, adjacent="adding or removing an item of a user"))
        >>> ledger.total, ledger.left
        (1.0, 2.0)
        """

        def pay(state: State) -> tuple[State, list[Entry]]:
            charge = _charge_of(state, guarantee, description)
            return state.all_paid(charge), [Entry.of(charge, dropping=False)]

        self._update(pay)

    def cost_of(self, guarantee: "Guarantee") -> float:
        """Return what a charge for such a promise adds to what weight 1 has lost, in the unit of the ledger.

        Parameters
        ----------
        guarantee
            The promise of a release, such as `guarantee_` of a model or its `promise()`.

        Examples
        --------
        >>> from hetdp.accounting import Guarantee
        >>> promise = Guarantee("epsilon", 1.0, adjacent="adding or removing an item of a user")
        >>> Ledger.of_profiles(unit="rho").cost_of(promise)
        0.5
        """
        state = self._peek()
        charge = _charge_of(state, guarantee, "")
        return loss_of(steps_of(charge.amount or 0, charge.unit, wanted=state.unit))

    def preview_profiles(self, guarantee: "Guarantee") -> float | None:
        """Return what would be left at weight 1 after such a charge, or refuse it as the charge would be refused.

        Parameters
        ----------
        guarantee
            The promise of a release.

        Examples
        --------
        >>> from hetdp.accounting import Guarantee
        >>> promise = Guarantee("epsilon", 1.0, adjacent="adding or removing an item of a user")
        >>> Ledger.of_profiles(limit=3).preview_profiles(promise)
        2.0
        """
        state = self._peek()
        return _left(state.all_paid(_charge_of(state, guarantee, "")).totals)

    @property
    def left(self) -> float | None:
        """What weight 1 may still lose, if it was there from the start; None for no limit. Public."""
        return _left(self._peek().totals)

    def preview_people(
        self,
        people: Batches | None,
        *,
        amount: Real,
        delta: float = 0.0,
        unit: str = "epsilon",
        description: str = "",
        weights_loss: float = 0.0,
        limit: float | None = None,
        new_people: bool = False,
        update_dials: bool = False,
    ) -> PeoplePreview:
        """Return how many people are new and how many cannot pay such a charge. Spends nothing; for the owner's eyes.

        What `charge_people` refuses is refused here, too. People who cannot pay are counted instead.

        Parameters
        ----------
        people, amount, delta, unit, description, weights_loss, limit, new_people, update_dials
            As for `charge_people`.

        Examples
        --------
        >>> ledger = Ledger.of_people(limit=1)
        >>> ledger.preview_people([(["ann", "bob"], [1.0, 0.5])], amount=1.5)
        PeoplePreview(people=2, new=2, unable=1, dropped=0)
        """
        charge = Charge((), unit, description, amount, weights_loss, delta)
        Entry.of(charge, dropping=self._drop)
        told = {"new_people": new_people, "update_dials": update_dials}
        return self._roll_call(self._read(), people, charge, limit=limit, **told).preview

    def _roll_call(
        self, state: State, people: Batches | None, charge: Charge, *, limit: float | None, **told: bool
    ) -> RollCall:
        steps = state.totals.limit if limit is None else _limit_steps("limit", limit)
        return call_roll(state, people, charge, drop=self._drop, limit=steps, **told)

    def set_dials(self, ids: object, dials: ArrayLike) -> None:
        """Give people of the ledger other dials, for charges from now on; what they have lost stays.

        Parameters
        ----------
        ids, dials
            Who, by the ids of the ledger, and the new dial of each, in [0, 1].

        Privacy
        -------
        Who changed a dial is written into their account only. That somebody did is public (`dialled`).

        Examples
        --------
        >>> ledger = Ledger.of_people(limit=1)
        >>> _ = ledger.charge_people([(["ann"], [1.0])], amount=0.5)
        >>> ledger.set_dials(["ann"], [0.1])
        >>> _ = ledger.charge_people([(["ann"], [0.1])], amount=5)
        >>> ledger.spent
        array([1.])
        """
        wanted, checked = checked_items(ids) or Ids.none(), checked_dials(dials)
        if len(wanted) != checked.size:
            raise InvalidInput(f"must hold one dial per id ({len(wanted)})", parameter="dials", got=checked.size)

        def change(state: State) -> tuple[State, list[Entry]]:
            state.require(of_profiles=False)
            known = state.accounts.ids or Ids.none()
            places = known.find(wanted)
            if (places < 0).any():
                unknown = int(np.count_nonzero(places < 0))
                raise InvalidInput(f"must be known to the ledger (got {unknown} unknown ones)", parameter="ids")
            settled = state.accounts.take(places).settled(state.totals)
            changed = state.accounts.changed(places, replace(settled, dials=checked))
            return replace(state, totals=replace(state.totals, dialled=True), roll=changed), []

        self._update(change)

    def label(self, **options: Unpack[LabelOptions]) -> Label:
        """Return a card that says what everything charged so far means to people; see `Guarantee.label`.

        Where nothing has been charged yet, it is about all that the limit allows.

        Privacy
        -------
        Public: it looks at the running total, the history and the limit of everybody, and at no account.

        Examples
        --------
        >>> print(Ledger.of_people(limit=1).label().headline)
        Of 100 people like you, a curious reader would be right about 74 instead of 50.
        """
        return Label.of_ledger(self, **options)

    def view(
        self, items: Iterable[str | int] | Ids, *, limit: float | None = None, new_people: bool = False
    ) -> "LedgerView":
        """Return some items of this ledger, in an order of one's own: for tables whose rows come and go.

        Parameters
        ----------
        items
            Labels, in the order of the table at hand; the ledger must have labels.
        limit
            The most that items new to the ledger may ever lose. They are added when the view is charged, in the same
            transaction: either they are added and charged, or nothing happens. Without it, new items are refused.
        new_people
            True to allow that most of them are new to a ledger that is not empty.

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
        return LedgerView(self, items, limit, new_people=new_people)

    def preview(self, losses: ArrayLike, *, unit: str = "epsilon") -> NDArray[np.bool_]:
        """Return which items could pay such a charge. Spends nothing; the answer is for the owner's eyes.

        Parameters
        ----------
        losses, unit
            As for `charge`.

        Examples
        --------
        >>> Ledger(limits=[1.0, 0.1]).preview([0.5, 0.5])
        array([ True, False])
        """
        return self._read().affordable(losses, unit)

    def report(self, delta: float = 1e-6) -> LedgerReport:
        """Return the losses so far in pure epsilon, in zCDP, and as (epsilon, delta).

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0])
        >>> _ = ledger.charge([0.5])
        >>> ledger.report(delta=1e-6).rho
        array([0.125])
        """
        self._require_accounts()
        state = self._read()
        # Either bound on epsilon holds by itself, so the smaller one holds too.
        epsilon, rho = state.lost("epsilon"), state.lost("rho")
        converted = np.minimum(epsilon, epsilon_delta_of_rho(rho, delta))
        return LedgerReport(
            read_only_copy(epsilon),
            read_only_copy(rho),
            read_only_copy(converted),
            float(delta),
            state.totals.delta / DELTA_STEPS,
        )

    def _require_accounts(self) -> None:
        """Refuse questions about items where there is one total: "nothing spent" would be a false answer."""
        if self.colluders is not None:
            raise InvalidInput(
                "must have accounts of items, rows or people (got one of profiles)",
                parameter="ledger",
                hint="Its total, limit, left and history say what was spent.",
            )

    def plot(self) -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: what weight 1 has lost, charge by charge, beside its limit.

        Needs the extra `plot`; `hetdp.plots.save` writes it to a file. Who has how much left is in `plot_private`.

        Privacy
        -------
        Public: levels and descriptions of charges, as in `label()`. No account is looked at.

        Examples
        --------
        >>> ledger = Ledger.of_people(limit=3)
        >>> _ = ledger.charge_people([(["ann"], [0.5])], amount=2, description="hours")
        >>> ledger.plot().title["text"]
        'What weight 1 has lost: epsilon = 2 of 3'
        """
        from hetdp.accounting.display import plot_charges

        return plot_charges(self)

    def plot_private(self) -> Any:  # noqa: ANN401  (altair is optional)
        """Return a chart of altair: how many have how much left. For the owner's eyes only.

        Needs the extra `plot`; `hetdp.plots.save` writes it to a file.

        Privacy
        -------
        Exact: it depends on secret weights, and its title says that it is private. What is public is in `label()`.

        Examples
        --------
        >>> ledger = Ledger(limits=[1.0, 1.0, 2.0])
        >>> _ = ledger.charge([0.5, 1.0, 0.5])
        >>> ledger.plot_private().title["text"]
        'Private: what items of a ledger have left'
        """
        from hetdp.accounting.display import plot_what_is_left

        return plot_what_is_left(self)

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
            return store.look(_with_accounts)

    def _peek(self) -> State:
        """Return the state without its accounts, of which there may be millions."""
        with self._opened() as store:
            return store.look(lambda state: state)

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
    """Some items of a ledger, in the given order; charging the view charges the ledger. Made by `Ledger.view`.

    Parameters
    ----------
    ledger
        Whose items they are.
    items, limit, new_people
        As for `Ledger.view`.
    """

    def __init__(
        self, ledger: Ledger, items: Iterable[str | int] | Ids, limit: float | None, *, new_people: bool = False
    ) -> None:
        self._ledger = ledger
        self._items = checked_items(items) or Ids.none()
        self._limit = limit
        self._new_people = new_people
        self._seen()  # unknown items are refused at once

    def charge(
        self,
        losses: ArrayLike,
        *,
        unit: str = "epsilon",
        description: str = "",
        amount: Real | None = None,
        weights_loss: float = 0.0,
        delta: float = 0.0,
    ) -> NDArray[np.bool_]:
        """Charge these items, and add those that are new to the ledger.

        Parameters
        ----------
        losses, unit, description, amount, weights_loss, delta
            As for `Ledger.charge`, a loss for each item of the view.
        """
        charge = Charge(losses, unit, description, amount, weights_loss, delta)
        keeps: list[NDArray[np.bool_]] = []

        def pay(before: State) -> tuple[State, list[Entry]]:
            drop = self._ledger._drop  # noqa: SLF001  (same module)
            state, places = self._admitted(before)
            everyone = replace(charge, losses=_spread(losses, places, state.size))
            state = state.pay(everyone, drop=drop)
            keeps.append(state.active[places])
            return state, [Entry.of(charge, dropping=drop)]

        self._ledger._update(pay)  # noqa: SLF001  (same module)
        return keeps[0]

    def preview(self, losses: ArrayLike, *, unit: str = "epsilon") -> NDArray[np.bool_]:
        """Return which of these items could pay such `losses` in a `unit`; see `Ledger.preview`."""
        state, places = self._seen()
        return state.affordable(_spread(losses, places, state.size), unit)[places]

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
        return self._admitted(known)[0].size - known.size

    def _seen(self) -> tuple[State, NDArray[np.intp]]:
        return self._admitted(self._ledger._read())  # noqa: SLF001  (same module)

    def _admitted(self, state: State) -> tuple[State, NDArray[np.intp]]:
        return state.admitting(self._items, self._limit, new_people=self._new_people)


def _charge_of(state: State, guarantee: "Guarantee", description: str) -> Charge:
    """Return what a ledger of profiles is charged for a promise, if it counts such losses."""
    state.require(of_profiles=True)
    protects = state.totals.protects
    if guarantee.protects != "values" or guarantee.protected != protects:
        raise InvalidInput(
            f"must protect what the release does ({guarantee.protected}) (got one that protects {protects})",
            parameter="ledger",
        )
    if (guarantee.adjacent, guarantee.factor) != (ADDED[protects], "v_i"):
        raise InvalidInput(
            f"must count losses for what the release tells apart ({guarantee.adjacent}) (got one that counts "
            f"them for {ADDED[protects]})",
            parameter="ledger",
        )
    level = float(guarantee.level(state.totals.colluders or 1))  # counted as the decimal that it was typed as
    # A dial hides behind the same noise as its item: from one dial to any other, no more than from 0 to 1.
    return Charge((), guarantee.unit, description, level, weights_loss=level, delta=guarantee.delta)


def _left(totals: Totals) -> float | None:
    return None if totals.limit is None else loss_of(max(totals.limit - totals.total, 0))


def _with_accounts(state: State) -> State:
    state.roll.whole()
    return state


def _limit_steps(name: str, limit: float | None) -> int | None:
    return None if limit is None else int(steps_down(not_negative(name, limit)))


def _delta_limit_steps(limit: float | None) -> int | None:
    return None if limit is None else math.floor(delta_steps(not_negative("delta_limit", limit)))


def _spread(losses: ArrayLike, places: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    vector = float_vector("losses", losses)
    if vector.size != places.size:
        raise InvalidInput(f"must hold one loss per item ({places.size})", parameter="losses", got=vector.size)
    everyone = np.zeros(size)
    everyone[places] = vector
    return everyone


class _Store(Protocol):
    """Where a ledger keeps its state; `LedgerFile` says what each method promises."""

    def look(self, see: Callable[[State], _Seen]) -> _Seen: ...

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

    def look(self, see: Callable[[State], _Seen]) -> _Seen:
        return see(self._state)

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
    ours, theirs = given.totals, stored.totals
    asked = given.accounts
    same = {name: getattr(theirs, name) == getattr(ours, name) for name in ("unit", "protects", "colluders")}
    if asked.size:
        known = stored.accounts
        mine, kept = asked.ids, known.ids
        same["limits"] = np.array_equal(known.limits, asked.limits)
        same["items"] = (mine is None) == (kept is None) and (
            mine is None or kept is None or np.array_equal(mine.keys, kept.keys)
        )
    else:
        same["limit"] = theirs.limit == ours.limit
        same["delta_limit"] = theirs.delta_limit == ours.delta_limit
    same["weights_limit"] = theirs.weights_limit == ours.weights_limit
    for name, equal in same.items():
        if not equal:
            raise InvalidInput(
                f"must be the same as in the ledger file {path.name} (got other {name})",
                parameter=name,
                hint="Use Ledger.open(path) to take them from the file.",
            )


_all: weakref.WeakSet[Ledger] = weakref.WeakSet()


def _after_fork() -> None:
    for ledger in tuple(_all):
        ledger._after_fork()  # noqa: SLF001  (same module)


os.register_at_fork(after_in_child=_after_fork)
