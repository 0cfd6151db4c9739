"""Leave and erase: what can be taken back and what cannot, and a confirmation."""

from typing import Any

from hetdp.node.leaving import what_leaving_means
from hetdp.node.page.base_page import Form, FormAction, Page
from hetdp.node.page.session import Notice

__all__ = ["LeavePage"]


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
