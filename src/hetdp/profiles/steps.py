"""Weights in steps of 1/255, rounded down: profiles as engines read them; and exact rows, for their owners alone."""

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles.ids import Ids, positions, whole_numbers
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading import rename_items

#: Weights are counted in steps of 1/255 wherever they are counted: in sketches, in overlaps, in the noise of a pair.
WEIGHT_STEPS = 255


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Rows:
    """Compressed sparse rows: items of user u are `items[indptr[u]:indptr[u + 1]]`, sorted."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]

    def __post_init__(self) -> None:
        # Read-only, whatever came in: kernels are compiled anew for arrays that may be written to.
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, read_only(value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private: {self.n_users} users)"

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return self.indptr.size - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each user has here. As private as the profiles."""
        return np.diff(self.indptr)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedProfiles(_Rows):
    """The items of each user that count, in compressed sparse rows.

    Attributes
    ----------
    codes
        How much each counts, 1 to 255: the weight times 255, rounded down.
    n_items
        Size of the catalogue.

    Privacy
    -------
    As private as the profiles. An item whose code is 0 is not here at all, so it cannot influence anything.
    """

    codes: NDArray[np.uint8]
    n_items: int

    def renamed(self, places: NDArray[np.int32], n_items: int) -> "CodedProfiles":
        """Return the profiles on another catalogue, where item i is at `places[i]`; items with a place below 0 go."""
        return CodedProfiles(*rename_items(self.indptr, self.items, self.codes, places), n_items)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def code_profiles(profiles: Profiles) -> CodedProfiles:
    """Return the profiles with weights rounded down to multiples of 1/255, without the items that do not count.

    Privacy
    -------
    Rounding is exact and downward: an item never counts for more than its weight (docs/proofs/exact_engine.md). An item
    of weight 0, or below 1/255, is dropped here, before anything looks at it.

    Examples
    --------
    >>> coded = code_profiles(Profiles.from_pairs([1, 1, 2], ["a", "b", "b"], weights=[0.5, 0.0, 1.0]))
    >>> coded.indptr.tolist(), coded.items.tolist(), coded.codes.tolist()
    ([0, 1, 2], [0, 1], [127, 255])
    """
    weights = profiles.weights
    if weights.size and (weights == 1).all():  # the usual case, and nothing to round
        codes = np.full(weights.size, WEIGHT_STEPS, dtype=np.uint8)
        return CodedProfiles(profiles.indptr, profiles.indices, codes, profiles.n_items)
    codes = weight_codes(weights)
    counts = codes > 0
    if counts.all():
        return CodedProfiles(profiles.indptr, profiles.indices, codes, profiles.n_items)
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[profiles.indptr]
    return CodedProfiles(indptr, profiles.indices[counts], codes[counts], profiles.n_items)


def observed_items(coded: CodedProfiles, profiles: Profiles) -> tuple[CodedProfiles, Ids]:
    """Return the profiles on the items that somebody counts, and the ids of those.

    Privacy
    -------
    For data without a public catalogue: which items are left tells that somebody has them, so it is declared public. An
    item that counts for nobody leaves no trace: not its name, and in a text file not even whether it is a number.

    Examples
    --------
    >>> profiles = Profiles.from_pairs([1, 1, 2], ["a", "b", "c"], weights=[0.5, 0.0, 1.0])
    >>> coded, ids = observed_items(code_profiles(profiles), profiles)
    >>> coded.items.tolist(), ids.tolist()
    ([0, 1], ['a', 'c'])
    """
    counted = np.bincount(coded.items, minlength=coded.n_items) > 0
    ids = profiles.item_ids[counted]
    places = np.full(coded.n_items, -1, dtype=np.int32)
    places[counted] = np.arange(ids.size)
    numbers = whole_numbers(ids) if profiles.guessed and ids.dtype == np.object_ else None
    if numbers is not None:  # in their order, as if nothing but numbers had been read
        ids, places[counted] = np.unique(numbers, return_inverse=True)
    return coded.renamed(places, ids.size), ids


def weight_codes(weights: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return weights in [0, 1] as whole steps of 1/255, rounded down.

    Privacy
    -------
    The floor is exact, not merely accurate: an item never counts for more than its weight, and one below 1/255 not at
    all.
    """
    exact = weights.astype(np.float64, copy=False)
    codes = (exact * WEIGHT_STEPS).astype(np.uint8)
    # The product may have been rounded up to a whole number, never down from one.
    codes -= exact < _SMALLEST_WEIGHTS[codes]
    return codes


def _smallest_weight(code: int) -> float:
    """Return the smallest float that is not below code / 255."""
    nearest = code / WEIGHT_STEPS
    return math.nextafter(nearest, 1.0) if Fraction(nearest) < Fraction(code, WEIGHT_STEPS) else nearest


_SMALLEST_WEIGHTS = np.array([_smallest_weight(code) for code in range(WEIGHT_STEPS + 1)])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Holdings(_Rows):
    """Exact rows, in which an item of weight 0 is an item like any other.

    Privacy
    -------
    Weights protect people from others, not from themselves. Row u may be read for what u alone gets to see; a type of
    its own keeps these rows apart from `CodedProfiles`, which is all that others may learn from.
    """

    @classmethod
    def of_coded(cls, coded: CodedProfiles) -> "Holdings":
        """Return what counts: where nobody has anything of weight 0, that is all there is."""
        return cls(coded.indptr, coded.items)

    def renamed(self, places: NDArray[np.int32]) -> "Holdings":
        """Return the rows on another catalogue, where item i is at `places[i]`; items with a place below 0 go."""
        indptr, items, _ = rename_items(self.indptr, self.items, self.items, places)
        return Holdings(indptr, items)


def holdings(profiles: Profiles, item_ids: Ids) -> Holdings:
    """Return what each user has of the items of a catalogue, matched by id."""
    if profiles.item_ids is item_ids:
        return Holdings(profiles.indptr, profiles.indices)
    return Holdings(profiles.indptr, profiles.indices).renamed(positions(item_ids, profiles.item_ids))


def on_fitted_items(
    profiles: Profiles, item_ids: Ids, *, public_sizes: bool, private: bool = False
) -> tuple[Holdings, NDArray[np.float64]]:
    """Return what new recipients have of the items fitted, matched by id, and how large they are.

    A size counts the items that nobody there has too: what a recipient lists where sizes are public, else what counts
    of it. Where names are `private`, nothing is said about which items were fitted, nor of what kind their ids are.

    Examples
    --------
    >>> fitted = Profiles.from_pairs(["ann"], ["tea"]).item_ids
    >>> asking = Profiles.from_pairs(["zoe", "zoe"], ["golf", "tea"], weights=[0.2, 1.0])
    >>> own, sizes = on_fitted_items(asking, fitted, public_sizes=False)
    >>> own.items.tolist(), sizes.tolist()
    ([0], [1.2])
    """
    if not private:
        _require_known(profiles, item_ids)
    coded = code_profiles(profiles)
    owners = np.repeat(np.arange(coded.n_users), coded.sizes)
    counted = np.bincount(owners, weights=coded.codes, minlength=coded.n_users) / WEIGHT_STEPS
    sizes = profiles.sizes.astype(np.float64) if public_sizes else counted
    return holdings(profiles, item_ids), sizes


def _require_known(profiles: Profiles, item_ids: Ids) -> None:
    """Refuse recipients none of whose items was fitted, where it is public which were."""
    other_kind = profiles.item_ids.dtype != item_ids.dtype and item_ids.size and profiles.n_items
    if other_kind and not profiles.guessed:  # in a text file a number is a text too
        raise InvalidInput("must have item ids of the kind that was fitted, texts or whole numbers", parameter="X")
    if profiles.n_pairs and (positions(item_ids, profiles.item_ids)[profiles.indices] < 0).all():
        raise InvalidInput("must have items that were fitted (got none of them)", parameter="X")
