"""The catalogue of a network: a CSV file with the public list of all items, each with a title.

It is read row by row, without pyarrow: errors tell the number of the row, and a node stays small.
"""

import csv
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError

_MOST_ITEMS = 1_000_000
_LONGEST = 500


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
