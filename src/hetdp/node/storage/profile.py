"""The profile in the store: what is on the list and at which dial, edits, undo, what was dismissed."""

import json
from collections.abc import Iterable, Mapping

import numpy as np

from hetdp.core.errors import InvalidInput
from hetdp.node.dials import FULL_DIAL
from hetdp.node.storage.base import checked_place
from hetdp.node.storage.ledger import ABSENT, next_version, put_array
from hetdp.node.storage.listing import ListCounts, ListingStore, ProfileItem, Waiting

__all__ = ["ListCounts", "ProfileItem", "ProfileStore", "Waiting"]

_UNDO_STEPS = 100


class ProfileStore(ListingStore):
    """Reads and writes the profile. Edits take effect in the next epoch, never in a published sketch.

    Privacy
    -------
    Never leaves the file. Edits are on disk when the call returns.
    """

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
        """Change the dials of what is on the list of one group, or of everything, as one step; return how many."""
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
        """Return a number that grows with every edit."""
        return int(self._fact("profile_version") or 0)

    def dismiss(self, place: int) -> None:
        """Do not recommend an item any more."""
        with self.transaction(durable=True) as connection:
            checked_place(connection, place)
            connection.execute("INSERT OR IGNORE INTO dismissed VALUES (?)", (place,))

    def undismiss(self, place: int) -> None:
        """Recommend an item again."""
        with self.transaction(durable=True) as connection:
            connection.execute("DELETE FROM dismissed WHERE place = ?", (place,))

    def dismissed(self) -> set[int]:
        """Return the places of dismissed items."""
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


def _check_dial(dial: object) -> None:
    if not isinstance(dial, int) or isinstance(dial, bool) or not 0 <= dial <= FULL_DIAL:
        raise InvalidInput("a dial must be a whole number from 0 to 100. Got another instead.")
