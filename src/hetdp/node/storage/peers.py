"""What a node keeps of others: their sketches, how to reach them, whom it has banned, what went over the wire."""

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter

import msgspec

from hetdp.core.randomness import secure_stream
from hetdp.node.protocol.addresses import host_of, most_at_host
from hetdp.node.protocol.admission import MOST_BANS
from hetdp.node.protocol.identity import pseudonym
from hetdp.node.protocol.messages import Record, SignedSketch
from hetdp.node.protocol.network import Bootstrap
from hetdp.node.protocol.node import Traffic
from hetdp.node.protocol.peer_view import choose_some
from hetdp.node.storage.database import Database

_MOST_PEERS = 1000
_sketch_decoder = msgspec.msgpack.Decoder(SignedSketch)


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """A peer that was reached where it says it is."""

    key_hex: str
    name: str
    address: str
    seen_s: float
    epoch: int | None


class PeerMemory:
    """What others have published, and how it went with them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(
        self,
        *,
        sketches: Iterable[SignedSketch] = (),
        peers: Iterable[tuple[Record, float]] = (),
        reached: Collection[bytes] = (),
        bans: Mapping[bytes, float] | None = None,
        traffic: Traffic | None = None,
        now_s: float,
        first_epoch: int,
        last_epoch: int | None = None,
        held: Collection[bytes] | None = None,
        liked: Collection[bytes] = (),
        population: int | None = None,
    ) -> None:
        """Write what the protocol has learned, in one transaction: checked sketches, peers seen, bans, traffic.

        Those of the peers whose keys are in `reached` have answered where they say they are; the others have called.
        Sketches of epochs before `first_epoch` go, and, if they are given, those after `last_epoch`, which came while
        the clock was ahead, and those of keys that are not in `held`; those `liked` are marked. `population` is of how
        many peers there seem to be sketches.
        Bans, if given, are all there are: those stored before go. What a clock that was ahead has dated later than
        `now_s` would outlive everything else; such peers count as seen now.
        """
        with self._database.transaction(durable=False) as connection:
            if last_epoch is not None:
                connection.execute("DELETE FROM sketches WHERE epoch > ?", (last_epoch,))
            connection.executemany(
                "INSERT INTO sketches (key, epoch, sketch) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET epoch = excluded.epoch, sketch = excluded.sketch "
                "WHERE excluded.epoch > sketches.epoch",
                [(sketch.key, sketch.epoch, msgspec.msgpack.encode(sketch)) for sketch in sketches],
            )
            connection.execute("DELETE FROM sketches WHERE epoch < ?", (first_epoch,))
            if held is not None:
                stored = connection.execute("SELECT key, liked FROM sketches").fetchall()
                gone = [(key,) for key, _ in stored if key not in held]
                connection.executemany("DELETE FROM sketches WHERE key = ?", gone)
                moved = [(key in liked, key) for key, before in stored if bool(before) != (key in liked)]
                connection.executemany("UPDATE sketches SET liked = ? WHERE key = ?", moved)
            if population is not None:
                self._database.set_fact("population", population)
            connection.executemany(
                "INSERT INTO peers (key, curve, address, seen_s, reached) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) "
                "DO UPDATE SET curve = excluded.curve, address = excluded.address, seen_s = excluded.seen_s, "
                "reached = excluded.reached OR (peers.reached AND peers.address = excluded.address)",
                [(one.key, one.curve, one.address, seen_s, one.key in reached) for one, seen_s in peers],
            )
            connection.execute("UPDATE peers SET seen_s = ? WHERE seen_s > ?", (now_s, now_s))
            connection.execute(
                "DELETE FROM peers WHERE key NOT IN (SELECT key FROM peers ORDER BY reached DESC, seen_s DESC LIMIT ?)",
                (_MOST_PEERS,),
            )
            connection.execute("DELETE FROM bans WHERE until_s < ?", (now_s,))
            if bans is not None and dict(connection.execute("SELECT key, until_s FROM bans")) != bans:
                connection.execute("DELETE FROM bans")
                connection.executemany("INSERT INTO bans VALUES (?, ?)", list(bans.items()))
            if traffic is not None:
                self._database.set_fact("traffic", json.dumps(dataclasses.asdict(traffic)))

    def sketches(self) -> list[SignedSketch]:
        """Return the sketches of peers; one that cannot be read any more will come again."""
        found = []
        for (raw,) in self._database.rows("SELECT sketch FROM sketches ORDER BY rowid"):
            with suppress(msgspec.MsgspecError, TypeError):
                found.append(_sketch_decoder.decode(raw))
        return found

    def liked(self) -> set[bytes]:
        """Return the keys whose sketches are held for being like the own one."""
        return {key for (key,) in self._database.rows("SELECT key FROM sketches WHERE liked")}

    def population(self) -> int:
        """Return of how many peers there seem to be sketches: those held were chosen from so many."""
        return max(int(self._database.fact("population") or 0), self.sketch_count())

    def shelf_salt(self) -> bytes:
        """Return the secret by which chance chooses sketches, the same after every restart."""
        with self._database.transaction(durable=True):
            salt = self._database.fact("shelf_salt")
            if salt is None:
                salt = secure_stream().words(4).tobytes()
                self._database.set_fact("shelf_salt", salt)
        return bytes(salt)

    def sketch_count(self) -> int:
        """Return how many sketches of peers are held."""
        return int(self._database.one("SELECT count(*) FROM sketches"))

    def met_any(self) -> bool:
        """Return whether anybody was ever talked to, callers included."""
        return self._database.one("SELECT 1 FROM peers LIMIT 1") is not None

    def known(self) -> list[PeerInfo]:
        """Return the peers that were reached, those seen last first. Who has only called is none: keys cost nothing."""
        rows = self._database.rows(
            "SELECT peers.key, address, seen_s, epoch FROM peers LEFT JOIN sketches USING (key) WHERE reached "
            "ORDER BY seen_s DESC"
        )
        return [PeerInfo(key.hex(), pseudonym(key), address, seen_s, epoch) for key, address, seen_s, epoch in rows]

    def contacts(self, count: int, *, own_address: str, most_per_host: int) -> list[Bootstrap]:
        """Return some of the peers talked to, to ask after a restart: half seen last, half at random, few of a host.

        Those reached come first, and who has only called where there are too few of them. Those seen last are most
        likely still there. But they may be whoever has called most often, and one machine can call under many keys; so
        the other half is anybody.
        """
        newest = self._database.rows(
            "SELECT NOT reached, address, key, curve FROM peers ORDER BY reached DESC, seen_s DESC, key"
        )
        anybody = sorted(choose_some(newest, len(newest), secure_stream()), key=itemgetter(0))
        taken, chosen = Counter[str](), dict[bytes, Bootstrap]()
        for rows, room in ((newest, count - count // 2), (anybody, count)):
            for _, address, key, curve in rows:
                host = host_of(address)
                free = taken[host] < most_at_host(address, own_address, most_per_host)
                if len(chosen) < room and key not in chosen and free:
                    taken[host] += 1
                    chosen[key] = Bootstrap(address, key.hex(), curve.hex())
        return list(chosen.values())

    def bans(self) -> dict[bytes, float]:
        """Return banned transport and signing keys and until when: as many as a node keeps, those that last longest."""
        sql = "SELECT key, until_s FROM bans WHERE typeof(until_s) = 'real' ORDER BY until_s DESC LIMIT ?"
        return dict(self._database.rows(sql, MOST_BANS))

    def traffic(self) -> Traffic:
        """Return what went over the wire, all runs together."""
        stored = self._database.fact("traffic")
        try:
            return Traffic() if stored is None else msgspec.convert(json.loads(stored), Traffic)
        except (ValueError, TypeError):  # a damaged count is no reason to stop
            return Traffic()
