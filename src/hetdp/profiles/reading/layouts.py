"""Recognise public data sets by their first line: MovieLens, HetRec 2011 and files with columns named like theirs."""

import re
from dataclasses import dataclass

from hetdp.core.errors import DataError

__all__ = ["KNOWN_FILES", "Layout", "recognise"]

#: Names under which public data sets keep who has what, for those who give a folder.
KNOWN_FILES = (
    "ratings.dat",
    "ratings.csv",
    "u.data",
    "user_taggedbookmarks.dat",
    "user_artists.dat",
    "user_ratedmovies.dat",
)

_USERS = ("userid", "user_id")
_ITEMS = ("movieid", "bookmarkid", "artistid", "itemid", "movie_id", "book_id", "artist_id", "item_id")
_TAGS = ("tag", "tagid", "tag_id")
#: The columns of user_artists.dat. Its weight is how often an artist was played, not a wish for privacy.
_PLAYS = ["userID", "artistID", "weight"]
_COLONS = re.compile(r"\d+::\d+::\d+(\.\d+)?(::\d+)?")
_TABS = re.compile(r"\d+\t\d+\t\d+(\.\d+)?\t\d+")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is laid out.

    Attributes
    ----------
    name
        What it is, for messages.
    delimiter
        The character between columns.
    user, item
        Columns of ids.
    rating, weight
        Columns of ratings or counts, and of privacy weights, if there are any.
    names
        Columns of a file that has no line of names.
    repeats
        Whether a pair comes once for each tag, so that repeated ones are no mistake.
    """

    name: str
    delimiter: str
    user: str
    item: str
    rating: str | None
    weight: str | None = None
    names: tuple[str, ...] = ()
    repeats: bool = False


def recognise(first_line: str, file_name: str) -> Layout | None:
    r"""Return the layout of a public data set, or None for any other file.

    Parameters
    ----------
    first_line
        The first line of the file that is not empty.
    file_name
        For messages.

    Privacy
    -------
    Looks at one line only. Errors show names of columns, no cell.

    Examples
    --------
    >>> recognise("196\t242\t3\t881250949", "u.data").name
    'MovieLens u.data'
    >>> recognise("userID\tartistID\tweight", "user_artists.dat").rating
    'weight'
    >>> recognise("user,item", "likes.csv") is None
    True
    """
    line = first_line.strip()
    if _COLONS.fullmatch(line):
        # Arrow takes one character between columns: between two colons there is an empty column.
        names = ("user", "_1", "item", "_2", "rating", "_3", "time")[: 2 * line.count("::") + 1]
        return Layout("MovieLens ratings.dat", ":", "user", "item", "rating", names=names)
    if _TABS.fullmatch(line):
        return Layout("MovieLens u.data", "\t", "user", "item", "rating", names=("user", "item", "rating", "time"))
    for delimiter in ("\t", ","):
        columns = [column.strip().strip('"') for column in line.split(delimiter)]
        if columns[0].lower() in _USERS:
            return _named(columns, delimiter, file_name)
    return None


def _named(columns: list[str], delimiter: str, file_name: str) -> Layout:
    """Return the layout of a file whose first column is named like users in public data sets."""
    lower = [column.lower() for column in columns]
    item = _first(columns, lower, _ITEMS)
    if item is None:
        listed = ", ".join(repr(column) for column in columns)
        raise DataError(
            f"{file_name} must have a column of items, such as 'movieId', 'bookmarkID' or 'artistID'. "
            f"Got the columns {listed} instead. Columns of other names can be given: user=..., item=... "
            "(--user-column, --item-column)."
        )
    rating, weight = (_first(columns, lower, (name,)) for name in ("rating", "weight"))
    if columns == _PLAYS:
        rating, weight = weight, None
    repeats = _first(columns, lower, _TAGS) is not None
    return Layout("ratings or tags", delimiter, columns[0], item, rating, weight, repeats=repeats)


def _first(columns: list[str], lower: list[str], wanted: tuple[str, ...]) -> str | None:
    return next((column for column, name in zip(columns, lower, strict=True) if name in wanted), None)
