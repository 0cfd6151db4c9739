"""Whether a node draws sketches: the owner may pause it, its own key met elsewhere stops it, moving it closes it.

Others see that no new sketch comes, and nothing else: a paused or stopped node gossips as ever and shows what it has
published. A closed node does not run any more.
"""

from typing import Literal, cast, get_args

from hetdp.core.errors import InvalidInput
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

    def change(self, mode: Mode, *, of: tuple[Mode, ...], otherwise: str = "") -> bool:
        """Change the mode of a node that is in one of some modes; False if it has the mode already.

        Refused, with words for what to do instead, in any other mode. Durable when this returns.
        """
        with self._database.transaction(durable=True):
            before = self.get()
            if before == mode:
                return False
            if before not in of:
                raise InvalidInput(otherwise.format(mode=before))
            self.set(mode)
        return True

    def set(self, mode: Mode) -> None:
        """Change the mode, within a transaction."""
        self._database.set_fact("mode", mode)
