"""The public list of items that a network is about: a CSV file named by its hash, and a table of the store."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError, InvalidInput
from hetdp.node.storage.database import Database

__all__ = ["Catalogue", "CatalogueItem", "read_catalogue", "read_items"]

_LONGEST = 500
MOST_ITEMS = 1_000_000
_SELECT = "SELECT place, item, title, link, category FROM catalogue"


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """One line of the catalogue; `place` is its position, which is also its bit in every sketch."""

    place: int
    item: str
    title: str
    link: str = ""
    group: str = ""


class Catalogue:
    """The catalogue in the store: search it, look items up.

    Privacy
    -------
    The catalogue is public; what is looked up in it is not, and is recorded nowhere.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def search(self, text: str, *, limit: int = 20, offset: int = 0) -> list[CatalogueItem]:
        """Return items whose title, id or group holds every word of a text: exact titles first, then beginnings."""
        where, patterns = _holds_every_word(text)
        whole = " ".join(text.split())
        order = "title LIKE ? ESCAPE '!' DESC, title LIKE ? ESCAPE '!' DESC, title, place"
        sql = f"{_SELECT} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        nearest = (_literally(whole), f"{_literally(whole)}%")
        return [CatalogueItem(*row) for row in self._database.rows(sql, *patterns, *nearest, limit, offset)]

    def places_of(self, text: str) -> list[int]:
        """Return the places of items whose title, id or group holds every word of a text."""
        where, patterns = _holds_every_word(text)
        sql = "SELECT place FROM catalogue WHERE " + where  # noqa: S608  (our own text)
        return [place for (place,) in self._database.rows(sql, *patterns)]

    def item(self, place: int) -> CatalogueItem:
        """Return the item at a place."""
        rows = self._database.rows(f"{_SELECT} WHERE place = ?", self.checked_place(place))
        return CatalogueItem(*rows[0])

    def items_at(self, places: list[int]) -> list[CatalogueItem]:
        """Return the items at some places, in that order."""
        where = "place IN (SELECT value FROM json_each(?))"
        rows = self._database.rows(f"{_SELECT} WHERE {where}", json.dumps(places))
        found = {row[0]: CatalogueItem(*row) for row in rows}
        return [found[place] for place in places]

    def place_of(self, item: str) -> int | None:
        """Return the place of an item; None if the catalogue does not have it."""
        place = self._database.one("SELECT place FROM catalogue WHERE item = ?", item)
        return None if place is None else int(place)

    def groups(self) -> list[str]:
        """Return the groups of the catalogue."""
        rows = self._database.rows("SELECT DISTINCT category FROM catalogue WHERE category <> '' ORDER BY 1")
        return [group for (group,) in rows]

    def checked_place(self, place: object) -> int:
        """Return a place if the catalogue has it."""
        if isinstance(place, int) and not isinstance(place, bool):
            found = self._database.one("SELECT place FROM catalogue WHERE place = ?", place)
            if found is not None:
                return place
        raise InvalidInput("place must be a position in the catalogue. Got another instead.")


def read_catalogue(path: Path) -> tuple[list[CatalogueItem], str]:
    r"""Return the items of a catalogue file and the SHA-256 of the file.

    Parameters
    ----------
    path
        UTF-8 CSV with the columns `item` and, optionally, `title`, `link` and `group`; items are all different.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     _ = path.write_text("item,title\nt1,Tea\nc1,Coffee\n")
    ...     items, digest = read_catalogue(path)
    >>> items[1].title, digest[:8]
    ('Coffee', 'c77060fb')
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the catalogue {path.name} must be a readable file. Got: {error.strerror}.") from None
    items = []
    for place, row in enumerate(_rows(path, raw)):
        link = row.get("link", "")
        if link and not link.startswith(("https://", "http://")):
            raise DataError(
                f"links in {path.name} must start with https:// or http://. Got another in row {place + 1}."
            )
        items.append(CatalogueItem(place, row["item"], row.get("title") or row["item"], link, row.get("group", "")))
    if not 1 <= len(items) <= MOST_ITEMS:
        raise DataError(f"{path.name} must hold 1 to {MOST_ITEMS} items. Got {len(items)} instead.")
    if len({item.item for item in items}) != len(items):
        raise DataError(f"the items of {path.name} must be all different. Got repeated ones instead.")
    return items, hashlib.sha256(raw).hexdigest()


def read_items(path: Path) -> list[tuple[str, str]]:
    r"""Return the (item, weight) texts of a profile file: a CSV with the columns `item` and, optionally, `weight`.

    Privacy
    -------
    Private. Errors name the row, never what is in it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "me.csv")
    ...     _ = path.write_text("item,weight\nt1,0.5\nc1,\n")
    ...     read_items(path)
    [('t1', '0.5'), ('c1', '')]
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the profile {path.name} must be a readable file. Got: {error.strerror}.") from None
    return [(row["item"], row.get("weight", "")) for row in _rows(path, raw)]


def _rows(path: Path, raw: bytes) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file as dicts of stripped, bounded, printable texts."""
    try:
        reader = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        if "item" not in (reader.fieldnames or ()):
            raise DataError(f"{path.name} must have a column 'item'. Got a header without it instead.")
        for number, row in enumerate(reader, start=1):
            if None in row or None in row.values():
                raise DataError(
                    f"rows of {path.name} must be as long as the header. Got another length in row {number}."
                )
            texts = {name: " ".join(text.split()) for name, text in row.items()}
            if not texts["item"] or any(len(text) > _LONGEST or not text.isprintable() for text in texts.values()):
                raise DataError(
                    f"cells of {path.name} must be printable, at most {_LONGEST} characters, and items not empty. "
                    f"Got another in row {number}."
                )
            yield texts
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{path.name} must be a CSV file in UTF-8. Got something else instead.") from None


def _holds_every_word(text: str) -> tuple[str, list[str]]:
    """Return the condition that title, id or group of a row hold every word of a text, and what to fill in."""
    words = text.split()[:10]
    like = "(title LIKE ? ESCAPE '!' OR item LIKE ? ESCAPE '!' OR category LIKE ? ESCAPE '!')"
    patterns = [f"%{_literally(word)}%" for word in words for _ in range(3)]
    return " AND ".join([like] * len(words)) or "1", patterns


def _literally(word: str) -> str:
    """Return a word for LIKE ... ESCAPE '!', its signs taken literally.

    Examples
    --------
    >>> _literally("50%!")
    '50!%!!'
    """
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")
