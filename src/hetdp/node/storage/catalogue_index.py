"""Find items of the catalogue by whatever names them: an id, a title, a link, in any way of writing them."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.lists import ListRow, canonical_link, canonical_text

__all__ = ["CatalogueIndex"]


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
