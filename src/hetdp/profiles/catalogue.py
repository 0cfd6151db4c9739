"""Public lists of all items, so that no name of an item depends on who has what."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hetdp.core.errors import DataError
from hetdp.profiles.formats import FORMATS, DataFile, FileFormat, named_by, open_file, which_column
from hetdp.profiles.ids import IdEncoder, Ids, positions
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading import rename_items

__all__ = ["on_catalogue", "read_catalogue"]

_FORM = "catalogue: .parquet, .csv or .tsv with a column of items, or text (UTF-8) with one item per line"


def read_catalogue(path: str | os.PathLike[str], *, item: str = "item") -> Ids:
    r"""Return the items listed in a file, each once, sorted.

    Parameters
    ----------
    path
        A .csv, .tsv or .parquet file with a column of items (or a single column of any name), or any other text file
        with one item per line. Text may be compressed (.gz, .bz2, .zst). Items that are listed twice count once.
    item
        Name of the column.
    """
    if not Path(path).is_file():
        raise DataError(f"the catalogue must be a file (got {str(path)!r}, which is none,)")
    encoder = IdEncoder("item")
    with open_file(path) as file, file.explaining(_FORM):
        form = FORMATS.get(file.ending, _LINES)
        columns = [] if file.empty else [_the_column(file.name, form.columns(file), item)]
        for (column,) in form.batches(file, columns) if columns else ():
            encoder.encode(column, read_as_text=not form.typed)
        ids, _ = encoder.finish()
    if not ids.size:
        raise DataError(f"{file.name} must list at least one item")
    return ids


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
            f"must list every item in the data (got {unknown:,} of {counted:,} items that are not in it)",
            parameter=name,
            hint="Add them, or leave them out of the data.",
        )
    indptr, indices, weights = rename_items(profiles.indptr, profiles.indices, profiles.weights, position)
    return Profiles(indptr, indices, weights, profiles.user_ids, items)


def _the_column(source: str, names: list[str], item: str) -> str:
    if item in names:
        return item
    if len(names) == 1:
        return names[0]
    columns = ", ".join(repr(name) for name in names)
    raise DataError(
        f"{source} must have a column {item!r}, or one column only (got the columns {columns})",
        hint=which_column(named_by("item")),
    )


@dataclass(frozen=True)
class _Lines(FileFormat):
    """One item per line."""

    described: str = "text"

    def columns(self, _: DataFile) -> list[str]:
        return ["item"]

    def batches(self, file: DataFile, names: list[str], *, forgiving: bool = False) -> Iterator[list[Any]]:  # noqa: ARG002
        text = file.stream().read().decode("utf-8-sig")
        yield [[line.strip() for line in text.split("\n") if line.strip()] for _ in names]


_LINES = _Lines()
