"""The public catalogue in the store: search it, look items up."""

import json

from hetdp.core.errors import InvalidInput
from hetdp.node.storage.base import StoreBase
from hetdp.node.storage.catalogue import CatalogueItem

__all__ = ["CatalogueStore", "words_in_catalogue"]

_CATALOGUE = "SELECT place, item, title, link, category FROM catalogue"
_AT = "place IN (SELECT value FROM json_each(?))"


class CatalogueStore(StoreBase):
    """Reads the catalogue.

    Privacy
    -------
    The catalogue is public; what is looked up in it is not, and is recorded nowhere.
    """

    def search(self, text: str, *, limit: int = 20, offset: int = 0) -> list[CatalogueItem]:
        """Return items whose title, id or group holds every word of a text: exact titles first, then beginnings."""
        where, patterns = words_in_catalogue(text)
        whole = " ".join(text.split())
        order = "title LIKE ? ESCAPE '!' DESC, title LIKE ? ESCAPE '!' DESC, title, place"
        sql = f"{_CATALOGUE} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        nearest = (_literally(whole), f"{_literally(whole)}%")
        return [CatalogueItem(*row) for row in self._rows(sql, *patterns, *nearest, limit, offset)]

    def catalogue_item(self, place: int) -> CatalogueItem:
        """Return the item at a place."""
        rows = self._rows(f"{_CATALOGUE} WHERE place = ?", place)
        if not rows:
            raise InvalidInput("place must be a position in the catalogue. Got another instead.")
        return CatalogueItem(*rows[0])

    def place_of(self, item: str) -> int | None:
        """Return the place of an item; None if the catalogue does not have it."""
        place = self._one("SELECT place FROM catalogue WHERE item = ?", item)
        return None if place is None else int(place)

    def groups(self) -> list[str]:
        """Return the groups of the catalogue."""
        return [
            group for (group,) in self._rows("SELECT DISTINCT category FROM catalogue WHERE category <> '' ORDER BY 1")
        ]

    def items_at(self, places: list[int]) -> list[CatalogueItem]:
        """Return the items of the catalogue at some places, in that order."""
        found = {row[0]: CatalogueItem(*row) for row in self._rows(f"{_CATALOGUE} WHERE {_AT}", json.dumps(places))}
        return [found[place] for place in places]


def words_in_catalogue(text: str) -> tuple[str, list[str]]:
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
