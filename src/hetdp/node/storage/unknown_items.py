"""What the owner has brought along and the catalogue does not have, or not yet: kept until a version of it does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hetdp.node.storage.catalogue_index import CatalogueIndex
from hetdp.node.storage.database import Database
from hetdp.node.storage.ledger import LossLedger
from hetdp.node.storage.other_charges import OtherCharges
from hetdp.node.storage.profile import OwnProfile
from hetdp.profiles.reading.canonical import canonical_text
from hetdp.profiles.reading.catalogues import CatalogueItem
from hetdp.profiles.reading.own_lists import ListRow

__all__ = ["UnknownItem", "UnknownItems"]


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

    def keep(self, dials: Mapping[str, int]) -> None:
        """Keep names with their dials, within a transaction; what is kept already stays as it is.

        Two ways of writing one name are one.
        """
        known = {canonical_text(item.name): item for item in self.all()}
        for name, dial in dials.items():
            before = known.setdefault(canonical_text(name), UnknownItem(name, dial))
            if before.dial is None:  # it came with losses, and now goes on the list
                self._database.execute("UPDATE unknown SET dial = ? WHERE name = ?", dial, before.name)
            else:
                self._database.execute("INSERT OR IGNORE INTO unknown (name, dial) VALUES (?, ?)", before.name, dial)

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Do not wait for some of them, or any, any more; what they have lost elsewhere stays on record."""
        with self._database.transaction(durable=True) as connection:
            chosen = [item.name for item in self.all()] if names is None else list(names)
            connection.executemany("UPDATE unknown SET dial = NULL WHERE name = ?", [(name,) for name in chosen])
            connection.execute("DELETE FROM unknown WHERE dial IS NULL AND lost = 0")
            self._database.count_edit()

    def take_over(self, new_items: Sequence[CatalogueItem]) -> int:
        """Take over what a new version of the catalogue has, and return how many; within the transaction that grows it.

        Losses first: they come along whether or not the item goes on the list; where a name fits several new items, any
        of them may be what was published, so each is charged. Which of them goes on the list is not guessed. What would
        make the list longer than the network allows stays where it is.
        """
        index = CatalogueIndex(new_items)
        found = [(item, index.places_of(ListRow(0, item=item.name))) for item in self.all()]
        self._bring_losses(found)
        clear = {item: next(iter(places)) for item, places in found if len(places) == 1}
        dials: dict[int, int] = {}
        for item, place in clear.items():
            if item.dial is not None:
                dials[place] = min(item.dial, dials.get(place, item.dial))
        waiting = self._profile.add(dials).no_room
        done = [item.name for item, place in clear.items() if item.dial is None or place not in waiting]
        self._database.execute_many("DELETE FROM unknown WHERE name = ?", [(name,) for name in done])
        return len(done)

    def _bring_losses(self, found: Sequence[tuple[UnknownItem, set[int]]]) -> None:
        """Charge what items have lost elsewhere, once, and set the limits that came along."""
        lost = np.zeros(self._database.array("lost").size, np.int64)
        limits = dict[int, float]()
        for item, places in found:
            for place in places:
                lost[place] += item.lost
                if item.lifetime is not None:
                    limits[place] = min(item.lifetime, limits.get(place, item.lifetime))
            if places:
                self._database.execute("UPDATE unknown SET lost = 0, lifetime = NULL WHERE name = ?", item.name)
        for place, limit in limits.items():
            self._ledger.set_limit(place, limit)
        if lost.any():
            number = int(self._database.one("SELECT count(*) FROM other_charges"))
            self._other_charges.add(f"grown-{number}", "moved", lost=lost)
