"""What tests need to know about plain sockets."""

import socket


def hung_up(wire: socket.socket) -> bool:
    """Wait for the end of a connection; one that the other side closes before it read everything ends in a reset."""
    try:
        return wire.recv(1) == b""
    except ConnectionResetError:
        return True
