"""Where a node is on its way: what a store says that is closed because its node has moved, or is a copy of one.

A node on its way is in several places, and must be open in one at most. So the order is: the source is closed, the
target is made but stays closed, the source says that it is done, and only then is the target opened. Each step is on
disk before the next begins. Interrupted anywhere, the same command goes on where it was.
"""

from typing import Literal, cast, get_args

import msgspec

from hetdp.core.errors import DataError, InvalidInput
from hetdp.node.storage.database import Database

# Whether a node draws sketches: the owner may pause it, its own key met elsewhere stops it, moving it closes it.
# Others see that no new sketch comes, and nothing else: a paused or stopped node gossips as ever and shows what it
# has published. A closed node does not run any more.


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


_FACT, _CAME = "passage", "came"


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Why a store is closed.

    `moved`: its node goes elsewhere, and has gone there once it is `done`. `arriving`: it was made by a move that is
    not done. `parcel`: a file that waits to be received. `backup`: a file to restore a node from.
    """

    id: str  # of the move, the same at both ends
    kind: Literal["moved", "arriving", "parcel", "backup"]
    at_s: float  # when the store was closed or copied
    where: str = ""  # the other end, in words
    was: Mode = "open"  # before it was closed
    done: bool = False
    onward: bool = False  # into another network or node: what is spent there, epochs of this network do not bound

    def words(self) -> str:
        """Say it to whoever wants to run the node."""
        if self.kind == "backup":
            return "it is a backup; `hetdp node restore` makes a node of it"
        if self.kind == "parcel":
            return "it is a node on its way; `hetdp node receive` opens it"
        if self.kind == "arriving":
            return f"the move from {self.where} has not ended; give the same `hetdp node move` again"
        if not self.done:
            return (
                f"its move to {self.where} has not ended; give the same `hetdp node move` again, or `hetdp node move "
                "--cancel` to stay"
            )
        if self.onward:
            return (
                f"it has moved to {self.where}, in another network or into another node. Use that one, or a backup of "
                "it: what it has spent there is known nowhere else"
            )
        return (
            f"it has moved to {self.where}. Run it there. Should that be lost for good, `hetdp node restore` makes a "
            "new one of what is here"
        )


class PassageLog:
    """What a store says about the way of its node."""

    def __init__(self, database: Database) -> None:
        self._database, self._mode = database, ModeSwitch(database)

    def get(self) -> Passage | None:
        """Return why the store is closed; None if it has not moved and is no copy."""
        raw = self._database.fact(_FACT)
        try:
            return None if raw is None else msgspec.json.decode(raw, type=Passage)
        except (msgspec.DecodeError, msgspec.ValidationError, TypeError):
            raise DataError(
                f"{self._database.path} must say in full where its node is going. Got something else instead: the file "
                "is damaged."
            ) from None

    def mode_before(self) -> Mode:
        """Return the mode of the node, also where it was closed because it has moved or is a copy."""
        passage = self.get()
        return self._mode.get() if passage is None else passage.was

    def close(self, passage: Passage) -> None:
        """Close the store for a reason, within a transaction."""
        self._mode.set("closed")
        self._database.set_fact(_FACT, msgspec.json.encode(passage).decode())

    def open(self, passage: Passage, *, mode: Mode | None = None) -> None:
        """Open the store again, within a transaction: in the mode it had, unless another is given."""
        self._database.execute("DELETE FROM facts WHERE name = ?", _FACT)
        self._database.set_fact(_CAME, passage.id)
        self._mode.set(passage.was if mode is None else mode)

    def came_with(self, passage: Passage) -> bool:
        """Return whether the store was opened by this move."""
        return bool(self._database.fact(_CAME) == passage.id)
