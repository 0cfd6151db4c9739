"""What the owner has brought along and the catalogue does not have, or not yet: kept until a version of it does."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hetdp.core.errors import InvalidInput
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.lists import ListRow, canonical_link, canonical_text
from hetdp.node.storage.catalogue import CatalogueIndex
from hetdp.node.storage.database import Database
from hetdp.node.storage.ledger import LossLedger
from hetdp.node.storage.other_charges import OtherCharges
from hetdp.node.storage.profile import OwnProfile

_MOST_UNKNOWN = 200_000
_MUTED = 0


@dataclass(frozen=True, slots=True, repr=False)
class UnknownItem:
    """Something that the catalogue does not have: for the owner's eyes, so `repr` shows nothing."""

    name: str
    dial: int | None  # at which it goes on the list; None if it does not
    lost: int = 0  # elsewhere, in hundredths of this network's epsilon
    lifetime: float | None = None  # its limit, in epsilon, if the owner has set one


class UnknownItems:
    """What the catalogue does not have. It never leaves the store, and counts in no sketch."""

    def __init__(
        self, database: Database, profile: OwnProfile, ledger: LossLedger, other_charges: OtherCharges
    ) -> None:
        self._database, self._profile, self._ledger, self._other_charges = database, profile, ledger, other_charges

    def all(self) -> list[UnknownItem]:
        """Return what is kept, by name."""
        rows = self._database.rows("SELECT name, dial, lost, lifetime FROM unknown ORDER BY name")
        return [UnknownItem(*row) for row in rows]

    def count(self) -> int:
        """Return how many are kept."""
        return int(self._database.one("SELECT count(*) FROM unknown"))

    def check_room(self, more: int) -> None:
        """Refuse more names than a person has."""
        if self.count() + more > _MOST_UNKNOWN:
            raise InvalidInput(f"at most {_MOST_UNKNOWN:,} names can wait for the catalogue. Got more instead.")

    def keep(self, name: str, dial: int | None, *, lost: int = 0, lifetime: float | None = None) -> None:
        """Keep a name, within a transaction. Two ways of writing it are one: the stricter counts, and losses add."""
        self._database.execute(
            "INSERT INTO unknown VALUES (?, ?, ?, ?, ?) ON CONFLICT (canonical) DO UPDATE SET "
            "dial = coalesce(min(dial, excluded.dial), dial, excluded.dial), lost = lost + excluded.lost, "
            "lifetime = coalesce(min(lifetime, excluded.lifetime), lifetime, excluded.lifetime)",
            *(name, dial, lost, lifetime, _canonical(name)),
        )

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Do not wait for some of them, or any, any more; what they have lost elsewhere stays on record."""
        with self._database.transaction(durable=True) as connection:
            chosen = [item.name for item in self.all()] if names is None else list(names)
            connection.executemany("UPDATE unknown SET dial = NULL WHERE name = ?", [(name,) for name in chosen])
            connection.execute("DELETE FROM unknown WHERE dial IS NULL AND lost = 0 AND lifetime IS NULL")
            self._database.count_edit()

    def take_over(self, new_items: Sequence[CatalogueItem]) -> int:
        """Take over what a new version of the catalogue has, and return how many; within the transaction that grows it.

        Losses first: they come along whether or not the item goes on the list; where a name fits several new items, any
        of them may be what was published, so each is charged, and so is each that a later version brings. Which of them
        goes on the list is not guessed. What a link has found is muted until its owner turns the dial: a bookmark says
        less about what its owner wants on this list, and whoever makes the catalogue chooses the title that it appears
        by. What would make the list longer than the network allows stays where it is. The work grows with the version,
        not with how much is kept: others can see when a node is busy.
        """
        index = CatalogueIndex(new_items)
        found = [(item, index.all_places_of(ListRow(0, item=item.name))) for item in self._named_by(new_items)]
        self._bring_losses(found)
        clear = {item: next(iter(places)) for item, places in found if len(places) == 1}
        dials: dict[int, int] = {}
        for item, place in clear.items():
            if item.dial is not None:
                dial = _MUTED if _is_link(item.name) else item.dial
                dials[place] = min(dial, dials.get(place, dial))
        waiting = self._profile.add(dials).no_room
        for item, place in clear.items():
            if item.dial is None or place not in waiting:
                self._database.execute("DELETE FROM unknown WHERE name = ?", item.name)
            else:  # it is charged, and has a place: only the list is full
                self._database.execute("UPDATE unknown SET lost = 0, lifetime = NULL WHERE name = ?", item.name)
        return sum(item.dial is None or place not in waiting for item, place in clear.items())

    def _named_by(self, items: Iterable[CatalogueItem]) -> list[UnknownItem]:
        """Return what is kept under an id, a title or a link of some items."""
        texts = {_canonical(text) for item in items for text in (item.item, item.title, item.link) if text}
        sql = "SELECT name, dial, lost, lifetime FROM unknown WHERE canonical IN (SELECT value FROM json_each(?))"
        return [UnknownItem(*row) for row in self._database.rows(f"{sql} ORDER BY name", json.dumps(sorted(texts)))]

    def _bring_losses(self, found: Sequence[tuple[UnknownItem, set[int]]]) -> None:
        """Charge what items have lost elsewhere, once, and set the limits that came along."""
        lost = np.zeros(self._database.array("lost").size, np.int64)
        limits = dict[int, float]()
        for item, places in found:
            for place in places:
                lost[place] += item.lost
                if item.lifetime is not None:
                    limits[place] = min(item.lifetime, limits.get(place, item.lifetime))
        for place, limit in limits.items():
            self._ledger.set_limit(place, limit)
        if lost.any():
            number = int(self._database.one("SELECT count(*) FROM other_charges"))
            self._other_charges.add(f"grown-{number}", "moved", lost=lost)


def _is_link(name: str) -> bool:
    return name[:4].lower() == "http" and canonical_link(name) is not None


def _canonical(name: str) -> str:
    """Return the form that all ways of writing a name, or a link, share."""
    link = canonical_link(name) if _is_link(name) else None
    return canonical_text(name) if link is None else link
