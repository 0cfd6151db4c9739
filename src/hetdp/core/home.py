"""The process in which noise may be drawn: a copy of it must not draw again for the same numbers."""

import contextlib
import os
import threading

from hetdp.core.errors import InvalidInput

__all__ = ["Home"]


class Home:
    """Where something new may be released: by one thread at a time, in the process in which it is counted.

    Two threads, or two copies of a process (`fork`, as servers do), that drew noise for the same exact numbers would
    release them twice. Copies can show what was released before; whoever holds their copy of the lock is not there.

    Parameters
    ----------
    simulated
        Whether noise comes from a seed: then nothing is released, and copies may do what they like.

    Examples
    --------
    >>> home = Home()
    >>> with home.alone():
    ...     home.require()
    """

    def __init__(self, *, simulated: bool = False) -> None:
        self._simulated = simulated
        self._lock = threading.RLock()
        self._process = os.getpid()

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Return a lock, if this is the home; a copy of the process only reads."""
        return self._lock if self._here else contextlib.nullcontext()

    def require(self) -> None:
        """Refuse to go on in a copy of the process."""
        if not (self._here or self._simulated):
            raise InvalidInput(
                "something new must be released in the process that fitted the model, where it is counted "
                "(got a copy of that process)",
                hint="Ask before it forks; what was released by then can be shown anywhere.",
            )

    @property
    def _here(self) -> bool:
        return os.getpid() == self._process
