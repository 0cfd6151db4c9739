"""What the node's model is learned from: of each sketch that counts, the bits of the head. All of it is public."""

import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hetdp.core.files import whole_file
from hetdp.node.protocol.seen_sketches import Name
from hetdp.node.protocol.who_counts import Counted, CrowdNews
from hetdp.node.storage.database import Database
from hetdp.recommender.model import ItemModel
from hetdp.sketching.drawing import pack, unpack

#: Sketches read at once.
_BLOCK = 4096


class CrowdMemory:
    """The sketches that count, one per key and epoch."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(
        self,
        news: Sequence[CrowdNews],
        gone: Iterable[tuple[bytes, int]] = (),
        *,
        n_head: int,
        sizes: Mapping[bytes, int],
        first_epoch: int,
        last_epoch: int | None = None,
    ) -> int:
        """Write what counts from now on, in one transaction, and return how many came or went.

        Of a sketch those of the first `n_head` bits stay that it has; `sizes` tells by the version of the catalogue it
        is for. Sketches of epochs before `first_epoch` and after `last_epoch`, if it is given, go, and those of a
        larger head.
        """
        rows = []
        for one, sketch in news:
            if sketch is not None and sketch.catalogue in sizes:
                items = min(n_head, sizes[sketch.catalogue])
                rows.append((one, items, pack(unpack(sketch.bits, items))))
        with self._database.transaction(durable=False) as connection:
            left = connection.executemany("DELETE FROM crowd WHERE key = ? AND epoch = ?", gone).rowcount
            came = connection.executemany(
                "INSERT OR IGNORE INTO crowd VALUES (?, ?, ?, ?, ?, ?)",
                [(one.key, one.epoch, one.host, one.reached, bits, items) for one, items, bits in rows],
            ).rowcount
            connection.executemany(
                "UPDATE crowd SET reached = ? WHERE key = ? AND epoch = ?",
                [(one.reached, one.key, one.epoch) for one, sketch in news if sketch is None],
            )
            old = connection.execute(
                "DELETE FROM crowd WHERE epoch < ? OR epoch > coalesce(?, epoch) OR items > ?",
                (first_epoch, last_epoch, n_head),
            )
            return max(0, left) + max(0, came) + old.rowcount

    def counted(self, first_epoch: int) -> list[Counted]:
        """Return what counted in some epoch and later."""
        rows = self._database.rows("SELECT key, epoch, host, reached FROM crowd WHERE epoch >= ?", first_epoch)
        return [Counted(key, epoch, host, bool(reached)) for key, epoch, host, reached in rows]

    def heads(self) -> dict[int, dict[Name, bytes]]:
        """Return the packed head of all sketches that count: by how many bits they are, whose, and of which epoch."""
        found: dict[int, dict[Name, bytes]] = {}
        for key, epoch, bits, items in self._database.rows("SELECT key, epoch, bits, items FROM crowd"):
            found.setdefault(items, {})[key, epoch] = bits
        return found

    def hosts(self) -> dict[bytes, str]:
        """Return the hosts at which owners of sketches on the shelf were reached."""
        rows = self._database.rows(
            "SELECT key, crowd.host FROM sketches JOIN crowd USING (key) WHERE reached ORDER BY crowd.epoch"
        )
        return dict(rows)

    def size(self) -> int:
        """Return how many sketches count."""
        return int(self._database.one("SELECT count(*) FROM crowd"))

    def bits(
        self, n_head: int, noise: Callable[[int], NDArray[np.bool_]], *, without: Collection[Name] = ()
    ) -> Iterator[NDArray[np.bool_]]:
        """Return the bits of the head of sketches that count, all but some, in blocks, one row each.

        A sketch for a shorter catalogue gets `noise` where it has no bits: that says that its owner does not have the
        items, as far as anybody can know.
        """
        rows = self._database.rows("SELECT key, epoch FROM crowd WHERE items <= ?", n_head)
        names = [name for name in rows if name not in without]
        for begin in range(0, len(names), _BLOCK):
            block = []
            for name in names[begin : begin + _BLOCK]:
                found = self._database.rows("SELECT bits, items FROM crowd WHERE key = ? AND epoch = ?", *name)
                for raw, items in found:  # none if it has gone meanwhile
                    block.append(np.concatenate([unpack(raw, items), noise(n_head - items)]))
            if block:
                yield np.stack(block)


# The node's model on disk: learned from public sketches, so nothing in it is secret, and it never leaves the folder.
# It can always be learned again. So a file that cannot be read, or of another head, counts as none.


_SKETCHES = "sketches"


@dataclass(frozen=True, eq=False)
class CrowdModel:
    """What the first items of the catalogue say about each other, and from how many sketches that was learned."""

    model: ItemModel
    sketches: int


def save_model(path: Path, learned: CrowdModel) -> None:
    """Write a model, as a whole or not at all, for its owner only."""
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_SKETCHES: np.int64(learned.sketches)}, **learned.model.arrays())


def load_model(path: Path, *, n_head: int) -> CrowdModel | None:
    """Return the model in a file; None if there is none that fits. The catalogue may have grown since."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        sketches = int(arrays.pop(_SKETCHES))
        model = ItemModel.of_arrays(arrays)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None
    return CrowdModel(model, sketches) if model.counts.size <= n_head else None
