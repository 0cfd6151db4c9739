"""The protocol of a node: state machines without I/O."""

from hetdp.core.errors import InvalidInput


class Refused(InvalidInput):
    """A message, record or sketch is not what the protocol allows; it was dropped.

    `blame` is how much is held against the sender: nothing where a slow network or a late clock explains it.
    """

    def __init__(self, message: str, *, blame: int = 5) -> None:
        super().__init__(message)
        self.blame = blame
