"""What was charged for other reasons than a sketch of this store, and the losses as all records together give them.

A node that came from elsewhere brings losses along; one that was restored, or has met its own key, pays for sketches
that it has no record of. Each such charge has a mark, under which it is made once.
"""

import numpy as np
from numpy.typing import NDArray

from hetdp.node.dials import FULL_DIAL
from hetdp.node.storage.database import Database
from hetdp.node.storage.events import Events
from hetdp.node.storage.ledger import MOST_STEPS

#: The fact that holds up to which epoch a restored node has paid, until it draws for the first time.
RESTORED_THROUGH = "restored_through"

_BROUGHT = "brought"


class OtherCharges:
    """Charges that no sketch of this store stands for. Losses are in hundredths of epsilon."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, mark: str, why: str, *, every: int = 0, lost: NDArray[np.int64] | None = None) -> bool:
        """Charge, within a transaction, unless it was done under this mark; return whether it was done now.

        `every` is charged to each item, also to those that a later version of the catalogue brings; `lost` is as long
        as the catalogue.

        Privacy
        -------
        Losses only ever grow. What an item has lost elsewhere, or may have lost, counts toward its limit here.
        """
        if self.has(mark):
            return False
        before = self._database.array("lost").astype(np.int64)
        single = np.zeros(before.size, np.int64) if lost is None else np.minimum(lost, MOST_STEPS)
        every = min(every, MOST_STEPS)
        row = (mark, why, every, single.astype("<i4").tobytes())
        self._database.execute("INSERT INTO other_charges VALUES (?, ?, ?, ?)", *row)
        self._database.set_array("lost", np.minimum(before + single + every, MOST_STEPS))
        self._database.count_edit()
        return True

    def has(self, mark: str) -> bool:
        """Return whether a charge was made."""
        return self._database.one("SELECT 1 FROM other_charges WHERE mark = ?", mark) is not None

    def of_every_item(self) -> int:
        """Return what every item has lost this way: also one that is new to the catalogue begins with it.

        A restored node does not know for which version of the catalogue the sketches were drawn that it pays for.
        """
        return min(MOST_STEPS, int(self._database.one("SELECT coalesce(sum(every), 0) FROM other_charges")))

    def of_any_item(self) -> int:
        """Return the most that an item can have lost this way, as far as public numbers tell: epochs and sketches."""
        return min(MOST_STEPS, self.of_every_item() + int(self._database.fact(_BROUGHT) or 0))

    def bring(self, steps: int) -> None:
        """Count what an item can have lost in sketches of another network, within a transaction."""
        self._database.set_fact(_BROUGHT, min(MOST_STEPS, int(self._database.fact(_BROUGHT) or 0) + steps))

    def recomputed(self) -> NDArray[np.int64]:
        """Return what each item has lost, from the dials of published sketches and the other charges."""
        total = np.full(self._database.array("lost").size, self.of_every_item(), np.int64)
        for (raw,) in self._database.rows("SELECT dials FROM publications"):
            _add(total, np.minimum(np.frombuffer(raw, np.uint8), FULL_DIAL))
        for (raw,) in self._database.rows("SELECT lost FROM other_charges"):
            _add(total, np.maximum(0, np.frombuffer(raw[: len(raw) // 4 * 4], "<i4")))
        return np.minimum(total, MOST_STEPS)

    def repair(self, events: Events, *, now_s: float) -> bool:
        """Compare losses with what was published; where they differ, keep the larger and say so, without an item.

        Also what was published counts as drawn, whatever the table of drawn epochs says.
        """
        with self._database.transaction(durable=True):
            self._database.execute("INSERT OR IGNORE INTO drawn SELECT epoch, 'published' FROM publications")
            kept, found = self._database.array("lost").astype(np.int64), self.recomputed()
            if np.array_equal(kept, found):
                return False
            missing = np.maximum(kept - found, 0)
            self._database.set_array("lost", np.clip(np.maximum(kept, found), 0, MOST_STEPS))
            number = self._database.one("SELECT count(*) FROM other_charges")
            row = (f"repaired-{number}", "repaired", 0, np.minimum(missing, MOST_STEPS).astype("<i4").tobytes())
            self._database.execute("INSERT INTO other_charges VALUES (?, ?, ?, ?)", *row)
            self._database.count_edit()
            events.note("repaired", now_s=now_s)
        return True


def _add(total: NDArray[np.int64], part: NDArray[np.integer]) -> None:
    """Add an array that may be shorter, from the time of a smaller catalogue."""
    size = min(total.size, part.size)
    total[:size] += part[:size]
