"""What befell the node, for its owner: a short memory of happenings, in the words of `node.happenings`.

They are about the network, the clock and the files. No item, dial or count of own items is in one of them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hetdp.core.text import counted
from hetdp.node.storage.database import Database

#: Older ones are forgotten.
_MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class Happening:
    """That something happened at a moment (Unix seconds), and what to fill into its sentence."""

    time_s: float
    kind: str
    detail: dict[str, Any] = field(default_factory=dict)


class Events:
    """What happened so far."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, kind: str, *, now_s: float, **detail: object) -> None:
        """Remember that something happened, within the transaction that makes it happen."""
        self._database.execute(
            "INSERT INTO events (time_s, kind, detail) VALUES (?, ?, ?)", now_s, kind, json.dumps(detail)
        )
        self._database.execute("DELETE FROM events WHERE number <= (SELECT max(number) FROM events) - ?", _MOST_EVENTS)

    def note_once(self, kind: str, *, now_s: float, **detail: object) -> None:
        """Remember that something happened, unless the newest of its kind says the very same."""
        newest = self.newest(kind)
        if newest is None or newest.detail != detail:
            self.note(kind, now_s=now_s, **detail)

    def all(self, most: int = _MOST_EVENTS) -> list[Happening]:
        """Return what happened, newest first."""
        rows = self._database.rows("SELECT time_s, kind, detail FROM events ORDER BY number DESC LIMIT ?", most)
        return [Happening(time_s, kind, json.loads(detail)) for time_s, kind, detail in rows]

    def newest(self, kind: str) -> Happening | None:
        """Return the newest event of a kind; None if there was none."""
        return next((event for event in self.all() if event.kind == kind), None)


#: Kind of event -> its sentence, from the details. Every kind that is noted anywhere is here, and a test sees to it.
HAPPENINGS: dict[str, Callable[[dict[str, Any]], str]] = {
    "grown": lambda detail: (
        f"The catalogue has grown to version {detail['version']}: {counted(detail['added'], 'new item')}, "
        f"{detail['retired']:,} retired. What you had brought along and it has now is on your list; what was found by "
        "a link is muted until you turn its dial. Your next sketch is for the whole of it."
    ),
    "paused": lambda _: (
        "You have paused the node: it draws no sketch, and nothing is spent. Others still see the last one, until it "
        "is too old for them."
    ),
    "resumed": lambda _: "You have let the node go on: it draws a sketch in every epoch again.",
    "left": lambda _: "You have left the network. This node draws no sketch and does not start any more.",
    "forked": lambda detail: (
        f"There are two versions {detail['version']} of the catalogue, both signed by the maker of the network. This "
        "node keeps the one that came first. Ask the maker what happened."
    ),
    "flood": lambda detail: (
        f"The host {detail['host']} sends far more than a node would. What exceeds its share is dropped, and others "
        "are served as usual; there is nothing to do."
    ),
    "moved_here": lambda detail: f"This node came from {detail['where']}, with everything that it has spent.",
    "moved_in": lambda detail: (
        f"The list, the limits and the losses of the node in {detail['where']} were added to those of this node."
    ),
    "restored": lambda detail: (
        f"This node was restored. The one that was lost may have published in "
        f"{counted(detail['epochs'], 'epoch')} since, so every item has paid for that at full weight, and this node "
        "draws none of them."
    ),
    "twin": lambda detail: (
        f"A sketch of epoch {detail['epoch']} came by that is signed with this node's own key, and that this node has "
        "not drawn: a copy of it runs elsewhere, or somebody has its key. Every item has paid for "
        f"{counted(detail['charged'], 'more epoch')} at full weight, the most that the copy may have published in, "
        "and this node publishes no more. Stop the copy; then let it go on, on My data or with `hetdp node resume "
        "--copy-is-gone`."
    ),
    "repaired": lambda _detail: (
        "The losses on record were not the sum of what was published: the file was damaged, or changed by hand. Of the "
        "two the larger counts from now on. Look at the disk, and make a backup: `hetdp node backup`."
    ),
    "clock_behind": lambda detail: (
        f"The clock of this machine shows an earlier epoch than {detail['drawn']:,}, that of the last sketch: it was "
        "ahead then, or is behind now. Please check the date. The next sketch is drawn when a whole epoch length has "
        "passed since."
    ),
    "clock_ahead": lambda detail: (
        f"The clock of this machine was ahead when epoch {detail['drawn']:,} was drawn. The sketches go on with epoch "
        f"{detail['epoch']:,}; epoch {detail['drawn']:,} is paid for, and is skipped when it comes."
    ),
    "epoch_skipped": lambda detail: (
        f"Epoch {detail['epoch']:,} is skipped: a sketch was drawn for it ahead of its time, or may have been drawn "
        "before a restore or a move. The next one is drawn in an epoch that has none."
    ),
}


def happening(event: Happening) -> str:
    """Return what happened, in words.

    Examples
    --------
    >>> happening(Happening(0.0, "forked", {"version": 3}))[:44]
    'There are two versions 3 of the catalogue, b'
    """
    return HAPPENINGS[event.kind](event.detail)
