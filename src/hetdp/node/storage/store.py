"""The store of a node: one SQLite file with the catalogue, the profile, the ledger, own and others' sketches, peers."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from hetdp.core.errors import DataError
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.protocol.catalogue_versions import CatalogueVersion, NewItem
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.crowd import CrowdMemory
from hetdp.node.storage.database import ABSENT, Database
from hetdp.node.storage.draws import DrawMemory
from hetdp.node.storage.events import Events
from hetdp.node.storage.group_limits import GroupLimits
from hetdp.node.storage.ledger import LossLedger, checked_limit
from hetdp.node.storage.other_charges import OtherCharges
from hetdp.node.storage.passage import ModeSwitch, PassageLog
from hetdp.node.storage.peers import PeerMemory
from hetdp.node.storage.profile import HiddenNeighbors, OwnProfile
from hetdp.node.storage.publications import Publications
from hetdp.node.storage.unknown_items import UnknownItems


class NodeStore:
    """Everything a node keeps; safe to use from any thread.

    Privacy
    -------
    Readable by its owner only, and never sent anywhere. Putting back an old copy forgets losses and could draw a second
    sketch for the same epoch: `hetdp node restore` pays for that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = Database(path)
        self.catalogue = Catalogue(self.database)
        self.ledger = LossLedger(self.database, self.catalogue)
        self.publications = Publications(self.database)
        self.group_limits = GroupLimits(self.database, self.catalogue, self.ledger)
        self.profile = OwnProfile(
            self.database, self.catalogue, self.ledger, self.publications, group_limits=self.group_limits
        )
        self.other_charges = OtherCharges(self.database)
        self.unknown = UnknownItems(self.database, self.profile, self.ledger, self.other_charges)
        self.peers = PeerMemory(self.database)
        self.hidden = HiddenNeighbors(self.database)
        self.events = Events(self.database)
        self.mode = ModeSwitch(self.database)
        self.passage = PassageLog(self.database)
        self.draws = DrawMemory(self.database, self.events)
        self.crowd = CrowdMemory(self.database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def make(
        cls, path: Path, network: NetworkParameters, items: Iterable[CatalogueItem], *, default_limit: float
    ) -> "NodeStore":
        """Make a new store for a network, for its owner only; an existing file is refused."""
        limit = checked_limit(default_limit)
        Database.create(path)
        store = cls(path)
        database = store.database
        with database.transaction(durable=True):
            for name in ("dials", "lost", "limits"):
                database.set_array(name, np.zeros(0))
            store._append(items, version=1)
            database.set_fact("network_id", network.id.hex())
            database.set_fact("epsilon", str(network.epsilon))
            database.set_fact("items", network.items)  # of version 1
            database.set_fact("most_items", network.most_items)
            database.set_fact("default_limit", limit)
            database.set_fact("default_limit_chosen", 0)
            database.set_fact("profile_version", 0)
            database.set_fact("made_s", time.time())
        return store

    def grow(self, version: CatalogueVersion, *, now_s: float) -> bool:
        """Take over a version that `CatalogueHistory` has checked, all of it or nothing; False if it is there already.

        What is on the list, and what was lost, stays as it is; what the owner has brought along and was not in the
        catalogue until now goes on the list.
        """
        database = self.database
        with database.transaction(durable=True) as connection:
            if version.number != self.catalogue.number() + 1:
                return False
            first = self.catalogue.size()
            rows = [CatalogueItem(first + place, *row) for place, row in enumerate(map(_cells, version.items))]
            self._append(rows, version=version.number)
            connection.executemany(
                "UPDATE catalogue SET retired = ? WHERE place = ?",
                [(version.number, place) for place in version.retired],
            )
            digest = version.digest(bytes.fromhex(database.fact("network_id")))
            row = (version.number, digest, first + len(version.items), msgspec.msgpack.encode(version))
            connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?)", row)
            self.unknown.take_over(rows)
            self.events.note(
                "grown", now_s=now_s, version=version.number, added=len(version.items), retired=len(version.retired)
            )
            database.count_edit()
        return True

    def note_fork(self, number: int, *, now_s: float) -> None:
        """Remember that there are two versions of the catalogue with one number: once is enough."""
        with self.database.transaction(durable=True):
            self.events.note_once("forked", now_s=now_s, version=number)

    def _append(self, items: Iterable[CatalogueItem], *, version: int) -> None:
        """Put items at the end of the catalogue, and let every array grow with it."""
        database = self.database
        new = [(item.place, item.item, item.title, item.link, item.group, version) for item in items]
        with_columns = "INSERT INTO catalogue (place, item, title, link, category, version) VALUES (?, ?, ?, ?, ?, ?)"
        database.execute_many(with_columns, new)
        for name, nothing in (("dials", ABSENT), ("lost", self.other_charges.of_every_item()), ("limits", -1)):
            database.set_array(name, np.append(database.array(name), np.full(len(new), nothing)))
        rows = database.rows("SELECT place, title, category FROM catalogue ORDER BY place")
        names = sorted({group for _, _, group in rows}, key=lambda name: (name == "", name))
        number = {name: place for place, name in enumerate(names)}
        page = sorted(rows, key=lambda row: (number[row[2]], row[1].casefold(), row[0]))
        database.set_array("page", np.array([place for place, _, _ in page]))
        database.set_array("groups", np.array([number[group] for _, _, group in rows]))
        database.set_fact("group_names", json.dumps(names))

    def check_network(self, network: NetworkParameters) -> None:
        """Refuse to work for another network than the one the store was made for.

        Epsilon is part of it: a changed network file must not change the price of an epoch.
        """
        if self.database.fact("network_id") != network.id.hex():
            raise DataError(
                f"the network file must be the one that {self.path.name} was made with (got other parameters)"
            )

    def close(self) -> None:
        """Close the connections of all threads."""
        self.database.close()


def _cells(row: NewItem) -> tuple[str, str, str, str]:
    return row.item, row.title or row.item, row.link, row.group
