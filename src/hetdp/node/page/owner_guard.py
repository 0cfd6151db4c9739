"""Only the owner gets in: checks of host, origin, cookie and form token around everything, and strict headers.

A page on loopback has more visitors than it seems: every web site that the owner opens can send requests here, and
with a name that resolves to 127.0.0.1 it could even read the answers. Hence each check below.
"""

import hashlib
import hmac
import logging
import re
import threading
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hetdp.node.storage.page_door import new_secret

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


_log = logging.getLogger(__name__)

#: Key of the request's scope under which the fields of a checked form lie.
FORM = "hetdp.form"
_LARGEST_FORM = 64 * 1024
#: A form with a file, such as a list of 100,000 items.
_LARGEST_UPLOAD = 16 * 2**20
_MOST_FIELDS = 50
_FORM_TYPE, _UPLOAD_TYPE = "application/x-www-form-urlencoded", "multipart/form-data"
_BOUNDARY = re.compile(r'boundary="?([^";\s]{1,200})"?')
_FIELD = re.compile(rb'\r\ncontent-disposition: form-data; name="([^"\r\n]*)"(; filename=)?', re.IGNORECASE)

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_REFUSED = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>hetdp</title>
</head>
<body>
<h1>{title}</h1>
<p>{text}</p>
<p><a href="/">Try again</a></p>
</body>
</html>
"""


class Refusal(Exception):
    """A request that goes no further: status, and what to tell the visitor. Never holds what was sent."""

    def __init__(self, status: int, title: str, text: str) -> None:
        self.status, self.title, self.text = status, title, text
        super().__init__(title)

    def response(self) -> Response:
        """Return it as a page."""
        html = _REFUSED.format(title=self.title, text=self.text)
        # Strangers get no connection to keep.
        return Response(html, status_code=self.status, media_type="text/html", headers={"Connection": "close"})


class OwnerGuard:
    """An ASGI application that lets the owner through to another one.

    `hosts` are the values of the Host header to answer to, port included. Browsers do not keep cookies of different
    ports apart, so the name of the `cookie` should hold the port.

    Privacy
    -------
    Everything, static files included, needs the cookie; whatever changes something needs a POST from this very page.
    An exception is logged by its type and place: its text could hold an item.
    """

    def __init__(self, app: ASGIApp, *, session: Session, hosts: Collection[str], cookie: str) -> None:
        self._app, self._session, self._hosts, self._cookie = app, session, frozenset(hosts), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            answer = await self._checked(scope, receive)
            await (answer or self._app)(scope, receive, send_with_headers)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001  (whatever it is, its text must not reach a log)
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("%s in %s, line %s", type(error).__name__, place.name, place.lineno)
            if not started:
                failure = Refusal(500, "That did not work", "The node could not do this. Look at its terminal.")
                await failure.response()(scope, receive, send_with_headers)

    async def _checked(self, scope: Scope, receive: Receive) -> Response | None:
        """Return an answer of the guard's own, or None to let the request through."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or host not in self._hosts:
            raise Refusal(421, "Wrong address", "This page answers only to the address that the node has printed.")
        site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        method = scope["method"]
        if site in {"cross-site", "same-site"} and not (method == "GET" and mode == "navigate"):
            raise Refusal(403, "Not from there", "Another site has sent this request. Nothing was done.")
        token = _token_in(scope)
        if token is not None:
            return self._enter(token, headers, method)
        if not self._known(headers):
            raise Refusal(
                403,
                "Open the printed address",
                "This page belongs to the person who runs the node. Open the address that the node has printed when "
                "it started; it works once, in one browser. For a new one, run: hetdp node page",
            )
        if method in {"GET", "HEAD"}:
            return None
        if method != "POST":
            raise Refusal(405, "Not that way", "This page knows GET and POST.")
        # With "Referrer-Policy: no-referrer" a browser sends "Origin: null" for a plain form, from our page too; then
        # Sec-Fetch-Site, which no page can set, tells whose form it was.
        origin = headers.get("origin")
        if origin != f"http://{host}" and not (origin == "null" and site == "same-origin"):
            raise Refusal(403, "Not from there", "Another site has sent this form. Nothing was done.")
        scope[FORM] = await _read_form(headers, receive)
        if not same(scope[FORM].pop("form_token", ""), self._session.form_token):
            raise Refusal(403, "This form is out of date", "Load the page again. Nothing was done.")
        return None

    def _enter(self, token: str, headers: Headers, method: str) -> Response:
        """Exchange the token for a cookie; the redirect takes it out of the address bar and the history."""
        if method != "GET":
            raise Refusal(405, "Not that way", "This address is to be opened in a browser.")
        answer = RedirectResponse("/", status_code=303)
        cookie = self._session.exchange(token)
        if cookie is not None:
            answer.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", path="/")
            return answer
        if same(token, self._session.token) and self._known(headers):
            return answer  # the owner opens the same address again
        raise Refusal(
            403,
            "This address does not work",
            "It works once, in one browser, and this one is wrong, has been used or is too old. For a new one, run: "
            "hetdp node page",
        )

    def _known(self, headers: Headers) -> bool:
        """Return whether the cookie is among those sent.

        Taken apart by hand: cookies of other servers on this machine come along, and one odd one among them would make
        Python's own parser drop them all.
        """
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(self._session.knows(value) for name, _, value in pairs if name == self._cookie)


def _token_in(scope: Scope) -> str | None:
    query: bytes = scope.get("query_string", b"")
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)).get("token")


async def _read_form(headers: Headers, receive: Receive) -> dict[str, str]:
    """Return the fields of a form of bounded size."""
    kind = headers.get("content-type", "")
    name = kind.partition(";")[0].strip().lower()
    if name not in {_FORM_TYPE, _UPLOAD_TYPE}:
        raise Refusal(415, "Not a form", "This page takes its own forms only. Nothing was done.")
    largest = _LARGEST_UPLOAD if name == _UPLOAD_TYPE else _LARGEST_FORM
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal(400, "Broken off", "The form did not arrive. Nothing was done.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > largest:
            raise Refusal(413, "Too long", "The form is too long. Nothing was done.")
    try:
        if name == _UPLOAD_TYPE:
            return _uploaded(bytes(body), kind)
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise Refusal(400, "Not a form", "The form cannot be read. Nothing was done.") from None
    return dict(fields)


def _uploaded(body: bytes, kind: str) -> dict[str, str]:
    """Return the fields of a form with files, as browsers write it (RFC 7578).

    Bytes of a file that are no UTF-8 are kept as surrogates, so that `bytes_in` gives back what was sent.
    """
    boundary = _BOUNDARY.search(kind)
    first, *parts, last = (b"\r\n" + body).split(b"\r\n--" + (boundary[1] if boundary else "").encode())
    if boundary is None or first or not last.startswith(b"--") or len(parts) > _MOST_FIELDS:
        raise ValueError
    fields = {}
    for part in parts:
        head, blank, content = part.partition(b"\r\n\r\n")
        named = _FIELD.search(head)
        if named is None or not blank:
            raise ValueError
        fields[named[1].decode()] = content.decode(errors="surrogateescape" if named[2] else "strict")
    return fields
