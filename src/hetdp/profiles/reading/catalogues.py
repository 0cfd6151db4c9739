"""A public list of all items, from a file; profiles on it, so that no name of an item depends on who has what."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from hetdp.core.errors import DataError, InvalidInput
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading.identifiers import IdEncoder, Ids, positions
from hetdp.profiles.reading.loading import first_line, open_text
from hetdp.profiles.reading.pairs import rename_items

__all__ = ["on_catalogue", "read_catalogue"]


def read_catalogue(path: str | os.PathLike[str], *, item: str = "item") -> Ids:
    r"""Return the items listed in a file, each once, sorted.

    Parameters
    ----------
    path
        A .csv, .tsv or .parquet file with a column of items (or a single column of any name), or any other text file
        with one item per line. Text may be compressed (.gz, .bz2, .zst). Items that are listed twice count once.
    item
        Name of the column.

    Privacy
    -------
    A catalogue is public: made without looking at who has what. Errors name the file and its columns all the same.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "items.txt")
    ...     _ = path.write_text("tea\njazz\n")
    ...     read_catalogue(path)
    array(['jazz', 'tea'], dtype=object)
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"the catalogue must be a file. Got {str(file)!r}, which is none, instead.")
    parts = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2", ".zst")]
    kind = parts[-1] if parts else ""
    try:
        if kind == ".parquet":
            column = _parquet_column(file, item)
        elif kind in (".csv", ".tsv"):
            column = _csv_column(file, item, "\t" if kind == ".tsv" else ",")
        else:
            column = _lines(file)
        encoder = IdEncoder("item")
        encoder.encode(column, read_as_text=kind != ".parquet")
        ids, _ = encoder.finish()
    except DataError:
        raise
    except InvalidInput as error:
        raise DataError(f"{file.name}: {error}") from None
    except (OSError, EOFError, ValueError, NotImplementedError):
        raise DataError(
            f"{file.name} must be a readable catalogue: .parquet, .csv or .tsv with a column of items, or text (UTF-8) "
            "with one item per line. Got something else instead."
        ) from None
    if not ids.size:
        raise DataError(f"{file.name} must list at least one item. Got none instead.")
    return ids


def on_catalogue(profiles: Profiles, items: Ids, name: str = "the catalogue") -> Profiles:
    """Return the profiles with all items of a catalogue, in its order.

    Parameters
    ----------
    profiles
        Each item that somebody has must be in the catalogue, unless its weight is 0: then it counts nowhere, and goes.
    items
        The catalogue, each item once.
    name
        What to call it in messages.

    Privacy
    -------
    Errors count items; they name none. What is left depends on the catalogue and on items that count.

    Examples
    --------
    >>> import numpy as np
    >>> on_catalogue(Profiles.from_pairs(["ann"], ["tea"]), np.array(["jazz", "tea"], dtype=object))
    Profiles(1 user, 2 items, 1 pair)
    """
    position = positions(items, profiles.item_ids)
    listed = position[profiles.indices] >= 0
    unknown = np.unique(profiles.indices[~listed & (profiles.weights > 0)]).size
    if unknown:
        raise DataError(
            f"{name} must list every item in the data. Got {unknown:,} of {profiles.n_items:,} items that are not in "
            "it instead. Add them, or leave them out of the data."
        )
    indptr, indices, weights = rename_items(profiles.indptr, profiles.indices, profiles.weights, position)
    return Profiles(indptr, indices, weights, profiles.user_ids, items)


def _parquet_column(file: Path, item: str) -> Any:  # noqa: ANN401  (pyarrow has no types)
    from pyarrow import parquet

    with parquet.ParquetFile(file) as source:
        name = _the_column(file, list(source.schema_arrow.names), item)
        return source.read(columns=[name]).column(name)


def _csv_column(file: Path, item: str, delimiter: str) -> Any:  # noqa: ANN401
    import pyarrow as pa
    from pyarrow import csv

    if not first_line(file):
        return []
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    with open_text(file) as stream, csv.open_csv(stream, parse_options=parse) as reader:
        name = _the_column(file, reader.schema.names, item)
    # Read as text, like data: a type guessed from the first block might change an id in a later one.
    convert = csv.ConvertOptions(include_columns=[name], column_types={name: pa.string()})
    with open_text(file) as stream:
        return csv.read_csv(stream, parse_options=parse, convert_options=convert).column(name)


def _the_column(file: Path, names: list[str], item: str) -> str:
    if item in names:
        return item
    if len(names) == 1:
        return names[0]
    columns = ", ".join(repr(name) for name in names)
    raise DataError(f"{file.name} must have a column {item!r}, or one column only. Got the columns {columns} instead.")


def _lines(file: Path) -> list[str]:
    with open_text(file) as stream:
        text = stream.read().decode("utf-8-sig")
    return [line.strip() for line in text.split("\n") if line.strip()]
