"""My data: bring a list in, take a copy out, pause; and what was brought and is not in the catalogue yet."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hetdp.core.text import counted
from hetdp.node.handle import NodeHandle
from hetdp.node.leaving import what_leaving_means
from hetdp.node.page.base_page import Download, Form, FormAction, Page, bytes_in
from hetdp.node.page.items_page import undo
from hetdp.node.page.owner_guard import Notice
from hetdp.node.storage.importing import Imported, Why

_MOST_NAMES = 200
#: Why a row did not go on the list -> in words, before the names.
_LEFT_OUT: dict[Why, str] = {
    "ambiguous": "fit several items of the catalogue, and nothing was guessed. Search for the right one on My items",
    "no room": "had no room: the list is as long as this network allows",
    "retired": "are retired: the network uses them no more",
    "weight": "had a weight that is not a number from 0 to 1",
    "unreadable": "could not be read",
}


@dataclass(frozen=True, slots=True, repr=False)
class LeftOutNames:
    """What was left out for a reason: how many, in words, and some of their names."""

    count: int
    why: str
    names: tuple[str, ...]


class DataPage(Page):
    """What the page about the owner's data shows and does. All of it stays on this machine."""

    address = "/data"
    title = "My data"
    icon = '<path d="M4 8l8-4 8 4-8 4z"/><path d="M4 12l8 4 8-4M4 16l8 4 8-4"/>'
    template = "data.html"
    watch = "epoch"
    anchors = dict.fromkeys(("import", "forget", "undo"), "bring") | dict.fromkeys(("pause", "resume"), "pause")

    def __init__(self, node: NodeHandle) -> None:
        super().__init__(node)
        self._imported: Imported | None = None

    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""
        store, network, settings = self._node.store, self._node.network, self._node.settings
        kept = [item.name for item in store.unknown.all() if item.dial is not None]
        done = self._imported
        return {
            "imported": done,
            "left_out": [] if done is None else _left_out(done),
            "unknown": () if done is None else done.unknown[:_MOST_NAMES],
            "unknown_count": 0 if done is None else len(done.unknown),
            "kept": kept[:_MOST_NAMES],
            "kept_count": len(kept),
            "size": store.profile.counts().size,
            "sketches": len(store.publications.all()),
            "stays_s": settings.keep_epochs * network.epoch_length_s,
        }

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return {
            "import": self.bring,
            "forget": self.forget,
            "undo": self.undo,
            "pause": self.pause,
            "resume": self.resume,
        }

    def downloads(self) -> dict[str, Callable[[], Download]]:
        """Return the files that can be kept."""
        return {"list.csv": self.list_file, "everything.json": self.everything}

    def bring(self, form: Form) -> Notice:
        """Add a list that the owner has: a file, or what was pasted."""
        raw = bytes_in(form, "file") or bytes_in(form, "text")
        if not raw.strip():
            return Notice("Choose a file, or paste a list.", bad=True)
        self._imported = self._node.import_items(raw, kind=form.get("kind", "auto"))
        return Notice(f"{counted(self._imported.added, 'item')} added.", undo=self._imported.added > 0)

    def forget(self, _form: Form) -> Notice:
        """Do not wait for what the catalogue does not have."""
        self._node.store.unknown.forget()
        return Notice("They are forgotten.")

    def undo(self, _form: Form) -> Notice:
        """Take the last edit of the list back."""
        self._imported = None
        return undo(self._node)

    def pause(self, _form: Form) -> Notice:
        """Draw no sketch for the time being."""
        self._node.pause()
        return Notice("Paused. No sketch is drawn until you resume.")

    def resume(self, form: Form) -> Notice:
        """Draw sketches again; after the own key was met elsewhere, only if the owner says that the copy is gone."""
        self._node.resume(copy_is_gone=form.get("gone") == "yes")
        return Notice("Your node publishes again.")

    def list_file(self) -> Download:
        """Return the own list as a table that can be brought in elsewhere."""
        return Download(self._node.list_as_csv().encode(), "text/csv; charset=utf-8")

    def everything(self) -> Download:
        """Return everything the node knows about its owner."""
        return Download(json.dumps(self._node.export(), indent=1).encode(), "application/json")


def _left_out(done: Imported) -> list[LeftOutNames]:
    """Return what was left out, by reason; where there is no name, the number of its row."""
    found = []
    for why, words in _LEFT_OUT.items():
        rows = done.numbers(why)
        names = done.names(why) if why != "unreadable" else tuple(f"row {number:,}" for number in rows)
        if rows:
            found.append(LeftOutNames(len(rows), words, names[:_MOST_NAMES]))
    return found


class LeavePage(Page):
    """What the page about leaving shows and does. It cannot be undone, so it wants to be told twice."""

    address = "/leave"
    title = "Leave the network"
    icon = ""
    template = "leave.html"
    in_menu = False
    watch = ""

    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""
        can, cannot = what_leaving_means(self._node)
        return {"can": can, "cannot": cannot, "folder": str(self._node.folder)}

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return {"now": self.leave}

    def leave(self, form: Form) -> Notice | None:
        """Close the node for good, and have it erased if its owner says so."""
        if form.get("sure") != "yes":
            return Notice("Nothing was done. Tick the box to say that you are sure.", bad=True)
        self._node.leave(erase=form.get("erase") == "yes")
        return None
