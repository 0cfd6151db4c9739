"""What befell the node, for its owner: a short memory of happenings, in the words of `node.happenings`.

They are about the network, the clock and the files. No item, dial or count of own items is in one of them.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from hetdp.node.storage.database import Database

__all__ = ["Events", "Happening"]

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
