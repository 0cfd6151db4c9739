"""The store of a node: one SQLite file with the catalogue, the profile, the ledger, own and others' sketches, peers."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np

from hetdp.core.errors import DataError
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.catalogue import Catalogue
from hetdp.node.storage.crowd import CrowdMemory
from hetdp.node.storage.database import Database
from hetdp.node.storage.events import Events
from hetdp.node.storage.ledger import ABSENT, LossLedger, checked_limit
from hetdp.node.storage.mode import ModeSwitch
from hetdp.node.storage.peers import PeerMemory
from hetdp.node.storage.profile import OwnProfile
from hetdp.node.storage.publications import Publications
from hetdp.profiles.reading.catalogues import CatalogueItem

__all__ = ["NodeStore"]


class NodeStore:
    """Everything a node keeps; safe to use from any thread.

    Privacy
    -------
    Readable by its owner only, and never sent anywhere. Putting back an old copy forgets losses and could draw a second
    sketch for the same epoch: do not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = Database(path)
        self.catalogue = Catalogue(self.database)
        self.ledger = LossLedger(self.database, self.catalogue)
        self.publications = Publications(self.database)
        self.profile = OwnProfile(self.database, self.catalogue, self.ledger, self.publications)
        self.peers = PeerMemory(self.database)
        self.events = Events(self.database)
        self.mode = ModeSwitch(self.database)
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
        rows = [(item.place, item.item, item.title, item.link, item.group) for item in items]
        names = sorted({row[-1] for row in rows}, key=lambda name: (name == "", name))
        number = {name: place for place, name in enumerate(names)}
        page = sorted(rows, key=lambda row: (number[row[-1]], row[2].casefold(), row[0]))
        with database.transaction(durable=True) as connection:
            connection.executemany(
                "INSERT INTO catalogue (place, item, title, link, category) VALUES (?, ?, ?, ?, ?)", rows
            )
            database.set_array("dials", np.full(len(rows), ABSENT))
            database.set_array("lost", np.zeros(len(rows)))
            database.set_array("limits", np.full(len(rows), -1))
            database.set_array("page", np.array([row[0] for row in page]))
            database.set_array("groups", np.array([number[row[-1]] for row in rows]))
            database.set_fact("group_names", json.dumps(names))
            database.set_fact("network_id", network.id.hex())
            database.set_fact("epsilon", str(network.epsilon))
            database.set_fact("items", network.items)
            database.set_fact("most_items", network.most_items)
            database.set_fact("default_limit", limit)
            database.set_fact("default_limit_chosen", 0)
            database.set_fact("profile_version", 0)
        return store

    def check_network(self, network: NetworkParameters) -> None:
        """Refuse to work for another network than the one the store was made for.

        Epsilon is part of it: a changed network file must not change the price of an epoch.
        """
        if self.database.fact("network_id") != network.id.hex():
            raise DataError(
                f"the network file must be the one that {self.path.name} was made with. Got other parameters instead."
            )

    def close(self) -> None:
        """Close the connections of all threads."""
        self.database.close()
