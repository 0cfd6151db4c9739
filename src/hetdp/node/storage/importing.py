"""A list that the owner has becomes part of the own list: matched to the catalogue, merged, one step to undo."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from hetdp.core.errors import InvalidInput
from hetdp.node.dials import as_dial
from hetdp.node.lists import ListRow, OwnList, canonical_text, read_own_list
from hetdp.node.storage.catalogue import CatalogueIndex
from hetdp.node.storage.store import NodeStore

Why = Literal["unknown", "ambiguous", "no room", "retired", "weight", "unreadable"]


@dataclass(frozen=True, slots=True, repr=False)
class LeftOut:
    """A row that did not go on the list, and why."""

    row: int
    name: str  # as it was given; empty for a row that cannot be read
    why: Why


@dataclass(frozen=True, slots=True, repr=False)
class Imported:
    """What became of a list: for the owner's eyes, so `repr` shows nothing."""

    kind: str
    rows: int
    added: int
    known: int  # on the list already; they keep their dials
    repeated: int  # rows that name an item again: it gets the lowest of their dials
    left_out: tuple[LeftOut, ...]  # in the order of the file

    @property
    def unknown(self) -> tuple[str, ...]:
        """What the catalogue does not have: kept, and added when a version of the catalogue brings it."""
        return self.names("unknown")

    def names(self, why: Why) -> tuple[str, ...]:
        """Return what was left out for a reason, as it was given."""
        return tuple(dict.fromkeys(row.name for row in self.left_out if row.why == why))

    def numbers(self, why: Why) -> tuple[int, ...]:
        """Return the numbers of the rows that were left out for a reason."""
        return tuple(row.row for row in self.left_out if row.why == why)


def import_list(store: NodeStore, raw: bytes, *, kind: str = "auto") -> Imported:
    """Add the items of a list that the catalogue has, keep the names it does not have, and say what became of each row.

    All of it or, if the file is refused, nothing. A name that fits several items is not guessed; a weight that is none
    leaves out its row. See `read_own_list` for what can be read.

    Privacy
    -------
    Nothing leaves the store. Errors name rows, never what is in them.
    """
    own = read_own_list(raw, kind=kind)
    matched = _Import(store, own)  # before anything is locked: a node that runs may have to publish meanwhile
    with store.database.transaction(durable=True):
        return matched.carry_out()


class _Import:
    """One import, under way."""

    def __init__(self, store: NodeStore, own: OwnList) -> None:
        self._store, self._own = store, own
        self._index = CatalogueIndex(store.catalogue.current(also=set(store.profile.places())))
        self._left: list[LeftOut] = []
        self._dials: dict[int, int] = {}
        self._rows: dict[int, ListRow] = {}
        self._unknown: dict[str, tuple[str, int]] = {}
        self._repeated = sum(self._take(row) for row in own.rows)

    def carry_out(self) -> Imported:
        """Write it, within a transaction."""
        own = self._own
        added = self._store.profile.add(self._dials)
        self._store.unknown.check_room(len(self._unknown))
        for name, dial in self._unknown.values():
            self._store.unknown.keep(name, dial)
        self._left += [
            LeftOut(row.number, self._name(row), "no room") for row in map(self._rows.get, added.no_room) if row
        ]
        self._left += [LeftOut(number, "", "unreadable") for number in own.odd]
        self._left.sort(key=lambda one: one.row)
        return Imported(
            own.kind,
            len(own.rows) + len(own.odd),
            len(added.fresh),
            len(added.known),
            self._repeated,
            tuple(self._left),
        )

    def _take(self, row: ListRow) -> bool:
        """Take one row, and return whether it names an item again."""
        name = self._name(row)
        try:
            dial = as_dial(row.weight)
        except InvalidInput:
            self._left.append(LeftOut(row.number, name, "weight"))
            return False
        places = self._places(row)
        if len(places) > 1:
            self._left.append(LeftOut(row.number, name, "ambiguous"))
        elif not places and self._in_use_no_more(row):
            self._left.append(LeftOut(row.number, name, "retired"))
        elif not places:
            self._left.append(LeftOut(row.number, name, "unknown"))
            first, before = self._unknown.get(canonical_text(name), (name, dial))
            self._unknown[canonical_text(name)] = first, min(dial, before)
        else:
            place = next(iter(places))
            again = place in self._dials
            self._dials[place] = min(dial, self._dials.get(place, dial))
            self._rows.setdefault(place, row)
            return again
        return False

    def _places(self, row: ListRow) -> set[int]:
        """Return what a row may mean; a line that is no title may be an id."""
        return self._index.places_of(row) or (
            self._index.places_of(ListRow(row.number, item=row.title)) if self._own.kind == "titles" else set()
        )

    def _in_use_no_more(self, row: ListRow) -> bool:
        """Return whether a row names what the network has retired: no version brings it back."""
        return bool(self._retired.places_of(row) or self._retired.places_of(ListRow(row.number, item=row.title)))

    @cached_property
    def _retired(self) -> CatalogueIndex:
        catalogue = self._store.catalogue
        return CatalogueIndex(catalogue.items_at(np.flatnonzero(catalogue.retired()).tolist()))

    def _name(self, row: ListRow) -> str:
        """Return what a row is called, and looked for under when the catalogue has grown."""
        return row.item or (row.link if self._index.has_links else "") or row.title or row.link
