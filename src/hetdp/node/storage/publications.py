"""The sketches that a node has published itself, one per epoch, and the dials that counted in each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from hetdp.node.protocol.messages import SignedSketch
from hetdp.node.storage.database import Database
from hetdp.sketching.drawing import unpack

_decoder = msgspec.msgpack.Decoder(SignedSketch)


@dataclass(frozen=True, slots=True)
class Publication:
    """That a sketch was published in an epoch, when, and how many ones it has."""

    epoch: int
    published_s: float
    ones: int


@dataclass(frozen=True, slots=True, repr=False)
class OwnSketch:
    """A published sketch and the dials that counted in it: those are for the owner's eyes, so `repr` shows nothing."""

    epoch: int
    published_s: float
    bits: NDArray[np.bool_]
    dials: Mapping[int, int]


@dataclass(frozen=True, slots=True, repr=False)
class OwnDraw:
    """The bits of a published sketch, packed, and the dials that counted in it, one per item of its catalogue."""

    epoch: int
    bits: bytes
    dials: NDArray[np.uint8]


class Publications:
    """Own sketches so far. What is in them is public, what is beside them is not.

    The newest is the one drawn last: after a clock was ahead, its epoch is not the latest.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sketch: SignedSketch, *, ones: int, dials: NDArray[np.uint8], now_s: float) -> None:
        """Store a sketch and the dials that count in it, within the transaction that charges for it."""
        row = (sketch.epoch, now_s, ones, msgspec.msgpack.encode(sketch), dials.tobytes())
        draw = int(self._database.one("SELECT coalesce(max(draw), 0) + 1 FROM publications"))
        self._database.execute("INSERT INTO publications VALUES (?, ?, ?, ?, ?, ?)", *row, draw)
        self._database.execute("INSERT INTO drawn VALUES (?, 'published')", sketch.epoch)

    def of_epoch(self, epoch: int) -> SignedSketch | None:
        """Return the own sketch of an epoch; None if there is none that can be read."""
        raw = self._database.one("SELECT sketch FROM publications WHERE epoch = ?", epoch)
        try:
            return None if raw is None else _decoder.decode(raw)
        except (msgspec.MsgspecError, TypeError):  # the file is damaged
            return None

    def all(self) -> list[Publication]:
        """Return when sketches were published, in the order in which they were drawn."""
        rows = self._database.rows("SELECT epoch, published_s, ones FROM publications ORDER BY draw")
        return [Publication(*row) for row in rows]

    def newest_epoch(self) -> int | None:
        """Return the epoch of the newest own sketch."""
        epoch = self._database.one("SELECT epoch FROM publications ORDER BY draw DESC LIMIT 1")
        return None if epoch is None else int(epoch)

    def newest_signed(self) -> SignedSketch | None:
        """Return the newest own sketch, ready to be shown."""
        raw = self._database.one("SELECT sketch FROM publications ORDER BY draw DESC LIMIT 1")
        return None if raw is None else _decoder.decode(raw)

    def newest_dials(self) -> NDArray[np.uint8] | None:
        """Return the dials that counted in the newest own sketch, one per item of the catalogue."""
        raw = self._database.one("SELECT dials FROM publications ORDER BY draw DESC LIMIT 1")
        if raw is None:
            return None
        dials = np.zeros(self._database.array("dials").size, dtype=np.uint8)  # the catalogue may have grown since
        dials[: len(raw)] = np.frombuffer(raw, dtype=np.uint8)
        return dials

    def all_dials(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the dials that counted in each own sketch, as long as the catalogue was then."""
        for (raw,) in self._database.rows("SELECT dials FROM publications ORDER BY draw"):
            yield np.frombuffer(raw, dtype=np.uint8)

    def last(self, count: int) -> list[OwnDraw]:
        """Return the sketches drawn last, newest first."""
        rows = self._database.rows("SELECT sketch, dials FROM publications ORDER BY draw DESC LIMIT ?", count)
        found = [(_decoder.decode(raw), np.frombuffer(dials, dtype=np.uint8)) for raw, dials in rows]
        return [OwnDraw(sketch.epoch, sketch.bits, dials) for sketch, dials in found]

    def newest(self) -> OwnSketch | None:
        """Return the newest own sketch and the dials that counted in it."""
        sql = "SELECT epoch, published_s, sketch, dials FROM publications ORDER BY draw DESC LIMIT 1"
        rows = self._database.rows(sql)
        if not rows:
            return None
        epoch, published_s, raw, counted = rows[0]
        dials = np.frombuffer(counted, dtype=np.uint8)
        bits = unpack(_decoder.decode(raw).bits, dials.size)
        return OwnSketch(
            epoch, published_s, bits, {place: int(dials[place]) for place in np.flatnonzero(dials).tolist()}
        )
