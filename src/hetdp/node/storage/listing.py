"""The profile as its owner sees it: pages of the list, counts, what waits for the next epoch."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.node.storage.catalogue_table import words_in_catalogue
from hetdp.node.storage.ledger import LedgerStore, Standing, loss

__all__ = ["ListCounts", "ListingStore", "ProfileItem", "Waiting"]


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
    """How many items are on the list, count, and are exhausted."""

    size: int
    counting: int
    exhausted: int


@dataclass(frozen=True, slots=True, repr=False)
class Waiting:
    """An item that the next sketch will treat differently from the newest one."""

    place: int
    title: str
    before: int
    after: int
    listed: bool
    exhausted: bool


class ListingStore(LedgerStore):
    """Reads the profile."""

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
        """Return one item of the profile; None if it is not on the list."""
        standing = self.standing()
        if not 0 <= place < standing.dials.size or not standing.listed[place]:
            return None
        return self._items(np.array([place]), standing)[0]

    def listed_among(self, places: Iterable[int]) -> set[int]:
        """Return which of some places of the catalogue are on the list."""
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
        """Return the groups of which there is something on the list, and how much; items without a group come last."""
        names = json.loads(self._fact("group_names"))
        counts = np.bincount(self._array("groups")[self.standing().listed], minlength=len(names))
        return [(name, int(count)) for name, count in zip(names, counts, strict=True) if count]

    def waiting(self, most: int) -> tuple[list[Waiting], int]:
        """Return some of the items that the next sketch will treat differently, and how many there are."""
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
