"""Read pairs from data frames and from files, in batches, without showing a cell in any message."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hetdp.core.errors import DataError, InvalidInput
from hetdp.profiles.reading.batches import csv_batches, parquet_batches, plain_batches
from hetdp.profiles.reading.columns import Columns, WeightColumn, checked_default, finish_batch
from hetdp.profiles.reading.identifiers import Ids
from hetdp.profiles.reading.layouts import Layout
from hetdp.profiles.reading.pairs import PairCollector, Rows

__all__ = ["Loaded", "first_line", "frame_columns", "open_text", "read_pairs"]

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_PLAIN = ("", ".txt", ".dat", ".pairs")
_ENDINGS = (
    ".csv, .tsv, .parquet, or for plain text .txt, .dat, .pairs or none; text may be compressed (.gz, .bz2, .zst)"
)
_HEAD = 2**16


class Loaded(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    rows, user_ids, item_ids
        The parts of `Profiles`.
    weights
        Where the weights come from, in words, such as "column 'weight'"; None if every weight is 1.
    guessed
        Whether item ids are numbers or texts depending on what they look like.
    """

    rows: Rows
    user_ids: Ids
    item_ids: Ids
    weights: str | None
    guessed: bool


def frame_columns(
    frame: object, *, user: str, item: str, weight: WeightColumn, default_weight: float | None = None
) -> list[Any]:
    """Return the user, item and (if there is one) weight columns of a pandas, polars or arrow table, as arrow arrays.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"user": [1], "item": ["a"], "age": [30]})
    >>> [str(column.type) for column in frame_columns(table, user="user", item="item", weight=None)]
    ['int64', 'string']
    """
    import narwhals.stable.v1 as nw

    try:
        table: Any = nw.from_native(frame)
        names = list(table.collect_schema().names())
    except TypeError:
        raise DataError(f"frame must be a pandas, polars or arrow table. Got {type(frame).__name__} instead.") from None
    except Exception:  # noqa: BLE001  (such as repeated names of columns, which each library reports in its own way)
        raise DataError("frame must be a table with a different name for each column. Got another instead.") from None
    default = checked_default(default_weight, weight)
    chosen = Columns(user, item, weight).present("frame", names)
    if default is not None and chosen.weight is None:
        raise _no_weights("frame")
    table = table.select(chosen.names)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    try:
        columns = [table.get_column(name).to_arrow() for name in chosen.names]
    except Exception:  # noqa: BLE001  (whatever is wrong with a cell, the message might quote it)
        raise DataError(
            "frame must hold texts or whole numbers as ids and numbers as weights, one kind per column. "
            "Got a mixed column instead."
        ) from None
    return finish_batch(columns, chosen._replace(text=False), None, default)


def read_pairs(
    path: str | os.PathLike[str],
    *,
    user: str = "user",
    item: str = "item",
    weight: WeightColumn = None,
    default_weight: float | None = None,
    user_ids: object = None,
    item_ids: object = None,
    layout: Layout | None = None,
    min_rating: float | None = None,
) -> Loaded:
    """Read a file in batches and merge its pairs; see `Profiles.read` and `hetdp.datasets.load`.

    Parameters
    ----------
    path, user, item, weight, default_weight, user_ids, item_ids
        As in `Profiles.read`.
    layout
        How the file is laid out, where its name does not tell; then it tells the columns too, except a weight given.
    min_rating
        The smallest rating that counts, in a file with a column of ratings.

    Examples
    --------
    >>> read_pairs("likes.xlsx", user="user", item="item", weight=None)
    Traceback (most recent call last):
    ...
    hetdp.core.errors.DataError: the data file must exist. Got 'likes.xlsx', which is not a file, instead.
    """
    file = Path(path)
    default = checked_default(default_weight, weight)
    kind, compression = _kind(file, layout)
    dims: list[int] = []
    rating = None if min_rating is None else "rating"
    columns = Columns(user, item, weight, rating=rating)
    if layout is not None:
        if rating is not None and layout.rating is None:
            raise _no_ratings(file)
        columns = Columns(layout.user, layout.item, weight, usual_weight=layout.weight, rating=rating and layout.rating)
        batches = csv_batches(file, compression, columns, delimiter=layout.delimiter, names=layout.names)
    elif kind == ".parquet":
        batches = parquet_batches(file, columns)
    elif kind in _PLAIN:
        if rating is not None:
            raise _no_ratings(file)
        batches = plain_batches(file, compression, dims, weighted=weight is not False)
    else:
        batches = csv_batches(file, compression, columns, delimiter="\t" if kind == ".tsv" else ",")
    collector = PairCollector(read_as_text=kind != ".parquet")
    weights = None
    with _without_quoting(file, kind, layout, compression):
        for batch, chosen in batches:
            weights = chosen.weight
            if default is not None and weights is None:
                raise _no_weights(file.name)
            collector.add(*finish_batch(batch, chosen, min_rating, default))
        if not collector.n_pairs:
            raise _no_pairs(file, min_rating)
        if dims:
            first = 0 if collector.counts_zero() else 1
            user_ids = np.arange(first, first + dims[0]) if user_ids is None else user_ids
            item_ids = np.arange(first, first + dims[1]) if item_ids is None else item_ids
        guessed = kind != ".parquet" and item_ids is None
        return Loaded(*collector.finish(user_ids, item_ids), weights, guessed)


def first_line(path: str | os.PathLike[str]) -> str:
    """Return the first line of a text file that is not empty, or nothing if it has none that can be read.

    Privacy
    -------
    The line may hold private data; it is for recognising a format, not for messages.

    Examples
    --------
    >>> first_line(__file__).strip('"')[:10]
    'Read pairs'
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"the data file must exist. Got {str(file)!r}, which is not a file, instead.")
    with open_text(file) as stream:
        head = stream.read(_HEAD)
    lines = head.decode("utf-8-sig", errors="replace").lstrip().splitlines()
    return lines[0] if lines else ""


@contextlib.contextmanager
def open_text(file: Path) -> Iterator[Any]:
    """Open a text file, compressed or not, for reading bytes; explain what is wrong if that is not possible."""
    import pyarrow as pa

    compression = _COMPRESSIONS.get(file.suffix.lower())
    try:
        with pa.input_stream(str(file), compression) as stream:
            yield stream
    except (OSError, EOFError):
        raise _unreadable(file, compression, "file") from None


def _kind(file: Path, layout: Layout | None) -> tuple[str, str | None]:
    """Return the ending that tells the format, and the compression."""
    if not file.is_file():
        raise DataError(f"the data file must exist. Got {str(file)!r}, which is not a file, instead.")
    compression = _COMPRESSIONS.get(file.suffix.lower())
    kind = (file.with_suffix("") if compression else file).suffix.lower()
    unknown = kind not in (".csv", ".tsv", ".parquet", *_PLAIN) or (kind == ".parquet" and compression)
    if layout is None and unknown:
        raise DataError(f"the name of the data file must end in {_ENDINGS}. Got {file.name!r} instead.")
    if file.stat().st_size == 0:
        raise _no_pairs(file)
    return kind, compression


@contextlib.contextmanager
def _without_quoting(file: Path, kind: str, layout: Layout | None, compression: str | None) -> Iterator[None]:
    """Turn whatever goes wrong while reading into an error that names the file and quotes no row."""
    try:
        yield
    except DataError:
        raise
    except InvalidInput as error:
        raise DataError(f"{file.name}: {error}") from None
    except MemoryError:
        raise DataError(
            f"{file.name} must fit in memory as profiles (about 35 bytes a pair while reading, 50 with weights). "
            "Got more than there is instead. Read fewer users, or use a machine with more memory."
        ) from None
    except (OSError, EOFError, ValueError, NotImplementedError) as error:
        if layout is not None:
            form = f"file of {layout.name} (rows as long as the first)"
        elif kind == ".parquet":
            form = "parquet file"
        elif kind in _PLAIN:
            form = "text file (UTF-8, a line 'user item' or 'user item weight' per pair)"
        else:
            form = f"{kind} file (UTF-8, rows as long as the header)"
        # Arrow reports what it cannot decompress as OSError, what it cannot understand as ValueError.
        broken = isinstance(error, OSError | EOFError)
        raise _unreadable(file, compression if broken else None, form) from None


def _unreadable(file: Path, compression: str | None, form: str) -> DataError:
    if compression is None:
        return DataError(f"{file.name} must be a readable {form}. Got something else instead.")
    return DataError(
        f"{file.name} must be a whole {compression} file. Got one that is damaged, cut short or not compressed instead."
    )


def _no_weights(name: str) -> DataError:
    return DataError(f"{name} must have a column of weights for default_weight to count. Got none instead.")


def _no_pairs(file: Path, min_rating: float | None = None) -> DataError:
    what = "pair" if min_rating is None else f"rating of {min_rating:g} or more"
    return DataError(f"{file.name} must hold at least one {what}. Got none instead.")


def _no_ratings(file: Path) -> DataError:
    return DataError(f"{file.name} must have a column of ratings for min_rating to count. Got none instead.")
