"""The public list of items that a network is about, as tables of the store: items, and the versions they came in."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.lists import ListRow, canonical_link, canonical_text
from hetdp.node.protocol.catalogue_versions import CatalogueHistory, CatalogueVersion
from hetdp.node.protocol.network import NetworkParameters
from hetdp.node.storage.database import Database

_SELECT = "SELECT place, item, title, link, category FROM catalogue"
_decoder = msgspec.msgpack.Decoder(CatalogueVersion)


class Catalogue:
    """The catalogue in the store, which is public; what is looked up in it is not, and is recorded nowhere."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def size(self) -> int:
        """Return how many items there are, retired ones included."""
        newest = self._database.one("SELECT size FROM versions ORDER BY number DESC LIMIT 1")
        return int(self._database.fact("items") if newest is None else newest)

    def number(self) -> int:
        """Return the number of the newest version."""
        return int(self._database.one("SELECT coalesce(max(number), 1) FROM versions"))

    def digest(self) -> bytes:
        """Return what stands for the newest version in sketches; empty for version 1."""
        return self._database.one("SELECT digest FROM versions ORDER BY number DESC LIMIT 1") or b""

    def sizes(self) -> dict[bytes, int]:
        """Return how many items each version has, by its digest."""
        return {
            b"": int(self._database.fact("items")),
            **dict(self._database.rows("SELECT digest, size FROM versions ORDER BY number")),
        }

    def versions(self, after: int = 1) -> list[CatalogueVersion]:
        """Return the versions after one, in order."""
        rows = self._database.rows("SELECT raw FROM versions WHERE number > ? ORDER BY number", after)
        return [_decoder.decode(raw) for (raw,) in rows]

    def history(self, network: NetworkParameters) -> CatalogueHistory:
        """Return what is known of the catalogue, for the protocol."""
        names = self._database.rows("SELECT item FROM catalogue WHERE version = 1 ORDER BY place")
        return CatalogueHistory(network, self.versions(), names=(name for (name,) in names))

    def retired(self) -> NDArray[np.bool_]:
        """Return which items are not used any more."""
        retired = np.zeros(self.size(), dtype=np.bool_)
        rows = self._database.rows("SELECT place FROM catalogue WHERE retired IS NOT NULL")
        retired[[place for (place,) in rows]] = True
        return retired

    def groups(self) -> tuple[list[str], NDArray[np.int32]]:
        """Return the names of all groups, and the number of each item's group in that list."""
        return json.loads(self._database.fact("group_names")), self._database.array("groups")

    def in_group(self, group: str) -> NDArray[np.bool_]:
        """Return which items are in a group; none where the catalogue does not have it."""
        names, numbers = self.groups()
        found: NDArray[np.bool_] = numbers == (names.index(group) if group in names else -1)
        return found

    def search(self, text: str, *, limit: int = 20, offset: int = 0) -> list[CatalogueItem]:
        """Return items in use whose title, id or group holds every word of a text: exact titles first."""
        where, patterns = _holds_every_word(text)
        whole = " ".join(text.split())
        order = "title LIKE ? ESCAPE '!' DESC, title LIKE ? ESCAPE '!' DESC, title, place"
        sql = f"{_SELECT} WHERE retired IS NULL AND {where} ORDER BY {order} LIMIT ? OFFSET ?"
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
        if not found.keys() >= set(places):
            raise self._database.damaged()
        return [found[place] for place in places]

    def whole(self) -> list[CatalogueItem]:
        """Return all items, retired ones included."""
        return [CatalogueItem(*row) for row in self._database.rows(f"{_SELECT} ORDER BY place")]

    def current(self, *, also: Collection[int] = ()) -> list[CatalogueItem]:
        """Return all items that are not retired, and some that may be."""
        rows = self._database.rows(f"SELECT retired, {_SELECT.removeprefix('SELECT ')}")
        return [CatalogueItem(*row) for retired, *row in rows if retired is None or row[0] in also]

    def checked_place(self, place: object) -> int:
        """Return a place if the catalogue has it."""
        if isinstance(place, int) and not isinstance(place, bool):
            found = self._database.one("SELECT place FROM catalogue WHERE place = ?", place)
            if found is not None:
                return place
        raise InvalidInput("must be a position in the catalogue", parameter="place")


def _holds_every_word(text: str) -> tuple[str, list[str]]:
    """Return the condition that title, id or group of a row hold every word of a text, and what to fill in."""
    words = text.split()[:10]
    like = "(title LIKE ? ESCAPE '!' OR item LIKE ? ESCAPE '!' OR category LIKE ? ESCAPE '!')"
    patterns = [f"%{_literally(word)}%" for word in words for _ in range(3)]
    return " AND ".join([like] * len(words)) or "1", patterns


def _literally(word: str) -> str:
    """Return a word for LIKE ... ESCAPE '!', its signs taken literally."""
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


class CatalogueIndex:
    """Places of items by canonical id, title and link. The catalogue is public; what is looked up in it is not.

    Examples
    --------
    >>> green = CatalogueItem(0, "i0", "Green tea", "https://tea.example/")
    >>> index = CatalogueIndex([green, CatalogueItem(1, "i1", "Tea")])
    >>> [index.places_of(ListRow(1, title=text)) for text in ("GREEN  tea", "http://www.tea.example", "coffee")]
    [{0}, {0}, set()]
    """

    def __init__(self, items: Iterable[CatalogueItem]) -> None:
        self._exact: dict[str, int] = {}
        self._ids, self._titles = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
        self._linked: list[CatalogueItem] = []
        for item in items:
            self._exact[item.item] = item.place
            self._ids[canonical_text(item.item)].add(item.place)
            self._titles[canonical_text(item.title)].add(item.place)
            if item.link:
                self._linked.append(item)

    @property
    def has_links(self) -> bool:
        """Whether the catalogue has links to find items by."""
        return bool(self._linked)

    @cached_property
    def _links(self) -> dict[str, set[int]]:
        """Places by canonical link: made when the first link is looked for, as most of the time goes into it."""
        links = defaultdict[str, set[int]](set)
        for item in self._linked:
            link = canonical_link(item.link)
            if link is not None:
                links[link].add(item.place)
        return links

    def places_of(self, row: ListRow) -> set[int]:
        """Return the places of what a row may mean: one if that is clear, several if it is not, none if unknown.

        An id counts before a link, and a link before a title; where one of them fits several items, those that follow
        may tell them apart.
        """
        if row.item in self._exact:
            return {self._exact[row.item]}
        several: set[int] = set()
        for found in self._found(row):
            fitting = several & found or found if several else found
            if len(fitting) == 1:
                return fitting
            several = fitting or several
        return several

    def all_places_of(self, row: ListRow) -> set[int]:
        """Return the places of everything that a row may mean: what it has lost, each of them may have lost.

        An id is clear by itself, unless the title says something else: two networks may number their items from 1.
        """
        place = self._exact.get(row.item)
        if place is not None and (not row.title or place in self._titles.get(canonical_text(row.title), ())):
            return {place}
        exact = set() if place is None else {place}
        return exact.union(*self._found(row))

    def _found(self, row: ListRow) -> Iterable[set[int]]:
        """Yield the places that each text of a row names; a link may stand where an id or a title is expected."""
        nothing: set[int] = set()
        if row.item:
            yield self._ids.get(canonical_text(row.item), nothing)
        for text in (row.link, row.item, row.title):
            link = canonical_link(text) if self._linked and text[:4].lower() == "http" else None
            if link is not None:
                yield self._links.get(link, nothing)
        for text in (row.item, row.title):
            if text:
                yield self._titles.get(canonical_text(text), nothing)
