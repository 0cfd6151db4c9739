"""A ledger belongs to a person, not to a network: what one node's store holds of its owner, taken into another's.

Items are known by their names, in one form for all ways to write them. What an item has lost here adds to what it has
lost there; of two dials or limits for one item, the stricter counts.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.node.storage.catalogue_index import CatalogueIndex
from hetdp.node.storage.ledger import ABSENT, most_steps
from hetdp.node.storage.store import NodeStore
from hetdp.profiles.reading.own_lists import ListRow

__all__ = ["take_over"]


@dataclass(frozen=True, slots=True, repr=False)
class _Account:
    """What a store knows about one item that its owner has, or had."""

    row: ListRow  # what names it
    dial: int | None
    lost: int
    limit: float | None
    dismissed: bool


def take_over(source: NodeStore, target: NodeStore, *, mark: str, new: bool) -> None:
    """Take profile, dials, limits, losses and what was dismissed or hidden into another store, within its transaction.

    Names that the target's catalogue does not have are kept there, with dial, limit and loss, until it does; so are
    dials that would make the list longer than the network allows. Under one `mark` it is done once. A `new` store takes
    over the limit of all items; another keeps the stricter of both.

    Privacy
    -------
    Losses are converted to hundredths of the target's epsilon and rounded up.
    """
    if target.other_charges.has(mark):
        return
    index, ratio = CatalogueIndex(target.catalogue.whole()), source.ledger.epsilon / target.ledger.epsilon
    dials, limits = target.database.array("dials"), target.database.array("limits")
    lost, unknown = np.zeros(dials.size, np.int64), list[tuple[_Account, int]]()
    room = int(target.database.fact("most_items")) - int(np.count_nonzero(dials != ABSENT))
    for account in _accounts(source):
        places, steps = index.all_places_of(account.row), math.ceil(account.lost * ratio)
        for place in places:  # where a name fits several, any of them may be what was published
            lost[place] += steps
        if len(places) != 1:
            unknown.append((account, steps))
            continue
        (place,) = places
        if account.dial is not None and dials[place] != ABSENT:
            dials[place] = min(account.dial, int(dials[place]))
        elif account.dial is not None and room:
            room, dials[place] = room - 1, account.dial
        elif account.dial is not None:
            unknown.append((account, 0))
        _set_limit(target, limits, place, account.limit)
        if account.dismissed:
            target.database.execute("INSERT OR IGNORE INTO dismissed VALUES (?)", place)
    target.database.set_array("dials", dials)
    target.database.set_array("limits", limits)
    target.other_charges.add(mark, "moved", lost=lost)
    _keep_unknown(target, unknown)
    _common(source, target, new=new)


def _accounts(store: NodeStore) -> Iterator[_Account]:
    """Return everything on the list, ever charged, limited or dismissed, and what the catalogue did not have."""
    database = store.database
    dials, lost = database.array("dials"), database.array("lost")
    limits = dict(database.rows("SELECT place, epsilon FROM limits"))
    dismissed = store.profile.dismissed()
    for place, item, title, link in database.rows("SELECT place, item, title, link FROM catalogue ORDER BY place"):
        dial = None if dials[place] == ABSENT else int(dials[place])
        row = ListRow(0, item, title, link)
        account = _Account(row, dial, int(lost[place]), limits.get(place), place in dismissed)
        if account != _Account(row, None, 0, None, dismissed=False):
            yield account
    every = store.other_charges.of_every_item()  # it may have been in a later version of the catalogue
    for name, unknown_dial, unknown_lost, lifetime in database.rows("SELECT name, dial, lost, lifetime FROM unknown"):
        yield _Account(ListRow(0, name), unknown_dial, unknown_lost + every, lifetime, dismissed=False)


def _set_limit(store: NodeStore, steps: NDArray[np.int32], place: int, limit: float | None) -> None:
    if limit is None:
        return
    before = store.ledger.limits_of([place]).get(place)
    stricter = limit if before is None else min(limit, before)
    steps[place] = most_steps(stricter, store.ledger.epsilon)
    store.database.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", place, stricter)


def _keep_unknown(store: NodeStore, accounts: Iterable[tuple[_Account, int]]) -> None:
    """Keep items under their names, but for what was dismissed and nothing else."""
    for account, lost in accounts:
        if (account.dial, lost, account.limit) != (None, 0, None):
            store.unknown.keep(account.row.item, account.dial, lost=lost, lifetime=account.limit)


def _common(source: NodeStore, target: NodeStore, *, new: bool) -> None:
    """Take over what is not about one item: the limit of all, limits of groups, who is hidden."""
    if source.ledger.default_limit_chosen():
        limit, own = source.ledger.default_limit(), target.ledger.default_limit()
        target.database.set_fact("default_limit", limit if new else min(limit, own))
        target.database.set_fact("default_limit_chosen", 1)
    for name, epsilon in source.database.rows("SELECT name, epsilon FROM group_limits"):
        target.database.execute(
            "INSERT INTO group_limits VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
            "epsilon = min(epsilon, excluded.epsilon)",
            *(name, epsilon),
        )
    target.group_limits.hold()  # the same dials may tell more there
    for (key,) in source.database.rows("SELECT key FROM hidden"):
        target.database.execute("INSERT OR IGNORE INTO hidden VALUES (?)", key)
    target.database.count_edit()
