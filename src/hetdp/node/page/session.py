"""Who may use the page: a token that works once, the cookie it buys, and the token that forms carry."""

import base64
import hashlib
import hmac
import threading
from dataclasses import dataclass, field

from hetdp.core.randomness import secure_stream

__all__ = ["Notice", "Session", "same"]


@dataclass(frozen=True, slots=True, repr=False)
class Notice:
    """A sentence to show once. It may name an item, so `repr` shows nothing."""

    text: str
    bad: bool = False
    undo: bool = False


def _secret() -> str:
    return base64.urlsafe_b64encode(secure_stream().key()).decode().rstrip("=")


@dataclass(repr=False)
class Session:
    """The secrets of one run of the page, 256 random bits each. They are gone when the node stops.

    Compared in constant time; `repr` shows nothing.
    """

    token: str = field(default_factory=_secret)
    form_token: str = field(default_factory=_secret)
    notice: Notice | None = None
    _cookie: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_notice(self) -> Notice | None:
        """Return what is to be shown once, and forget it."""
        notice, self.notice = self.notice, None
        return notice

    def exchange(self, token: str) -> str | None:
        """Return the cookie for the token, the first time; None for a wrong token and ever after.

        Whoever finds the address later, in a history or on a screen, cannot use it.
        """
        with self._lock:
            if self._cookie is not None or not same(token, self.token):
                return None
            self._cookie = _secret()
            return self._cookie

    def knows(self, cookie: str) -> bool:
        """Return whether a cookie is the one that was handed out."""
        return self._cookie is not None and same(cookie, self._cookie)


def same(given: str, expected: str) -> bool:
    """Compare secrets; hashing first hides the length as well."""
    return hmac.compare_digest(_digest(given), _digest(expected))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
