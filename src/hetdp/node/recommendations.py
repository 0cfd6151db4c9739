"""What to recommend, at home: by the model of the crowd and the exact own list, or by neighbours' votes. Sends nothing.

What is on the own list, at whatever dial, is never recommended, and all of it speaks for what is: the result is for the
owner's eyes, so a dial of 0 has nothing to protect here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hetdp.node.catalogue_file import CatalogueItem
from hetdp.node.neighbors import Neighbor, Vote
from hetdp.node.storage.crowd import CrowdModel

if TYPE_CHECKING:
    from hetdp.recommender.lists import Contributions

#: So many own items are named as the reason for a recommendation, if each speaks for it so much of what the first does.
_REASONS, _WORTH_NAMING = 3, 0.3


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """An item that the owner may like: for the owner's eyes, so `repr` shows nothing."""

    item: CatalogueItem
    vote: Vote | None  # what neighbours say; None where the crowd says so
    because: tuple[CatalogueItem, ...] = ()  # own items that speak most for it; none where it is popular, or by votes


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """Neighbours and recommendations; `crowd` is how many sketches the latter were learned from, 0 if by votes.

    `taste` is how much of what the crowd recommends is taste: at 0, everybody is recommended what is popular. Public.
    `copies` is how many sketches were left out because they copy own ones: for the owner's eyes.
    """

    neighbors: tuple[Neighbor, ...]
    recommendations: tuple[Recommendation, ...]
    crowd: int
    taste: float
    copies: int = 0


def crowd_places(
    learned: CrowdModel, own: Collection[int], *, without: Collection[int], count: int
) -> list[tuple[int, list[int]]]:
    """Return the best places of the catalogue and, for each, those of the own list that speak most for it.

    `own` is everything on the list, of any dial; neither that nor what is `without` is recommended.

    Examples
    --------
    >>> from hetdp.recommender.model import ItemModel
    >>> speaks = np.array([[0, 0.1, 0.9], [0.2, 0, 0.1], [0.9, 0.1, 0]], dtype=np.float32)
    >>> learned = CrowdModel(ItemModel(np.array([3.0, 2.0, 1.0]), speaks), 100)
    >>> crowd_places(learned, [0], without=[], count=2)
    [(2, [0]), (1, [0])]
    """
    from hetdp.profiles.steps import Holdings
    from hetdp.recommender.lists import best_items, contributions

    model = learned.model
    head = np.arange(model.counts.size, dtype=np.int32)
    mine = np.array(sorted(place for place in own if place < head.size), dtype=np.int32)
    rows = Holdings(np.array([0, mine.size], dtype=np.int64), mine)
    items, _ = best_items(model, head, model.counts, rows, min(head.size, count + len(without)))
    best = [place for place in items[0].tolist() if place >= 0 and place not in without][:count]
    return [(place, _reasons(contributions(model, head, mine, place))) for place in best]


def _reasons(parts: "Contributions") -> list[int]:
    """Return the own items worth naming; none where an item is recommended for being popular above all."""
    amounts = dict(zip(parts.items.tolist(), parts.amounts.tolist(), strict=True))
    popular = amounts.pop(-1, 0.0)
    speaking = {item: amount for item, amount in amounts.items() if amount > 0.0}
    if popular >= sum(speaking.values()):
        return []
    most = max(speaking.values())
    return [item for item, amount in speaking.items() if amount >= _WORTH_NAMING * most][:_REASONS]
