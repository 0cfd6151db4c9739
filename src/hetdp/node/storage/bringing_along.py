"""A ledger belongs to a person, not to a network: what one node's store holds of its owner, taken into another's.

Items are known by their names, in one form for all ways to write them. What an item has lost here adds to what it has
lost there; of two dials or limits for one item, the stricter counts. No limit grows by moving.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.node.lists import ListRow
from hetdp.node.storage.catalogue import CatalogueIndex
from hetdp.node.storage.database import ABSENT
from hetdp.node.storage.ledger import most_steps
from hetdp.node.storage.store import NodeStore


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
    dials that would make the list longer than the network allows. Under one `mark` it is done once. A `new` store has
    no limits of its owner yet: limits of single items come as they are. In another, the stricter of both counts, and
    the limit of all items is never more than at the source.

    Privacy
    -------
    Losses are converted to hundredths of the target's epsilon and rounded up. What every item has paid at the source,
    every item pays here, also one that only this catalogue has: the lost node may have known it.
    """
    if target.other_charges.has(mark):
        return
    index, ratio = CatalogueIndex(target.catalogue.whole()), source.ledger.epsilon / target.ledger.epsilon
    every = math.ceil(source.other_charges.of_every_item() * ratio)
    usual = source.ledger.default_limit(), math.inf if new else target.ledger.default_limit()
    dials, limits = target.database.array("dials"), target.database.array("limits")
    lost, unknown = np.zeros(dials.size, np.int64), list[tuple[_Account, int]]()
    room = int(target.database.fact("most_items")) - int(np.count_nonzero(dials != ABSENT))
    met = set[int]()
    for account in _accounts(source):
        places, steps = index.all_places_of(account.row), math.ceil(account.lost * ratio)
        for place in places:  # where a name fits several, any of them may be what was published
            lost[place] += steps + every * (place in met)
        met |= set(places)  # two that are one here have paid twice
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
        _set_limit(target, limits, place, account.limit, usual)
        if account.dismissed:
            target.database.execute("INSERT OR IGNORE INTO dismissed VALUES (?)", place)
    target.database.set_array("dials", dials)
    target.database.set_array("limits", limits)
    target.other_charges.add(mark, "moved", every=every, lost=lost)
    brought = source.ledger.published_steps() + source.other_charges.of_any_item()
    target.other_charges.bring(math.ceil((brought - source.other_charges.of_every_item()) * ratio))
    _keep_unknown(target, unknown, most=usual[1])
    _common(source, target)


def _accounts(store: NodeStore) -> Iterator[_Account]:
    """Return everything on the list, ever charged, limited or dismissed, and what the catalogue did not have.

    Losses are those beyond what every item has paid.
    """
    database, every = store.database, store.other_charges.of_every_item()
    dials, lost = database.array("dials"), database.array("lost")
    limits = dict(database.rows("SELECT place, epsilon FROM limits"))
    dismissed = store.profile.dismissed()
    for place, item, title, link in database.rows("SELECT place, item, title, link FROM catalogue ORDER BY place"):
        dial = None if dials[place] == ABSENT else int(dials[place])
        row = ListRow(0, item, title, link)
        account = _Account(row, dial, max(0, int(lost[place]) - every), limits.get(place), place in dismissed)
        if every or account != _Account(row, None, 0, None, dismissed=False):
            yield account
    for name, unknown_dial, unknown_lost, lifetime in database.rows("SELECT name, dial, lost, lifetime FROM unknown"):
        yield _Account(ListRow(0, name), unknown_dial, unknown_lost, lifetime, dismissed=False)


def _set_limit(
    store: NodeStore, steps: NDArray[np.int32], place: int, limit: float | None, usual: tuple[float, float]
) -> None:
    """Set the stricter limit of one item, where it has one of its own at either end; `usual` are those of all items."""
    before = store.ledger.limits_of([place]).get(place)
    if limit is None and before is None:
        return
    stricter = min(usual[0] if limit is None else limit, usual[1] if before is None else before)
    steps[place] = most_steps(stricter, store.ledger.epsilon)
    store.database.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", place, stricter)


def _keep_unknown(store: NodeStore, accounts: Iterable[tuple[_Account, int]], *, most: float) -> None:
    """Keep items under their names, but for what was dismissed and nothing else; no limit above the most."""
    for account, lost in accounts:
        if (account.dial, lost, account.limit) != (None, 0, None):
            limit = None if account.limit is None else min(account.limit, most)
            store.unknown.keep(account.row.item, account.dial, lost=lost, lifetime=limit)


def _common(source: NodeStore, target: NodeStore) -> None:
    """Take over what is not about one item: the limit of all, limits of groups, who is hidden."""
    limit = source.ledger.default_limit()
    if limit < target.ledger.default_limit():
        target.database.set_fact("default_limit", limit)
        target.database.set_fact("default_limit_chosen", 1)  # the settings there do not raise it
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
