"""The profile of a node's owner: what is on the list and at which dial, edits and undo, what was dismissed."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.node.dials import FULL_DIAL
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.database import ABSENT, Database
from hetdp.node.storage.group_limits import GroupLimits
from hetdp.node.storage.ledger import LossLedger, Standing, loss
from hetdp.node.storage.publications import Publications

_UNDO_STEPS = 100


@dataclass(frozen=True, slots=True, repr=False)
class ProfileItem:
    """One item of the profile as its owner sees it; losses are in epsilon."""

    place: int
    item: str
    title: str
    link: str
    group: str
    dial: int
    effective_dial: int  # what will count in the next sketch: 0 if exhausted or retired
    published_dial: int | None  # what counted in the newest one; None if nothing
    spent: float
    limit: float
    exhausted: bool  # the next loss would exceed the limit
    retired: bool  # the network uses it no more


@dataclass(frozen=True, slots=True, repr=False)
class ListCounts:
    """How many items are on the list, count, and are exhausted."""

    size: int
    counting: int
    exhausted: int


@dataclass(frozen=True, slots=True, repr=False)
class ListedGroup:
    """How many items of a group are on the list, count, are exhausted, and wait for the next sketch."""

    name: str
    size: int
    counting: int
    exhausted: int
    waiting: int


@dataclass(frozen=True, slots=True, repr=False)
class Added:
    """Places that went on the list, that were on it already, and for which it has no room."""

    fresh: frozenset[int]
    known: frozenset[int]
    no_room: frozenset[int]


@dataclass(frozen=True, slots=True, repr=False)
class Waiting:
    """An item that the next sketch will treat differently from the newest one."""

    place: int
    title: str
    before: int
    after: int
    listed: bool
    exhausted: bool


class OwnProfile:
    """The list of the node's owner: it never leaves the file, and edits are on disk when the call returns.

    They take effect in the next sketch, never in a published one.
    """

    def __init__(
        self,
        database: Database,
        catalogue: Catalogue,
        ledger: LossLedger,
        publications: Publications,
        *,
        group_limits: GroupLimits,
    ) -> None:
        self._database, self._catalogue, self._ledger, self._publications = database, catalogue, ledger, publications
        self._group_limits = group_limits

    def items(self) -> list[ProfileItem]:
        """Return the whole profile, in the order of the catalogue. The work grows with it; see `listing`."""
        standing = self._ledger.standing()
        return self._items(np.flatnonzero(standing.listed), standing)

    def listing(
        self, text: str = "", *, group: str | None = None, limit: int, offset: int = 0
    ) -> tuple[list[ProfileItem], int]:
        """Return some of the items whose title, id or group holds every word of a text, and how many there are.

        They are ordered by group and title, those without a group last; only those of one group, if it is given. The
        work depends on the catalogue and on how many are returned, not on the profile.
        """
        standing, page = self._ledger.standing(), self._database.array("page")
        fits = self._fitting(text, standing)
        if group is not None:
            fits &= self._catalogue.in_group(group)
        places = page[fits[page]]
        return self._items(places[offset : offset + limit], standing), places.size

    def item(self, place: int) -> ProfileItem | None:
        """Return one item of the profile; None if it is not on the list."""
        standing = self._ledger.standing()
        if not 0 <= place < standing.dials.size or not standing.listed[place]:
            return None
        return self._items(np.array([place]), standing)[0]

    def listed_among(self, places: Iterable[int]) -> set[int]:
        """Return which of some places of the catalogue are on the list."""
        listed = self._ledger.standing().listed
        return {place for place in places if listed[place]}

    def places(self) -> list[int]:
        """Return the places of everything on the list, of any dial, in the order of the catalogue."""
        places: list[int] = np.flatnonzero(self._ledger.standing().listed).tolist()
        return places

    def counts(self) -> ListCounts:
        """Return how many items are on the list, count, and are exhausted."""
        standing = self._ledger.standing()
        counts = (standing.listed, standing.effective, standing.exhausted)
        return ListCounts(*(int(np.count_nonzero(which)) for which in counts))

    def group_counts(self) -> list[tuple[str, int]]:
        """Return the groups of which there is something on the list, and how much; items without a group come last."""
        names = json.loads(self._database.fact("group_names"))
        counts = np.bincount(self._database.array("groups")[self._ledger.standing().listed], minlength=len(names))
        return [(name, int(count)) for name, count in zip(names, counts, strict=True) if count]

    def groups(self, text: str = "") -> list[ListedGroup]:
        """Return what is on the list and fits a text, by group; items without a group come last."""
        standing, names = self._ledger.standing(), json.loads(self._database.fact("group_names"))
        before, fits = self._publications.newest_dials(), self._fitting(text, standing)
        kinds = [fits, fits & (standing.effective > 0), fits & standing.exhausted]
        kinds.append(fits & (standing.effective != before) if before is not None else np.zeros_like(fits))
        number = self._database.array("groups")
        counts = np.stack([np.bincount(number[kind], minlength=len(names)) for kind in kinds], axis=1).tolist()
        return [ListedGroup(name, *row) for name, row in zip(names, counts, strict=True) if row[0]]

    def waiting(self, most: int) -> tuple[list[Waiting], int]:
        """Return some of the items that the next sketch will treat differently, and how many there are."""
        before = self._publications.newest_dials()
        if before is None:
            return [], 0
        standing, page = self._ledger.standing(), self._database.array("page")
        after, listed, exhausted = standing.effective, standing.listed, standing.exhausted
        places = page[(before != after)[page]]
        rows = [
            Waiting(item.place, item.title, int(before[place]), int(after[place]), bool(listed[place]), bool(gone))
            for item in self._catalogue.items_at(places[:most].tolist())
            for place, gone in [(item.place, exhausted[item.place])]
        ]
        return rows, places.size

    def set_dials(self, dials: Mapping[int, int]) -> dict[int, int]:
        """Add items or change their dials, as one step that can be undone. Dials are not repeated in errors.

        A dial is a whole number from 0 (hidden) to 100 (full), by the place of its item in the catalogue.
        Returned are the dials as they are set: the limit of a group may leave less than was asked for.
        """
        for dial in dials.values():
            _check_dial(dial)
        return self._edit(dict(dials))

    def add(self, dials: Mapping[int, int]) -> Added:
        """Put items on the list, in order, as one step that can be undone, as long as the network has room for them.

        What is on the list already keeps its dial.
        """
        for dial in dials.values():
            _check_dial(dial)
        with self._database.transaction(durable=True):
            listed = self._ledger.standing().listed
            fresh = [place for place in dials if not listed[self._catalogue.checked_place(place)]]
            room = max(0, int(self._database.fact("most_items")) - int(np.count_nonzero(listed)))
            self._edit({place: dials[place] for place in fresh[:room]})
        return Added(frozenset(fresh[:room]), frozenset(dials).difference(fresh), frozenset(fresh[room:]))

    def set_group(self, group: str | None, dial: int) -> dict[int, int]:
        """Change the dials of what is on the list of a group, or of everything, as one step; return them as set."""
        _check_dial(dial)
        chosen = self._ledger.standing().listed
        if group is not None:
            chosen &= self._catalogue.in_group(group)
        places = np.flatnonzero(chosen).tolist()
        return self._edit(dict.fromkeys(places, dial))

    def set_group_limit(self, group: str, epsilon: float | None) -> dict[int, int]:
        """Limit what one sketch may tell about a group, or no longer; the dials that it lowers are part of the step.

        Returned are these dials: those of `GroupLimits.proposed`. Without a limit no dial changes.
        """
        return self._edit({}, limit=(group, epsilon))

    def remove(self, places: Iterable[int]) -> None:
        """Remove items from the profile, as one step that can be undone. What they have lost stays on record.

        Sketches already published cannot be called back. What was removed by hand is not recommended: it is dismissed
        until it is on the list again.
        """
        self._edit(dict.fromkeys(places, ABSENT))

    def undo(self) -> bool:
        """Take the last edit back; False if there is none. What it took off comes back as far as there is room."""
        with self._database.transaction(durable=True) as connection:
            step = self._last_step()
            if not step:
                return False
            self._group_limits.take_back(step)
            rows = connection.execute("SELECT place, dial FROM edits WHERE step = ?", (step,)).fetchall()
            dials = self._database.array("dials")
            back = [(place, dial) for place, dial in rows if dial != ABSENT and dials[place] == ABSENT]
            others = dict(row for row in rows if row not in back)
            leaving = sum(dial == ABSENT and dials[place] != ABSENT for place, dial in others.items())
            room = max(0, int(self._database.fact("most_items")) - int(np.count_nonzero(dials != ABSENT)) + leaving)
            changes = others | dict(back[:room])
            for place, dial in self._group_limits.fitted(dials, changes).items():
                dials[place] = dial
            self._database.set_array("dials", dials)
            self._undismiss_listed(place for place, dial in changes.items() if dial != ABSENT)
            connection.execute("DELETE FROM edits WHERE step = ?", (step,))
            self._database.count_edit()
        return True

    def version(self) -> int:
        """Return a number that grows with every edit."""
        return int(self._database.fact("profile_version") or 0)

    def dismiss(self, place: int) -> None:
        """Do not recommend an item any more."""
        with self._database.transaction(durable=True):
            self._catalogue.checked_place(place)
            self._database.execute("INSERT OR IGNORE INTO dismissed VALUES (?)", place)

    def undismiss(self, place: int) -> None:
        """Recommend an item again."""
        with self._database.transaction(durable=True):
            self._database.execute("DELETE FROM dismissed WHERE place = ?", place)

    def dismissed(self) -> set[int]:
        """Return the places of dismissed items."""
        return {place for (place,) in self._database.rows("SELECT place FROM dismissed")}

    def _fitting(self, text: str, standing: Standing) -> NDArray[np.bool_]:
        """Return what is on the list and fits a text, one bit per place."""
        fits = standing.listed
        if text.split():
            found = np.zeros(fits.size, dtype=np.bool_)
            found[self._catalogue.places_of(text)] = True
            fits &= found
        return fits

    def _items(self, places: NDArray[np.integer], standing: Standing) -> list[ProfileItem]:
        epsilon, default = self._ledger.epsilon, self._ledger.default_limit()
        counted = self._publications.newest_dials()
        effective, exhausted = standing.effective, standing.exhausted
        wanted = places.tolist()
        limits = self._ledger.limits_of(wanted)
        return [
            ProfileItem(
                item.place,
                item.item,
                item.title,
                item.link,
                item.group,
                dial=int(standing.dials[item.place]),
                effective_dial=int(effective[item.place]),
                published_dial=None if counted is None else int(counted[item.place]) or None,
                spent=loss(int(standing.lost[item.place]), epsilon),
                limit=limits.get(item.place, default),
                exhausted=bool(exhausted[item.place]),
                retired=bool(standing.retired[item.place]),
            )
            for item in self._catalogue.items_at(wanted)
        ]

    def _edit(self, changes: Mapping[int, int], *, limit: tuple[str, float | None] | None = None) -> dict[int, int]:
        """Write new dials, `ABSENT` for what goes, as far as limits of groups allow, and remember the old ones.

        A new limit of a group may be part of the step, with the dials that it lowers.
        """
        if not changes and limit is None:
            return {}
        with self._database.transaction(durable=True) as connection:
            dials = self._database.array("dials")
            for place in changes:
                if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < dials.size:
                    raise InvalidInput("must be a position in the catalogue", parameter="place")
            step = self._last_step() + 1
            if limit is not None:
                changes = self._group_limits.write(*limit, step=step)
            allowed = self._group_limits.fitted(dials, changes)
            size = int(np.count_nonzero(dials != ABSENT))
            before = [(step, place, int(dials[place])) for place in allowed]
            connection.executemany("INSERT INTO edits VALUES (?, ?, ?)", before)
            for table in ("edits", "limit_edits"):
                connection.execute(f"DELETE FROM {table} WHERE step <= ?", (step - _UNDO_STEPS,))  # noqa: S608  (ours)
            dials[list(allowed)] = list(allowed.values())
            most = int(self._database.fact("most_items"))
            if np.count_nonzero(dials != ABSENT) > max(most, size):
                raise InvalidInput(f"a profile must hold at most {most} items in this network")
            self._database.set_array("dials", dials)
            gone = [(place,) for place, dial in changes.items() if dial == ABSENT]
            connection.executemany("INSERT OR IGNORE INTO dismissed VALUES (?)", gone)
            self._undismiss_listed(place for place, dial in changes.items() if dial != ABSENT)
            self._database.count_edit()
        return allowed

    def _last_step(self) -> int:
        """Return the number of the last edit that can be taken back; 0 if there is none."""
        steps = self._database.rows("SELECT max(step) FROM edits UNION ALL SELECT max(step) FROM limit_edits")
        return max(step or 0 for (step,) in steps)

    def _undismiss_listed(self, places: Iterable[int]) -> None:
        """Forget, within a transaction, that items were dismissed which are on the list now."""
        with self._database.transaction(durable=True) as connection:
            connection.executemany("DELETE FROM dismissed WHERE place = ?", [(place,) for place in places])


def _check_dial(dial: object) -> None:
    if not isinstance(dial, int) or isinstance(dial, bool) or not 0 <= dial <= FULL_DIAL:
        raise InvalidInput("a dial must be a whole number from 0 to 100")


# Neighbours that the owner does not want to see. Only the list at home changes: nobody is refused anything for it.


_KEY_BYTES = 32


class HiddenNeighbors:
    """Keys of hidden neighbours.

    Privacy
    -------
    Private, and read by what is shown at home alone: whoever is hidden is asked, answered and passed on like anybody.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def hide(self, key_hex: str) -> None:
        """Do not show somebody among neighbours, nor let them vote."""
        key = _key(key_hex)
        with self._database.transaction(durable=True):
            self._database.execute("INSERT OR IGNORE INTO hidden VALUES (?)", key)

    def unhide(self, key_hex: str) -> None:
        """Show somebody again."""
        key = _key(key_hex)
        with self._database.transaction(durable=True):
            self._database.execute("DELETE FROM hidden WHERE key = ?", key)

    def all(self) -> frozenset[bytes]:
        """Return who is hidden."""
        return frozenset(key for (key,) in self._database.rows("SELECT key FROM hidden"))


def _key(key_hex: str) -> bytes:
    try:
        key = bytes.fromhex(key_hex)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidInput(
            "must be 64 hexadecimal digits (see hetdp node export), or the name of one neighbour alone", parameter="key"
        )
    return key
