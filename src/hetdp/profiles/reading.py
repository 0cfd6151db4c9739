"""Pairs of users and items with their privacy weights: which columns hold them, read in batches, merged into rows."""

import contextlib
import dataclasses
import os
import warnings
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import finite
from hetdp.core.errors import DataError, HetdpWarning, InvalidInput
from hetdp.profiles.formats import (
    BETWEEN_BLANKS,
    FORMATS,
    PLAIN_ENDINGS,
    DataFile,
    FileFormat,
    check_columns,
    decoded,
    find_file,
    named_by,
    open_file,
    recognise,
    which_column,
)
from hetdp.profiles.ids import IdEncoder, Ids
from hetdp.profiles.weights import PrivacyWeights

__all__ = [
    "PairCollector",
    "PairColumns",
    "PairFile",
    "SparseRows",
    "WeightColumn",
    "Weights",
    "checked_default",
    "choose_columns",
    "finish_batch",
    "merge_pairs",
    "no_weights",
    "open_pairs",
    "rename_items",
    "weight_vector",
]

#: Name of the column of weights; None for the usual one if it is there; False for none at all.
WeightColumn = str | Literal[False] | None
#: Weights are kept in the precision they come in: rounding one up would break the promise made for its item.
Weights = NDArray[np.float32] | NDArray[np.float64]
#: Codes of users and items, and weights where not all are 1.
Batch = tuple[NDArray[np.int32], NDArray[np.int32], Weights | None]

#: Memory of a pair while a file is read, and of its weight; batches and libraries come on top.
_PAIR_BYTES = 35
_WEIGHT_BYTES = 15
_FIXED_BYTES = 400 * 2**20
#: Stands for an item without a name where it weighs 0: nobody else has it.
_APART = "\N{REPLACEMENT CHARACTER}"


class PairColumns(NamedTuple):
    """Which columns of a table hold pairs.

    Attributes
    ----------
    names
        User, item, then the weight and the rating where wanted.
    weight
        Where weights come from, in words, such as "column 'weight'"; None if every weight is 1.
    guessed_by
        What the column was taken for weights by, its "name" or its "place"; None if somebody said that it holds them.
    rated
        Whether the last column holds ratings.
    text
        Whether cells are texts, to be made numbers.
    """

    names: list[str]
    weight: str | None = None
    guessed_by: str | None = None
    rated: bool = False
    text: bool = True


def choose_columns(
    source: str,
    present: list[str],
    *,
    user: str,
    item: str,
    weight: WeightColumn = None,
    usual_weight: str | None = "weight",
    rating: str | None = None,
    text: bool = True,
) -> PairColumns:
    """Return the columns to read of those present, or explain which one is missing.

    `usual_weight` holds weights where no column is named; None where a column of that name would mean something else.
    """
    guessed = weight is None and usual_weight in present
    column = usual_weight if guessed else weight or None
    roles = {"user": user, "item": item, "weight": column, "rating": rating}
    chosen = {role: name for role, name in roles.items() if name is not None}
    wanted = list(chosen.values())
    check_columns(source, present, dict(zip(wanted, named_by(*chosen), strict=True)))
    if len(set(wanted)) != len(wanted):
        raise DataError("user, item and weight must be different columns (got one of them twice)")
    described = None if column is None else f"column {column!r}"
    return PairColumns(wanted, described, "name" if guessed else None, rated=rating is not None, text=text)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class PairFile:
    """A file of pairs that is open: its first lines were looked at, the rest was not read yet.

    Attributes
    ----------
    file, format
        The file, and how it keeps columns.
    columns
        Which of them count.
    min_rating, default_weight
        The smallest rating that counts, and the weight of empty cells.
    repeats
        Whether repeated pairs are no mistake.
    """

    file: DataFile
    format: FileFormat
    columns: PairColumns
    min_rating: float | None
    default_weight: float | None
    repeats: bool

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.file.name

    @property
    def weights(self) -> str | None:
        """Where weights come from, in words; None if every weight is 1."""
        return self.columns.weight

    @property
    def item_column(self) -> str:
        """The column of items."""
        return self.columns.names[1]

    @property
    def memory_bytes(self) -> int:
        """Roughly how much memory reading takes, from the size of the file and its first lines."""
        pair = _PAIR_BYTES + _WEIGHT_BYTES * (self.columns.weight is not None)
        return _FIXED_BYTES + self.format.rows(self.file) * pair

    def read(self, user_ids: object = None, item_ids: object = None) -> "tuple[SparseRows, Ids, Ids, bool]":
        """Return what `Profiles.from_rows` takes; ids not given are those of a dims line, or those seen, sorted."""
        collector = PairCollector(read_as_text=not self.format.typed)
        with self.file.explaining(self.format.described):
            try:
                for batch in self.format.batches(self.file, self.columns.names, forgiving=True):
                    collector.add(*finish_batch(batch, self.columns, self.min_rating, self.default_weight))
                if not collector.n_pairs:
                    raise _no_pairs(self.file, self.min_rating)
                dims = BETWEEN_BLANKS.dims(self.file) if self.format is BETWEEN_BLANKS else None
                if dims is not None:
                    first = 0 if collector.counts_zero() else 1
                    user_ids = np.arange(first, first + dims[0]) if user_ids is None else user_ids
                    item_ids = np.arange(first, first + dims[1]) if item_ids is None else item_ids
                guessed = not self.format.typed and item_ids is None
                rows, users, items = collector.finish(user_ids, item_ids)
            except MemoryError:
                raise DataError(
                    f"{self.name} must fit in memory as profiles (about {_PAIR_BYTES} bytes a pair while "
                    f"reading, {_PAIR_BYTES + _WEIGHT_BYTES} with weights) (got more than there is)",
                    hint="Read fewer users, or use a machine with more memory.",
                ) from None
        if rows.merged and not self.repeats:
            kept = "" if self.weights is None else ", with its largest weight"
            warnings.warn(
                f"{self.name} repeats {rows.merged:,} of its pairs; each counts once{kept}.", HetdpWarning, stacklevel=3
            )
        return rows, users, items, guessed


@contextlib.contextmanager
def open_pairs(
    path: str | os.PathLike[str],
    *,
    user: str | None = None,
    item: str | None = None,
    weight: WeightColumn = None,
    default_weight: float | None = None,
    rating: str | None = None,
    min_rating: float | None = None,
) -> Iterator[PairFile]:
    """Open a file of pairs, and find out from its first lines what is in it: the one way in; see `Profiles.read`."""
    least = None if min_rating is None else finite("min_rating", min_rating)
    default = checked_default(default_weight, weight)
    if rating is not None and least is None:
        raise InvalidInput(f"rating must come with min_rating: ratings count in no other way. Got {rating!r} alone.")
    with open_file(find_file(path)) as file:
        layout = recognise(file.first_line, file.name) if user is None and item is None else None
        form = _format(file) if layout is None else layout.format
        if file.empty:
            raise _no_pairs(file)
        with file.explaining(form.described):
            present = form.columns(file)
        if form is BETWEEN_BLANKS:
            columns = _by_place(file, present, weight)
            rating = None
        else:
            rating = rating or ("rating" if layout is None else layout.rating)
            columns = choose_columns(
                file.name,
                present,
                user=layout.user if layout else user or "user",
                item=layout.item if layout else item or "item",
                weight=weight,
                usual_weight=layout.weight if layout else "weight",
                rating=None if least is None else rating,
                text=not form.typed,
            )
        if least is not None and rating is None:
            hint = which_column(named_by("rating")) if form is not BETWEEN_BLANKS else ""
            raise DataError(f"{file.name} must have a column of ratings for min_rating to count", hint=hint)
        if default is not None and columns.weight is None:
            raise no_weights(file.name)
        yield PairFile(file, form, columns, least, default, layout is not None and layout.repeats)


def _format(file: DataFile) -> FileFormat:
    """Return the format that the name of a file tells."""
    if file.ending in PLAIN_ENDINGS:
        return BETWEEN_BLANKS
    form = FORMATS.get(file.ending)
    if form is None or (form.typed and file.compression):
        raise DataError(
            f"the name of the data file must end in {', '.join(FORMATS)}, or for plain text .txt, .dat, "
            ".pairs or none; text may be compressed (.gz, .bz2, .zst)",
            got=file.name,
        )
    return form


def _by_place(file: DataFile, present: list[str], weight: WeightColumn) -> PairColumns:
    """Return the columns of a file without names: the third holds weights, unless they are not wanted."""
    if not present:
        raise _no_pairs(file)
    with file.explaining(BETWEEN_BLANKS.described):
        user, item, *third = present  # a line of one word is none of a pair
    if weight is False or not third:
        return PairColumns([user, item])
    return PairColumns(present, "the third column", "place")


def no_weights(source: str) -> DataError:
    """Return the error about a default weight that nothing needs."""
    return DataError(f"{source} must have a column of weights for default_weight to count")


def _no_pairs(file: DataFile, min_rating: float | None = None) -> DataError:
    what = "pair" if min_rating is None else f"rating of {min_rating:g} or more"
    return DataError(f"{file.name} must hold at least one {what}")


def checked_default(default_weight: float | None, weight: WeightColumn) -> float | None:
    """Return the weight of empty cells, or explain what is wrong with it."""
    if default_weight is None:
        return None
    default = finite("default_weight", default_weight)
    if not 0.0 <= default <= 1.0:
        raise InvalidInput("must lie in [0, 1]", parameter="default_weight", got=default)
    if weight is False:
        raise InvalidInput("must come with a column of weights (got weight=False)", parameter="default_weight")
    return default


def finish_batch(
    columns: list[Any], chosen: PairColumns, min_rating: float | None = None, default_weight: float | None = None
) -> list[Any]:
    """Return user, item and weight columns, weights as numbers, without the rows whose rating is too small.

    Privacy
    -------
    Whatever else is in a row of weight 0, it is no reason to refuse the file: others would see that it was.
    """
    import pyarrow.compute as pc

    as_bytes = [_is_bytes(column) for column in columns[:2]]
    columns = [*map(decoded, columns[:2]), *(decoded(column, "?") for column in columns[2:])]
    if chosen.rated:
        ratings = _ratings(columns, chosen, default_weight)
        mask = pc.greater_equal(ratings, min_rating)
        columns = [column.filter(mask) for column in columns[:-1]]  # a missing rating is no reason to keep a row
    if chosen.weight is not None:
        columns[2] = _weights(columns[2], chosen, default_weight)
        columns = _with_names(*columns)
    if any(was and column.null_count for was, column in zip(as_bytes, columns, strict=False)):
        raise ValueError  # not UTF-8, in a row that counts
    return columns


def _ratings(columns: list[Any], chosen: PairColumns, default: float | None) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return the last column as numbers; what is none is missing where the weight is 0, and refused elsewhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _numbers(columns[-1])
    if found is None and chosen.weight is not None:
        nothing = pc.equal(_weights(columns[2], chosen, default), 0)
        found = _numbers(pc.if_else(nothing, pa.scalar(None, columns[-1].type), columns[-1]))
    if found is None:
        raise InvalidInput("must be numbers", parameter="ratings")
    return found


def _with_names(users: Any, items: Any, weights: Any) -> list[Any]:  # noqa: ANN401
    """Return the columns with rows of weight 0 made whole: one of nobody goes, one of no item gets an item apart.

    Rows that count stay as they are, and are refused by whoever needs a name.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    nobody, nothing = _nameless(users), _nameless(items)
    if nobody is None and nothing is None:
        return [users, items, weights]
    zero = pc.equal(weights, 0)
    if nothing is not None:
        if pa.types.is_dictionary(items.type):
            items = items.cast(items.type.value_type)
        apart = pa.scalar(_APART, items.type) if _is_text(items) else pa.scalar(-(2**63), pa.int64())
        items = pc.if_else(pc.and_(zero, nothing), apart, items if _is_text(items) else items.cast(pa.int64()))
    columns = [users, items, weights]
    return columns if nobody is None else [column.filter(pc.invert(pc.and_(zero, nobody))) for column in columns]


def _nameless(column: Any) -> Any:  # noqa: ANN401
    """Return which ids of a column are missing or empty; None if there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = pc.is_null(column) if column.null_count else None
    if _is_text(column):
        empty = pc.equal(pc.binary_length(column), 0)
        if pc.any(empty).as_py():
            empty = pc.fill_null(empty, pa.scalar(value=False))
            mask = empty if mask is None else pc.or_(mask, empty)
    return mask


def _is_bytes(column: Any) -> bool:  # noqa: ANN401
    import pyarrow as pa

    return bool(pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type))


def _weights(column: Any, chosen: PairColumns, default: float | None) -> Any:  # noqa: ANN401  (pyarrow has no types)
    """Return a column of weights as numbers, empty cells filled, or say what is wrong and with which column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_text(column):
        column = _parsed(column, chosen, default)
    kind = column.type
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(kind))
    if pc.any(missing).as_py():
        if default is None:
            raise _missing(chosen, _count(missing), len(column))
        column = pc.if_else(missing, pa.scalar(default, pa.float64()), column.cast(pa.float64()))
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column  # whoever uses it knows what to make of it, or refuses
    ends = pc.min_max(column).as_py()
    if ends["min"] is not None and (ends["min"] < 0 or ends["max"] > 1):
        outside = _count(pc.or_(pc.less(column, 0), pc.greater(column, 1)))
        raise _bad(chosen, "lie in [0, 1]", f"others (private: {outside:,} of {len(column):,})")
    return column


def _parsed(column: Any, chosen: PairColumns, default: float | None) -> Any:  # noqa: ANN401
    """Return weights that were read as texts as numbers; empty cells are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not chosen.text:
        raise _bad(chosen, "be numbers in [0, 1]", "texts")
    numbers = _numbers(column)
    if numbers is None:  # looking for empty cells takes time, and most files have none
        empty = pc.equal(pc.binary_length(column), 0)
        if default is None and pc.any(empty).as_py():
            raise _missing(chosen, _count(empty), len(column))
        numbers = _numbers(pc.if_else(empty, pa.scalar(None, column.type), column))
    if numbers is None:
        raise _bad(chosen, "be numbers in [0, 1]", "something that is not a number")
    return numbers


def _bad(chosen: PairColumns, must: str, got: str) -> InvalidInput:
    way_out = ""
    if chosen.guessed_by is not None:
        way_out = (
            f" It was taken for privacy weights by its {chosen.guessed_by}; if it holds something else, ignore it with "
            "weight=False (--no-weights)."
        )
    return InvalidInput(f"must {must} (got {got} in {chosen.weight})", parameter="weights", hint=way_out)


def _missing(chosen: PairColumns, count: int, rows: int) -> InvalidInput:
    error = _bad(chosen, "not be missing", f"empty cells (private: {count:,} of {rows:,})")
    return InvalidInput(f"{error} default_weight=... (--default-weight) gives them a weight.")


def _count(mask: Any) -> int:  # noqa: ANN401
    import pyarrow.compute as pc

    return int(pc.sum(mask).as_py() or 0)


def _is_text(column: Any) -> bool:  # noqa: ANN401
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _numbers(column: Any) -> Any:  # noqa: ANN401
    """Return texts as numbers, or None if one of them is no number; whatever is no text stays what it is."""
    import pyarrow as pa

    if not _is_text(column):
        return column  # a number already, or something that whoever uses it refuses
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


@dataclasses.dataclass(frozen=True, repr=False)
class SparseRows:
    """Compressed sparse rows: items of user u at `indptr[u]:indptr[u + 1]`, sorted, each once."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: Weights
    merged: int


class PairCollector:
    """Pairs on their way into `Profiles`; between batches only codes (8 bytes a pair) and weights are kept."""

    def __init__(self, *, read_as_text: bool = False) -> None:
        self._read_as_text = read_as_text
        self.users = IdEncoder("user")
        self.items = IdEncoder("item")
        self._batches: list[Batch] = []

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

    def _counting_items(self) -> NDArray[np.bool_]:
        """Return which items weigh more than 0 for somebody."""
        counting = np.zeros(self.items.size, dtype=np.bool_)
        for _, items, weights in self._batches:
            counting[items if weights is None else items[weights > 0]] = True
        return counting

    def finish(self, user_ids: object = None, item_ids: object = None) -> tuple[SparseRows, Ids, Ids]:
        """Return the rows, the ids of the users and the ids of the items; the collector is empty afterwards."""
        known_users, user_rank = self.users.finish(user_ids, read_as_text=self._read_as_text)
        known_items, item_rank = self.items.finish(
            item_ids, read_as_text=self._read_as_text, counting=self._counting_items
        )
        if item_rank.size and item_rank.min() < 0:  # not declared, and without weight
            self._batches = [_only(batch, item_rank[batch[1]] >= 0) for batch in self._batches]
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


def _only(batch: Batch, rows: NDArray[np.bool_]) -> Batch:
    users, items, weights = batch
    return users[rows], items[rows], None if weights is None else weights[rows]


def merge_pairs(keys: NDArray[np.int64], weights: Weights | None, shape: tuple[int, int]) -> SparseRows:
    """Sort pairs, given as `user * n_items + item`, and merge repeated ones; the largest weight wins.

    The key of a pair is below 2**62 because both codes are below 2**31. `keys` and `weights` are used up.
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
    return SparseRows(indptr, indices, weights, merged)


def rename_items(
    indptr: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[Any], places: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Return rows with item i called `places[i]`, sorted again; items whose place is below 0 go, and their values."""
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
    """Return weights as a read-only vector of `n_pairs` floats in [0, 1]; one number stands for all."""
    source = weights.values if isinstance(weights, PrivacyWeights) else weights
    try:
        array = np.asarray(source)
        if array.dtype.kind not in "biufO":
            raise TypeError  # noqa: TRY301  (texts that look like numbers, dates: a mistake about the column)
        exact_in_32_bits = array.dtype.kind in "biu" or array.dtype in (np.float16, np.float32)
        vector: Weights = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput("must be numbers in [0, 1]", parameter="weights") from None
    if vector.ndim == 0:
        vector = np.full(n_pairs, vector)
    if vector.shape != (n_pairs,):
        raise InvalidInput(f"must be one per pair ({n_pairs}) (got shape {vector.shape})", parameter="weights")
    outside = int((~((vector >= 0.0) & (vector <= 1.0))).sum())
    if outside:
        raise InvalidInput(f"weights must lie in [0, 1]. Got others instead (private: {outside} of {n_pairs}).")
    vector = vector + 0.0  # no negative zeros
    if exact_in_32_bits:
        vector = vector.astype(np.float32)
    vector.flags.writeable = False
    return vector
