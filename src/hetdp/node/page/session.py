"""Who may use the page: a token that works once, the cookie it buys, and the token that forms carry."""

import hashlib
import hmac
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hetdp.node.storage.page_door import new_secret

__all__ = ["Notice", "Session", "same"]

#: So many browsers may be in at a time; of more, those that came first have to ask again.
_MOST_BROWSERS = 8


@dataclass(frozen=True, slots=True, repr=False)
class Notice:
    """A sentence to show once. It may name an item, so `repr` shows nothing."""

    text: str
    bad: bool = False
    undo: bool = False


@dataclass(repr=False)
class Session:
    """The secrets of one run of the page, 256 random bits each. They are gone when the node stops.

    Compared in constant time; `repr` shows nothing.
    """

    token: str = field(default_factory=new_secret)
    form_token: str = field(default_factory=new_secret)
    notice: Notice | None = None
    #: Whether a token was asked for at home while the page runs (`storage.page_door`).
    admits: Callable[[str], bool] = lambda _token: False
    _used: bool = False
    _cookies: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_notice(self) -> Notice | None:
        """Return what is to be shown once, and forget it."""
        notice, self.notice = self.notice, None
        return notice

    def exchange(self, token: str) -> str | None:
        """Return a cookie for the token, the first time, or for one that was asked for at home since; else None.

        Whoever finds an address later, in a history or on a screen, cannot use it.
        """
        with self._lock:
            first = not self._used and same(token, self.token)
            if not first and not self.admits(token):
                return None
            self._used |= first
            self._cookies = [*self._cookies[1 - _MOST_BROWSERS :], new_secret()]
            return self._cookies[-1]

    def knows(self, cookie: str) -> bool:
        """Return whether a cookie is one of those that were handed out last."""
        return any(same(cookie, known) for known in self._cookies)


def same(given: str, expected: str) -> bool:
    """Compare secrets; hashing first hides the length as well."""
    return hmac.compare_digest(_digest(given), _digest(expected))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
