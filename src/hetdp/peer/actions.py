"""What the protocol asks the transport to do: open a connection, send, close."""

from collections.abc import Hashable
from dataclasses import dataclass

__all__ = ["Action", "Dial", "HangUp", "Reply"]


@dataclass(frozen=True, slots=True)
class Dial:
    """Open a connection to a peer and send it a first message.

    Privacy
    -------
    When and to whom is independent of the profile.
    """

    link: Hashable
    address: str
    curve: bytes
    raw: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Send a message over an open connection.

    Privacy
    -------
    As for `Dial`.
    """

    link: Hashable
    raw: bytes


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close a connection that this node has opened.

    Privacy
    -------
    As for `Dial`.
    """

    link: Hashable


Action = Dial | Reply | HangUp
