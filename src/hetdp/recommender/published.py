"""What a fit publishes: the catalogue, the model of its head, and the promise. Nothing else is saved or pickled."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.guarantee import Guarantee
from hetdp.profiles.ids import Ids
from hetdp.recommender.model import ItemModel
from hetdp.recommender.settings import ModelSettings

__all__ = ["PublishedModel"]


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """A model for anybody: a function of published bits, or of one noisy matrix, and of public names.

    Attributes
    ----------
    settings, guarantee
        How it was made, and what is promised.
    item_ids
        The catalogue.
    counts
        How much each of its items counts, noise included.
    head
        Where the items of the model are in the catalogue.
    model
        What the items of the head say about each other.
    by_position
        Whether the catalogue is the columns of a matrix.
    simulated
        Whether any noise came from a seed.
    """

    settings: ModelSettings
    guarantee: Guarantee
    item_ids: Ids
    counts: NDArray[np.float64]
    head: NDArray[np.int32]
    model: ItemModel
    by_position: bool
    simulated: bool

    def __repr__(self) -> str:
        return f"PublishedModel({self.item_ids.size:,} items, {self.guarantee.short})"
