"""My items: search, add, remove, turn dials, undo, by group and one line each; what waits for the next sketch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hetdp.core.text import counted
from hetdp.node.dials import FULL_DIAL
from hetdp.node.handle import NodeHandle
from hetdp.node.page.base_page import Form, FormAction, Page, text_in, whole_in
from hetdp.node.page.owner_guard import Notice
from hetdp.node.storage.profile import ListedGroup, ProfileItem, Waiting
from hetdp.node.words import PRESETS, dial_effect, dial_name

_RESULTS = 8
#: Rows of a group that are shown at once.
_ROWS = 40
#: A list of so many items has its groups open until the owner closes them.
_SHORT = 15
_MOST_CHANGES = 100


@dataclass(frozen=True, slots=True, repr=False)
class Change:
    """Something that the next sketch will do differently from the newest one."""

    title: str
    what: str


@dataclass(frozen=True, slots=True, repr=False)
class ShownGroup:
    """One group of the list: what is in it, and some of its rows if it is open."""

    counts: ListedGroup
    open: bool
    rows: list[ProfileItem]
    page: int
    pages: int


class ItemsPage(Page):
    """What the page of items shows and does. Edits take effect in the next sketch.

    Only groups that are open are read and sent, a page of each: a list of thousands is as quick as a short one.
    """

    address = "/items"
    title = "My items"
    icon = '<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>'
    template = "items.html"
    watch = "profile epoch"
    anchors = dict.fromkeys(("open", "page", "dial", "group", "remove", "undo"), "list")

    def __init__(self, node: NodeHandle) -> None:
        super().__init__(node)
        self._searched: str | None = None
        self._search_page = 0
        self._open: dict[str, bool] = {}
        self._group_pages: dict[str, int] = {}

    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""
        store, epsilon = self._node.store, self._node.network.epsilon
        counts, text = store.profile.counts(), self._searched or ""
        found = []
        if self._searched is not None:
            found = store.catalogue.search(text, limit=_RESULTS + 1, offset=self._search_page * _RESULTS)
        waiting, changes = store.profile.waiting(_MOST_CHANGES)
        counted_groups = store.profile.groups(text)
        few = counts.size <= _SHORT or len(counted_groups) == 1
        groups = [self._group(group, few=few) for group in counted_groups]
        return {
            "groups": groups,
            "fitting": sum(group.counts.size for group in groups),
            "size": counts.size,
            "most": self._node.network.most_items,
            "counting": counts.counting,
            "exhausted": counts.exhausted,
            "presets": PRESETS,
            "changes": [_change(one) for one in waiting],
            "all_changes": changes,
            "catalogue": self._node.store.catalogue.size(),
            "searched": self._searched,
            "search_page": self._search_page,
            "found": found[:_RESULTS],
            "more": len(found) > _RESULTS,
            "listed": store.profile.listed_among(item.place for item in found),
            "effects": [[dial_name(dial), dial_effect(dial, epsilon)] for dial in range(FULL_DIAL + 1)],
        }

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return {
            "search": self.search,
            "open": self.open,
            "page": self.turn,
            "add": self.add,
            "dial": self.set_dial,
            "group": self.set_group,
            "remove": self.remove,
            "undo": self.undo,
        }

    def begin_again(self) -> None:
        """Show the whole list."""
        self._searched, self._search_page = None, 0

    def search(self, form: Form) -> None:
        """Look for items on the list and in the catalogue, or stop looking; an empty text shows all of the latter."""
        if "close" in form:
            self._searched = None
        else:
            self._searched = text_in(form, "text")
        self._search_page = whole_in(form, "to") if "to" in form else 0
        self._group_pages.clear()

    def open(self, form: Form) -> None:
        """Open or close a group, or all of them."""
        names = {name for name, _ in self._node.store.profile.group_counts()}
        chosen = names & {form["group"]} if "group" in form else names
        self._open |= dict.fromkeys(chosen, bool(whole_in(form, "open")))

    def turn(self, form: Form) -> None:
        """Go to another page of a group."""
        self._group_pages[form.get("group", "")] = whole_in(form, "to")

    def add(self, form: Form) -> Notice:
        """Put an item on the list at full dial, and open its group: its dial is at hand then."""
        place = whole_in(form, "place")
        notice = add_item(self._node, place)
        self._open[self._node.store.catalogue.item(place).group] = True
        return notice

    def set_dial(self, form: Form) -> Notice | None:
        """Turn the dial of one item."""
        place, dial = whole_in(form, "place"), whole_in(form, "dial")
        before = self._node.store.profile.item(place)
        if before is None:
            return Notice("That item is no longer on your list.", bad=True)
        if before.dial == dial:
            return None
        now = self._node.store.profile.set_dials({place: dial})
        text = f"{before.title}: {dial_name(now[place]).lower()} from the next sketch{_held_back(now, dial)}."
        return Notice(text, undo=True)

    def set_group(self, form: Form) -> Notice:
        """Turn the dials of all items of a group, as one step."""
        dial, group = whole_in(form, "dial"), form.get("group")
        chosen = self._node.store.profile.set_group(group, dial)
        text = f"{counted(len(chosen), 'item')} set: {dial_name(dial).lower()}{_held_back(chosen, dial)}."
        return Notice(text, undo=bool(chosen))

    def remove(self, form: Form) -> Notice:
        """Take an item off the list."""
        place = whole_in(form, "place")
        title = self._node.store.catalogue.item(place).title
        self._node.store.profile.remove([place])
        return Notice(f"{title} is off your list.", undo=True)

    def undo(self, _form: Form) -> Notice:
        """Take the last edit back."""
        return undo(self._node)

    def _group(self, counts: ListedGroup, *, few: bool) -> ShownGroup:
        """Return a group as it is shown; whoever searches sees what was found."""
        text, pages = self._searched or "", -(-counts.size // _ROWS)
        # Decided once: groups must not close by themselves when the list has grown.
        is_open = bool(text) or self._open.setdefault(counts.name, few)
        if not is_open:
            return ShownGroup(counts, is_open, [], 0, pages)
        page = min(self._group_pages.get(counts.name, 0), pages - 1)
        rows, _ = self._node.store.profile.listing(text, group=counts.name, limit=_ROWS, offset=page * _ROWS)
        return ShownGroup(counts, is_open, rows, page, pages)


def add_item(node: NodeHandle, place: int) -> Notice:
    """Put an item on the list at full dial; one that is there already keeps its dial."""
    title = node.store.catalogue.item(place).title
    if node.store.profile.item(place) is not None:
        return Notice(f"{title} is on your list already.")
    now = node.store.profile.set_dials({place: FULL_DIAL})
    return Notice(f"{title} is on your list{_held_back(now, FULL_DIAL)}.", undo=True)


def undo(node: NodeHandle) -> Notice:
    """Take the last edit back."""
    return Notice("Taken back.") if node.store.profile.undo() else Notice("There is nothing to take back.")


def _held_back(dials: Mapping[int, int], asked: int) -> str:
    """Say where the limit of a group has left less than was asked for; "" where it has not."""
    lower = sorted({dial for dial in dials.values() if dial < asked})
    if not lower:
        return ""
    which = f"a dial of {lower[0]}" if lower[0] == lower[-1] else f"dials of {lower[0]} to {lower[-1]}"
    return f", at {which}: the limit that you have set for the group leaves no more"


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
