"""The items of a fit: all that somebody counts, exactly, and of those the ones that may be named."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hetdp.core.randomness import Stream
from hetdp.neighbors.engines.base import Levels
from hetdp.profiles import Profiles
from hetdp.profiles.coded import CodedProfiles, code_profiles, observed_items
from hetdp.profiles.reading.identifiers import Ids, positions
from hetdp.tables.names import as_named, chosen_names

__all__ = ["NOTHING_NAMED", "Items"]

NOTHING_NAMED = (
    "no item may be named, for too few people count any: nothing can be recommended, and sketches tell nothing. Give a "
    "catalogue, or raise epsilon or delta."
)


@dataclass(frozen=True, eq=False, repr=False)
class Items:
    """Items, and the profiles on them. As private as the profiles, unless names are public.

    Attributes
    ----------
    ids, coded
        The items, and who counts which of them.
    catalogue
        Where names come from: one of `CATALOGUES`.
    public
        Whether all of `ids` may be named.
    guessed
        Whether the kind of the ids was guessed, from a text file.
    """

    ids: Ids
    coded: CodedProfiles
    catalogue: str
    public: bool
    guessed: bool

    @classmethod
    def of(cls, profiles: Profiles, catalogue: str) -> Self:
        """Return the items of a given catalogue, or those that somebody counts."""
        coded, ids = code_profiles(profiles), profiles.item_ids
        if catalogue != "given":
            coded, ids = observed_items(coded, profiles)
        return cls(ids, coded, catalogue, catalogue != "private", profiles.guessed)

    def named(self, levels: Levels, stream: Stream) -> Self:
        """Return those that may be named: all if names are public, else those that enough people count.

        Privacy
        -------
        An item of weight v loses at most (levels.names v, levels.names_delta v) by it (`hetdp.tables.names`).
        """
        if self.public:
            return self
        counts = np.bincount(self.coded.items, weights=self.coded.codes, minlength=self.ids.size).astype(np.int64)
        kept = chosen_names(counts, epsilon=levels.names, delta=levels.names_delta, stream=stream)
        ids = self.ids[kept]
        # In a text file, an item that is not named must not decide whether the others are numbers.
        named = replace(self, ids=as_named(ids) if self.guessed else ids, public=True)
        return replace(named, coded=self.coded.renamed(self.places_in(named), named.ids.size))

    def places_in(self, named: "Items") -> NDArray[np.int32]:
        """Return where each item is among those named; -1 for one that is not."""
        return positions(named.ids, self.ids)
