"""Access to the store of a ledger: threads take turns, and a forked process never uses what it inherited."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from hetdp.accounting.ledger.memory import Store
from hetdp.accounting.ledger.state import Change, State
from hetdp.core.errors import LedgerError

__all__ = ["StoreAccess"]


class StoreAccess:
    """What `Ledger` inherits: one store, used by one thread at a time, until it is closed.

    Privacy
    -------
    Two threads, or a process and its fork, can never spend the same budget.

    Examples
    --------
    >>> import numpy as np
    >>> from hetdp.accounting.ledger.memory import Memory
    >>> StoreAccess(Memory(State.fresh("epsilon", None, np.array([1.0])))).close()
    """

    def __init__(self, store: Store) -> None:
        self._store: Store | None = store
        self._lock = threading.RLock()
        self._charging = False
        _all.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger; it answers nothing from then on. Closing twice is harmless.

        Privacy
        -------
        Spends nothing. Every charge of a durable ledger is on disk already.

        Examples
        --------
        >>> from hetdp.accounting.ledger.ledger import Ledger
        >>> ledger = Ledger(limits=[1.0])
        >>> ledger.close()
        >>> ledger
        Ledger(closed or unreadable, in memory)
        """
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()

    @contextmanager
    def _opened(self) -> Iterator[Store]:
        with self._lock:
            if self._charging:
                raise LedgerError("The ledger cannot be used while it reads the charges given to charge_all.")
            if self._store is None:
                raise LedgerError("The ledger is closed. Open a durable one again with Ledger.open(path).")
            yield self._store

    def _read(self) -> State:
        with self._opened() as store:
            return store.read()

    def _update(self, change: Change) -> None:
        with self._opened() as store:
            self._charging = True
            try:
                store.update(change)
            finally:
                self._charging = False

    def _after_fork(self) -> None:
        # Another thread of the parent may have held the lock; that thread does not exist here.
        self._lock = threading.RLock()
        self._charging = False
        if self._store is not None:
            self._store.abandon()


_all: weakref.WeakSet[StoreAccess] = weakref.WeakSet()


def _after_fork() -> None:
    for access in tuple(_all):
        access._after_fork()  # noqa: SLF001  (same module)


os.register_at_fork(after_in_child=_after_fork)
