"""Everything a store knows about its owner, as the owner can take it away: for JSON, and the list as a table."""

import csv
import dataclasses
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from hetdp.node.dials import FULL_DIAL
from hetdp.node.lists import harmless_cell
from hetdp.node.storage.events import happening
from hetdp.node.storage.group_limits import WHOLE_LIST
from hetdp.node.storage.ledger import loss
from hetdp.node.storage.store import NodeStore


def own_data(store: NodeStore) -> dict[str, Any]:
    """Return everything a store knows about its owner, ready for JSON.

    What an item has spent is the sum of its `losses`, which are those of sketches, of what it was `charged_otherwise`
    (a move, a restore, a copy that was met), and of what every item was.

    Privacy
    -------
    Private, all of it.
    """
    epsilon, limits = store.ledger.epsilon, store.group_limits.all()
    return {
        "default_limit": store.ledger.default_limit(),
        "default_limit_set_on_the_page": store.ledger.default_limit_chosen(),
        "group_limits": {group: limit for group, limit in limits.items() if group != WHOLE_LIST},
        "limit_of_the_whole_list": limits.get(WHOLE_LIST),
        "profile": [
            {
                "item": item.item,
                "title": item.title,
                "weight": item.dial / FULL_DIAL,
                "spent": item.spent,
                "limit": item.limit,
                "exhausted": item.exhausted,
                "retired": item.retired,
            }
            for item in store.profile.items()
        ],
        "kept_for_later": [
            {
                "name": item.name,
                "weight": None if item.dial is None else item.dial / FULL_DIAL,
                "spent": loss(item.lost, epsilon),
                "limit": item.lifetime,
            }
            for item in store.unknown.all()
        ],
        "limits": _by_item(store, store.ledger.own_limits(), "limit"),
        "losses": [
            {"epoch": epoch, "item": store.catalogue.item(place).item, "loss": loss}
            for epoch, place, loss in store.ledger.all_charges()
        ],
        "charged_otherwise": _by_item(store, _charged_otherwise(store), "loss"),
        "charged_to_every_item": loss(store.other_charges.of_every_item(), epsilon),
        "published": [dataclasses.asdict(publication) for publication in store.publications.all()],
        "dismissed": sorted(store.catalogue.item(place).item for place in store.profile.dismissed()),
        "hidden": sorted(key.hex() for key in store.hidden.all()),
        "events": [
            {"time_s": event.time_s, "kind": event.kind, "words": happening(event)} for event in store.events.all()
        ],
    }


def list_as_csv(store: NodeStore) -> str:
    """Return the own list as a table that can be imported, what the catalogue does not have at its end.

    A title is not run when a spreadsheet opens it: see `hetdp.node.lists.harmless_cell`.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["item", "title", "link", "weight"])
    rows = [(item.item, item.title, item.link, item.dial) for item in store.profile.items()]
    rows += [(item.name, "", "", item.dial) for item in store.unknown.all() if item.dial is not None]
    writer.writerows([*map(harmless_cell, texts), dial / FULL_DIAL] for *texts, dial in rows)
    return text.getvalue()


def _charged_otherwise(store: NodeStore) -> dict[int, float]:
    """Return what each item was charged beyond sketches of this store, and beyond what every item was."""
    steps, every = store.ledger.charged_otherwise(), store.other_charges.of_every_item()
    places = np.flatnonzero(steps > every).tolist()
    return {place: loss(int(steps[place]) - every, store.ledger.epsilon) for place in places}


def _by_item(store: NodeStore, values: Mapping[int, float], name: str) -> list[dict[str, Any]]:
    items = store.catalogue.items_at(sorted(values))
    return [{"item": item.item, "title": item.title, name: values[item.place]} for item in items]
