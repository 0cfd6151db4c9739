"""What a ledger needs of the place where its state is kept, and the simplest such place: memory."""

from typing import Protocol

from hetdp.accounting.ledger.state import Change, Entry, State
from hetdp.core.errors import LedgerError

__all__ = ["Memory", "Store"]


class Store(Protocol):
    """Where a ledger keeps its state; `LedgerFile` says what each method promises."""

    def read(self) -> State:
        """Return the present state."""

    def history(self) -> tuple[Entry, ...]:
        """Return every charge so far, oldest first."""

    def update(self, change: Change) -> None:
        """Replace the state by `change(state)` and append to the history; all or nothing."""

    def abandon(self) -> None:
        """Let go of what a fork has inherited, without harm to the parent."""

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""


class Memory:
    """The state and history of a ledger that lives as long as its process.

    Privacy
    -------
    A forked process has a copy that its parent knows nothing of, so it may read but not charge.

    Examples
    --------
    >>> import dataclasses, numpy as np
    >>> memory = Memory(State.fresh("epsilon", None, np.array([1.0])))
    >>> memory.update(lambda state: (dataclasses.replace(state, weights_spent=0.5), []))
    >>> memory.read().weights_spent, memory.history()
    (0.5, ())
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._history: list[Entry] = []
        self._inherited = False

    def read(self) -> State:
        """Return the present state."""
        return self._state

    def history(self) -> tuple[Entry, ...]:
        """Return every charge so far, oldest first."""
        return tuple(self._history)

    def update(self, change: Change) -> None:
        """Replace the state by `change(state)` and append to the history; all or nothing."""
        state, entries = change(self._state)
        if self._inherited:
            raise LedgerError(
                "A ledger in memory cannot be charged in a forked process: its parent would not know. "
                "Give the ledger a path to share it."
            )
        self._state = state
        self._history += entries

    def abandon(self) -> None:
        """Refuse charges from now on: this process was forked."""
        self._inherited = True

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
