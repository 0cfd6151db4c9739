"""The people of a table against the accounts of a ledger: who is new, who can pay, and with which dial each may count.

Tables come in batches and may hold millions, so everything is done on vectors and nothing of a batch is kept but what
is new. Only the totals of the ledger change, and the accounts of those who are new to it or get another dial.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.composition import STEPS
from hetdp.accounting.ledger.accounts import Accounts, Totals, ends_of, left_of, power_of, shares_of
from hetdp.accounting.ledger.identity import Ids, canonical_ids
from hetdp.accounting.ledger.state import Charge, State, check_not_mostly_new
from hetdp.core.errors import BudgetExhausted, InvalidInput

#: Ids and dials of some people of a table.
Batches: TypeAlias = Iterable[tuple[Any, Any]]


@dataclass(frozen=True)
class PeoplePreview:
    """What a charge of people would meet. For the owner's eyes: it depends on secret dials.

    Attributes
    ----------
    people, new
        How many there are in the table, and how many of them the ledger does not know yet.
    unable
        How many cannot pay.
    dropped
        How many were dropped before.
    """

    people: int
    new: int
    unable: int
    dropped: int


class AllowedDials(Sequence[tuple[Any, float]]):
    """Those of a table who may not count with the dial given, each with the largest that is allowed; 0 for nothing.

    A sequence of (id as it was given, dial). For the owner's eyes only.

    Parameters
    ----------
    parts
        Ids and dials, part by part.

    Examples
    --------
    >>> allowed = AllowedDials([(["ann"], np.array([0.5])), (["bob"], np.array([0.0]))])
    >>> list(allowed), len(allowed)
    ([('ann', 0.5), ('bob', 0.0)], 2)
    >>> allowed
    AllowedDials(private: 2 people)
    """

    def __init__(self, parts: Sequence[tuple[Any, NDArray[np.float64]]]) -> None:
        self._parts = [part for part in parts if len(part[1])]

    def __len__(self) -> int:
        return sum(len(dials) for _, dials in self._parts)

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        for ids, dials in self._parts:
            yield from zip(_listed(ids), dials.tolist(), strict=True)

    @overload
    def __getitem__(self, place: int) -> tuple[Any, float]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[Any, float]]: ...

    def __getitem__(self, place: int | slice) -> tuple[Any, float] | list[tuple[Any, float]]:
        return list(self)[place]

    def __repr__(self) -> str:
        return f"AllowedDials(private: {len(self):,} people)"

    def to_arrow(self, name: str = "id") -> Any:  # noqa: ANN401  (pyarrow has no types)
        """Return them as a pyarrow table of two columns, the ids under a `name` and "dial": for an engine to join."""
        import pyarrow as pa

        arrays = [ids if hasattr(ids, "type") else pa.array(_of_one_kind(ids)) for ids, _ in self._parts]
        chunks = [chunk for array in arrays for chunk in (array.chunks if hasattr(array, "chunks") else [array])]
        ids = pa.chunked_array(chunks) if chunks else pa.array([], pa.null())
        dials = pa.chunked_array([pa.array(dials) for _, dials in self._parts], pa.float64())
        return pa.table([ids, dials], names=[name, "dial"])


def call_roll(
    state: State,
    people: Batches | None,
    charge: Charge,
    *,
    drop: bool,
    limit: int | None,
    new_people: bool,
    update_dials: bool,
) -> "RollCall":
    """Return what becomes of a ledger when the people of a table are charged in proportion to their dials.

    Parameters
    ----------
    people
        All of the table; None for everybody in the ledger and nobody else.
    limit
        Of people new to the ledger, in steps; None to refuse them.
    update_dials
        Whether the dials of the table take the place of those in the ledger.
    """
    state.require(of_profiles=False)
    call = RollCall(state, state.after_all_paid(charge, drop=drop), limit, update_dials)
    if people is None:
        call.everybody()
        return call
    if state.accounts.ids is None:
        raise InvalidInput("must know people by their ids; this one was made without", parameter="ledger")
    for given, dials in people:
        call.batch(given, dials)
    call.finish(new_people=new_people)
    return call


@dataclass(eq=False, repr=False)
class RollCall:
    """A charge of people in the making. `after` is what the ledger becomes."""

    before: State
    totals: Totals
    limit: int | None
    update_dials: bool
    unable: int = 0
    dropped: int = 0
    known: int = 0
    after: State = field(init=False)
    _parts: list[tuple[Any, NDArray[np.float64]]] = field(default_factory=list)
    _new: list[tuple[Ids, NDArray[np.float64]]] = field(default_factory=list)
    _new_dials: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = field(default_factory=list)
    _worst: tuple[float, float] = (0.0, 0.0)
    _admitted: int = 0

    def __post_init__(self) -> None:
        self.after = State(self.totals, self.before.roll)
        self._seen: NDArray[np.bool_] | None = None

    @cached_property
    def _active(self) -> NDArray[np.bool_]:
        return self.before.accounts.still_active(self.before.totals)

    @property
    def new(self) -> int:
        """How many are new to the ledger."""
        return self._admitted + sum(len(ids) for ids, _ in self._new)

    @property
    def allowed(self) -> AllowedDials:
        """Who may not count with the dial given."""
        return AllowedDials(self._parts)

    @property
    def preview(self) -> PeoplePreview:
        """The counts."""
        return PeoplePreview(self.known + self.new, self.new, self.unable, self.dropped)

    def refuse_unable(self) -> None:
        """Refuse the charge if somebody cannot pay."""
        if self.unable:
            requested, remaining = self._worst
            raise BudgetExhausted(
                requested=requested,
                remaining=remaining,
                items=self.unable,
                unit=self.totals.unit,
                protected=self.totals.protects,
            )

    def everybody(self) -> None:
        """Charge all who are known; only accounts that may end are looked at."""
        short = self.before.roll.ending_before(self.totals.total, self.totals.unit)
        self.known = self.before.size
        ends, dials = short.ends(self.totals.unit), np.nan_to_num(short.dials, nan=0.0)
        self._count(short.still_active(self.before.totals), ends, dials)
        ids = short.ids or Ids.none()
        self._parts.append((ids.labels() if ids.data.size else ids.keys, np.zeros(len(ids))))

    def batch(self, given: Any, dials: Any) -> None:  # noqa: ANN401  (whatever holds ids)
        """Charge some people of a table."""
        ids, wanted = canonical_ids(given), checked_dials(dials)
        if len(ids) != wanted.size:
            raise InvalidInput(f"must hold one dial per id ({len(ids)})", parameter="dials", got=wanted.size)
        accounts = self.before.accounts
        places = (accounts.ids or Ids.none()).find(ids)
        (new,) = np.nonzero(places < 0)
        if not new.size:
            allowed = self._of_known(places, wanted)
        else:
            (old,) = np.nonzero(places >= 0)
            allowed = np.empty_like(wanted)
            allowed[old] = self._of_known(places[old], wanted[old])
            allowed[new] = self._of_new(ids.take(new), wanted[new])
        (restricted,) = np.nonzero(allowed < wanted)
        if restricted.size:
            self._parts.append((_taken(given, restricted), allowed[restricted]))

    def finish(self, *, new_people: bool) -> None:
        """Refuse ids that are there twice and people who must not be new, then open and change accounts."""
        ids = Ids.joined([ids for ids, _ in self._new]) if self._new else Ids.none()
        repeated = ids.repeated + self.known - (0 if self._seen is None else int(np.count_nonzero(self._seen)))
        if repeated:
            raise InvalidInput(f"must be all different (got {repeated} repeated)", parameter="ids")
        if ids.keys.size and self.limit is None:
            raise InvalidInput(f"must be known to the ledger (got {len(ids)} unknown ones)", parameter="ids")
        check_not_mostly_new(len(ids), self.known + len(ids), self.before.size, new_people=new_people)
        accounts, totals = self.before.roll, self.before.totals
        if self._new_dials:
            places = np.concatenate([places for places, _ in self._new_dials])
            dials = np.concatenate([dials for _, dials in self._new_dials])
            whole = self.before.accounts
            accounts = whole.changed(places, replace(whole.take(places).settled(totals), dials=dials))
        if len(ids):
            dials = np.concatenate([dials for _, dials in self._new])
            self._admitted, self._new = len(ids), []  # millions of them are kept once, not twice
            order = ids.in_order()  # so that the next table is compared with keys in order
            limits = np.broadcast_to(np.int64(self.limit or 0), len(ids))
            accounts = Accounts.joined(
                [accounts.whole(), Accounts.fresh(ids.take(order), limits, dials[order], totals)]
            )
        self.after = State(self.totals, accounts)

    def _of_known(self, places: NDArray[np.intp], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the dials with which people of the ledger may count."""
        accounts, totals = self.before.accounts, self.before.totals
        if self._seen is None:
            self._seen = np.zeros(accounts.size, dtype=np.bool_)
        self._seen[places] = True
        self.known += places.size
        own = accounts.dials[places]
        ends = accounts.ends(totals.unit)[places]
        (changing,) = np.nonzero(own != wanted if self.update_dials else np.isnan(own))
        if changing.size:
            joining = accounts.take(places[changing])
            left = left_of(joining.limits, joining.lost(totals.unit, totals))
            then = np.broadcast_to(np.int64(totals.total), changing.size)
            ends[changing] = ends_of(left, wanted[changing], then, power=power_of(totals.unit))
            own[changing] = wanted[changing]
            self._new_dials.append((places[changing], wanted[changing]))
        allowed = np.minimum(own, wanted)
        able = self._count(self._active[places], ends, allowed)
        return np.where(able, allowed, 0.0)

    def _of_new(self, ids: Ids, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the dials with which people new to the ledger may count."""
        self._new.append((ids, wanted))
        totals = self.before.totals
        limits, then = (np.broadcast_to(np.int64(value), len(ids)) for value in (self.limit or 0, totals.total))
        ends = ends_of(limits, wanted, then, power=power_of(totals.unit))
        able = self._count(np.broadcast_to(np.True_, len(ids)), ends, wanted)
        return np.where(able, wanted, 0.0)

    def _count(
        self, active: NDArray[np.bool_], ends: NDArray[np.int64], dials: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return who can pay the charge, and count who cannot."""
        short = (ends < self.totals.total) & (dials > 0)
        gone = ~active
        self.dropped += int(np.count_nonzero(gone))
        (unable,) = np.nonzero(short & active)
        if unable.size:
            self.unable += unable.size
            shares = shares_of(dials[unable], power_of(self.totals.unit))
            missing = shares * (self.totals.total - ends[unable]) / STEPS
            worst = int(np.argmax(missing))
            requested = float(shares[worst]) * (self.totals.total - self.before.totals.total) / STEPS
            if self._worst == (0.0, 0.0) or missing[worst] > self._worst[0] - self._worst[1]:
                self._worst = (requested, max(requested - float(missing[worst]), 0.0))
        return ~(short | gone)


def checked_dials(dials: Any) -> NDArray[np.float64]:  # noqa: ANN401
    """Return dials as a vector, or explain what is wrong with them without quoting one."""
    try:
        vector = np.asarray(dials, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("must be a vector of numbers", parameter="dials", got=type(dials)) from None
    if vector.ndim != 1:
        raise InvalidInput(f"must be a vector (got shape {vector.shape})", parameter="dials")
    if not ((vector >= 0.0) & (vector <= 1.0)).all():
        raise InvalidInput("must lie in [0, 1] (got one that does not)", parameter="dials")
    return vector


def _taken(given: Any, places: NDArray[np.intp]) -> Any:  # noqa: ANN401
    """Return some of the ids as they were given."""
    if hasattr(given, "take") and not isinstance(given, list):
        return given.take(places)
    every = list(given)
    return [every[place] for place in places]


def _of_one_kind(ids: Any) -> Any:  # noqa: ANN401
    """Return ids that a column can hold: where some are texts, all are."""
    if isinstance(ids, np.ndarray) or not any(isinstance(one, str) for one in ids):
        return ids
    return [str(one) for one in ids]


def _listed(ids: Any) -> list[Any]:  # noqa: ANN401
    for name in ("to_pylist", "tolist"):
        if hasattr(ids, name):
            return list(getattr(ids, name)())
    return list(ids)
