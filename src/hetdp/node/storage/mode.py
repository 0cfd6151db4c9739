"""Whether a node draws sketches: the owner may pause it, its own key met elsewhere stops it, moving it closes it.

Others see that no new sketch comes, and nothing else: a paused or stopped node gossips as ever and shows what it has
published. A closed node does not run any more.
"""

from typing import Literal, cast, get_args

from hetdp.node.storage.database import Database

__all__ = ["Mode", "ModeSwitch"]

Mode = Literal["open", "paused", "stopped", "closed"]


class ModeSwitch:
    """The mode of a node, as its store keeps it. What draws looks at it within its own transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self) -> Mode:
        """Return the mode; a store that does not say is open."""
        mode = self._database.fact("mode")
        return cast("Mode", mode) if mode in get_args(Mode) else "open"

    def set(self, mode: Mode) -> None:
        """Change the mode, within a transaction."""
        self._database.set_fact("mode", mode)
