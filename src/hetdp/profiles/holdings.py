"""What each person has, whatever it weighs: for that person's own list, and for nothing else."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetdp.profiles.coded import CodedProfiles, read_only
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading.identifiers import Ids, positions
from hetdp.profiles.reading.pairs import rename_items

__all__ = ["Holdings", "holdings"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Holdings:
    """Exact rows, in which an item of weight 0 is an item like any other.

    Attributes
    ----------
    indptr, items
        Items of user u are `items[indptr[u]:indptr[u + 1]]`, sorted.

    Privacy
    -------
    Weights protect people from others, not from themselves. Row u may be read for what u alone gets to see; a type of
    its own keeps these rows apart from `CodedProfiles`, which is all that others may learn from.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]

    def __post_init__(self) -> None:
        # Read-only, whatever came in: kernels are compiled anew for arrays that may be written to.
        for name in ("indptr", "items"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __repr__(self) -> str:
        return f"Holdings(private: {self.n_users} users)"

    @classmethod
    def of_coded(cls, coded: CodedProfiles) -> "Holdings":
        """Return what counts: where nobody has anything of weight 0, that is all there is."""
        return cls(coded.indptr, coded.items)

    def renamed(self, places: NDArray[np.int32]) -> "Holdings":
        """Return the rows on another catalogue, where item i is at `places[i]`; items with a place below 0 go."""
        indptr, items, _ = rename_items(self.indptr, self.items, self.items, places)
        return Holdings(indptr, items)

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return self.indptr.size - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each user has."""
        return np.diff(self.indptr)


def holdings(profiles: Profiles, item_ids: Ids) -> Holdings:
    """Return what each user has of the items of a catalogue, matched by id.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([1, 1, 2], ["a", "b", "c"], weights=[0.5, 0.0, 1.0])
    >>> own = holdings(profiles, np.array(["b", "c"], dtype=object))
    >>> own.indptr.tolist(), own.items.tolist()
    ([0, 1, 2], [0, 1])
    """
    if profiles.item_ids is item_ids:
        return Holdings(profiles.indptr, profiles.indices)
    return Holdings(profiles.indptr, profiles.indices).renamed(positions(item_ids, profiles.item_ids))
