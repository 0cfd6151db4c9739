"""What a fit publishes: the catalogue, the model of its head, and the promise. Nothing else is saved or pickled."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hetdp.accounting.guarantee import Guarantee
from hetdp.profiles.reading.identifiers import Ids
from hetdp.recommender.model import ItemModel

__all__ = ["ModelSettings", "PublishedModel"]

#: Part of epsilon that goes to names where they are chosen privately; measured, docs/recommender.md.
NAMES_SHARE = Fraction(1, 10)


@dataclass(frozen=True)
class ModelSettings:
    """How a model was or will be made. Public.

    Attributes
    ----------
    epsilon, delta
        What an item (or person) of weight 1 may lose in all.
    release, unit, catalogue
        As `PrivateRecommender` takes them; a list of items is "given".
    n_head
        The most items that the model relates to each other.
    """

    epsilon: Fraction
    delta: Fraction
    release: str
    unit: str
    catalogue: str
    n_head: int

    @property
    def names_epsilon(self) -> Fraction:
        """The part of epsilon that chooses names."""
        return NAMES_SHARE * self.epsilon if self.catalogue == "private" else Fraction(0)

    @property
    def model_epsilon(self) -> Fraction:
        """The part of epsilon that the model is learned with."""
        return self.epsilon - self.names_epsilon


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
