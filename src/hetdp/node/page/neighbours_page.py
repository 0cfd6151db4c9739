"""Neighbours and recommendations: who seems alike and how surely, and what they seem to have."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from starlette.responses import Response

from hetdp.node.handle import NodeHandle
from hetdp.node.neighbors import Neighbor, Recommendation
from hetdp.node.page.fields import whole_in
from hetdp.node.page.items_page import add_item, undo
from hetdp.node.page.pictures import Face, Interval, face, interval
from hetdp.node.page.rendering import Renderer
from hetdp.node.page.session import Message, View
from hetdp.node.page.words import chance_words, votes_words
from hetdp.sketching.chance import RARE

__all__ = ["NeighboursPage"]

_MOST_DISMISSED = 100
_MOST_WEAK = 8


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """A neighbour with picture, bar and words."""

    neighbour: Neighbor
    face: Face
    bar: Interval
    low: int
    middle: int
    high: int
    sure: str


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """A recommendation with its reason, whether it may be chance, and why it does not count if it is on the list."""

    recommendation: Recommendation
    reason: str
    sure: str
    listed: str


class NeighboursPage:
    """What the page of neighbours shows and does.

    Privacy
    -------
    Computed at home from the exact profile. Nobody is told that they were chosen.
    """

    def __init__(self, node: NodeHandle, view: View, renderer: Renderer) -> None:
        self._node, self._view, self._renderer = node, view, renderer

    def show(self) -> Response:
        """Return the page."""
        store = self._node.store
        counting = store.profile.counts().counting
        people, found = self._node.findings()
        listed = (store.profile.item(one.place) for one in found if one.in_profile)
        exhausted = {item.place for item in listed if item is not None and item.exhausted}
        dismissed = sorted(store.profile.dismissed())
        return self._renderer.page(
            "/neighbours",
            "neighbours.html",
            watch="profile epoch network",
            people=[person for one in people if (person := _person(one, counting)).middle > 0],
            advice=[_advice(one, exhausted) for one in found if one.by_chance < RARE],
            weak=[_advice(one, exhausted) for one in found if one.by_chance >= RARE][:_MOST_WEAK],
            counting=counting,
            sketches=store.peers.sketch_count(),
            dismissed=store.catalogue.items_at(dismissed[:_MOST_DISMISSED]),
            more_dismissed=max(0, len(dismissed) - _MOST_DISMISSED),
        )

    def add(self, form: Mapping[str, str]) -> Message:
        """Put a recommended item on the list."""
        return add_item(self._node, whole_in(form, "place"))

    def dismiss(self, form: Mapping[str, str]) -> Message:
        """Do not recommend an item any more."""
        place = whole_in(form, "place")
        title = self._node.store.catalogue.item(place).title
        self._node.store.profile.dismiss(place)
        return Message(f"{title} will not be recommended again. It is listed at the end of the page.")

    def undismiss(self, form: Mapping[str, str]) -> Message:
        """Recommend an item again."""
        place = whole_in(form, "place")
        title = self._node.store.catalogue.item(place).title
        self._node.store.profile.undismiss(place)
        return Message(f"{title} may be recommended again.")

    def undo(self, _form: Mapping[str, str]) -> Message:
        """Take the last edit of the list back."""
        return undo(self._node)


def _advice(found: Recommendation, exhausted: Collection[int]) -> Advice:
    listed = ""
    if found.in_profile:
        listed = "it has reached its limit and no longer counts" if found.place in exhausted else "it never counts"
    about = max(1, min(round(found.votes), found.voters))
    return Advice(found, votes_words(about, found.asked), chance_words(found.by_chance), listed)


def _person(found: Neighbor, counting: int) -> Person:
    low, middle, high = (
        min(counting, max(0, round(found.shared + shift * found.shared_error))) for shift in (-2, 0, 2)
    )
    return Person(
        neighbour=found,
        face=face(found.key_hex),
        bar=interval(found.shared, found.shared_error, counting),
        low=low,
        middle=middle,
        high=high,
        sure=chance_words(found.by_chance),
    )
