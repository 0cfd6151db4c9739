"""A forked copy of a process must not draw new noise for the same private numbers; this refuses it."""

import contextlib
import os
import threading

from hetdp.core.errors import InvalidInput


class ForkGuard:
    """Lets one thread at a time release something new, and only in the process that counts the releases.

    Two threads, or two copies of a process (`fork`, as servers do), that drew noise for the same exact numbers would
    release them twice. A forked copy can still show what was released before the fork.

    Parameters
    ----------
    simulated
        Whether noise comes from a seed. Then nothing is published, and forked copies may draw as well.

    Examples
    --------
    >>> guard = ForkGuard()
    >>> with guard.alone():
    ...     guard.require()
    """

    def __init__(self, *, simulated: bool = False) -> None:
        self._simulated = simulated
        self._lock = threading.RLock()
        self._process = os.getpid()

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Return a lock in the original process, and nothing to wait for in a copy, which only reads.

        A thread that held the lock when the process was forked does not exist in the copy and would never let it go.
        """
        return self._lock if self._original else contextlib.nullcontext()

    def require(self) -> None:
        """Refuse to go on in a forked copy of the process."""
        if not (self._original or self._simulated):
            raise InvalidInput(
                "A forked process cannot release anything new: the process that fitted the model counts the releases",
                hint="Ask before the fork. What was released by then can be shown in any process.",
            )

    @property
    def _original(self) -> bool:
        return os.getpid() == self._process
