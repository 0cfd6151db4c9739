"""Collect (user, item, weight) triples batch by batch and merge them into compressed sparse rows."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles.reading.identifiers import IdEncoder, Ids
from hetdp.profiles.weights import PrivacyWeights

__all__ = ["PairCollector", "Rows", "Weights", "merge_pairs", "rename_items", "weight_vector"]

#: Weights are kept in the precision they come in: rounding one up would break the promise made for its item.
Weights = NDArray[np.float32] | NDArray[np.float64]


@dataclasses.dataclass(frozen=True, repr=False)
class Rows:
    """Compressed sparse rows: items of user u at `indptr[u]:indptr[u + 1]`, sorted, each once."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: Weights
    merged: int


class PairCollector:
    """Pairs on their way into `Profiles`; between batches only codes (8 bytes a pair) and weights are kept.

    Parameters
    ----------
    read_as_text
        Whether ids come from a text file, where whole numbers are texts too; see `IdEncoder`.

    Privacy
    -------
    Messages tell kinds and counts, never an id or a weight.

    Examples
    --------
    >>> collector = PairCollector()
    >>> collector.add(["bob", "ann"], ["tea", "tea"])
    >>> rows, users, items = collector.finish()
    >>> rows.indptr, users
    (array([0, 1, 2]), array(['ann', 'bob'], dtype=object))
    """

    def __init__(self, *, read_as_text: bool = False) -> None:
        self._read_as_text = read_as_text
        self.users = IdEncoder("user")
        self.items = IdEncoder("item")
        self._batches: list[tuple[NDArray[np.int32], NDArray[np.int32], Weights | None]] = []

    def add(self, users: object, items: object, weights: object = None) -> None:
        """Add a batch of pairs; `weights` None means 1 for every pair of the batch."""
        user_codes = self.users.encode(users, read_as_text=self._read_as_text)
        item_codes = self.items.encode(items, read_as_text=self._read_as_text)
        if user_codes.size != item_codes.size:
            raise InvalidInput(
                f"items must be as many as users ({user_codes.size}). Got {item_codes.size} instead: one pair each."
            )
        vector = None if weights is None else weight_vector(weights, user_codes.size)
        if user_codes.size:
            self._batches.append((user_codes, item_codes, vector))

    @property
    def n_pairs(self) -> int:
        """How many pairs were added, repeated ones included."""
        return sum(users.size for users, _, _ in self._batches)

    def counts_zero(self) -> bool:
        """Return whether there is a user 0, or an item 0 that counts: what weighs 0 must not decide about names."""
        if self.users.code_of_zero() is not None:
            return True
        zero = self.items.code_of_zero()
        return zero is not None and any(
            bool((items == zero).any() if weights is None else (weights[items == zero] > 0).any())
            for _, items, weights in self._batches
        )

    def finish(self, user_ids: object = None, item_ids: object = None) -> tuple[Rows, Ids, Ids]:
        """Return the rows, the ids of the users and the ids of the items; the collector is empty afterwards."""
        known_users, user_rank = self.users.finish(user_ids, read_as_text=self._read_as_text)
        known_items, item_rank = self.items.finish(item_ids, read_as_text=self._read_as_text)
        keys = np.empty(self.n_pairs, dtype=np.int64)
        kinds = [np.dtype(np.float32) if vector is None else vector.dtype for _, _, vector in self._batches]
        plain = all(vector is None for _, _, vector in self._batches)
        weights = None if plain else np.empty(keys.size, dtype=np.result_type(*kinds))
        end = keys.size
        while self._batches:  # from the back, each batch freed as soon as it is copied
            users, items, vector = self._batches.pop()
            begin = end - users.size
            keys[begin:end] = user_rank[users]
            keys[begin:end] *= max(1, known_items.size)
            keys[begin:end] += item_rank[items]
            if weights is not None:
                weights[begin:end] = 1.0 if vector is None else vector
            end = begin
        return merge_pairs(keys, weights, (known_users.size, known_items.size)), known_users, known_items


def merge_pairs(keys: NDArray[np.int64], weights: Weights | None, shape: tuple[int, int]) -> Rows:
    """Sort pairs, given as `user * n_items + item`, and merge repeated ones; the largest weight wins.

    The key of a pair is below 2**62 because both codes are below 2**31. `keys` and `weights` are used up.

    Examples
    --------
    >>> import numpy as np
    >>> rows = merge_pairs(np.array([3, 0, 3]), np.array([0.25, 1.0, 0.5]), (2, 2))
    >>> rows.indptr, rows.indices, rows.weights, rows.merged
    (array([0, 1, 2]), array([0, 1], dtype=int32), array([1. , 0.5]), 1)
    """
    n_users, n_items = shape
    if not (keys[1:] > keys[:-1]).all():
        if weights is None:
            keys.sort()
        else:
            order = np.argsort(keys)
            keys[:] = keys[order]  # in place: the caller still holds both
            weights[:] = weights[order]
            del order
    first = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    merged = keys.size - int(first.sum())
    if merged:
        if weights is not None:
            weights = np.maximum.reduceat(weights, np.flatnonzero(first))
        keys = keys[first]
    if weights is None:
        weights = np.ones(keys.size, dtype=np.float32)
    indptr = np.searchsorted(keys, np.arange(n_users + 1, dtype=np.int64) * n_items).astype(np.int64)
    # The rest of a division, only faster; in place, because at this size every temporary counts.
    keys -= np.repeat(np.arange(n_users, dtype=np.int64) * n_items, np.diff(indptr))
    indices = keys.astype(np.int32)
    for array in (indptr, indices, weights):
        array.flags.writeable = False
    return Rows(indptr, indices, weights, merged)


def rename_items(
    indptr: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[Any], places: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Return rows with item i called `places[i]`, sorted again; items whose place is below 0 go, and their values.

    Examples
    --------
    >>> rows = np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32), np.array([0.1, 0.2, 0.3])
    >>> [part.tolist() for part in rename_items(*rows, np.array([1, -1, 0], dtype=np.int32))]
    [[0, 2, 2], [0, 1], [0.2, 0.1]]
    """
    renamed = places[items]
    there = renamed >= 0
    if not there.all():
        indptr = np.concatenate([[0], np.cumsum(there, dtype=np.int64)])[indptr]
        renamed, values = renamed[there], values[there]
    if (np.diff(places[places >= 0]) < 0).any():
        owners = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        order = np.lexsort((renamed, owners))
        renamed, values = renamed[order], values[order]
    return indptr, renamed, values


def weight_vector(weights: object, n_pairs: int) -> Weights:
    """Return weights as a read-only vector of `n_pairs` floats in [0, 1]; one number stands for all.

    Privacy
    -------
    A bad weight is counted in the message, not shown.

    Examples
    --------
    >>> weight_vector(1, 2), weight_vector([0.1, 0.2], 2)
    (array([1., 1.], dtype=float32), array([0.1, 0.2]))
    """
    source = weights.values if isinstance(weights, PrivacyWeights) else weights
    try:
        array = np.asarray(source)
        if array.dtype.kind not in "biufO":
            raise TypeError  # noqa: TRY301  (texts that look like numbers, dates: a mistake about the column)
        exact_in_32_bits = array.dtype.kind in "biu" or array.dtype in (np.float16, np.float32)
        vector: Weights = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput("weights must be numbers in [0, 1]. Got something that is not a number instead.") from None
    if vector.ndim == 0:
        vector = np.full(n_pairs, vector)
    if vector.shape != (n_pairs,):
        raise InvalidInput(f"weights must be one per pair ({n_pairs}). Got shape {vector.shape} instead.")
    outside = int((~((vector >= 0.0) & (vector <= 1.0))).sum())
    if outside:
        raise InvalidInput(f"weights must lie in [0, 1]. Got {outside} of {n_pairs} outside, missing or nan instead.")
    vector = vector + 0.0  # no negative zeros
    if exact_in_32_bits:
        vector = vector.astype(np.float32)
    vector.flags.writeable = False
    return vector
