"""One form for all ways to write a title or a link, so that what is meant to be the same is found to be."""

import re
import unicodedata
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

__all__ = ["canonical_link", "canonical_text", "cleaned"]

#: What sites add to links to see where a visitor has come from: the page is the same without.
_TRACKING = re.compile(r"utm_.*|fbclid|gclid|dclid|msclkid|mc_cid|mc_eid|igshid|ref_src", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_PATH_SIGNS = "/!$&'()*+,;=:@-._~"


def cleaned(text: str) -> str:
    r"""Return a text without what cannot be shown, and with single blanks: safe for a terminal and a page.

    Examples
    --------
    >>> cleaned(" Green \t tea\x1b[2J ")
    'Green tea [2J'
    """
    if not text.isprintable():
        text = "".join(
            sign if sign.isprintable() else "" if unicodedata.category(sign) == "Cf" else " " for sign in text
        )
    return " ".join(text.split())


def canonical_text(text: str) -> str:
    r"""Return the form that two titles share if they are the same but for case, blanks and the way of writing signs.

    Examples
    --------
    >>> canonical_text("  GREEN\u00a0Tea ") == canonical_text("green tea")
    True
    >>> canonical_text("Caf\u00e9 \uff21") == canonical_text("cafe\u0301 a")
    True
    """
    if text.isascii():  # most are, and there is nothing to compose
        return " ".join(text.lower().split())
    # Case folding can take a text out of normal form, hence twice.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(cleaned(folded).split())


def canonical_link(link: str) -> str | None:
    """Return the form that two links to one page share; None for what is no http or https link.

    http and https are the same, and so are "www.", the usual port, a slash at the end, the case of the host, its two
    ways of writing other alphabets, the order of parameters, signs written with or without %; the part after # and what
    is added for tracking play no part.

    Examples
    --------
    >>> canonical_link("HTTP://www.Example.org:80/a%7Eb/?y=2&x=1&utm_source=mail#top")
    'example.org/a~b?x=1&y=2'
    >>> canonical_link("javascript:alert(1)")
    """
    try:
        parts = urlsplit(link.strip())
        port = parts.port
    except ValueError:  # an odd port or host
        return None
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _PORTS or not host:
        return None
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    host = host.removeprefix("www.") + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")
    path = quote(unquote(parts.path), safe=_PATH_SIGNS).rstrip("/") if parts.path not in ("", "/") else ""
    if not parts.query:
        return host + path
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return f"{host}{path}?{parts.query}"
    asked = urlencode(sorted(pair for pair in pairs if not _TRACKING.fullmatch(pair[0])))
    return f"{host}{path}?{asked}" if asked else host + path
