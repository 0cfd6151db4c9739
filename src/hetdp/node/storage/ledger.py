"""The ledger of a node: dials, losses and limits of every item, as arrays as long as the catalogue.

Once per epoch the node reads them, draws, and writes back. Arrays of fixed length make that the same work whatever the
profile: an item that is on the list costs no more than one that is not, and nothing is done item by item.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import not_negative
from hetdp.core.errors import InvalidInput
from hetdp.node.dials import FULL_DIAL
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.database import ABSENT, Database

#: The largest lifetime limit. A loss beyond a few dozen means no privacy anyway; this keeps numbers finite.
MOST_LIMIT = 1e6
#: A limit of 10 * epsilon, computed in floats, means ten epochs although it may be a little less than that.
_TOLERANCE = Fraction(1, 10**9)
#: Losses are kept in 32 bits; so many steps are 20 million epochs at full dial.
MOST_STEPS = 2**31 - 1 - FULL_DIAL


@dataclass(frozen=True, slots=True, repr=False)
class Standing:
    """How each item of the catalogue stands, in the order of the catalogue.

    For the owner's eyes; `repr` shows nothing. All arrays are as long as the catalogue, whatever the profile.
    """

    dials: NDArray[np.uint8]  # as the owner has set them; `ABSENT` for items that are not on the list
    lost: NDArray[np.int32]  # in hundredths of epsilon, in the whole life
    limits: NDArray[np.int32]  # at most, in the same steps
    retired: NDArray[np.bool_]  # public: the network uses the item no more

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Which items are on the list."""
        listed: NDArray[np.bool_] = self.dials != ABSENT
        return listed

    @property
    def exhausted(self) -> NDArray[np.bool_]:
        """Which items on the list cannot pay for another epoch."""
        wanted = self._wanted()
        return (wanted > 0) & (self.lost + wanted > self.limits)

    @property
    def effective(self) -> NDArray[np.uint8]:
        """The dials that count in the next sketch: 0 for what is not on the list, retired or exhausted."""
        return np.where(self.exhausted, 0, self._wanted()).astype(np.uint8)

    def _wanted(self) -> NDArray[np.int32]:
        return np.where(self.listed & ~self.retired, self.dials, 0).astype(np.int32)


class LossLedger:
    """Losses and limits of every item."""

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database, self._catalogue = database, catalogue
        #: The default limit of `node.toml`. Whoever opens the store with settings puts it here; it is not written, so
        #: that looking at a node changes nothing.
        self.settings_limit: float | None = None

    @property
    def epsilon(self) -> Fraction:
        """Loss of an item at full dial per epoch."""
        return Fraction(self._database.fact("epsilon"))

    def standing(self) -> Standing:
        """Return how each item of the catalogue stands: for the owner's eyes, and the same work for every profile."""
        limits = self._database.array("limits")
        default = most_steps(self.default_limit(), self.epsilon)
        return Standing(
            self._database.array("dials"),
            self._database.array("lost"),
            np.where(limits < 0, default, limits).astype(np.int32),
            self._catalogue.retired(),
        )

    def default_limit(self) -> float:
        """Return the lifetime limit of items that have none of their own, in epsilon.

        It is what the owner has set on the page; until then what the settings say; without settings what the store
        was made with.
        """
        if self.settings_limit is None or self.default_limit_chosen():
            return float(self._database.fact("default_limit"))
        return self.settings_limit

    def default_limit_chosen(self) -> bool:
        """Return whether the owner has set the default limit, so that the settings no longer do."""
        chosen = self._database.fact("default_limit_chosen")
        return bool(chosen != 0)  # a store that does not say keeps the limit it has

    def set_default_limit(self, epsilon: float) -> None:
        """Set the lifetime limit of items that have none of their own."""
        limit = checked_limit(epsilon)
        with self._database.transaction(durable=True):
            self._database.set_fact("default_limit", limit)
            self._database.set_fact("default_limit_chosen", 1)
            self._database.count_edit()

    def set_limit(self, place: int, epsilon: float | None) -> None:
        """Set the lifetime limit of one item; None goes back to the default."""
        limit = None if epsilon is None else checked_limit(epsilon)
        with self._database.transaction(durable=True):
            self._catalogue.checked_place(place)
            steps = self._database.array("limits")
            if limit is None:
                steps[place] = -1
                self._database.execute("DELETE FROM limits WHERE place = ?", place)
            else:
                steps[place] = most_steps(limit, self.epsilon)
                self._database.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", place, limit)
            self._database.set_array("limits", steps)
            self._database.count_edit()

    def charge(self, dials: NDArray[np.uint8]) -> None:
        """Add one epoch's losses, within the transaction that stores its sketch.

        Must come before the sketch leaves the transaction. The same work for every profile.
        """
        self._database.set_array("lost", self._database.array("lost") + dials.astype(np.int32))

    def charges(self, place: int) -> list[tuple[int, float]]:
        """Return the (epoch, loss) of one item, oldest first."""
        epsilon = self.epsilon
        rows = self._database.rows("SELECT epoch, substr(dials, ?, 1) FROM publications ORDER BY draw", place + 1)
        return [(epoch, loss(dial[0], epsilon)) for epoch, dial in rows if dial and dial[0]]

    def all_charges(self) -> list[tuple[int, int, float]]:
        """Return every (epoch, place, loss), oldest first."""
        losses = [loss(dial, self.epsilon) for dial in range(FULL_DIAL + 1)]
        found = []
        for epoch, raw in self._database.rows("SELECT epoch, dials FROM publications ORDER BY draw"):
            dials = np.frombuffer(raw, dtype=np.uint8)
            found += [(epoch, place, losses[dials[place]]) for place in np.flatnonzero(dials).tolist()]
        return found

    def spent(self) -> dict[int, float]:
        """Return the lifetime loss of every item that ever lost anything, removed ones included."""
        epsilon, lost = self.epsilon, self._database.array("lost")
        return {place: loss(int(lost[place]), epsilon) for place in np.flatnonzero(lost).tolist()}

    def published_steps(self) -> int:
        """Return the most that an item of the default limit has lost in sketches of this store: public numbers only."""
        epochs = most_steps(self.default_limit(), self.epsilon) // FULL_DIAL
        return FULL_DIAL * min(epochs, int(self._database.one("SELECT count(*) FROM publications")))

    def charged_otherwise(self) -> NDArray[np.int64]:
        """Return what each item has lost beyond sketches of this store, in hundredths of epsilon."""
        lost = self._database.array("lost").astype(np.int64)
        for (raw,) in self._database.rows("SELECT dials FROM publications"):
            dials = np.frombuffer(raw, dtype=np.uint8)
            lost[: dials.size] -= dials  # the catalogue may have been smaller
        return np.maximum(lost, 0)

    def effective_dials(self) -> dict[int, int]:
        """Return the dials that will count in the next sketch; items that weigh 0 are left out."""
        dials = self.standing().effective
        return {place: int(dials[place]) for place in np.flatnonzero(dials).tolist()}

    def own_limits(self) -> dict[int, float]:
        """Return all limits that the owner has set for items, on the list or not."""
        return dict(self._database.rows("SELECT place, epsilon FROM limits ORDER BY place"))

    def limits_of(self, places: list[int]) -> dict[int, float]:
        """Return the limits that the owner has set for some items."""
        sql = "SELECT place, epsilon FROM limits WHERE place IN (SELECT value FROM json_each(?))"
        return dict(self._database.rows(sql, json.dumps(places)))


def checked_limit(epsilon: float) -> float:
    """Return a lifetime limit if it is one."""
    limit = not_negative("limit", epsilon)
    if limit > MOST_LIMIT:
        raise InvalidInput(f"must be at most {MOST_LIMIT:,.0f}", parameter="limit")
    return limit


def loss(steps: int, epsilon: Fraction) -> float:
    """Return the loss of so many hundredths of weight."""
    return float(epsilon * int(steps) / FULL_DIAL)


def most_steps(limit: float, epsilon: Fraction) -> int:
    """Return how many hundredths of weight an item may lose in its life.

    Whole numbers from here on: sums of losses have no rounding error.
    """
    return min(MOST_STEPS, math.floor(Fraction(limit) * (1 + _TOLERANCE) * FULL_DIAL / epsilon))
