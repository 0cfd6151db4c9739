"""Ids of people and items: one rule for "the same person", and codes for ids that come in batches.

The rule for people holds in ledgers, tables and profiles: an id is its text without white space around it, in Unicode's
NFC form; a text that is a plain decimal is that number. So 1, 1.0, "1", " 1" and "1.0" are one person. "01", "+1",
"1e3" and "1,000" stay texts, as staff numbers and postcodes need. If in doubt, hetdp treats two ids as one person. Two
people with one id share one privacy budget, which is safe. One person with two ids could lose twice the limit.
`person_id` applies the rule to one id, `person_column` to a column.

Ids of items are compared as they are written, after NFC.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput

#: Ids as they are kept: int64 numbers, or Python strings in an object array.
Ids = NDArray[np.int64] | NDArray[np.object_]

_DECIMAL = r"^-?(0|[1-9][0-9]*)\.[0-9]+$"
#: A whole number as it is printed; most of those with 19 digits fit into 64 bits.
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_LARGEST = 2**63
_MOST_CODES = 2**31 - 1
#: Digits of a number that may be an id.
_LONGEST = 1000
_ASCII = 2**7
#: White space around an id, except for four control characters that arrow does not strip.
_BLANKS = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace() and letter not in "\x1c\x1d\x1e\x1f")


def person_id(identifier: object) -> int | str | None:
    """Return the one form of a person's id: an int of 64 bits, or a text; None for what is no id.

    Examples
    --------
    >>> [person_id(one) for one in (1, 1.0, "1", " 1", "1.0", "1.50", "01", "ann ", "")]
    [1, 1, 1, 1, 1, '1.5', '01', 'ann', None]
    """
    written = _written(identifier)
    if written is None:
        return None
    text = unicodedata.normalize("NFC", written).strip(_BLANKS)
    if re.match(_DECIMAL, text, re.ASCII):
        text = text.rstrip("0").removesuffix(".")
    text = "0" if text == "-0" else text
    if re.fullmatch(_WHOLE, text, re.ASCII) and -_LARGEST <= int(text) < _LARGEST:
        return int(text)
    return text or None


def _written(identifier: object) -> str | None:
    """Return an id as a text, a number as a plain decimal; None for what is missing, no Unicode, or of another type."""
    if isinstance(identifier, np.generic):
        identifier = identifier.item()
    if isinstance(identifier, float):
        if not math.isfinite(identifier):
            return None
        identifier = int(identifier) if identifier.is_integer() else Decimal(repr(identifier))
    if isinstance(identifier, Decimal):
        short = identifier.is_finite() and abs(identifier.adjusted()) < _LONGEST
        return format(identifier, "f") if short else None
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        return str(identifier) if abs(identifier) < 10**_LONGEST else None
    try:
        if isinstance(identifier, bytes):
            return identifier.decode()
        if isinstance(identifier, str):
            identifier.encode()  # surrogates are no Unicode
            return str(identifier)
    except UnicodeError:
        pass
    return None


def person_column(values: object, name: str = "ids", *, numbers: bool = True) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return ids of people in their one form, as an arrow column: int64, or large_string; null for what is no id.

    Texts become `numbers` if all of them are whole numbers. Messages call the ids by a `name`, and quote none.

    Examples
    --------
    >>> person_column(["1", " 1", 1.0]).to_pylist(), person_column(["1.0", "ann"]).to_pylist()
    ([1, 1, 1], ['1', 'ann'])
    """
    column, mixed = _as_column(values, name)
    return _same_person(column, numbers=numbers or mixed)


def _same_person(column: Any, *, numbers: bool) -> Any:  # noqa: ANN401
    """Apply the rule for people to a column of int64 or large_string."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == pa.int64():
        return column
    if any(data.min() <= ord(" ") or data.max() >= _ASCII for data in _letters(column)):
        column = pc.utf8_trim(_same_item(column, numbers=False), _BLANKS)
    column = trimmed = _as_numbers(_without_empty(column)) if numbers else _without_empty(column)
    if column.type == pa.int64():
        return column
    if any((data == ord(".")).any() for data in _letters(column)):
        decimal = pc.match_substring_regex(column, _DECIMAL)
        if pc.any(decimal).as_py():
            column = pc.if_else(decimal, pc.ascii_rtrim(pc.ascii_rtrim(column, "0"), "."), column)
    zero = pc.equal(column, "-0")
    if pc.any(zero).as_py():
        column = pc.if_else(zero, pa.scalar("0", pa.large_string()), column)
    return _as_numbers(column) if numbers and column is not trimmed else column


def _same_item(column: Any, *, numbers: bool) -> Any:  # noqa: ANN401
    """Apply the rule for items to a column of int64 or large_string."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == pa.int64():
        return column
    if any(data.max() >= _ASCII for data in _letters(column)):
        column = pc.utf8_normalize(column, "NFC")
    column = _without_empty(column)
    return _as_numbers(column) if numbers else column


def _letters(texts: Any) -> Iterator[NDArray[np.uint8]]:  # noqa: ANN401
    """Yield the bytes of a column of large_string: most columns need no look at each text."""
    for piece in getattr(texts, "chunks", [texts]):
        _, ends, data = piece.buffers()
        if len(piece) and data is not None:
            begin, end = np.frombuffer(ends, np.int64)[[piece.offset, piece.offset + len(piece)]]
            if begin < end:
                yield np.frombuffer(data, np.uint8)[begin:end]


def _without_empty(texts: Any) -> Any:  # noqa: ANN401
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, pa.scalar(None, texts.type), texts) if pc.any(empty).as_py() else texts


def _as_numbers(texts: Any) -> Any:  # noqa: ANN401
    """Return texts as int64 if every one is a whole number as it is printed (007 is not)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for some in (texts.slice(0, 1024), texts):  # a cast that fails takes eight times as long as such a look
        if pc.all(pc.match_substring_regex(some, _WHOLE)).as_py() is False:
            return texts
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits
        return texts


def _as_column(values: object, name: str) -> tuple[Any, bool]:  # noqa: PLR0911  (a kind of column each)
    """Return ids as an arrow column of int64 or large_string, null where there is none; and whether kinds were mixed.

    What is wrong with one id is no reason to refuse all: it is null. What is wrong with all of them is refused.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, str | bytes) or not (isinstance(values, Iterable) or hasattr(values, "__arrow_c_stream__")):
        raise InvalidInput("must be a list of ids", parameter=name, got=type(values))
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidInput(f"must be a vector (got shape {values.shape})", parameter=name)
    try:
        column = _as_arrow(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # ids of several kinds, one by one
        cells = list(values)  # type: ignore[call-overload]
        # What most cells are decides: one odd cell, perhaps of weight 0, must not change everybody's ids.
        texts = sum(isinstance(one, str | bytes) for one in cells)
        return pa.array([_written(one) for one in cells], pa.large_string()), 2 * texts < len(cells)
    kind = column.type
    if is_text(column) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return as_text(column).cast(pa.large_string()), False
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        try:
            return column.cast(pa.int64()), False
        except pa.ArrowInvalid:  # beyond 64 bits
            return column.cast(pa.large_string()), True
    if pa.types.is_floating(kind):  # whole numbers with gaps, as pandas has them
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, pa.float64()))
        if pc.all(pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**63))).as_py() is not False:
            return column.cast(pa.int64()), False
        return pa.array([_written(one) for one in column.to_pylist()], pa.large_string()), True
    if pa.types.is_decimal(kind):
        return column.cast(pa.string()).cast(pa.large_string()), True
    raise InvalidInput("must be texts or whole numbers", parameter=name, got=str(kind))


def _as_arrow(values: object) -> Any:  # noqa: ANN401
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        column = values
    elif hasattr(values, "__arrow_c_stream__"):
        column = pa.chunked_array(values)  # a column of some data frame, without a copy
    else:
        array = pa.array(values)  # chunked by itself when the texts are long
        column = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_text(column: Any) -> bool:  # noqa: ANN401
    """Return whether an arrow column holds texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) or (
        str(column.type) == "string_view"
    )


def as_text(column: Any, instead: str | None = None) -> Any:  # noqa: ANN401
    """Return an arrow column of texts or bytes as texts; of cells that are not UTF-8 what is given instead."""
    import pyarrow as pa

    if is_text(column):
        try:
            column.validate(full=True)  # files and frames are taken as they are
        except pa.ArrowInvalid:
            column = column.cast(pa.large_binary())
        else:
            return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        cells = [cell if cell is None or _written(cell) is not None else instead for cell in column.to_pylist()]
        return pa.array(cells).cast(pa.large_string())


class IdEncoder:
    """Codes for ids that arrive in batches: one hash lookup per distinct id and batch, no Python loop per id.

    Ids that were `read_as_text` from a file become numbers, as long as all of them are whole numbers.
    """

    def __init__(self, name: str, *, people: bool, read_as_text: bool = False) -> None:
        self.name = name
        self.guessed = read_as_text
        self._rule = _same_person if people else _same_item
        self._known: Any = None  # an arrow array of distinct ids, in order of appearance

    @property
    def size(self) -> int:
        """How many different ids were seen."""
        return 0 if self._known is None else len(self._known)

    def encode(self, values: object) -> NDArray[np.int32]:
        """Return one code per id, in order of first appearance over all batches; -1 for what is no id."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column, mixed = _as_column(values, self.name)
        self.guessed |= mixed
        if not len(column):
            return np.empty(0, dtype=np.int32)
        distinct, places = _factorise(column)
        distinct = self._rule(distinct, numbers=self.guessed)
        if self._known is None:
            self._known = pa.array([], type=distinct.type)
        if self._known.type != distinct.type:  # a number is the text it is written as
            self._known, distinct = self._known.cast(pa.large_string()), distinct.cast(pa.large_string())
        fresh = distinct.filter(pc.invert(pc.is_in(distinct, value_set=self._known))).unique().drop_null()
        self._known = pa.concat_arrays([self._known, fresh])
        if len(self._known) > _MOST_CODES:
            raise InvalidInput(f"must be at most {_MOST_CODES} different ones", parameter=self.name)
        codes = pc.index_in(distinct, value_set=self._known, skip_nulls=True).fill_null(-1)
        final: NDArray[np.int32] = codes.to_numpy(zero_copy_only=False)[places]
        return final

    def finish(
        self, declared: object = None, counting: NDArray[np.bool_] | None = None
    ) -> tuple[Ids, NDArray[np.int32]]:
        """Return the final ids and, for each code handed out, its position among them.

        The ids are those declared or, so that the order of pairs does not matter, those seen, sorted. Ids that do not
        count are never a reason to refuse: if they are not among those declared, their position is -1.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([], type=pa.int64()) if self._known is None else self._known
        if declared is None:
            order = pc.array_sort_indices(known)
            rank = np.empty(len(known), dtype=np.int32)
            rank[order.to_numpy()] = np.arange(len(known), dtype=np.int32)
            return _as_numpy(known.take(order)), rank
        wanted = _declared(self.name, declared, self._rule)
        among = wanted
        if known.type != wanted.type:
            known, among = known.cast(pa.large_string()), wanted.cast(pa.large_string())
        found = pc.index_in(known, value_set=among)
        if found.null_count:
            counts = np.ones(len(known), dtype=np.bool_) if counting is None else counting
            strangers = int((counts & found.is_null().to_numpy(zero_copy_only=False)).sum())
            if strangers:
                raise InvalidInput(
                    f"must list every id in the data (private: {strangers:,} of {int(counts.sum()):,} are not listed)",
                    parameter=self.name,
                )
        return _as_numpy(wanted), found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)


class RepeatedIds(InvalidInput):
    """Ids of which some come more than once."""


def as_ids(name: str, values: object, *, people: bool = False) -> Ids:
    """Return ids as they are kept, read-only, or explain what is wrong with the parameter `name` that holds them."""
    return _as_numpy(_declared(name, values, _same_person if people else _same_item))


def _declared(name: str, values: object, rule: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return ids that somebody listed: none is missing, and all are different."""
    column, mixed = _as_column(values, name)
    column = rule(column, numbers=mixed)
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if column.null_count:
        problem = f"must all be non-empty texts or whole numbers (got {column.null_count} that are not)"
        raise InvalidInput(problem, parameter=name)
    repeated = len(column) - len(column.unique())
    if repeated:
        raise RepeatedIds(f"must all be different (got {repeated} repeated)", parameter=name)
    return column


def position_of(ids: Ids, wanted: object) -> int | None:
    """Return where an id of an item is; None if it is not there."""
    kind = str if ids.dtype == np.object_ else int | np.integer
    if not isinstance(wanted, kind) or isinstance(wanted, bool):
        return None
    (found,) = np.nonzero(ids == (unicodedata.normalize("NFC", wanted) if isinstance(wanted, str) else wanted))
    return int(found[0]) if found.size else None


def position_of_person(ids: Ids, wanted: object) -> int | None:
    """Return where an id of a person is, however it is written; None if it is not there."""
    one = person_id(wanted)
    if one is None:
        return None
    return position_of(ids, str(one) if ids.dtype == np.object_ else one)


def positions(ids: Ids, wanted: Ids) -> NDArray[np.int32]:
    """Return where each wanted id is among others; -1 for one that is not there.

    A number is the text it is written as, where one side holds texts and the other numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not ids.size or not wanted.size:
        return np.full(wanted.size, -1, dtype=np.int32)
    if ids.dtype != wanted.dtype:
        ids, wanted = (np.array([str(one) for one in side.tolist()], dtype=object) for side in (ids, wanted))
    found = pc.index_in(pa.array(wanted), value_set=pa.array(ids)).fill_null(-1)
    return np.array(found.to_numpy(zero_copy_only=False), dtype=np.int32)


def whole_numbers(ids: Ids) -> NDArray[np.int64] | None:
    """Return ids that are texts as the whole numbers they are; None if one of them is not."""
    import pyarrow as pa

    numbers = _as_numbers(pa.array(ids, type=pa.large_string()))
    return None if numbers.type != pa.int64() else np.array(numbers)


def _factorise(column: Any) -> tuple[Any, NDArray[Any]]:  # noqa: ANN401
    """Return the distinct ids of an arrow column, and the place of each id among them."""
    import pyarrow as pa

    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if column.type == pa.int64() and not column.null_count:
        numbers = column.to_numpy()
        lowest, highest = int(numbers.min()), int(numbers.max())
        if highest - lowest < 4 * numbers.size + 2**16:
            # A table over the range is several times faster than hashing, and ids are mostly numbered through.
            offsets = numbers - lowest
            seen = np.zeros(highest - lowest + 1, dtype=np.bool_)
            seen[offsets] = True
            return pa.array(np.flatnonzero(seen) + lowest), (np.cumsum(seen, dtype=np.int64) - 1)[offsets]
    encoded = column.dictionary_encode(null_encoding="encode").unify_dictionaries()
    return encoded.chunk(0).dictionary, np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])


def _as_numpy(array: Any) -> Ids:  # noqa: ANN401
    ids: Ids = np.array(array.to_numpy(zero_copy_only=False))  # a copy: arrow's memory is not ours to freeze
    ids.flags.writeable = False
    return ids
