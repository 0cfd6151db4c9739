"""My items: search the catalogue, add, remove, turn dials, undo; what waits for the next epoch."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from hetdp.app.web.fields import text_in, whole_in
from hetdp.app.web.rendering import Renderer
from hetdp.app.web.session import Message, View
from hetdp.app.web.words import PRESETS, count_words, dial_effect, dial_name
from hetdp.peer.handle import NodeHandle
from hetdp.peer.sketches import FULL_DIAL
from hetdp.peer.store_profile import ProfileItem

__all__ = ["ItemsPage"]

_RESULTS = 8
_ROWS = 40
#: What items without a group are gathered under.
_OTHER = ""


@dataclass(frozen=True, slots=True, repr=False)
class Change:
    """Something that the next sketch will do differently from the newest one.

    Privacy
    -------
    For the owner's eyes; `repr` shows nothing.
    """

    title: str
    what: str


class ItemsPage:
    """What the page of items shows and does.

    Privacy
    -------
    Everything here is private and stays at home. Edits take effect in the next epoch.
    """

    def __init__(self, node: NodeHandle, view: View, renderer: Renderer) -> None:
        self._node, self._view, self._renderer = node, view, renderer

    def show(self) -> Response:
        """Return the page.

        Privacy
        -------
        For the owner's eyes.
        """
        view, store, epsilon = self._view, self._node.store, self._node.network.epsilon
        profile = sorted(store.profile(), key=lambda item: (item.group == _OTHER, item.group, item.title.casefold()))
        pages = max(1, -(-len(profile) // _ROWS))
        view.list_page = min(view.list_page, pages - 1)
        listed = {item.place: item for item in profile}
        found = []
        if view.searched is not None:
            found = store.search(view.searched, limit=_RESULTS + 1, offset=view.search_page * _RESULTS)
        return self._renderer.page(
            "/items",
            "items.html",
            watch="profile epoch",
            rows=profile[view.list_page * _ROWS : (view.list_page + 1) * _ROWS],
            list_page=view.list_page,
            list_pages=pages,
            size=len(profile),
            most=self._node.network.most_items,
            counting=sum(item.effective_dial > 0 for item in profile),
            exhausted=sum(item.exhausted for item in profile),
            groups=sorted(Counter(item.group for item in profile).items(), key=lambda row: (row[0] == _OTHER, row)),
            presets=PRESETS,
            changes=self._changes(profile),
            catalogue=self._node.network.items,
            searched=view.searched,
            search_page=view.search_page,
            found=found[:_RESULTS],
            more=len(found) > _RESULTS,
            listed=listed,
            effects=[[dial_name(dial), dial_effect(dial, epsilon)] for dial in range(FULL_DIAL + 1)],
        )

    def search(self, form: Mapping[str, str]) -> None:
        """Look for items, or stop looking; an empty text shows the whole catalogue.

        Privacy
        -------
        The words stay in memory until the next search.
        """
        if "close" in form:
            self._view.searched = None
        else:
            self._view.searched = text_in(form, "text")
        self._view.search_page = whole_in(form, "to") if "to" in form else 0

    def turn(self, form: Mapping[str, str]) -> None:
        """Go to another page of the list.

        Privacy
        -------
        Changes nothing but the view.
        """
        self._view.list_page = whole_in(form, "to")

    def add(self, form: Mapping[str, str]) -> Message:
        """Put an item on the list at full dial.

        Privacy
        -------
        Takes effect in the next epoch.
        """
        return add_item(self._node, whole_in(form, "place"))

    def set_dial(self, form: Mapping[str, str]) -> Message | None:
        """Turn the dial of one item.

        Privacy
        -------
        Takes effect in the next epoch.
        """
        place, dial = whole_in(form, "place"), whole_in(form, "dial")
        before = {item.place: item for item in self._node.store.profile()}
        if place not in before:
            return Message("That item is no longer on your list.", bad=True)
        if before[place].dial == dial:
            return None
        self._node.store.set_dials({place: dial})
        return Message(f"{before[place].title}: {dial_name(dial).lower()} from the next epoch.", undo=True)

    def set_group(self, form: Mapping[str, str]) -> Message:
        """Turn the dials of all items of a group, as one step.

        Privacy
        -------
        Takes effect in the next epoch.
        """
        dial, group = whole_in(form, "dial"), form.get("group")
        chosen = [item for item in self._node.store.profile() if group in {None, item.group}]
        self._node.store.set_dials({item.place: dial for item in chosen})
        return Message(f"{count_words(len(chosen), 'item')} set: {dial_name(dial).lower()}.", undo=bool(chosen))

    def remove(self, form: Mapping[str, str]) -> Message:
        """Take an item off the list.

        Privacy
        -------
        Published sketches cannot be called back; the next one is drawn without it.
        """
        place = whole_in(form, "place")
        title = self._node.store.catalogue_item(place).title
        self._node.store.remove([place])
        return Message(f"{title} is off your list.", undo=True)

    def undo(self, _form: Mapping[str, str]) -> Message:
        """Take the last edit back.

        Privacy
        -------
        An edit like any other.
        """
        return undo(self._node)

    def _changes(self, profile: list[ProfileItem]) -> list[Change]:
        """Return what the next sketch will do differently; empty before the first sketch."""
        newest = self._node.store.newest_publication()
        if newest is None:
            return []
        changes = []
        for item in profile:
            before = newest.dials.get(item.place, 0)
            if item.effective_dial != before:
                now = dial_name(item.effective_dial).lower()
                what = f"will be in it ({now})" if not before else f"dial {before} → {item.effective_dial}, {now}"
                changes.append(Change(item.title, "limit reached, no longer counts" if item.exhausted else what))
        kept = {item.place for item in profile}
        changes += [
            Change(self._node.store.catalogue_item(place).title, "no longer in it")
            for place in newest.dials
            if place not in kept
        ]
        return changes


def add_item(node: NodeHandle, place: int) -> Message:
    """Put an item on the list at full dial; one that is there already keeps its dial.

    Privacy
    -------
    Takes effect in the next epoch.
    """
    title = node.store.catalogue_item(place).title
    if any(item.place == place for item in node.store.profile()):
        return Message(f"{title} is on your list already.")
    node.store.set_dials({place: FULL_DIAL})
    return Message(f"{title} is on your list.", undo=True)


def undo(node: NodeHandle) -> Message:
    """Take the last edit back.

    Privacy
    -------
    An edit like any other.
    """
    return Message("Taken back.") if node.store.undo() else Message("There is nothing to take back.")
