"""What a node remembers of its draws: which epochs it must not draw (again), and how long ago the last one was."""

import secrets
import time
from pathlib import Path

import msgspec

from hetdp.node.protocol.draw_schedule import DrawRecord, LastDraw, Turn, Uptime, next_turn
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.database import Database
from hetdp.node.storage.events import Events

_FACT = "last_draw"
_decoder = msgspec.json.Decoder(LastDraw)


class DrawMemory:
    """Epochs drawn, and the last draw. Public, all of it."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database, self._events = database, events

    def record(self, first_epoch: int = 0) -> DrawRecord:
        """Return what is remembered, of epochs from a first one on."""
        rows = self._database.rows("SELECT epoch FROM drawn WHERE epoch >= ?", first_epoch)
        return DrawRecord(self.last(), frozenset(epoch for (epoch,) in rows))

    def last(self) -> LastDraw | None:
        """Return the last draw; None before the first.

        A store that does not say how long ago it was, or is damaged there, counts from when it is next looked at.
        """
        told = self._database.fact(_FACT)
        try:
            return _decoder.decode(told if isinstance(told, str) else "")
        except msgspec.DecodeError:
            rows = self._database.rows("SELECT epoch, published_s FROM publications ORDER BY draw DESC LIMIT 1")
        return LastDraw(*rows[0]) if rows else None

    def turn(self, network: NetworkParameters, *, now_s: float, uptime: Uptime) -> Turn:
        """Return whether a sketch may be drawn now."""
        return next_turn(self.record(network.epoch_at(now_s)), network=network, now_s=now_s, uptime=uptime)

    def note(self, turn: Turn, *, now_s: float, uptime: Uptime) -> None:
        """Remember a draw, within its transaction."""
        last = self.last()
        if last is not None and last.epoch is not None and last.epoch > turn.epoch:
            self._events.note("clock_ahead", now_s=now_s, drawn=last.epoch, epoch=turn.epoch)
        before = "" if last is None else last.stood_in
        stood_in = uptime.boot if turn.by_wall else before
        self._write(LastDraw(turn.epoch, now_s, uptime.boot, uptime.seconds, stood_in=stood_in))

    def look(self, network: NetworkParameters, *, now_s: float, uptime: Uptime) -> None:
        """Count the time that has passed since the last draw, and tell the owner what the clock has done.

        Not certain to survive a crash: what gets lost makes the node wait longer.
        """
        with self._database.transaction(durable=False):
            last = self.last()
            if last is None:
                return
            self._write(last.seen(uptime))
            turn = self.turn(network, now_s=now_s, uptime=uptime)
            if turn.why == "behind":
                self._events.note_once("clock_behind", now_s=now_s, drawn=last.epoch)
            elif turn.why == "skipped":
                self._events.note_once("epoch_skipped", now_s=now_s, epoch=turn.epoch)

    def forbid_undrawn(self, first: int, last: int, why: str) -> int:
        """Never draw the epochs of a range that were not drawn, for a reason in one word; return how many there are.

        Within a transaction: whoever cannot know whether they were drawn elsewhere pays for them in the same one.
        """
        drawn = self._database.rows("SELECT epoch FROM drawn WHERE epoch BETWEEN ? AND ?", first, last)
        missing = sorted(set(range(first, last + 1)) - {epoch for (epoch,) in drawn})
        self._database.execute_many("INSERT INTO drawn VALUES (?, ?)", [(epoch, why) for epoch in missing])
        return len(missing)

    def begin_again(self, wall_s: float | None = None) -> None:
        """Count from the next look on, within a transaction: the boot clock of another machine tells nothing here.

        `wall_s` is when there may have been a draw that this store does not know of, as after a restore; without it,
        the last one that it knows was the last.
        """
        last = self.last()
        if last is not None:
            wall_s = last.wall_s if wall_s is None else wall_s
            self._write(LastDraw(last.epoch, wall_s, stood_in=last.stood_in))
        elif wall_s is not None:
            self._write(LastDraw(None, wall_s))

    def _write(self, last: LastDraw) -> None:
        self._database.set_fact(_FACT, msgspec.json.encode(last).decode())


#: Linux draws one at random at each boot.
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: Where the system does not say which boot it is, all that is certain is how long this process has run.
_THIS_PROCESS, _STARTED_S = f"process {secrets.token_hex(8)}", time.monotonic()


def read_uptime() -> Uptime:
    """Return how long this machine has been up, and since which boot.

    Where that is not to be had (systems other than Linux), it is how long this process has run: less than has passed,
    so that a node may draw later than it could, and never sooner.

    Examples
    --------
    >>> first, second = read_uptime(), read_uptime()
    >>> first.boot == second.boot and first.seconds <= second.seconds
    True
    """
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, ValueError, AttributeError):
        boot, seconds = "", 0.0
    if not boot:
        return Uptime(_THIS_PROCESS, time.monotonic() - _STARTED_S, machine=False)
    return Uptime(boot, seconds)
