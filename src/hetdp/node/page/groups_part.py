"""The part of *My privacy* about groups: what a sketch tells about each, limits, and a word on other pages before it.

What was worked out is kept until the list or the sketches change: pages are looked at more often than that.
"""

from typing import Any

from hetdp.core.errors import InvalidInput
from hetdp.core.text import counted, listed
from hetdp.node.groups import OFTEN, GroupLosses, GroupProposal, GroupTold, group_name, right_words
from hetdp.node.handle import NodeHandle
from hetdp.node.page.base_page import Form, FormAction, amount_in
from hetdp.node.page.session import Notice
from hetdp.node.storage.group_limits import WHOLE_LIST

__all__ = ["GroupsPart"]

#: Groups shown at once; the others are below a fold.
_FEW = 6
#: Names of groups in a word on other pages.
_NAMED = 3
#: What is told must grow by so much before other pages speak of it again.
_MORE = 0.01


class GroupsPart:
    """What the page shows and does about groups: for the owner's eyes, and kept in memory only."""

    def __init__(self, node: NodeHandle) -> None:
        self._node = node
        self._as_of: tuple[object, ...] = ()
        self._losses: GroupLosses | None = None
        self._told: tuple[GroupTold, ...] = ()
        self._group: str | None = None
        self._choices: dict[str, list[tuple[float, float]]] = {}
        self._proposal: GroupProposal | None = None
        self._looked_at: dict[str, float] = {}

    def shown(self) -> dict[str, Any]:
        """Return what the template shows. Whoever sees it has looked at what the next sketch tells."""
        losses, told = self._work_out(), {one.group: one for one in self._told}
        self._looked_at = {group: one.next_accuracy for group, one in told.items()}
        if self._group not in told:
            self._group = next(iter(told), None)
        if self._group is not None and self._group not in self._choices:
            self._choices[self._group] = losses.choices(self._group)
        return {
            "told_groups": self._told,
            "few_groups": _FEW,
            "whole_list": WHOLE_LIST,
            "right": right_words,
            "group": None if self._group is None else told[self._group],
            "group_choices": self._choices.get(self._group or "", []) if self._group is not None else [],
            "proposal": self._proposal,
        }

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return {
            "group": self.choose,
            "propose": self.propose,
            "group-limit": self.set_limit,
            "no-group-limit": self.remove_limit,
        }

    def alert(self) -> str:
        """Return what other pages say as long as the owner has not looked at what the next sketch tells; or ""."""
        self._work_out()
        telling = [
            one.name
            for one in self._told
            if one.group != WHOLE_LIST and one.next_accuracy > max(OFTEN, self._looked_at.get(one.group, 0.0) + _MORE)
        ]
        if not telling:
            return ""
        which = "first" if self._node.store.publications.newest_epoch() is None else "next"
        names = listed(telling) if len(telling) <= _NAMED else f"{len(telling)} groups of your items"
        return f"Your {which} sketch would tell much about {names}. Look at it before it is drawn:"

    def choose(self, form: Form) -> None:
        """Choose the group to set a limit for."""
        self._group, self._proposal = form.get("group"), None

    def propose(self, form: Form) -> None:
        """Show what a limit would do; nothing is stored."""
        self.choose(form)
        if "close" not in form:
            self._proposal = self._work_out().proposal(form.get("group", ""), _limit_in(form))

    def set_limit(self, form: Form) -> Notice:
        """Set a limit, and with it the dials that were proposed; if those have changed meanwhile, show them again."""
        before = self._proposal
        self.propose(form)
        now, self._proposal = self._proposal, None
        assert now is not None  # noqa: S101  (made just now)
        if before is None or before.changes != now.changes:
            self._proposal = now
            return Notice("Your list has changed meanwhile: this is what the limit would do now.", bad=True)
        lowered = self._node.store.profile.set_group_limit(now.now.group, now.limit)
        what = f"{counted(len(lowered), 'dial')} lowered" if lowered else "no dial had to go down"
        return Notice(f"The limit of {now.now.name} is set: {what}, from the next sketch on.", undo=True)

    def remove_limit(self, form: Form) -> Notice:
        """Remove a limit. Dials stay as they are."""
        self.choose(form)
        group = form.get("group", "")
        self._node.store.profile.set_group_limit(group, None)
        return Notice(f"{group_name(group)} has no limit any more. Dials stay as they are.", undo=True)

    def _work_out(self) -> GroupLosses:
        store = self._node.store
        as_of = (store.profile.version(), store.publications.newest_epoch(), store.ledger.default_limit())
        if self._losses is None or as_of != self._as_of:
            self._as_of, self._losses = as_of, self._node.group_losses()
            self._told, self._choices = self._losses.all(), {}
            self._proposal = None  # of a list that is no more
        return self._losses


def _limit_in(form: Form) -> float:
    limit = amount_in(form, "limit")
    if limit is None:
        raise InvalidInput("must be a number of at least 0", parameter="limit")
    return limit
