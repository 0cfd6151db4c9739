"""What the protocol asks the transport to do: open a connection, send, close."""

from collections.abc import Hashable
from dataclasses import dataclass

__all__ = ["Action", "Dial", "HangUp", "Reply"]


@dataclass(frozen=True, slots=True)
class Dial:
    """Open a connection to a peer and send it a first message."""

    link: Hashable
    address: str
    curve: bytes
    raw: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Send a message over an open connection."""

    link: Hashable
    raw: bytes


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close a connection that this node has opened."""

    link: Hashable


Action = Dial | Reply | HangUp
