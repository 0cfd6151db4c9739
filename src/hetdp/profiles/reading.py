"""Pairs of users and items with their privacy weights, from files and data frames: columns by name, rows in batches.

A pair that comes in several rows counts once, with the smallest weight of all of them, whatever their ratings. So one
row of weight 0 is enough: the pair then has no influence on anything that other people see.
"""

import os
import re
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hetdp.core.checks import finite
from hetdp.core.errors import DataError, InvalidInput, Problem
from hetdp.profiles.columns import as_number, as_numbers, is_absent, is_missing, weight_remark
from hetdp.profiles.formats import DataFile, check_columns, find_file, open_file, shown_columns
from hetdp.profiles.ids import IdEncoder, Ids, as_text
from hetdp.profiles.weights import PrivacyWeights

#: Name of the column of weights; None for one named so, if there is one; False for none at all.
WeightColumn = str | Literal[False] | None
#: Weights are kept in the precision they come in: rounding one up would break the promise made for its item.
Weights = NDArray[np.float32] | NDArray[np.float64]
#: Compressed sparse rows: indptr, indices, weights, user ids, item ids, and whether numbers may be texts by chance.
Rows = tuple[NDArray[np.int64], NDArray[np.int32], Weights, Ids, Ids, bool]

#: What columns are called, in small letters, without "id" and a plural.
_WORDS = {
    "user": ("user", "person", "customer", "client", "member", "reader", "visitor", "uid"),
    "item": ("item", "movie", "film", "product", "song", "track", "artist", "book", "isbn", "article", "page", "url",
             "story", "bookmark", "iid"),
    "weight": ("weight", "privacyweight"),
    "rating": ("rating", "stars"),
}  # fmt: skip
#: The columns of HetRec's user_artists.dat. Its weight is how often an artist was played, no privacy weight.
_PLAYS = ["userID", "artistID", "weight"]


def named_like(role: str, names: list[str]) -> list[str]:
    """Return the columns that are called like users, items, weights or ratings; those called exactly so come alone.

    Examples
    --------
    >>> named_like("user", ["userId", "age"]), named_like("item", ["movie_id:token", "tag"]), named_like("user", ["id"])
    (['userId'], ['movie_id:token'], [])
    """
    if role in names:
        return [role]
    words = _WORDS[role]
    found = []
    for name in names:
        plain = re.sub(r"[^a-z]", "", name.lower().partition(":")[0])
        if {plain, re.sub(r"ids?$", "", plain), plain.removesuffix("s")} & set(words):
            found.append(name)
    return found


@dataclass(frozen=True)
class PairColumns:
    """Which columns of a table hold pairs; weight and rating are None where they are not read."""

    user: str
    item: str
    weight: str | None
    rating: str | None

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return [name for name in (self.user, self.item, self.weight, self.rating) if name is not None]


@dataclass(frozen=True)
class PairOptions:
    """What the caller says about columns, checked before a file is opened; see `Profiles.read`."""

    user: str | None = None
    item: str | None = None
    weight: WeightColumn = None
    default_weight: float | None = None
    rating: str | None = None
    min_rating: float | None = None

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        min_rating = 0.0 if self.min_rating is None else self.min_rating
        for check in (partial(checked_default, self.default_weight), partial(finite, "min_rating", min_rating)):
            try:
                check()
            except InvalidInput as error:
                problems.extend(error.problems)
        if self.default_weight is not None and self.weight is False:
            problems.append(Problem("cannot be used without weights (weight=False)", "default_weight"))
        if self.rating is not None and self.min_rating is None:
            problems.append(Problem("is required with rating: ratings count in no other way", "min_rating"))
        if problems:
            raise InvalidInput.several(problems)

    def choose(self, source: str, present: list[str]) -> PairColumns:
        """Return the columns to read of those present, or explain all that is wrong with them at once."""
        plays = present == _PLAYS
        problems: list[Problem] = []

        def column(role: str, given: str | None, *, required: bool) -> str | None:
            found = [given] if given is not None else named_like(role, present)
            if len(found) > 1:
                what = f"is ambiguous: {source} has the columns {', '.join(found)}"
                problems.append(Problem(what, role, hint="Name one of them."))
            elif not found and required:
                what = f"is required: no column of {source} has a usual name for {role}s"
                problems.append(Problem(what, role, hint=shown_columns(source, present)))
            return found[0] if len(found) == 1 else None

        user = column("user", self.user, required=True)
        item = column("item", self.item, required=True)
        weight = None
        if self.weight is not False and not (plays and self.weight is None):
            weight = column("weight", self.weight, required=self.default_weight is not None)
        rating = None
        if self.min_rating is not None:
            rating = column("rating", self.rating or ("weight" if plays else None), required=True)
        wanted = {"user": user, "item": item, "weight": weight, "rating": rating}
        chosen = {name: role for role, name in wanted.items() if name is not None}
        if not problems and len(chosen) < sum(name is not None for name in wanted.values()):
            problems.append(Problem("must be another column than user, weight and rating", "item", got=item))
        if problems:
            raise DataError.several(problems)
        check_columns(source, present, chosen)
        return PairColumns(str(user), str(item), weight, rating)


def checked_default(default_weight: float | None) -> float | None:
    """Return the weight of empty cells, or explain what is wrong with it."""
    if default_weight is not None and not 0.0 <= finite("default_weight", default_weight) <= 1.0:
        raise InvalidInput("must lie in [0, 1]", parameter="default_weight", got=default_weight)
    return default_weight


@dataclass(frozen=True, repr=False, eq=False)
class PairFile:
    """A file of pairs whose columns are known; its rows were not read yet."""

    file: DataFile
    columns: PairColumns
    options: PairOptions

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.file.name

    @property
    def weights(self) -> str | None:
        """Where weights come from, in words; None if every weight is 1."""
        return None if self.columns.weight is None else f"column {self.columns.weight!r}"

    @property
    def remarks(self) -> list[str]:
        """What is to be known about any such file: the same whatever its rows hold, because weights are secret."""
        left_out = "Rows without a readable user or item are left out."
        said = [f"{left_out} A repeated pair counts once, with its smallest weight."]
        if self.columns.weight is not None:
            said.append(weight_remark(self.columns.weight, self.options.default_weight))
        ignored = [name for name in self.file.columns if self.file.named and name not in self.columns.names]
        if ignored:
            said.append(f"Columns that are not read: {', '.join(ignored)}.")
        return said

    def read(self, user_ids: object = None, item_ids: object = None) -> Rows:
        """Return what `Profiles.from_rows` takes; ids that are not given are those seen, sorted."""
        collector = PairCollector(read_as_text=not self.file.typed)
        for batch in self.file.batches(self.columns.names):
            collector.add_columns(batch, self.columns, self.options, decimal_comma=self.file.delimiter == ";")
        collector.check(self.name)
        try:
            return collector.finish(user_ids, item_ids)
        except MemoryError:
            raise DataError(
                f"{self.name} does not fit into memory: it takes about 50 bytes a pair.",
                hint="Read fewer users at a time, or use a machine with more memory.",
            ) from None


def open_pairs(path: str | os.PathLike[str], options: PairOptions) -> PairFile:
    """Find out from its first line which columns of a file hold pairs; see `Profiles.read`."""
    file = open_file(find_file(path))
    return PairFile(file, options.choose(file.name, file.columns), options)


def collect_frame(frame: object, options: PairOptions) -> "PairCollector":
    """Collect the pairs of a pandas, polars or arrow table; see `Profiles.from_frame`."""
    import narwhals.stable.v1 as nw

    try:
        table: Any = nw.from_native(frame)
        names = list(table.collect_schema().names())
    except TypeError:
        raise DataError("must be a pandas, polars or arrow table", parameter="frame", got=type(frame)) from None
    except Exception:  # noqa: BLE001  (such as repeated names of columns, which each library reports in its own way)
        raise DataError("must be a table with a different name for each column", parameter="frame") from None
    columns = options.choose("frame", names)
    table = table.select(columns.names)
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    collector = PairCollector()
    collector.add_columns([_cells(table.get_column(name)) for name in columns.names], columns, options)
    collector.check("frame")
    return collector


def _cells(column: Any) -> Any:  # noqa: ANN401  (narwhals)
    try:
        return column.to_arrow()
    except Exception:  # noqa: BLE001  (cells of several kinds; the message might quote one)
        return column.to_list()


class PairCollector:
    """Pairs on their way into `Profiles`; between batches only codes (8 bytes a pair), weights and flags are kept."""

    def __init__(self, *, read_as_text: bool = False) -> None:
        self.users = IdEncoder("user_ids", people=True, read_as_text=read_as_text)
        self.items = IdEncoder("item_ids", people=False, read_as_text=read_as_text)
        self._batches: list[tuple[NDArray[np.int32], NDArray[np.int32], Weights | None, NDArray[np.bool_] | None]] = []
        #: Whether some row was left out, so that an item may have nobody.
        self._gaps = False

    def add(self, users: object, items: object, weights: object = None, liked: NDArray[np.bool_] | None = None) -> None:
        """Add a batch of pairs; no weights mean 1. A row without a user or an item is left out; its user stays listed.

        Rows that are not `liked` do not make their item part of a profile; they only have a say about its weight.
        """
        user_codes, item_codes = self.users.encode(users), self.items.encode(items)
        if user_codes.size != item_codes.size:
            raise InvalidInput(f"must be as many as users ({user_codes.size})", parameter="items", got=item_codes.size)
        vector = None if weights is None else weight_vector(weights, user_codes.size)
        there = (user_codes >= 0) & (item_codes >= 0)
        if liked is not None and vector is None:
            there, liked = there & liked, None
        if not there.all():
            self._gaps = True
            user_codes, item_codes = user_codes[there], item_codes[there]
            vector = None if vector is None else vector[there]
            liked = None if liked is None else liked[there]
        if user_codes.size:
            self._batches.append((user_codes, item_codes, vector, liked))

    def add_columns(
        self, cells: list[Any], columns: PairColumns, options: PairOptions, *, decimal_comma: bool = False
    ) -> None:
        """Add columns as `PairColumns.names` lists them. Whatever a single cell holds, it is no reason to refuse."""
        users, items, *rest = cells
        for role, column in zip(("weight", "rating")[columns.weight is None :], rest, strict=False):
            _require_numbers(role, column)
        weights = liked = None
        if columns.weight is not None:
            weights = self._as_weights(rest[0], options.default_weight or 0.0, decimal_comma)
        if columns.rating is not None:
            ratings = _as_floats(rest[-1], decimal_comma)
            with np.errstate(invalid="ignore"):
                liked = ratings >= float(options.min_rating or 0.0)
        self.add(users, items, weights, liked)

    def _as_weights(self, cells: Any, default: float, decimal_comma: bool) -> Weights:  # noqa: ANN401, FBT001
        """Return weights: empty cells take the default, and what is no weight is 0."""
        numbers = _as_floats(cells, decimal_comma)
        empty = _empty(cells)
        with np.errstate(invalid="ignore"):
            valid = (numbers >= 0.0) & (numbers <= 1.0)
        if not valid.all():
            numbers = np.where(valid, numbers, np.where(empty, default, 0.0))
        return numbers.astype(np.float32) if _is_narrow(cells) and not empty.any() else numbers

    def check(self, source: str) -> None:
        """Refuse a table without people. What single cells hold is no reason to refuse: they are private."""
        if not self.users.size:
            raise DataError(f"{source} has no row with a user.")

    def finish(self, user_ids: object = None, item_ids: object = None) -> Rows:
        """Return what `Profiles.from_rows` takes; the collector is empty afterwards.

        Items are compared with declared ones after pairs are merged: an item that weighs 0 for everybody is no reason
        to refuse, whatever single rows say.
        """
        known_users, user_rank = self.users.finish(user_ids)
        known_items, item_rank = self.items.finish()
        keys, weights, liked = self._joined(user_rank, item_rank, known_items.size)
        indptr, indices, weights = merge_pairs(keys, weights, (known_users.size, known_items.size), liked)
        used = np.zeros(known_items.size, dtype=np.bool_)
        if item_ids is not None:
            used[indices[weights > 0]] = True
            declared, place = self.items.finish(item_ids, counting=used[item_rank])
            places = np.empty(known_items.size, dtype=np.int32)
            places[item_rank] = place
            indptr, indices, weights = rename_items(indptr, indices, weights, places)
            known_items = declared
        elif self._gaps or liked is not None:
            used[indices] = True
            if not used.all():
                places = np.where(used, np.cumsum(used, dtype=np.int32) - 1, -1).astype(np.int32)
                indptr, indices, weights = rename_items(indptr, indices, weights, places)
                known_items = known_items[used]
        for array in (indptr, indices, weights, known_items):
            array.flags.writeable = False
        return indptr, indices, weights, known_users, known_items, self.items.guessed and item_ids is None

    def _joined(
        self, user_rank: NDArray[np.int32], item_rank: NDArray[np.int32], n_items: int
    ) -> tuple[NDArray[np.int64], Weights | None, NDArray[np.bool_] | None]:
        """Return all pairs as `user * n_items + item`, with weights and flags unless all are alike."""
        keys = np.empty(sum(users.size for users, *_ in self._batches), dtype=np.int64)
        kinds = [np.dtype(np.float32) if vector is None else vector.dtype for _, _, vector, _ in self._batches]
        plain = all(vector is None for _, _, vector, _ in self._batches)
        weights = None if plain else np.empty(keys.size, dtype=np.result_type(*kinds))
        all_liked = all(flags is None for *_, flags in self._batches)
        liked = None if all_liked else np.ones(keys.size, dtype=np.bool_)
        end = keys.size
        while self._batches:  # from the back, each batch freed as soon as it is copied
            users, items, vector, flags = self._batches.pop()
            begin = end - users.size
            keys[begin:end] = user_rank[users]
            keys[begin:end] *= max(1, n_items)
            keys[begin:end] += item_rank[items]
            if weights is not None:
                weights[begin:end] = 1.0 if vector is None else vector
            if liked is not None and flags is not None:
                liked[begin:end] = flags
            end = begin
        return keys, weights, liked


def _require_numbers(role: str, cells: Any) -> None:  # noqa: ANN401
    """Refuse a column by its type, which is public: dates and lists are no weights and no ratings."""
    import pyarrow as pa

    kind = getattr(cells, "type", pa.null())
    if pa.types.is_nested(kind) or pa.types.is_temporal(kind):
        raise DataError("must be a column of numbers", parameter=role, got=str(kind))


def _as_floats(cells: Any, decimal_comma: bool) -> NDArray[np.float64]:  # noqa: ANN401, FBT001
    """Return cells as floats, nan for what is no number."""
    import pyarrow as pa

    if isinstance(cells, list):
        return np.array([as_number(cell) for cell in cells], dtype=np.float64)
    if cells.type in (pa.binary(), pa.large_binary()):  # texts of which some are not UTF-8
        cells = as_text(cells, "?")
    pieces = getattr(cells, "chunks", [cells])
    return np.concatenate([np.empty(0), *(as_numbers(piece, decimal_comma=decimal_comma) for piece in pieces)])


def _is_narrow(cells: Any) -> bool:  # noqa: ANN401
    """Return whether 32 bits hold every weight of a type."""
    import pyarrow as pa

    kind = getattr(cells, "type", pa.null())
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind) or kind in (pa.float16(), pa.float32()))


def _empty(cells: Any) -> NDArray[np.bool_]:  # noqa: ANN401
    """Return which cells are missing."""
    if isinstance(cells, list):
        return np.array([is_missing(cell) for cell in cells], dtype=np.bool_)
    return np.concatenate([np.empty(0, dtype=np.bool_), *map(is_absent, getattr(cells, "chunks", [cells]))])


def merge_pairs(
    keys: NDArray[np.int64], weights: Weights | None, shape: tuple[int, int], liked: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int32], Weights]:
    """Sort pairs, given as `user * n_items + item`, and merge repeated ones; the smallest weight holds.

    A pair stays if one of its rows is liked. The key of a pair is below 2**62 because both codes are below 2**31. The
    arrays given are used up.
    """
    n_users, n_items = shape
    if not (keys[1:] > keys[:-1]).all():
        if weights is None:
            keys.sort()
        else:
            order = np.argsort(keys)
            keys[:] = keys[order]  # in place: the caller still holds them
            weights[:] = weights[order]
            if liked is not None:
                liked[:] = liked[order]
            del order
    first = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    if not first.all():
        starts = np.flatnonzero(first)
        weights = None if weights is None else np.minimum.reduceat(weights, starts)
        liked = None if liked is None else np.logical_or.reduceat(liked, starts)
        keys = keys[first]
    if liked is not None and not liked.all():
        keys, weights = keys[liked], None if weights is None else weights[liked]
    if weights is None:
        weights = np.ones(keys.size, dtype=np.float32)
    indptr = np.searchsorted(keys, np.arange(n_users + 1, dtype=np.int64) * n_items).astype(np.int64)
    # The rest of a division, only faster; in place, because at this size every temporary counts.
    keys -= np.repeat(np.arange(n_users, dtype=np.int64) * n_items, np.diff(indptr))
    return indptr, keys.astype(np.int32), weights


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
        raise InvalidInput(f"must lie in [0, 1] (private: {outside:,} of {n_pairs:,} do not)", parameter="weights")
    vector = vector + 0.0  # no negative zeros
    if exact_in_32_bits:
        vector = vector.astype(np.float32)
    vector.flags.writeable = False
    return vector
