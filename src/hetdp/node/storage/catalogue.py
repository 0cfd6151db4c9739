"""The public list of items that a network is about: a CSV file that every node holds, named by its hash."""

import csv
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hetdp.core.errors import DataError

__all__ = ["CatalogueItem", "read_catalogue", "read_items"]

_LONGEST = 500
MOST_ITEMS = 1_000_000


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """One line of the catalogue; `place` is its position, which is also its bit in every sketch."""

    place: int
    item: str
    title: str
    link: str = ""
    group: str = ""


def read_catalogue(path: Path) -> tuple[list[CatalogueItem], str]:
    r"""Return the items of a catalogue file and the SHA-256 of the file.

    Parameters
    ----------
    path
        UTF-8 CSV with the columns `item` and, optionally, `title`, `link` and `group`; items are all different.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     _ = path.write_text("item,title\nt1,Tea\nc1,Coffee\n")
    ...     items, digest = read_catalogue(path)
    >>> items[1].title, digest[:8]
    ('Coffee', 'c77060fb')
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the catalogue {path.name} must be a readable file. Got: {error.strerror}.") from None
    items = []
    for place, row in enumerate(_rows(path, raw)):
        link = row.get("link", "")
        if link and not link.startswith(("https://", "http://")):
            raise DataError(
                f"links in {path.name} must start with https:// or http://. Got another in row {place + 1}."
            )
        items.append(CatalogueItem(place, row["item"], row.get("title") or row["item"], link, row.get("group", "")))
    if not 1 <= len(items) <= MOST_ITEMS:
        raise DataError(f"{path.name} must hold 1 to {MOST_ITEMS} items. Got {len(items)} instead.")
    if len({item.item for item in items}) != len(items):
        raise DataError(f"the items of {path.name} must be all different. Got repeated ones instead.")
    return items, hashlib.sha256(raw).hexdigest()


def read_items(path: Path) -> list[tuple[str, str]]:
    r"""Return the (item, weight) texts of a profile file: a CSV with the columns `item` and, optionally, `weight`.

    Privacy
    -------
    Private. Errors name the row, never what is in it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "me.csv")
    ...     _ = path.write_text("item,weight\nt1,0.5\nc1,\n")
    ...     read_items(path)
    [('t1', '0.5'), ('c1', '')]
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the profile {path.name} must be a readable file. Got: {error.strerror}.") from None
    return [(row["item"], row.get("weight", "")) for row in _rows(path, raw)]


def _rows(path: Path, raw: bytes) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file as dicts of stripped, bounded, printable texts."""
    try:
        reader = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        if "item" not in (reader.fieldnames or ()):
            raise DataError(f"{path.name} must have a column 'item'. Got a header without it instead.")
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
        raise DataError(f"{path.name} must be a CSV file in UTF-8. Got something else instead.") from None
