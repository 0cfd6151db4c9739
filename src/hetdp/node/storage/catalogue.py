"""The public list of items that a network is about, as a table of the store."""

import json

from hetdp.core.errors import InvalidInput
from hetdp.node.storage.database import Database
from hetdp.profiles.reading.catalogues import CatalogueItem

__all__ = ["Catalogue"]

_SELECT = "SELECT place, item, title, link, category FROM catalogue"


class Catalogue:
    """The catalogue in the store, which is public; what is looked up in it is not, and is recorded nowhere."""

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

    def checked_place(self, place: object) -> int:
        """Return a place if the catalogue has it."""
        if isinstance(place, int) and not isinstance(place, bool):
            found = self._database.one("SELECT place FROM catalogue WHERE place = ?", place)
            if found is not None:
                return place
        raise InvalidInput("place must be a position in the catalogue. Got another instead.")


def _holds_every_word(text: str) -> tuple[str, list[str]]:
    """Return the condition that title, id or group of a row hold every word of a text, and what to fill in."""
    words = text.split()[:10]
    like = "(title LIKE ? ESCAPE '!' OR item LIKE ? ESCAPE '!' OR category LIKE ? ESCAPE '!')"
    patterns = [f"%{_literally(word)}%" for word in words for _ in range(3)]
    return " AND ".join([like] * len(words)) or "1", patterns


def _literally(word: str) -> str:
    """Return a word for LIKE ... ESCAPE '!', its signs taken literally."""
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")
