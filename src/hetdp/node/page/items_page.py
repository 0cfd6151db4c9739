"""My items: search the catalogue, add, remove, turn dials, undo; what waits for the next epoch."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from hetdp.core.words import counted
from hetdp.node.dials import FULL_DIAL
from hetdp.node.handle import NodeHandle
from hetdp.node.page.fields import text_in, whole_in
from hetdp.node.page.rendering import Renderer
from hetdp.node.page.session import Message, View
from hetdp.node.page.words import PRESETS, dial_effect, dial_name
from hetdp.node.storage.profile import Waiting

__all__ = ["ItemsPage"]

_RESULTS = 8
_ROWS = 40
_MOST_CHANGES = 100


@dataclass(frozen=True, slots=True, repr=False)
class Change:
    """Something that the next sketch will do differently from the newest one."""

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
        """Return the page."""
        view, store, epsilon = self._view, self._node.store, self._node.network.epsilon
        counts = store.profile.counts()
        rows, fitting = store.profile.listing(view.filtered, limit=_ROWS, offset=view.list_page * _ROWS)
        pages = max(1, -(-fitting // _ROWS))
        if view.list_page >= pages:
            view.list_page = pages - 1
            rows, _ = store.profile.listing(view.filtered, limit=_ROWS, offset=view.list_page * _ROWS)
        found = []
        if view.searched is not None:
            found = store.catalogue.search(view.searched, limit=_RESULTS + 1, offset=view.search_page * _RESULTS)
        waiting, changes = store.profile.waiting(_MOST_CHANGES)
        return self._renderer.page(
            "/items",
            "items.html",
            watch="profile epoch",
            rows=rows,
            list_page=view.list_page,
            list_pages=pages,
            filtered=view.filtered,
            fitting=fitting,
            long_list=counts.size > _ROWS,
            size=counts.size,
            most=self._node.network.most_items,
            counting=counts.counting,
            exhausted=counts.exhausted,
            groups=store.profile.group_counts(),
            presets=PRESETS,
            changes=[_change(one) for one in waiting],
            all_changes=changes,
            catalogue=self._node.network.items,
            searched=view.searched,
            search_page=view.search_page,
            found=found[:_RESULTS],
            more=len(found) > _RESULTS,
            listed=store.profile.listed_among(item.place for item in found),
            effects=[[dial_name(dial), dial_effect(dial, epsilon)] for dial in range(FULL_DIAL + 1)],
        )

    def search(self, form: Mapping[str, str]) -> None:
        """Look for items, or stop looking; an empty text shows the whole catalogue."""
        if "close" in form:
            self._view.searched = None
        else:
            self._view.searched = text_in(form, "text")
        self._view.search_page = whole_in(form, "to") if "to" in form else 0

    def turn(self, form: Mapping[str, str]) -> None:
        """Go to another page of the list."""
        self._view.list_page = whole_in(form, "to")

    def narrow(self, form: Mapping[str, str]) -> None:
        """Show only what fits some words; all of it for an empty text."""
        self._view.filtered = "" if "close" in form else text_in(form, "text")
        self._view.list_page = 0

    def add(self, form: Mapping[str, str]) -> Message:
        """Put an item on the list at full dial."""
        return add_item(self._node, whole_in(form, "place"))

    def set_dial(self, form: Mapping[str, str]) -> Message | None:
        """Turn the dial of one item."""
        place, dial = whole_in(form, "place"), whole_in(form, "dial")
        before = self._node.store.profile.item(place)
        if before is None:
            return Message("That item is no longer on your list.", bad=True)
        if before.dial == dial:
            return None
        self._node.store.profile.set_dials({place: dial})
        return Message(f"{before.title}: {dial_name(dial).lower()} from the next epoch.", undo=True)

    def set_group(self, form: Mapping[str, str]) -> Message:
        """Turn the dials of all items of a group, as one step."""
        dial, group = whole_in(form, "dial"), form.get("group")
        chosen = self._node.store.profile.set_group(group, dial)
        return Message(f"{counted(chosen, 'item')} set: {dial_name(dial).lower()}.", undo=bool(chosen))

    def remove(self, form: Mapping[str, str]) -> Message:
        """Take an item off the list.

        Privacy
        -------
        Published sketches cannot be called back; the next one is drawn without it.
        """
        place = whole_in(form, "place")
        title = self._node.store.catalogue.item(place).title
        self._node.store.profile.remove([place])
        return Message(f"{title} is off your list.", undo=True)

    def undo(self, _form: Mapping[str, str]) -> Message:
        """Take the last edit back."""
        return undo(self._node)


def add_item(node: NodeHandle, place: int) -> Message:
    """Put an item on the list at full dial; one that is there already keeps its dial."""
    title = node.store.catalogue.item(place).title
    if node.store.profile.item(place) is not None:
        return Message(f"{title} is on your list already.")
    node.store.profile.set_dials({place: FULL_DIAL})
    return Message(f"{title} is on your list.", undo=True)


def undo(node: NodeHandle) -> Message:
    """Take the last edit back."""
    return Message("Taken back.") if node.store.profile.undo() else Message("There is nothing to take back.")


def _change(item: Waiting) -> Change:
    """Say what the next sketch will do differently with an item."""
    now = dial_name(item.after).lower()
    if not item.listed:
        return Change(item.title, "no longer in it")
    if item.exhausted:
        return Change(item.title, "limit reached, no longer counts")
    return Change(
        item.title,
        f"dial {item.before} → {item.after}, {now}" if item.before else f"will be in it ({now})",
    )
