"""Lists that people have already: a table (CSV), the bookmarks of a browser, one title per line.

A list is read row by row. A row that cannot be used is noted by its number, and the others are read. A file as a whole
is refused only if it is too large or no text. Errors name rows, never their content.
"""

import csv
import html
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.text import byte_size

ListKind = Literal["csv", "bookmarks", "titles"]

#: Larger lists are no person's.
MOST_BYTES, MOST_ROWS = 64 * 2**20, 1_000_000
LONGEST = 500
#: What the header of a table may call its columns.
_COLUMNS = {"item": "item", "title": "title", "name": "title", "link": "link", "url": "link", "weight": "weight"}
_NAMING = {"item", "title", "link"}
_HEAD = 4096
_BOOKMARKS = re.compile(r"<!doctype\s+netscape-bookmark|<dl\b|<a\s", re.IGNORECASE)
#: Possessive: an attribute is read once, however odd the file.
_LINK = re.compile(r"""<a\s((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>([^<]*+)""", re.IGNORECASE)
_LINK_BEGINS = re.compile(r"<a\s", re.IGNORECASE)
_HREF = re.compile(r"""(?<![\w-])href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
#: What sites add to links to see where a visitor has come from: the page is the same without.
_TRACKING = re.compile(r"utm_.*|fbclid|gclid|dclid|msclkid|mc_cid|mc_eid|igshid|ref_src", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_PATH_SIGNS = "/!$&'()*+,;=:@-._~"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MARKED = re.compile(r"'+[=+\-@\t\r]")


@dataclass(frozen=True, slots=True, repr=False)
class ListRow:
    """One row: its number, the texts that name an item (an id, a title, a link; empty if not given), its weight."""

    number: int
    item: str = ""
    title: str = ""
    link: str = ""
    weight: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class OwnList:
    """What was read, and the numbers of rows that cannot be used. Private, so `repr` shows nothing."""

    kind: ListKind
    rows: tuple[ListRow, ...]
    odd: tuple[int, ...]


def read_own_list(raw: bytes, *, kind: str = "auto") -> OwnList:
    r"""Read a list that somebody has: kind "csv", "bookmarks", "titles", or "auto" to see from the text which it is.

    A table has a header with at least one of the columns item, title (or name), link (or url), perhaps weight, and
    whatever else, which is left alone; columns are separated by commas, semicolons or tabs. Bookmarks are a file as
    browsers export it (Netscape format); only links to the web (http, https) are read. Titles are one per line.

    Privacy
    -------
    Private. Errors name rows, never what is in them.

    Examples
    --------
    >>> [(row.number, row.title) for row in read_own_list(b"Green tea\n\nOolong\n").rows]
    [(1, 'Green tea'), (3, 'Oolong')]
    >>> read_own_list(b"item,weight\ni1,0.5\n").kind
    'csv'
    """
    if kind not in ("auto", *get_args(ListKind)):
        raise InvalidInput("must be 'auto', 'csv', 'bookmarks' or 'titles'", parameter="kind")
    text = _text(raw)
    found = _kind_of(text) if kind == "auto" else cast("ListKind", kind)
    readers = {"csv": _table, "bookmarks": _bookmarks, "titles": _titles}
    rows, odd = [], []
    for row in readers[found](text):
        names = (row.item, row.title, row.link)
        if not any(names) or any(len(name) > LONGEST for name in (*names, row.weight)):
            odd.append(row.number)
        else:
            rows.append(row)
        if len(rows) + len(odd) > MOST_ROWS:
            raise DataError(f"the list must have at most {MOST_ROWS:,} rows")
    return OwnList(found, tuple(rows), tuple(odd))


def list_file(path: Path) -> tuple[bytes, str]:
    """Return what is in the file of a list, and which kind the ending of its name says: "auto" if it says nothing.

    Privacy
    -------
    Private.
    """
    kind = {".csv": "csv", ".tsv": "csv", ".html": "bookmarks", ".htm": "bookmarks"}.get(path.suffix.lower(), "auto")
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1), kind
    except OSError as error:
        raise DataError(f"the list {str(path)!r} must be a readable file. Got: {error.strerror}.") from None


def _text(raw: bytes) -> str:
    if len(raw) > MOST_BYTES:
        raise DataError(f"the list must be at most {byte_size(MOST_BYTES)}")
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise DataError(
            "the list must be a text in UTF-8: a CSV, a browser's bookmarks or one title per line",
            hint="A spreadsheet can be saved as CSV (UTF-8).",
        )
    return text


def _kind_of(text: str) -> ListKind:
    if _BOOKMARKS.search(text[:_HEAD]):
        return "bookmarks"
    return "csv" if _header(text) is not None else "titles"


def _header(text: str) -> tuple[str, list[str]] | None:
    """Return what separates the columns of a table, and what they are called here; None if it is no table."""
    line = next((line for line in text[:_HEAD].splitlines() if line.strip()), "")
    for separator in (",", ";", "\t"):
        try:
            cells = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            continue
        columns = [_COLUMNS.get(cell.strip().lower(), "") for cell in cells]
        named = [column for column in columns if column]
        if _NAMING.intersection(named) and len(named) == len(set(named)):
            return separator, columns
    return None


def _table(text: str) -> Iterator[ListRow]:
    header = _header(text)
    if header is None:
        raise DataError(
            "the first row of the table must name its columns, one of which is item, title or link, each once. Got a "
            "row without one instead: rename yours."
        )
    separator, columns = header
    rows = _cells(text, separator)
    next(rows)
    for number, cells in enumerate(rows, start=1):
        texts = [cleaned(bare_cell(cell)) for cell in cells]
        given = dict(zip(columns, texts, strict=False)) if len(texts) <= len(columns) else {}
        given.pop("", None)
        if separator == ";" and "weight" in given:  # where commas are not free to separate, they are decimal
            given["weight"] = given["weight"].replace(",", ".")
        yield ListRow(number, **given)


def _cells(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the cells of every row that is not blank; none for a row with a cell that never ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield []
        else:
            if cells:
                yield cells


def _bookmarks(text: str) -> Iterator[ListRow]:
    place, number = 0, 0
    while (begin := _LINK_BEGINS.search(text, place)) is not None:
        number += 1
        found = _LINK.match(text, begin.start())
        if found is None:
            raise DataError(f"the links of a bookmarks file must end. Got one without an end instead: link {number}.")
        place = found.end()
        address = _HREF.search(found[1])
        link = html.unescape(next(filter(None, address.groups()), "")) if address else ""
        if link[:8].lower().startswith(("http://", "https://")):  # the others are searches and small programs
            short = link if len(link) <= LONGEST else ""  # a title may do
            yield ListRow(number, title=cleaned(html.unescape(found[2]))[:LONGEST], link=cleaned(short))


def _titles(text: str) -> Iterator[ListRow]:
    for number, line in enumerate(text.splitlines(), start=1):
        title = cleaned(line)
        if title:
            yield ListRow(number, title=title)


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


# Titles come from a catalogue that others wrote. A spreadsheet could run one as a formula and send the list away.
def harmless_cell(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: one that begins like one gets a ' in front.

    Examples
    --------
    >>> harmless_cell("=HYPERLINK(A2)")
    "'=HYPERLINK(A2)"
    >>> harmless_cell("'Tis tea")
    "'Tis tea"
    """
    return f"'{text}" if _FORMULA.match(text) else text


def bare_cell(text: str) -> str:
    """Return what `harmless_cell` was given.

    Examples
    --------
    >>> [bare_cell(harmless_cell(text)) for text in ("=1", "'=1", "tea", "'Tis tea", "-")]
    ['=1', "'=1", 'tea', "'Tis tea", '-']
    """
    return text[1:] if _MARKED.match(text) else text
