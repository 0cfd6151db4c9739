"""Limits of groups: the most that one sketch may tell about all items of a group together.

A group loses the sum of what its items lose, so its limit is on the sum of dials: epsilon times that, over 100, is the
most that one sketch can tell about the group. Limits work when the owner edits, and only then. Setting one lowers
dials, which are stored like dials set by hand; whatever is added or raised afterwards gets at most what is left.

No sketch looks at limits. A dial that was computed when a sketch is drawn, from which other items are there, would let
one item move every other bit: ten items at 1 and one at 0.1, scaled to 10 at epsilon 3, make the loss of the last one
4.92 instead of 0.30. `tests/privacy/broken/node.py` keeps that mistake as a broken variant.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.node.dials import FULL_DIAL
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.database import ABSENT, Database
from hetdp.node.storage.ledger import LossLedger, checked_limit, most_steps

#: Groups of the catalogue that an error names.
_MOST_NAMED = 20
#: Stands for all items together. No group has this name: names in a catalogue do not begin with a blank.
WHOLE_LIST = " "

Dials = NDArray[np.uint8]


class GroupLimits:
    """The limits that the owner has set, by the name of the group; private, like dials."""

    def __init__(self, database: Database, catalogue: Catalogue, ledger: LossLedger) -> None:
        self._database, self._catalogue, self._ledger = database, catalogue, ledger

    def all(self) -> dict[str, float]:
        """Return the limit of each group that has one, in epsilon per sketch."""
        return dict(self._database.rows("SELECT name, epsilon FROM group_limits ORDER BY name"))

    def members(self, group: str) -> NDArray[np.bool_]:
        """Return which items of the catalogue are in a group; all are in `WHOLE_LIST`.

        None are in a group that the catalogue does not have, or not yet: its limit may have come with a move.
        """
        if group == WHOLE_LIST:
            return np.ones(self._catalogue.size(), dtype=np.bool_)
        return self._catalogue.in_group(group)

    def checked(self, group: str) -> str:
        """Return a group if the catalogue has it, or a limit is set for it."""
        if group != WHOLE_LIST and group not in self._catalogue.groups()[0] and group not in self.all():
            names = [repr(name) for name in self._catalogue.groups()[0]]
            known = ", ".join(names[:_MOST_NAMED]) + (" or another of them" if len(names) > _MOST_NAMED else "")
            raise InvalidInput(f"must be one of the catalogue's: {known}", parameter="group")
        return group

    def proposed(self, group: str, epsilon: float) -> dict[int, int]:
        """Return the dials that a limit would lower, and to what. Nothing is written.

        All go down in proportion, so that what counted for more still does. Limits of other groups play no part: dials
        that go down cannot break them.
        """
        most = most_steps(checked_limit(epsilon), self._ledger.epsilon)
        standing = self._ledger.standing()
        places = np.flatnonzero(self.members(self.checked(group)) & standing.listed & ~standing.retired)
        before = standing.dials[places].astype(np.int64)
        after = _in_proportion(before, most)
        return {
            place: dial for place, old, dial in zip(places.tolist(), before, after.tolist(), strict=True) if dial < old
        }

    def write(self, group: str, epsilon: float | None, *, step: int) -> dict[int, int]:
        """Set a limit, or remove it, within the transaction of a step of edits; return the dials that are to go down.

        What was before is remembered with the step.
        """
        limit = None if epsilon is None else checked_limit(epsilon)
        before = self._database.one("SELECT epsilon FROM group_limits WHERE name = ?", self.checked(group))
        self._database.execute("INSERT INTO limit_edits VALUES (?, ?, ?)", step, group, before)
        self._put(group, limit)
        return {} if limit is None else self.proposed(group, limit)

    def take_back(self, step: int) -> None:
        """Put back the limits that a step of edits has changed, within a transaction."""
        for group, before in self._database.rows("SELECT name, epsilon FROM limit_edits WHERE step = ?", step):
            self._put(group, before)
        self._database.execute("DELETE FROM limit_edits WHERE step = ?", step)

    def fitted(self, dials: Dials, changes: Mapping[int, int]) -> dict[int, int]:
        """Return the changes of dials that limits allow: all that lower one, and of the others what is left.

        What one edit adds or raises together gets an equal share at most. Nothing else is touched, so an edit never
        changes an item that it is not about.
        """
        limits, allowed = self.all(), dict(changes)
        if not limits or not changes:
            return allowed
        places = np.array(list(changes))
        before, after = _counting(dials), dials.copy()
        after[places] = list(changes.values())
        wanted, in_use = _counting(after), ~self._ledger.standing().retired
        for group, epsilon in limits.items():
            here = self.members(group) & in_use
            raised = here & (wanted > before)
            left = most_steps(epsilon, self._ledger.epsilon) - int(wanted[here & ~raised].sum())
            wanted[raised] = _shared(before[raised], wanted[raised], left)
        return {place: dial if dial == ABSENT else int(wanted[place]) for place, dial in allowed.items()}

    def hold(self) -> None:
        """Lower what is above a limit, within a transaction: for a list that was brought here from elsewhere."""
        for group, epsilon in self.all().items():
            lowered = self.proposed(group, epsilon)
            dials = self._database.array("dials")
            dials[list(lowered)] = list(lowered.values())
            self._database.set_array("dials", dials)

    def _put(self, group: str, limit: float | None) -> None:
        if limit is None:
            self._database.execute("DELETE FROM group_limits WHERE name = ?", group)
        else:
            self._database.execute("INSERT OR REPLACE INTO group_limits VALUES (?, ?)", group, limit)


def _counting(dials: Dials) -> NDArray[np.int64]:
    """Return dials as they add up; what is not on the list adds nothing."""
    return np.where(dials == ABSENT, 0, dials).astype(np.int64)


def _in_proportion(dials: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return dials lowered so that they add up to at most so much: rounded down, and what is left goes to the nearest.

    Examples
    --------
    >>> _in_proportion(np.array([100, 100, 50]), 100).tolist()
    [40, 40, 20]
    >>> _in_proportion(np.array([100, 100, 100]), 100).tolist()
    [34, 33, 33]
    """
    total = int(dials.sum())
    if total <= most:
        return dials
    lowered, rest = np.divmod(dials * most, total)
    nearest = np.argsort(-rest, kind="stable")[: most - int(lowered.sum())]
    lowered[nearest] += 1
    return lowered


def _shared(before: NDArray[np.int64], wanted: NDArray[np.int64], left: int) -> NDArray[np.int64]:
    """Return dials between those before and those wanted that add up to at most what is left, by one common level.

    Examples
    --------
    >>> _shared(np.array([0, 0, 40]), np.array([100, 10, 100]), 100).tolist()
    [45, 10, 45]
    >>> _shared(np.array([60]), np.array([100]), 20).tolist()
    [60]
    """
    for level in range(FULL_DIAL, 0, -1):
        reached = np.maximum(before, np.minimum(wanted, level))
        if int(reached.sum()) <= left:
            return reached
    return before
