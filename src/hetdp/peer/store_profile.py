"""The private half of the store: profile, dials, limits, undo, and the ledger of what each item has lost."""

import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hetdp.checks import not_negative
from hetdp.errors import InvalidInput
from hetdp.peer.sketches import FULL_DIAL
from hetdp.peer.store_base import StoreBase, checked_place, set_fact

__all__ = ["ProfileItem", "ProfileStore"]

_UNDO_STEPS = 100
#: A limit of 0.3 at epsilon 0.1 means three epochs, although 0.3 / 0.1 is a little less than 3 in floats.
_TOLERANCE = 1e-9


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


class ProfileStore(StoreBase):
    """Reads and writes the profile. Edits take effect in the next epoch, never in a published sketch.

    Privacy
    -------
    Never leaves the file. Edits are on disk when the call returns.
    """

    @property
    def epsilon(self) -> Fraction:
        """Loss of an item at full dial per epoch."""
        return Fraction(self._fact("epsilon"))

    def profile(self) -> list[ProfileItem]:
        """Return the profile, in the order of the catalogue.

        Privacy
        -------
        For the owner's eyes.
        """
        newest = self._one("SELECT max(epoch) FROM publications")
        counted = dict(self._rows("SELECT place, dial FROM charges WHERE epoch = ?", -1 if newest is None else newest))
        steps, limits, default = self._steps(), self._limits(), self.default_limit()
        epsilon, found = self.epsilon, []
        for place, item, title, link, group, dial in self._rows(
            "SELECT place, item, title, link, category, dial FROM profile JOIN catalogue USING (place) ORDER BY place"
        ):
            limit = limits.get(place, default)
            fits = dial == 0 or steps.get(place, 0) + dial <= most_steps(limit, epsilon)
            found.append(
                ProfileItem(
                    place,
                    item,
                    title,
                    link,
                    group,
                    dial=dial,
                    effective_dial=dial if fits else 0,
                    published_dial=counted.get(place),
                    spent=loss(steps.get(place, 0), epsilon),
                    limit=limit,
                    exhausted=not fits,
                )
            )
        return found

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
            if not isinstance(dial, int) or isinstance(dial, bool) or not 0 <= dial <= FULL_DIAL:
                raise InvalidInput("a dial must be a whole number from 0 to 100. Got another instead.")
        self._edit(dict(dials))

    def remove(self, places: Iterable[int]) -> None:
        """Remove items from the profile, as one step that can be undone. What they have lost stays on record.

        Privacy
        -------
        Takes effect in the next epoch; sketches already published cannot be called back.
        """
        self._edit(dict.fromkeys(places))

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
            before = connection.execute("SELECT place, dial FROM edits WHERE step = ?", (step,)).fetchall()
            _write(connection, dict(before))
            connection.execute("DELETE FROM edits WHERE step = ?", (step,))
            _next_version(connection)
        return True

    def profile_version(self) -> int:
        """Return a number that grows with every edit.

        Privacy
        -------
        For the owner's eyes.
        """
        return int(self._fact("profile_version") or 0)

    def default_limit(self) -> float:
        """Return the lifetime limit of items that have none of their own, in epsilon.

        Privacy
        -------
        For the owner's eyes.
        """
        return float(self._fact("default_limit"))

    def set_default_limit(self, epsilon: float) -> None:
        """Set the lifetime limit of items that have none of their own.

        Privacy
        -------
        Losses already made stay on record.
        """
        limit = not_negative("limit", epsilon)
        with self.transaction(durable=True) as connection:
            set_fact(connection, "default_limit", limit)
            _next_version(connection)

    def set_limit(self, place: int, epsilon: float | None) -> None:
        """Set the lifetime limit of one item; None goes back to the default.

        Privacy
        -------
        Losses already made stay on record.
        """
        limit = None if epsilon is None else not_negative("limit", epsilon)
        with self.transaction(durable=True) as connection:
            checked_place(connection, place)
            if limit is None:
                connection.execute("DELETE FROM limits WHERE place = ?", (place,))
            else:
                connection.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", (place, limit))
            _next_version(connection)

    def charges(self, place: int) -> list[tuple[int, float]]:
        """Return the (epoch, loss) of one item, oldest first.

        Privacy
        -------
        For the owner's eyes.
        """
        epsilon = self.epsilon
        rows = self._rows("SELECT epoch, dial FROM charges WHERE place = ? ORDER BY epoch", place)
        return [(epoch, loss(dial, epsilon)) for epoch, dial in rows]

    def all_charges(self) -> list[tuple[int, int, float]]:
        """Return every (epoch, place, loss), oldest first.

        Privacy
        -------
        For the owner's eyes.
        """
        epsilon = self.epsilon
        rows = self._rows("SELECT epoch, place, dial FROM charges ORDER BY epoch, place")
        return [(epoch, place, loss(dial, epsilon)) for epoch, place, dial in rows]

    def spent(self) -> dict[int, float]:
        """Return the lifetime loss of every item that ever lost anything, removed ones included.

        Privacy
        -------
        For the owner's eyes.
        """
        epsilon = self.epsilon
        return {place: loss(steps, epsilon) for place, steps in self._steps().items()}

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

    def effective_dials(self) -> dict[int, int]:
        """Return the dials that will count in the next sketch; items that weigh 0 are left out.

        Privacy
        -------
        For the owner's eyes.
        """
        return {item.place: item.effective_dial for item in self.profile() if item.effective_dial > 0}

    def _edit(self, dials: Mapping[int, int | None]) -> None:
        if not dials:
            return
        with self.transaction(durable=True) as connection:
            for place in dials:
                checked_place(connection, place)
            (step,) = connection.execute("SELECT coalesce(max(step), 0) + 1 FROM edits").fetchone()
            before = dict.fromkeys(dials) | dict(
                row for row in connection.execute("SELECT place, dial FROM profile") if row[0] in dials
            )
            connection.executemany(
                "INSERT INTO edits VALUES (?, ?, ?)", [(step, place, dial) for place, dial in before.items()]
            )
            connection.execute("DELETE FROM edits WHERE step <= ?", (step - _UNDO_STEPS,))
            _write(connection, dials)
            (size,) = connection.execute("SELECT count(*) FROM profile").fetchone()
            (most,) = connection.execute("SELECT value FROM facts WHERE name = 'most_items'").fetchone()
            if size > most:
                raise InvalidInput(f"a profile must hold at most {most} items in this network. Got more instead.")
            _next_version(connection)

    def _steps(self) -> dict[int, int]:
        return dict(self._rows("SELECT place, sum(dial) FROM charges GROUP BY place"))

    def _limits(self) -> dict[int, float]:
        return dict(self._rows("SELECT place, epsilon FROM limits"))


def loss(steps: int, epsilon: Fraction) -> float:
    """Return the loss of so many hundredths of weight.

    Privacy
    -------
    Exact up to the final rounding to a float.

    Examples
    --------
    >>> loss(150, Fraction(3))
    4.5
    """
    return float(epsilon * steps / FULL_DIAL)


def most_steps(limit: float, epsilon: Fraction) -> int:
    """Return how many hundredths of weight an item may lose in its life.

    Privacy
    -------
    Whole numbers from here on: sums of losses have no rounding error.

    Examples
    --------
    >>> most_steps(0.3, Fraction(1, 10)), most_steps(4.5, Fraction(3))
    (300, 150)
    """
    return math.floor(limit / float(epsilon) * FULL_DIAL * (1.0 + _TOLERANCE))


def _write(connection: sqlite3.Connection, dials: Mapping[int, int | None]) -> None:
    for place, dial in dials.items():
        if dial is None:
            connection.execute("DELETE FROM profile WHERE place = ?", (place,))
        else:
            connection.execute("INSERT OR REPLACE INTO profile VALUES (?, ?)", (place, dial))


def _next_version(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute(
        "SELECT coalesce(max(value), 0) FROM facts WHERE name = 'profile_version'"
    ).fetchone()
    set_fact(connection, "profile_version", version + 1)
