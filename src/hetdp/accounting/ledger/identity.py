"""Ids of people as a ledger keeps them: one person is one account, however an id is written (`profiles.ids`).

A whole number is kept as it is, a text with 64 bits of hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput
from hetdp.profiles.ids import person_column, person_id

#: How many texts are looked at together, so that memory stays small.
_TOGETHER = 2**20
_GATHERED = 2**16
#: A table by number is used for ids that are numbered through, or nearly so.
_SPARSE = 4
#: Whole numbers, which may be too long for 64 bits.
_WHOLE = r"^-?(0|[1-9][0-9]{0,18})$"


@dataclass(frozen=True, eq=False, repr=False)
class Ids:
    """Canonical ids, in order.

    `keys` holds a whole number itself and 64 bits of hash of a text; whoever shares a key shares an account, which
    counts too much, never too little. `lengths` are those of the texts in `data` (UTF-8, end to end), 0 for numbers.
    """

    keys: NDArray[np.int64]
    lengths: NDArray[np.int64]
    data: NDArray[np.uint8]

    @classmethod
    def none(cls) -> "Ids":
        """Return no ids at all."""
        return cls.of_numbers(np.empty(0, dtype=np.int64))

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.int64]) -> "Ids":
        """Return the ids that are these whole numbers."""
        return cls(numbers, np.broadcast_to(np.int64(0), numbers.size), np.empty(0, dtype=np.uint8))

    @classmethod
    def of_canonical(cls, labels: Sequence[int | str]) -> "Ids":
        """Return ids from their canonical form."""
        texts = [label.encode() if isinstance(label, str) else b"" for label in labels]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        keys = np.array([0 if isinstance(label, str) else label for label in labels], dtype=np.int64)
        return cls._hashed(keys, lengths, data)

    @classmethod
    def _hashed(cls, keys: NDArray[np.int64], lengths: NDArray[np.int64], data: NDArray[np.uint8]) -> "Ids":
        """Return ids whose keys are known where they are numbers."""
        (texts,) = np.nonzero(lengths)
        if not texts.size:
            return cls.of_numbers(keys)
        hashes = _hashes(np.cumsum(lengths[texts]) - lengths[texts], lengths[texts], data)
        if texts.size == keys.size:
            return cls(hashes, lengths, data)
        keys = keys.copy()
        keys[texts] = hashes
        return cls(keys, lengths, data)

    @classmethod
    def joined(cls, parts: Sequence["Ids"]) -> "Ids":
        """Return ids one after the other."""
        parts = [part for part in parts if len(part)] or [cls.none()]
        if len(parts) == 1:
            return parts[0]
        if all(not part.data.size for part in parts):
            return cls.of_numbers(np.concatenate([part.keys for part in parts]))
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.data for part in parts]),
        )

    def __len__(self) -> int:
        return self.keys.size

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths) - self.lengths

    def take(self, places: NDArray[np.intp]) -> "Ids":
        """Return the ids at some places."""
        if not self.data.size:
            return Ids.of_numbers(self.keys[places])
        parts = [self._gathered(places[begin : begin + _GATHERED]) for begin in range(0, places.size, _GATHERED)]
        return Ids(self.keys[places], self.lengths[places], np.concatenate([np.empty(0, dtype=np.uint8), *parts]))

    def _gathered(self, places: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return the texts at some places, end to end; the numbers of their bytes take a hundred times their room."""
        lengths = self.lengths[places]
        shifts = self._starts[places] - (np.cumsum(lengths) - lengths)
        gathered: NDArray[np.uint8] = self.data[np.repeat(shifts, lengths) + np.arange(lengths.sum())]
        return gathered

    def part(self, begin: int, end: int) -> "Ids":
        """Return the ids from one place to another, without a copy."""
        if not self.data.size:
            return Ids.of_numbers(self.keys[begin:end])
        first, last = (
            (self._starts[place] if place < len(self) else self.data.size) for place in (begin, min(end, len(self)))
        )
        return Ids(self.keys[begin:end], self.lengths[begin:end], self.data[first:last])

    def labels(self) -> tuple[int | str, ...]:
        """Return the ids as Python's numbers and texts."""
        if not self.data.size:
            return tuple(self.keys.tolist())
        joined = self.data.tobytes()
        ends = (self._starts + self.lengths).tolist()
        return tuple(
            joined[end - length : end].decode() if length else key
            for key, length, end in zip(self.keys.tolist(), self.lengths.tolist(), ends, strict=True)
        )

    @cached_property
    def repeated(self) -> int:
        """How many ids were there before."""
        if self._table is not None:
            return self.keys.size - int(np.count_nonzero(self._table[1]))
        ordered = self._sorted[0]
        return int(np.count_nonzero(ordered[1:] == ordered[:-1]))

    def in_order(self) -> NDArray[np.intp]:
        """Return the places of the ids in the order of their keys, which must be all different."""
        if self._table is not None:
            table = self._table[1]
            return table[table > 0].astype(np.intp) - 1
        order = self._sorted[1]
        return np.arange(len(self)) if order is None else order

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
        """The keys in order, and where each was; None if they were in order."""
        if (self.keys[1:] >= self.keys[:-1]).all():
            return self.keys, None
        order = np.argsort(self.keys, kind="stable")
        return self.keys[order], order

    @cached_property
    def _table(self) -> tuple[int, NDArray[np.int32]] | None:
        """The smallest key, and one more than the place of each from there on; None where keys are sparse."""
        if not self.keys.size:
            return None
        lowest, highest = int(self.keys.min()), int(self.keys.max())
        if highest - lowest >= _SPARSE * self.keys.size + 2**16:
            return None
        table = np.zeros(highest - lowest + 1, dtype=np.int32)
        table[self.keys - lowest] = np.arange(1, self.keys.size + 1, dtype=np.int32)
        return lowest, table

    def find(self, wanted: "Ids") -> NDArray[np.intp]:
        """Return where each of some ids is among these; -1 where it is not."""
        if not self.keys.size:
            return np.full(len(wanted), -1, dtype=np.intp)
        if self._table is not None:
            lowest, table = self._table
            inside = (wanted.keys >= lowest) & (wanted.keys < lowest + table.size)
            # The difference may wrap around for keys far away, which are not looked up.
            return (table[np.where(inside, wanted.keys - lowest, 0)].astype(np.intp) - 1) * inside - ~inside
        sorted_keys, order = self._sorted
        needles, needle_order = wanted._sorted  # noqa: SLF001  (same class; needles in order are found many times faster)
        found = np.minimum(np.searchsorted(sorted_keys, needles), sorted_keys.size - 1)
        there = sorted_keys[found] == needles
        places = np.where(there, found if order is None else order[found], -1)
        if needle_order is None:
            return places
        back = np.empty_like(places)
        back[needle_order] = places
        return back


def canonical_ids(values: object, name: str = "ids") -> Ids:
    """Return the ids of people in a column: a pyarrow or numpy array, or a sequence of texts and whole numbers.

    Errors quote no id.

    Examples
    --------
    >>> canonical_ids(["1", " 1", 1.0, "ann"]).labels()
    (1, 1, 1, 'ann')
    """
    if isinstance(values, Ids):
        return values
    column = person_column(values, name)
    if column.null_count:
        raise InvalidInput("must not be missing, empty or no text", parameter=name)
    if not len(column):
        return Ids.none()
    pieces = column.chunks if hasattr(column, "chunks") else [column]
    parts = (piece.slice(begin, _TOGETHER) for piece in pieces for begin in range(0, len(piece), _TOGETHER))
    return Ids.joined([_of_column(part) for part in parts])


def _of_column(column: Any) -> Ids:  # noqa: ANN401  (pyarrow has no types)
    """Return the ids of an arrow array as `person_column` makes it: some of its texts may be whole numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == pa.int64():
        numbers = column.to_numpy()
        return Ids.of_numbers(numbers.copy() if numbers.flags.writeable else numbers)
    number = pc.match_substring_regex(column, _WHOLE)
    if not pc.any(number).as_py():
        _, offset_buffer, data_buffer = column.buffers()
        offsets = np.frombuffer(offset_buffer, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
        data = np.frombuffer(data_buffer, dtype=np.uint8)[offsets[0] : offsets[-1]]
        return Ids._hashed(np.zeros(len(column), dtype=np.int64), np.diff(offsets), data)  # noqa: SLF001  (same module)
    try:
        numbers = Ids.of_numbers(column.filter(number).cast(pa.int64()).to_numpy())
    except pa.ArrowInvalid:  # some do not fit into 64 bits
        return Ids.of_canonical([label for label in map(person_id, column.to_pylist()) if label is not None])
    is_number = number.to_numpy(zero_copy_only=False)
    place = np.where(is_number, np.cumsum(is_number), numbers.keys.size + np.cumsum(~is_number)) - 1
    texts = column.filter(pc.invert(number))
    return Ids.joined([numbers, _of_column(texts)]).take(place) if len(texts) else numbers


def _hashes(starts: NDArray[np.int64], lengths: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return 64 bits of hash of each text, eight bytes at a time, all texts together."""
    padded = np.concatenate([data, np.zeros(8, dtype=np.uint8)])
    words = np.ndarray(data.size + 1, dtype="<u8", buffer=padded.data, strides=(1,))
    hashes = lengths.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for place in range(0, int(lengths.max(initial=0)), 8):
        (longer,) = np.nonzero(lengths > place)
        left = np.minimum(lengths[longer] - place, 8).astype(np.uint64)
        mixed = hashes[longer] ^ (words[starts[longer] + place] & (~np.uint64(0) >> (np.uint64(64) - 8 * left)))
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
            mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(factor)
        hashes[longer] = mixed ^ (mixed >> np.uint64(29))
    return hashes.view(np.int64)
