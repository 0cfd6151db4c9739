"""Connections to the page that do not wait for ever: everybody on this machine can open one, also who may not use it.

A request must have arrived up to the end of its headers within a few seconds, and of the connections that are still
waiting for one, only so many stay: the oldest goes. So nobody can take all places and lock the owner out.
"""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["hasty_protocol"]


class _Room:
    """The connections of one server that wait for a request, oldest first."""

    def __init__(self, *, headers_s: float, most: int) -> None:
        self._headers_s, self._most = headers_s, most
        self._timers: dict[H11Protocol, asyncio.TimerHandle] = {}

    def enter(self, connection: H11Protocol) -> None:
        """Let a connection wait, and the oldest go if there are too many."""
        if connection not in self._timers:
            self._timers[connection] = connection.loop.call_later(self._headers_s, self._send_away, connection)
        if len(self._timers) > self._most:
            self._send_away(next(iter(self._timers)))

    def leave(self, connection: H11Protocol) -> None:
        """Let a connection wait no longer."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _send_away(self, connection: H11Protocol) -> None:
        self.leave(connection)
        connection.transport.close()


class _Hasty(H11Protocol):
    """One connection."""

    room: ClassVar[_Room]

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  (uvicorn narrows asyncio's type)
        super().connection_made(transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Start the clock where a request is waited for, and stop it where one has come."""
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.room.enter(self)
        else:
            self.room.leave(self)


def hasty_protocol(*, headers_s: float, most_waiting: int) -> type[H11Protocol]:
    """Return a protocol for one server.

    Parameters
    ----------
    headers_s
        Seconds from the opening of a connection, or the end of the last answer, to the end of the next headers.
    most_waiting
        Connections that may wait for a request at once.
    """
    return type("Hasty", (_Hasty,), {"room": _Room(headers_s=headers_s, most=most_waiting)})
