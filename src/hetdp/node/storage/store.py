"""The store of a node: one SQLite file with the catalogue, the profile, the ledger, own and others' sketches, peers."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import DataError
from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.protocol.network import Network
from hetdp.node.storage.base import set_fact
from hetdp.node.storage.catalogue import CatalogueItem
from hetdp.node.storage.ledger import ABSENT, checked_limit, put_array
from hetdp.node.storage.peers import PeerStore
from hetdp.node.storage.schema import create
from hetdp.sketching.bits import unpack

__all__ = ["OwnSketch", "Publication", "Store"]

_sketch_decoder = msgspec.msgpack.Decoder(SignedSketch)


@dataclass(frozen=True, slots=True)
class Publication:
    """That a sketch was published in an epoch, when, and how many ones it has."""

    epoch: int
    published_s: float
    ones: int


@dataclass(frozen=True, slots=True, repr=False)
class OwnSketch:
    """A published sketch and the dials that counted in it.

    Privacy
    -------
    The bits are public; the dials are for the owner's eyes, so `repr` shows nothing.
    """

    epoch: int
    published_s: float
    bits: NDArray[np.bool_]
    dials: Mapping[int, int]


class Store(PeerStore):
    """Everything a node keeps; safe to use from any thread.

    Parameters
    ----------
    path
        The file; `Store.make` makes it.

    Privacy
    -------
    Readable by its owner only, and never sent anywhere. Putting back an old copy forgets losses and could draw a second
    sketch for the same epoch: do not.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> network = Network(name="tea", catalogue="t", catalogue_sha256="0" * 64, items=2, epsilon=Fraction(3),
    ...                   epoch_start_s=0, epoch_length_s=60)
    >>> items = [CatalogueItem(0, "t1", "Green tea"), CatalogueItem(1, "c1", "Coffee")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store.make(Path(folder, "node.db"), network, items, default_limit=30.0) as store:
    ...         store.set_dials({0: 50})
    ...         [(item.item, item.dial, item.limit) for item in store.profile()], store.search("tea")[0].place
    ([('t1', 50, 30.0)], 0)
    """

    @classmethod
    def make(cls, path: Path, network: Network, items: Iterable[CatalogueItem], *, default_limit: float) -> "Store":
        """Make a new store for a network.

        Privacy
        -------
        The file is created for its owner only; an existing one is refused.
        """
        limit = checked_limit(default_limit)
        create(path)
        store = cls(path)
        rows = [(item.place, item.item, item.title, item.link, item.group) for item in items]
        names = sorted({row[-1] for row in rows}, key=lambda name: (name == "", name))
        number = {name: place for place, name in enumerate(names)}
        page = sorted(rows, key=lambda row: (number[row[-1]], row[2].casefold(), row[0]))
        with store.transaction(durable=True) as connection:
            connection.executemany("INSERT INTO catalogue VALUES (?, ?, ?, ?, ?)", rows)
            put_array(connection, "dials", np.full(len(rows), ABSENT))
            put_array(connection, "lost", np.zeros(len(rows)))
            put_array(connection, "limits", np.full(len(rows), -1))
            put_array(connection, "page", np.array([row[0] for row in page]))
            put_array(connection, "groups", np.array([number[row[-1]] for row in rows]))
            set_fact(connection, "group_names", json.dumps(names))
            set_fact(connection, "network_id", network.id.hex())
            set_fact(connection, "epsilon", str(network.epsilon))
            set_fact(connection, "items", network.items)
            set_fact(connection, "most_items", network.most_items)
            set_fact(connection, "default_limit", limit)
            set_fact(connection, "default_limit_chosen", 0)
            set_fact(connection, "profile_version", 0)
        return store

    def check_network(self, network: Network) -> None:
        """Refuse to work for another network than the one the store was made for.

        Privacy
        -------
        Epsilon is part of it: a changed network file must not change the price of an epoch.
        """
        if self._fact("network_id") != network.id.hex():
            raise DataError(
                f"the network file must be the one that {self.path.name} was made with. Got other parameters instead."
            )

    def publications(self) -> list[Publication]:
        """Return when sketches were published, oldest first."""
        return [
            Publication(*row) for row in self._rows("SELECT epoch, published_s, ones FROM publications ORDER BY epoch")
        ]

    def published_epoch(self) -> int | None:
        """Return the newest epoch for which there is a sketch."""
        epoch = self._one("SELECT max(epoch) FROM publications")
        return None if epoch is None else int(epoch)

    def newest_publication(self) -> OwnSketch | None:
        """Return the newest own sketch and the dials that counted in it."""
        rows = self._rows("SELECT epoch, published_s, sketch, dials FROM publications ORDER BY epoch DESC LIMIT 1")
        if not rows:
            return None
        epoch, published_s, raw, counted = rows[0]
        bits = unpack(_sketch_decoder.decode(raw).bits, int(self._fact("items")))
        dials = np.frombuffer(counted, dtype=np.uint8)
        return OwnSketch(
            epoch, published_s, bits, {place: int(dials[place]) for place in np.flatnonzero(dials).tolist()}
        )

    def published_bits(self, place: int) -> list[tuple[int, int, bool]]:
        """Return the (epoch, dial, bit) of one item in every own sketch, oldest first.

        Privacy
        -------
        The bits are public; the dials are for the owner's eyes.
        """
        rows = self._rows("SELECT epoch, sketch, substr(dials, ?, 1) FROM publications ORDER BY epoch", place + 1)
        found = []
        for epoch, raw, dial in rows:
            byte = _sketch_decoder.decode(raw).bits[place // 8]
            found.append((epoch, dial[0], bool(byte >> place % 8 & 1)))
        return found
