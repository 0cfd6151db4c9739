"""Public lists of all items, so that no name of an item depends on who has what."""

import os
from pathlib import Path

import numpy as np

from hetdp.core.errors import DataError, Problem
from hetdp.profiles.columns import as_numbers
from hetdp.profiles.formats import COMPRESSIONS, ENDINGS, DataFile, open_file, read_lines, shown_columns
from hetdp.profiles.ids import IdEncoder, Ids, positions
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading import named_like, rename_items


def read_catalogue(
    path: str | os.PathLike[str],
    *,
    item: str | None = None,
    rating: str | None = None,
    min_rating: float | None = None,
) -> Ids:
    """Return the items listed in a file, each once, sorted.

    Parameters
    ----------
    path
        A .csv, .tsv or .parquet file with a column of items (or a single column of any name), or any other text file
        with one item per line. Text may be compressed (.gz, .bz2, .zst). Items that are listed twice count once.
    item
        Name of the column. Default: one named like items, as in `Profiles.read`.
    rating, min_rating
        Leave out items with a smaller rating, as in `Profiles.read`; for the list of one person.
    """
    import pyarrow as pa

    path = Path(path)
    if not path.is_file():
        raise DataError(f"File not found: {path}")
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    if plain.suffix.lower() in ENDINGS:
        file = open_file(path)
        encoder = IdEncoder("item_ids", people=False, read_as_text=not file.typed)
        names = [_the_column(file, "item", item)]
        if min_rating is not None:
            names.append(_the_column(file, "rating", rating))
        for column, *ratings in file.batches(names):
            for cells in ratings:
                column = column.filter(pa.array(as_numbers(cells) >= float(min_rating or 0)))  # noqa: PLW2901
            encoder.encode(column)
    elif min_rating is not None:
        raise DataError(f"{path.name} has no ratings: it must be a .csv, .tsv or .parquet file.")
    else:
        encoder = IdEncoder("item_ids", people=False, read_as_text=True)
        encoder.encode(read_lines(path))
    ids, _ = encoder.finish()
    if not ids.size:
        raise DataError(f"{path.name} lists no item.")
    return ids


def _the_column(file: DataFile, role: str, given: str | None) -> str:
    found = [given] if given in file.columns else named_like(role, file.columns)
    if role == "item" and len(file.columns) == 1:
        found = file.columns
    elif role == "rating" and given not in {None, *file.columns}:
        found = []
    if len(found) == 1:
        return str(found[0])
    problem = "must name a column" if given else f"is required: no column has a usual name for {role}s"
    got = ... if given is None else given
    raise DataError.several([Problem(problem, role, got=got, hint=shown_columns(file.name, file.columns))])


def on_catalogue(profiles: Profiles, items: Ids, name: str = "the catalogue") -> Profiles:
    """Return the profiles with all items of a catalogue, each once, in its order; `name` is for messages.

    An item that somebody has must be in it, unless its weight is 0: then it counts nowhere, and goes. Errors count
    items and name none.
    """
    position = positions(items, profiles.item_ids)
    listed = position[profiles.indices] >= 0
    counts = profiles.weights > 0
    unknown = np.unique(profiles.indices[~listed & counts]).size
    if unknown:
        counted = np.unique(profiles.indices[counts]).size
        raise DataError(
            f"{name} must list every item in the data (private: {unknown:,} of {counted:,} items are not in it).",
            hint="Add them, or leave them out of the data.",
        )
    indptr, indices, weights = rename_items(profiles.indptr, profiles.indices, profiles.weights, position)
    return Profiles(indptr, indices, weights, profiles.user_ids, items)
