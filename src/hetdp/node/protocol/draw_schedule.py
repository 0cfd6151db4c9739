"""When a node may draw its next sketch. The rule and nothing else: no I/O, no profile.

No epoch is drawn twice, and between two draws passes at least one epoch length on a clock that nobody sets: the boot
clock, which counts from the start of the machine. Across reboots what was counted adds up. So a clock on the wall that
was ahead for nine seconds costs one epoch that was drawn ahead of its time, and one epoch length of waiting, not ten
years. A machine that is on for two hours a day would hardly ever draw; so the clock on the wall may stand in, once per
boot, where it shows a full epoch length since the last draw.

Whoever sets the clock on the wall, restarts and reboots at will gets at most
1 + (time on the boot clock) / (epoch length) + (boots) draws out of a node, each of another epoch, each charged.
"""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass

from hetdp.node.protocol.network import NetworkParameters

#: Why a node does or does not draw now -> in words. None of it depends on the profile.
REASONS = {
    "due": "A sketch is due.",
    "early": "The first epoch has not begun.",
    "out": "The sketch of this epoch is out.",
    "behind": "The last sketch is of a later epoch than this one: the clock of this machine was ahead when it was "
    "drawn, or is behind now. Please check the date.",
    "skipped": "This epoch is skipped: a sketch was drawn for it ahead of its time, or may have been drawn elsewhere.",
    "soon": "The last sketch was drawn less than one epoch length ago.",
    "paused": "Its owner has paused the node.",
    "stopped": "The node has met a sketch under its own key that it did not draw: stop the copy, then give "
    "`hetdp node resume --copy-is-gone`.",
    "closed": "The node was moved, or has left the network.",
}


@dataclass(frozen=True, slots=True)
class Uptime:
    """What the clock that nobody sets shows: seconds, and since which boot.

    Where the system tells neither (`machine` is False), they are seconds since this process has started, and the clock
    on the wall never stands in.
    """

    boot: str
    seconds: float
    machine: bool = True


@dataclass(frozen=True, slots=True)
class LastDraw:
    """The last draw, and what has passed since on the clock that nobody sets, as far as it was counted.

    `boot` is where it was last looked at, and `mark_s` what the clock showed; empty before the first look.
    """

    epoch: int | None
    wall_s: float
    boot: str = ""
    mark_s: float = 0.0
    counted_s: float = 0.0
    stood_in: str = ""  # the last boot in which a draw was let pass by the clock on the wall

    def passed_s(self, uptime: Uptime) -> float:
        """Return how much has certainly passed since the draw.

        After a reboot the clock begins at 0. Where it shows more than before, the boot may be another in name only (a
        container that was started anew), so that only the difference is certain.
        """
        if not self.boot:
            return 0.0
        gained = uptime.seconds - self.mark_s
        if gained < 0.0:  # the clock itself began anew, or a frozen machine was thawed
            gained = 0.0 if uptime.boot == self.boot else uptime.seconds
        return self.counted_s + gained

    def seen(self, uptime: Uptime) -> "LastDraw":
        """Return the same, counted until now. Whoever forgets it waits longer, never less."""
        if uptime.boot == self.boot and uptime.seconds < self.mark_s:
            return self
        counted = self.passed_s(uptime)
        return dataclasses.replace(self, boot=uptime.boot, mark_s=uptime.seconds, counted_s=counted)


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """What a node remembers of its draws: the last one, None before the first, and epochs that it must not draw."""

    last: LastDraw | None
    drawn: Collection[int]


@dataclass(frozen=True, slots=True)
class Turn:
    """Whether a node may draw now, why (a key of `REASONS`), and in how many seconds it may if clocks just go on."""

    epoch: int
    why: str
    wait_s: float
    by_wall: bool = False  # it may only because the clock on the wall stands in

    @property
    def draws(self) -> bool:
        """Whether a sketch of `epoch` may be drawn now."""
        return self.why == "due"


def next_turn(record: DrawRecord, *, network: NetworkParameters, now_s: float, uptime: Uptime) -> Turn:
    """Return whether a sketch may be drawn now, and if not, when.

    Examples
    --------
    >>> from fractions import Fraction
    >>> week = NetworkParameters(name="n", catalogue="c.csv", catalogue_sha256=64 * "0", items=8, epsilon=Fraction(3),
    ...                          epoch_start_s=0, epoch_length_s=604_800)
    >>> up = Uptime("boot", 1000.0)
    >>> next_turn(DrawRecord(None, ()), network=week, now_s=5.0, uptime=up)
    Turn(epoch=0, why='due', wait_s=0.0, by_wall=False)
    >>> ahead = LastDraw(520, 520 * 604_800 + 5.0, "boot", 991.0)  # nine seconds ago, with a clock ten years ahead
    >>> next_turn(DrawRecord(ahead, (520,)), network=week, now_s=14.0, uptime=up)
    Turn(epoch=0, why='behind', wait_s=604791.0, by_wall=False)
    """
    epoch, last = network.epoch_at(now_s), record.last
    ready_s, by_wall = (0.0, False) if last is None else _ready(last, network.epoch_length_s, now_s, uptime)
    free = max(0, network.epoch_at(now_s + ready_s))
    while free in record.drawn:
        free += 1
    wait_s = max(ready_s, network.starts(free) - now_s)
    if free == epoch and wait_s <= 0.0:
        return Turn(epoch, "due", 0.0, by_wall=by_wall)
    return Turn(epoch, _why_not(record, epoch), wait_s)


def _ready(last: LastDraw, length_s: float, now_s: float, uptime: Uptime) -> tuple[float, bool]:
    """Return in how many seconds enough time has passed, and whether only the clock on the wall says so."""
    wait_s = max(0.0, length_s - last.passed_s(uptime))
    if uptime.machine and last.stood_in != uptime.boot:
        by_wall_s = max(0.0, last.wall_s + length_s - now_s)
        if by_wall_s < wait_s:
            return by_wall_s, True
    return wait_s, False


def _why_not(record: DrawRecord, epoch: int) -> str:
    newest = None if record.last is None else record.last.epoch
    if newest == epoch:
        return "out"
    if newest is not None and newest > epoch:
        return "behind"
    if epoch < 0:
        return "early"
    return "skipped" if epoch in record.drawn else "soon"
