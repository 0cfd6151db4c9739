"""Neighbours and recommendations: who seems alike and how surely; what is recommended, why, and by whom."""

from dataclasses import dataclass
from typing import Any

from hetdp.node.learning import ENOUGH
from hetdp.node.neighbors import Neighbor
from hetdp.node.page.base_page import Form, FormAction, Page, text_in, whole_in
from hetdp.node.page.items_page import add_item, undo
from hetdp.node.page.owner_guard import Notice
from hetdp.node.page.pictures import Face, Interval, face, interval
from hetdp.node.recommendations import Recommendation
from hetdp.node.words import chance_words, reason_words
from hetdp.sketching.reading import RARE

_MOST_DISMISSED = 100
_MOST_WEAK = 8


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """A neighbour with picture, bar and words."""

    neighbor: Neighbor
    face: Face
    bar: Interval
    low: int
    middle: int
    high: int
    sure: str


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """A recommendation with its reason."""

    recommendation: Recommendation
    reason: str


class NeighborsPage(Page):
    """What the page of neighbours shows and does. Nobody is told that they were chosen."""

    address = "/neighbours"
    title = "Neighbours"
    icon = (
        '<circle cx="9" cy="9" r="3.2"/><path d="M3.5 19c.6-3.3 2.7-5 5.5-5s4.9 1.7 5.5 5"/>'
        '<path d="M15.5 6.2a3 3 0 0 1 0 5.8M17 14.4c2 .5 3.2 2 3.6 4.6"/>'
    )
    template = "neighbors.html"
    watch = "profile epoch network"

    def shown(self) -> dict[str, Any]:
        """Return what the template shows."""
        store = self._node.store
        counts = store.profile.counts()
        counting = counts.counting
        findings = self._node.findings()
        found = findings.recommendations
        persons = [person for one in findings.neighbors if (person := _person(one, counting)).middle > 0]
        sure = [one for one in found if one.vote is None or one.vote.by_chance < RARE]
        weak = [one for one in found if one.vote is not None and one.vote.by_chance >= RARE]
        dismissed = sorted(store.profile.dismissed())
        return {
            "people": [person for person in persons if person.neighbor.by_chance < RARE],
            "strangers": [person for person in persons if person.neighbor.by_chance >= RARE],
            "hidden_people": self._node.hidden(),
            "size": counts.size,
            "exhausted": counts.exhausted,
            "advice": [_advice(one) for one in sure],
            "weak": [_advice(one) for one in weak[:_MOST_WEAK]],
            "crowd": findings.crowd,
            "taste": findings.taste,
            "copies": findings.copies,
            "counted": store.crowd.size(),
            "enough": ENOUGH,
            "counting": counting,
            "sketches": store.peers.sketch_count(),
            "dismissed": store.catalogue.items_at(dismissed[:_MOST_DISMISSED]),
            "more_dismissed": max(0, len(dismissed) - _MOST_DISMISSED),
        }

    def forms(self) -> dict[str, FormAction]:
        """Return what the forms do."""
        return {
            "add": self.add,
            "dismiss": self.dismiss,
            "undismiss": self.undismiss,
            "hide": self.hide,
            "unhide": self.unhide,
            "undo": self.undo,
        }

    def add(self, form: Form) -> Notice:
        """Put a recommended item on the list."""
        return add_item(self._node, whole_in(form, "place"))

    def dismiss(self, form: Form) -> Notice:
        """Do not recommend an item any more."""
        place = whole_in(form, "place")
        title = self._node.store.catalogue.item(place).title
        self._node.store.profile.dismiss(place)
        return Notice(f"{title} will not be recommended again. It is listed at the end of the page.")

    def undismiss(self, form: Form) -> Notice:
        """Recommend an item again."""
        place = whole_in(form, "place")
        title = self._node.store.catalogue.item(place).title
        self._node.store.profile.undismiss(place)
        return Notice(f"{title} may be recommended again.")

    def hide(self, form: Form) -> Notice:
        """Do not show somebody, nor ask them, at home."""
        self._node.hide(text_in(form, "key"))
        return Notice("Hidden, on this machine only: nobody can notice. They are listed at the end of the page.")

    def unhide(self, form: Form) -> Notice:
        """Show somebody again."""
        self._node.unhide(text_in(form, "key"))
        return Notice("Shown again.")

    def undo(self, _form: Form) -> Notice:
        """Take the last edit of the list back."""
        return undo(self._node)


def _advice(found: Recommendation) -> Advice:
    return Advice(found, reason_words(found))


def _person(found: Neighbor, counting: int) -> Person:
    low, middle, high = found.likely(counting)
    return Person(
        neighbor=found,
        face=face(found.key_hex),
        bar=interval(found.shared, found.shared_error, counting),
        low=low,
        middle=middle,
        high=high,
        sure=chance_words(found.by_chance),
    )
