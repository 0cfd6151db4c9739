"""A Dask cluster, where one is asked for: connected to within a deadline, or refused with a reason."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from hetdp.core.errors import InvalidInput
from hetdp.core.optional import require

Result = TypeVar("Result")


def connect_dask(address: str, *, timeout_s: float = 5.0) -> Any:  # noqa: ANN401  (dask is optional and has no types)
    """Return a client of a Dask scheduler that has workers.

    Dask's own client waits for ever for some peers that are no scheduler, and another ten seconds when it is thrown
    away. So the scheduler is first asked who it is, over a bare connection, and only then a client is made; both on a
    thread that nobody waits for beyond the deadline.
    """
    make: Any = require("distributed", extra="dask", purpose="A Dask cluster").Client
    deadline = time.monotonic() + timeout_s
    try:
        identity = within(deadline, lambda: asyncio.run(_identity(address, timeout_s)))
        if identity["type"] != "Scheduler":
            raise ValueError  # noqa: TRY301  (a worker, say: the same message as for any other peer)
        workers = len(identity["workers"])
        client = within(deadline, lambda: make(address, timeout=timeout_s, set_as_default=False)) if workers else None
    except Exception as error:
        raise InvalidInput(
            f"must be the address of a Dask scheduler that answers within {timeout_s:g} seconds, such as "
            "tcp://10.0.0.1:8786",
            parameter="address",
            got=address,
        ) from error
    if client is None:
        raise InvalidInput("must be a Dask scheduler with at least one worker", parameter="address", got=address)
    return client


async def _identity(address: str, timeout_s: float) -> dict[str, Any]:
    """Return what a scheduler says about itself."""
    from distributed.comm.core import connect

    opened: Any = connect

    async def ask() -> Any:  # noqa: ANN401
        comm = await opened(address, timeout=timeout_s)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    found = await asyncio.wait_for(ask(), timeout_s)
    return dict(found)


def within(deadline: float, action: Callable[[], Result]) -> Result:
    """Return what an action gives, or raise what it raises; TimeoutError if it takes longer."""
    found: list[Result] = []
    failed: list[Exception] = []

    def act() -> None:
        try:
            found.append(action())
        except Exception as error:  # noqa: BLE001  (handed over to the caller)
            failed.append(error)

    thread = threading.Thread(target=act, name="hetdp-dask-connect", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found[0]
