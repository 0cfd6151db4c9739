"""Public lists of all items, so that no name of an item depends on who has what: for a curator, and for a node."""

import csv
import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hetdp.core.errors import DataError
from hetdp.profiles.profiles import Profiles
from hetdp.profiles.reading.files import FORMATS, DataFile, FileFormat, named_by, open_file, which_column
from hetdp.profiles.reading.identifiers import IdEncoder, Ids, positions
from hetdp.profiles.reading.pairs import rename_items

__all__ = ["CatalogueItem", "on_catalogue", "read_catalogue", "read_network_catalogue"]

_MOST_ITEMS = 1_000_000
_LONGEST = 500
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


# A node holds a catalogue with titles. It is read row by row, without arrow: errors tell the number of the row, and a
# node stays small.


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """One line of the catalogue; `place` is its position, which is also its bit in every sketch."""

    place: int
    item: str
    title: str
    link: str = ""
    group: str = ""


def read_network_catalogue(path: Path) -> tuple[list[CatalogueItem], str]:
    """Return the items of a UTF-8 CSV file with a column `item`, perhaps `title`, `link`, `group`, and its SHA-256."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the catalogue {str(path)!r} must be a readable file. Got: {error.strerror}.") from None
    items = []
    for place, row in enumerate(_strict_rows(path, raw)):
        link = row.get("link", "")
        if link and not link.startswith(("https://", "http://")):
            raise DataError(
                f"links in {path.name} must start with https:// or http://. Got another in row {place + 1}."
            )
        items.append(CatalogueItem(place, row["item"], row.get("title") or row["item"], link, row.get("group", "")))
    if not 1 <= len(items) <= _MOST_ITEMS:
        raise DataError(f"{path.name} must hold 1 to {_MOST_ITEMS} items", got=len(items))
    if len({item.item for item in items}) != len(items):
        raise DataError(f"the items of {path.name} must be all different (got repeated ones)")
    return items, hashlib.sha256(raw).hexdigest()


def _strict_rows(path: Path, raw: bytes) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file as dicts of stripped, bounded, printable texts."""
    try:
        reader = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        if "item" not in (reader.fieldnames or ()):
            raise DataError(f"{path.name} must have a column 'item' (got a header without it)")
        for number, row in enumerate(reader, start=1):
            if None in row or None in row.values():
                raise DataError(
                    f"rows of {path.name} must be as long as the header. Got another length in row {number}."
                )
            texts = {name: " ".join(text.split()) for name, text in row.items()}
            if not texts["item"] or any(len(text) > _LONGEST or not text.isprintable() for text in texts.values()):
                raise DataError(
                    f"cells of {path.name} must be printable, at most {_LONGEST} characters, and items not empty. "
                    f"Got another in row {number}."
                )
            yield texts
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{path.name} must be a CSV file in UTF-8") from None
