"""The profile in the store: what is on the list and at which dial, edits, undo, and pages of it for its owner."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.errors import InvalidInput
from hetdp.peer.catalogue import CatalogueItem
from hetdp.peer.sketches import FULL_DIAL
from hetdp.peer.store_base import checked_place
from hetdp.peer.store_ledger import ABSENT, LedgerStore, Standing, loss, next_version, put_array

__all__ = ["ListCounts", "ProfileItem", "ProfileStore", "Waiting"]

_UNDO_STEPS = 100
_ITEMS_AT = "SELECT place, item, title, link, category FROM catalogue WHERE place IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True, repr=False)
class ProfileItem:
    """One item of the profile as its owner sees it.

    Attributes
    ----------
    dial, effective_dial, published_dial
        As set; what will count in the next sketch (0 if exhausted); what counted in the newest one (None if nothing).
    spent, limit
        Lifetime loss so far and at most, in epsilon.
    exhausted
        True if the next loss would exceed the limit; the item then weighs 0.

    Privacy
    -------
    For the owner's eyes; `repr` shows nothing.
    """

    place: int
    item: str
    title: str
    link: str
    group: str
    dial: int
    effective_dial: int
    published_dial: int | None
    spent: float
    limit: float
    exhausted: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListCounts:
    """How many items are on the list, count, and are exhausted.

    Privacy
    -------
    For the owner's eyes; `repr` shows nothing.
    """

    size: int
    counting: int
    exhausted: int


@dataclass(frozen=True, slots=True, repr=False)
class Waiting:
    """An item that the next sketch will treat differently from the newest one.

    Privacy
    -------
    For the owner's eyes; `repr` shows nothing.
    """

    place: int
    title: str
    before: int
    after: int
    listed: bool
    exhausted: bool


class ProfileStore(LedgerStore):
    """Reads and writes the profile. Edits take effect in the next epoch, never in a published sketch.

    Privacy
    -------
    Never leaves the file. Edits are on disk when the call returns.
    """

    def profile(self) -> list[ProfileItem]:
        """Return the whole profile, in the order of the catalogue.

        Privacy
        -------
        For the owner's eyes. The work grows with the profile; a page of it is `listing`.
        """
        standing = self.standing()
        return self._items(np.flatnonzero(standing.listed), standing)

    def listing(self, text: str = "", *, limit: int, offset: int = 0) -> tuple[list[ProfileItem], int]:
        """Return some of the items whose title, id or group holds every word of a text, and how many there are.

        They are ordered by group and title, those without a group last.

        Privacy
        -------
        For the owner's eyes. The work depends on the catalogue and on how many are returned, not on the profile.
        """
        standing, page = self.standing(), self._array("page")
        fits = standing.listed
        if text.split():
            found = np.zeros(fits.size, dtype=np.bool_)
            where, patterns = words_in_catalogue(text)
            rows = self._rows("SELECT place FROM catalogue WHERE " + where, *patterns)  # noqa: S608  (our own text)
            found[[place for (place,) in rows]] = True
            fits &= found
        places = page[fits[page]]
        return self._items(places[offset : offset + limit], standing), places.size

    def on_list(self, place: int) -> ProfileItem | None:
        """Return one item of the profile; None if it is not on the list.

        Privacy
        -------
        For the owner's eyes.
        """
        standing = self.standing()
        if not 0 <= place < standing.dials.size or not standing.listed[place]:
            return None
        return self._items(np.array([place]), standing)[0]

    def listed_among(self, places: Iterable[int]) -> set[int]:
        """Return which of some places of the catalogue are on the list.

        Privacy
        -------
        For the owner's eyes.
        """
        listed = self.standing().listed
        return {place for place in places if listed[place]}

    def list_counts(self) -> ListCounts:
        """Return how many items are on the list, count, and are exhausted.

        Privacy
        -------
        For the owner's eyes. The same work for every profile.
        """
        standing = self.standing()
        counts = (standing.listed, standing.effective, standing.exhausted)
        return ListCounts(*(int(np.count_nonzero(which)) for which in counts))

    def group_counts(self) -> list[tuple[str, int]]:
        """Return the groups of which there is something on the list, and how much; items without a group come last.

        Privacy
        -------
        For the owner's eyes.
        """
        names = json.loads(self._fact("group_names"))
        counts = np.bincount(self._array("groups")[self.standing().listed], minlength=len(names))
        return [(name, int(count)) for name, count in zip(names, counts, strict=True) if count]

    def waiting(self, most: int) -> tuple[list[Waiting], int]:
        """Return some of the items that the next sketch will treat differently, and how many there are.

        Privacy
        -------
        For the owner's eyes.
        """
        before = self._published_dials()
        if before is None:
            return [], 0
        standing, page = self.standing(), self._array("page")
        after, listed, exhausted = standing.effective, standing.listed, standing.exhausted
        places = page[(before != after)[page]]
        rows = [
            Waiting(item.place, item.title, int(before[place]), int(after[place]), bool(listed[place]), bool(gone))
            for item in self.items_at(places[:most].tolist())
            for place, gone in [(item.place, exhausted[item.place])]
        ]
        return rows, places.size

    def items_at(self, places: list[int]) -> list[CatalogueItem]:
        """Return the items of the catalogue at some places, in that order.

        Privacy
        -------
        Public data.
        """
        found = {row[0]: CatalogueItem(*row) for row in self._rows(_ITEMS_AT, json.dumps(places))}
        return [found[place] for place in places]

    def set_dials(self, dials: Mapping[int, int]) -> None:
        """Add items or change their dials, as one step that can be undone.

        Parameters
        ----------
        dials
            Place in the catalogue -> dial, a whole number from 0 ("never counts") to 100 ("normal").

        Privacy
        -------
        Takes effect in the next epoch. Dials are not repeated in errors.
        """
        for dial in dials.values():
            _check_dial(dial)
        self._edit(dict(dials))

    def set_group(self, group: str | None, dial: int) -> int:
        """Change the dials of what is on the list of one group, or of everything, as one step; return how many.

        Privacy
        -------
        Takes effect in the next epoch.
        """
        _check_dial(dial)
        names, chosen = json.loads(self._fact("group_names")), self.standing().listed
        if group is not None:
            chosen &= self._array("groups") == (names.index(group) if group in names else -1)
        places = np.flatnonzero(chosen).tolist()
        self._edit(dict.fromkeys(places, dial))
        return len(places)

    def remove(self, places: Iterable[int]) -> None:
        """Remove items from the profile, as one step that can be undone. What they have lost stays on record.

        Privacy
        -------
        Takes effect in the next epoch; sketches already published cannot be called back.
        """
        self._edit(dict.fromkeys(places, ABSENT))

    def undo(self) -> bool:
        """Take the last edit back; False if there is none.

        Privacy
        -------
        An edit like any other: takes effect in the next epoch.
        """
        with self.transaction(durable=True) as connection:
            (step,) = connection.execute("SELECT max(step) FROM edits").fetchone()
            if step is None:
                return False
            dials = self._array("dials")
            for place, dial in connection.execute("SELECT place, dial FROM edits WHERE step = ?", (step,)):
                dials[place] = dial
            put_array(connection, "dials", dials)
            connection.execute("DELETE FROM edits WHERE step = ?", (step,))
            next_version(connection)
        return True

    def profile_version(self) -> int:
        """Return a number that grows with every edit.

        Privacy
        -------
        For the owner's eyes.
        """
        return int(self._fact("profile_version") or 0)

    def dismiss(self, place: int) -> None:
        """Do not recommend an item any more.

        Privacy
        -------
        Stays local; it is not part of the profile.
        """
        with self.transaction(durable=True) as connection:
            checked_place(connection, place)
            connection.execute("INSERT OR IGNORE INTO dismissed VALUES (?)", (place,))

    def undismiss(self, place: int) -> None:
        """Recommend an item again.

        Privacy
        -------
        Stays local.
        """
        with self.transaction(durable=True) as connection:
            connection.execute("DELETE FROM dismissed WHERE place = ?", (place,))

    def dismissed(self) -> set[int]:
        """Return the places of dismissed items.

        Privacy
        -------
        For the owner's eyes.
        """
        return {place for (place,) in self._rows("SELECT place FROM dismissed")}

    def _edit(self, changes: Mapping[int, int]) -> None:
        """Write new dials, `ABSENT` for what goes, and remember the old ones."""
        if not changes:
            return
        with self.transaction(durable=True) as connection:
            dials = self._array("dials")
            for place in changes:
                if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < dials.size:
                    raise InvalidInput("place must be a position in the catalogue. Got another instead.")
            (step,) = connection.execute("SELECT coalesce(max(step), 0) + 1 FROM edits").fetchone()
            before = [(step, place, int(dials[place])) for place in changes]
            connection.executemany("INSERT INTO edits VALUES (?, ?, ?)", before)
            connection.execute("DELETE FROM edits WHERE step <= ?", (step - _UNDO_STEPS,))
            dials[list(changes)] = list(changes.values())
            most = int(self._fact("most_items"))
            if np.count_nonzero(dials != ABSENT) > most:
                raise InvalidInput(f"a profile must hold at most {most} items in this network. Got more instead.")
            put_array(connection, "dials", dials)
            next_version(connection)

    def _items(self, places: NDArray[np.integer], standing: Standing) -> list[ProfileItem]:
        epsilon, default, counted = self.epsilon, self.default_limit(), self._published_dials()
        effective, exhausted = standing.effective, standing.exhausted
        wanted = places.tolist()
        limits = self._limits(wanted)
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
            )
            for item in self.items_at(wanted)
        ]

    def _published_dials(self) -> NDArray[np.uint8] | None:
        """Return the dials that counted in the newest sketch; None if there is none."""
        raw = self._one("SELECT dials FROM publications ORDER BY epoch DESC LIMIT 1")
        return None if raw is None else np.frombuffer(raw, dtype=np.uint8)


def words_in_catalogue(text: str) -> tuple[str, list[str]]:
    """Return the condition that title, id or group of a row hold every word of a text, and what to fill in.

    Privacy
    -------
    What is searched for is not recorded.
    """
    words = text.split()[:10]
    like = "(title LIKE ? ESCAPE '!' OR item LIKE ? ESCAPE '!' OR category LIKE ? ESCAPE '!')"
    patterns = [f"%{literally(word)}%" for word in words for _ in range(3)]
    return " AND ".join([like] * len(words)) or "1", patterns


def literally(word: str) -> str:
    """Return a word for LIKE ... ESCAPE '!', its signs taken literally.

    Privacy
    -------
    Not applicable.

    Examples
    --------
    >>> literally("50%!")
    '50!%!!'
    """
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _check_dial(dial: object) -> None:
    if not isinstance(dial, int) or isinstance(dial, bool) or not 0 <= dial <= FULL_DIAL:
        raise InvalidInput("a dial must be a whole number from 0 to 100. Got another instead.")
