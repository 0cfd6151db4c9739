"""Lists that people have already: a table (CSV), the bookmarks of a browser, one title per line.

Read row by row, forgivingly: a row that cannot be used is noted by its number and the others are read. A file as a
whole is refused only if it is too large or no text. Errors name rows, never what is in them.
"""

import csv
import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from hetdp.core.errors import DataError, InvalidInput
from hetdp.core.text import byte_size
from hetdp.profiles.reading.canonical import cleaned
from hetdp.profiles.reading.spreadsheet_cells import bare_cell

__all__ = ["ListKind", "ListRow", "OwnList", "list_file", "read_own_list"]

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
