"""Turn ids of users or items (texts or whole numbers) into consecutive codes, and codes back into the same ids."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetdp.core.errors import InvalidInput

__all__ = ["IdEncoder", "Ids", "RepeatedIds", "as_ids", "position_of", "positions", "whole_numbers"]

#: Ids as they are kept: int64 numbers, or Python strings in an object array.
Ids = NDArray[np.int64] | NDArray[np.object_]

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MOST_CODES = 2**31 - 1


class IdEncoder:
    """Codes for ids that arrive in batches: one hash lookup per distinct id and batch, no Python loop per id."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: Any = None  # a pyarrow array of distinct ids, in order of appearance

    def encode(self, values: object, *, read_as_text: bool = False) -> NDArray[np.int32]:
        """Return one code per id, in order of first appearance over all batches.

        Of ids read as texts, whole numbers become numbers again, as long as all are.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        column = _as_column(self.name, values)
        if not len(column):
            return np.empty(0, dtype=np.int32)
        if read_as_text:
            column = self._same_kind(column)
        if self._known is None:
            self._known = pa.array([], type=column.type)
        if self._known.type != column.type:
            raise InvalidInput(f"{self.name} ids must be all texts or all whole numbers (got both)")
        distinct, places = _factorise(column)
        codes = pc.index_in(distinct, value_set=self._known)
        fresh = distinct.filter(codes.is_null())
        position = codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        position[position < 0] = len(self._known) + np.arange(len(fresh))
        self._known = pa.concat_arrays([self._known, fresh])
        if len(self._known) > _MOST_CODES:
            raise InvalidInput(f"{self.name} ids must be at most {_MOST_CODES} different ones")
        final: NDArray[np.int32] = position.astype(np.int32)[places]
        return final

    def _same_kind(self, texts: Any) -> Any:  # noqa: ANN401  (pyarrow has no types)
        """Return a batch of texts as numbers if that loses nothing; else what looked like numbers so far is text."""
        import pyarrow as pa

        if self._known is not None and self._known.type == pa.large_string():
            return texts
        numbers = _as_numbers(texts)
        if self._known is not None and numbers.type == pa.large_string():
            self._known = self._known.cast(pa.large_string())
        return numbers

    def code_of_zero(self) -> int | None:
        """Return the code of the number 0; None if it is not among the ids."""
        import pyarrow as pa

        numbers = self._known is not None and self._known.type == pa.int64()
        code = self._known.index(0).as_py() if numbers else -1
        return None if code < 0 else int(code)

    @property
    def size(self) -> int:
        """How many different ids were seen."""
        return 0 if self._known is None else len(self._known)

    def finish(
        self,
        declared: object = None,
        *,
        read_as_text: bool = False,
        counting: Callable[[], NDArray[np.bool_]] | None = None,
    ) -> tuple[Ids, NDArray[np.int32]]:
        """Return the final ids and, for each code handed out, its position among them.

        Default: the ids seen, sorted, so that the order of the pairs does not matter. Ids declared as texts turn
        numbers that were read as texts into texts again, and the other way round.

        Parameters
        ----------
        declared
            All ids there are, in the order wanted.
        read_as_text
            Whether ids were read as texts.
        counting
            Which of the ids seen count; all unless given. Others are never a reason to refuse: where ids are declared
            and they are not among them, their position is -1.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([], type=pa.int64()) if self._known is None else self._known
        wanted = None if declared is None else _as_column(self.name, declared).combine_chunks()
        same_kind = wanted is None or known.type == wanted.type
        if read_as_text:
            if known.type == pa.large_string():
                _refuse_decimals(self.name, known if counting is None else known.filter(pa.array(counting())))
            if not same_kind:
                known = known.cast(pa.large_string())
        if wanted is None:
            order = pc.array_sort_indices(known)
            rank = np.empty(len(known), dtype=np.int32)
            rank[order.to_numpy()] = np.arange(len(known), dtype=np.int32)
            return _as_numpy(known.take(order)), rank
        _check_different(self.name, wanted)
        among = wanted.cast(known.type) if read_as_text else wanted  # a number is the text it is written as
        found = pc.index_in(known, value_set=among) if known.type == among.type else pa.nulls(len(known), pa.int32())
        if found.null_count:
            counts = np.ones(len(known), dtype=np.bool_) if counting is None else counting()
            strangers = int((counts & found.is_null().to_numpy(zero_copy_only=False)).sum())
            if strangers:
                hint = "" if same_kind else " One side is text, the other whole numbers."
                raise InvalidInput(
                    f"{self.name} ids must be among those declared ({self.name}_ids, or the dims line of a "
                    f"file) (got {strangers} of {counts.sum()} that are not)",
                    hint=hint,
                )
        return _as_numpy(wanted), found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)


class RepeatedIds(InvalidInput):
    """Ids of which some come more than once."""


def as_ids(name: str, values: object) -> Ids:
    """Return ids as they are kept, read-only, or explain what is wrong with them."""
    column = _as_column(name, values).combine_chunks()
    _check_different(name, column)
    return _as_numpy(column)


def position_of(ids: Ids, wanted: object) -> int | None:
    """Return where an id is; None if it is not there."""
    kind = str if ids.dtype == np.object_ else int | np.integer
    if not isinstance(wanted, kind) or isinstance(wanted, bool):
        return None
    (found,) = np.nonzero(ids == wanted)
    return int(found[0]) if found.size else None


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


def _check_different(name: str, column: Any) -> None:  # noqa: ANN401  (pyarrow has no types)
    repeated = len(column) - len(column.unique())
    if repeated:
        raise RepeatedIds(f"{name}_ids must all be different (got {repeated} repeated)")


def _as_column(name: str, values: object) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return ids as a chunked arrow array of int64 or large_string without gaps."""
    import pyarrow as pa

    if isinstance(values, str | bytes):
        raise InvalidInput(f"{name} ids must be a list of ids (got one text)")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidInput(f"{name} ids must be a vector (got shape {values.shape})")
    try:
        column = _as_arrow(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # The message of arrow may quote an id; it stays out.
        raise InvalidInput(f"{name} ids must be all texts or all whole numbers below 2**63") from None
    kind = column.type
    missing = column.null_count
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InvalidInput(f"{name} ids must be below 2**63 (got a larger number)") from None
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        column = column.cast(pa.large_string())
        missing += _count_empty(column)
    else:
        hint = " A missing id turns whole numbers into floats." if pa.types.is_floating(kind) else ""
        raise InvalidInput(f"{name} ids must be texts or whole numbers", got=kind, hint=hint)
    if missing:
        raise InvalidInput(f"{name} ids must not be missing or empty (got {missing} such)")
    return column


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


def _count_empty(column: Any) -> int:  # noqa: ANN401
    import pyarrow.compute as pc

    return int(pc.sum(pc.equal(pc.binary_length(column), 0)).as_py() or 0)


def _factorise(column: Any) -> tuple[Any, NDArray[Any]]:  # noqa: ANN401
    """Return the distinct ids of a chunked array and the place of each id among them."""
    import pyarrow as pa

    if column.type == pa.int64():
        numbers = column.to_numpy()
        lowest, highest = int(numbers.min()), int(numbers.max())
        if highest - lowest < 4 * numbers.size + 2**16:
            # A table over the range is several times faster than hashing, and ids are mostly numbered through.
            offsets = numbers - lowest
            seen = np.zeros(highest - lowest + 1, dtype=np.bool_)
            seen[offsets] = True
            return pa.array(np.flatnonzero(seen) + lowest), (np.cumsum(seen, dtype=np.int64) - 1)[offsets]
    encoded = column.dictionary_encode().unify_dictionaries()
    return encoded.chunk(0).dictionary, np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])


def _as_numbers(texts: Any) -> Any:  # noqa: ANN401
    """Return texts as int64 if every one is a whole number that prints the same again (007 does not)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return texts
    return numbers if pc.all(pc.equal(numbers.cast(pa.large_string()), texts)).as_py() else texts


def _refuse_decimals(name: str, known: Any) -> None:  # noqa: ANN401
    """Refuse ids from a text file that are all numbers, some with a decimal point: 1 and 1.0 would be two people."""
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(known, _NUMBER)).as_py():
        return
    if pc.any(pc.match_substring(known, ".")).as_py():
        raise InvalidInput(
            f"{name} ids must be texts or whole numbers (got numbers with a decimal point)",
            hint=(
                "If they are meant as texts, read the file into a data frame with text columns and use "
                "Profiles.from_frame."
            ),
        )


def _as_numpy(array: Any) -> Ids:  # noqa: ANN401
    ids: Ids = np.array(array.to_numpy(zero_copy_only=False))  # a copy: arrow's memory is not ours to freeze
    ids.flags.writeable = False
    return ids
