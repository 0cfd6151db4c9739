"""Who is who: one person is one account, however an id is written.

The canonical id of a whole number is the number; that of any other number, its shortest plain decimal; that of a text,
the text without space around it and in Unicode's NFC form. A text that is a plain decimal is that number: `1`, `1.0`,
`"1"`, `" 1"` and `"1.0"` are one person. `"01"`, `"+1"`, `"1e3"` and `"1,000"` stay texts, as staff numbers and
postcodes need. Where in doubt, two ids become one: two people who share an account are charged for both, but one
person with two accounts would lose twice.

`canonical` is the law. Columns of millions go through `canonical_ids`, which spares it what is plainly canonical.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput

__all__ = ["Ids", "canonical", "canonical_ids"]

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
_LARGEST = 2**63
#: Python reads no whole number of thousands of digits; one of so many is a text anyway.
_LONGEST = 21
#: Texts of so few digits fit into 64 bits whatever they are.
_SAFE_DIGITS = 18
#: How many texts are looked at together, so that memory stays small.
_TOGETHER = 2**20
_GATHERED = 2**16
#: A table by number is used for ids that are numbered through, or nearly so.
_SPARSE = 4


def canonical(identifier: object, name: str = "ids") -> int | str:
    """Return the one form of an id: an int of 64 bits, or a text.

    Examples
    --------
    >>> [canonical(one) for one in (1, 1.0, "1", " 1", "1.0", "1.50", "01", "ann ")]
    [1, 1, 1, 1, 1, '1.5', '01', 'ann']
    """
    if isinstance(identifier, np.generic):
        identifier = identifier.item()
    text = identifier if isinstance(identifier, str) else _written(identifier, name)
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise _missing(name)
    if _DECIMAL.fullmatch(text):
        text = text.rstrip("0").removesuffix(".") if "." in text else text
        text = "0" if text == "-0" else text
        whole = "." not in text and len(text) < _LONGEST and -_LARGEST <= int(text) < _LARGEST
        return int(text) if whole else text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("must be valid texts (got one that is not Unicode)", parameter=name) from None
    return text


def _written(number: object, name: str) -> str:
    """Return a number as a plain decimal."""
    if isinstance(number, int) and not isinstance(number, bool):
        return str(number)
    if number is None or (isinstance(number, float | Decimal) and not math.isfinite(number)):
        raise _missing(name)
    if isinstance(number, float):
        return str(int(number)) if number.is_integer() else format(Decimal(repr(number)), "f")
    if isinstance(number, Decimal):
        return format(number, "f")
    raise InvalidInput("must be labels of type str or int (got another type)", parameter=name)


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
    """Return the canonical ids of a column: a pyarrow or numpy array, or a sequence of texts and whole numbers.

    Those that are canonical stay as they are.

    Errors quote no id.

    Examples
    --------
    >>> canonical_ids(["1", " 1", 1.0, "ann"]).labels()
    (1, 1, 1, 'ann')
    """
    if isinstance(values, Ids):
        return values
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"must be a sequence of labels (got a single {_kind(values)})", parameter=name)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidInput(f"must be a vector (got shape {values.shape})", parameter=name)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _of_numbers(values, name)
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return _of_arrow(values, name)
    labels = [item.item() if isinstance(item, np.generic) else item for item in values]
    if labels and all(type(label) is int for label in labels):
        try:
            return Ids.of_numbers(np.array(labels, dtype=np.int64))
        except OverflowError:
            pass  # some are texts to us
    return Ids.of_canonical([canonical(label, name) for label in labels])


def _kind(value: object) -> str:
    return "text" if isinstance(value, str) else type(value).__name__


def _missing(name: str) -> InvalidInput:
    return InvalidInput("must not be missing or empty (got some that are)", parameter=name)


def _of_numbers(numbers: NDArray[Any], name: str) -> Ids:
    """Return the ids of a vector of numbers."""
    if numbers.dtype.kind == "f":
        if not np.isfinite(numbers).all():
            raise _missing(name)
        small = (np.floor(numbers) == numbers).all() and (np.abs(numbers) < float(_LARGEST)).all()
    else:
        small = numbers.dtype.kind == "i" or not numbers.size or int(numbers.max()) < _LARGEST
    if small:
        return Ids.of_numbers(numbers.astype(np.int64, copy=bool(numbers.flags.writeable)))  # what arrow holds stays
    return Ids.of_canonical([canonical(number, name) for number in numbers.tolist()])


def _of_arrow(column: Any, name: str) -> Ids:  # noqa: ANN401  (pyarrow has no types)
    """Return the ids of a pyarrow array, without a Python object per id where there is a choice."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return Ids.joined([_of_arrow(chunk, name) for chunk in column.chunks]) if column.num_chunks else Ids.none()
    if column.null_count:
        raise _missing(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        places = column.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        return _of_arrow(column.dictionary, name).take(places)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(column.to_numpy(zero_copy_only=False), name)
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.string()), pa.string()
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"):
        raise InvalidInput("must be texts or numbers", parameter=name, got=kind)
    parts = (column.slice(begin, _TOGETHER) for begin in range(0, len(column), _TOGETHER))
    return Ids.joined([_of_texts(part.cast(pa.large_string()), name) for part in parts]) if len(column) else Ids.none()


def _of_texts(column: Any, name: str) -> Ids:  # noqa: ANN401
    """Return the ids of a pyarrow array of texts: those that need a second look are looked at one by one."""
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    if not lengths.all():
        raise _missing(name)
    data = np.frombuffer(data_buffer, dtype=np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets[:-1] - offsets[0]
    first, last = data[starts], data[starts + lengths - 1]
    is_digit = (data >= ord("0")) & (data <= ord("9"))
    digits = np.add.reduceat(is_digit, starts, dtype=np.int64)
    numeric = np.add.reduceat(is_digit | (data == ord("-")) | (data == ord(".")), starts, dtype=np.int64) == lengths
    only_digits = digits == lengths
    led_by_zero = (first == ord("0")) & (lengths > 1)
    number = only_digits & ~led_by_zero & (lengths <= _SAFE_DIGITS)
    # A byte up to that of the space might be trimmed, and one beyond ASCII might be put in another form.
    clean = (first > ord(" ")) & (last > ord(" "))
    if data.max() > 127:  # noqa: PLR2004  (the last of ASCII)
        clean &= np.maximum.reduceat(data, starts) < 128  # noqa: PLR2004
    text = clean & (~numeric | (only_digits & led_by_zero))
    if text.all():
        return Ids._hashed(np.zeros(lengths.size, dtype=np.int64), lengths, data)  # noqa: SLF001  (same module)
    if number.all():
        return Ids.of_numbers(_parsed(starts, lengths, data))
    whole = Ids._hashed(np.zeros(lengths.size, dtype=np.int64), lengths, data)  # noqa: SLF001
    order = np.concatenate([np.flatnonzero(one) for one in (text, number, ~(text | number))])
    numbers = Ids.of_numbers(_parsed(starts[number], lengths[number], data))
    others = column.filter(_mask(~(text | number))).to_pylist()
    parts = [whole.take(np.flatnonzero(text)), numbers, Ids.of_canonical([canonical(other, name) for other in others])]
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    return Ids.joined(parts).take(back)


def _mask(chosen: NDArray[np.bool_]) -> Any:  # noqa: ANN401
    import pyarrow as pa

    return pa.array(chosen)


def _parsed(starts: NDArray[np.int64], lengths: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers that texts of digits stand for."""
    numbers = np.zeros(starts.size, dtype=np.int64)
    for place in range(int(lengths.max(initial=0))):
        (longer,) = np.nonzero(lengths > place)
        numbers[longer] = numbers[longer] * 10 + (data[starts[longer] + place] - ord("0"))
    return numbers


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
