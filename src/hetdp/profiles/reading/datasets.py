"""Load a data set from a file: our own formats, MovieLens and HetRec 2011, recognised by what is in it."""

import os
import warnings
from pathlib import Path
from typing import Literal

from hetdp.core.checks import finite
from hetdp.core.errors import DataError, HetdpWarning
from hetdp.profiles import Profiles
from hetdp.profiles.reading.layouts import KNOWN_FILES, recognise
from hetdp.profiles.reading.loading import first_line, read_pairs

__all__ = ["load", "read_set", "the_file"]


def load(
    path: str | os.PathLike[str],
    *,
    min_rating: float | None = None,
    user: str | None = None,
    item: str | None = None,
    weight: str | Literal[False] | None = None,
    default_weight: float | None = None,
) -> Profiles:
    r"""Return the profiles in a file, whatever common format it has.

    Parameters
    ----------
    path
        One of

        - what `Profiles.read` takes: .csv, .tsv and .parquet with the columns user, item and perhaps weight; plain text
          with a line `user item` per pair, after an optional line `dims 120 200`;
        - MovieLens: `ratings.dat`, `u.data`, `ratings.csv`, `tags.csv`;
        - HetRec 2011: `user_taggedbookmarks.dat`, `user_artists.dat`, `user_ratedmovies.dat` and the like;
        - any .csv or tab-separated file whose columns are named like theirs (userId, user_id; movieId, item_id, ...);
        - a folder with exactly one of these under its usual name.

        Text may be compressed (.gz, .bz2, .zst).
    min_rating
        The smallest rating that makes an item part of a profile, in files with ratings (for `user_artists.dat`: the
        smallest number of plays). Default: every rated item counts, whatever the rating; the paper's profiles hold what
        people liked, so for five stars 4 is a common choice.
    user, item
        Names of the columns, where they are others. Then nothing is guessed.
    weight, default_weight
        As in `Profiles.read`.

    Returns
    -------
    Profiles
        Weights are 1 unless the file has a column of them. The "weight" in `user_artists.dat` is a number of plays, and
        is not taken for one.

    Privacy
    -------
    Nothing is released. Errors name files, formats and columns, never a cell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n")
    ...     load(path), load(folder, min_rating=4)
    (Profiles(2 users, 2 items, 3 pairs), Profiles(2 users, 1 item, 2 pairs))
    """
    profiles, _ = read_set(
        path, min_rating=min_rating, user=user, item=item, weight=weight, default_weight=default_weight
    )
    return profiles


def read_set(
    path: str | os.PathLike[str],
    *,
    min_rating: float | None = None,
    user: str | None = None,
    item: str | None = None,
    weight: str | Literal[False] | None = None,
    default_weight: float | None = None,
) -> tuple[Profiles, str | None]:
    r"""Return the profiles in a file, and where their weights come from, in words; None if every weight is 1.

    Parameters
    ----------
    path, min_rating, user, item, weight, default_weight
        As in `load`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "likes.csv")
    ...     _ = path.write_text("user,item,weight\nann,tea,0.5\n")
    ...     read_set(path), read_set(path, weight=False)
    ((Profiles(1 user, 1 item, 1 pair), "column 'weight'"), (Profiles(1 user, 1 item, 1 pair), None))
    """
    least = None if min_rating is None else finite("min_rating", min_rating)
    file = the_file(Path(path))
    layout = recognise(first_line(file), file.name) if user is None and item is None else None
    rows, user_ids, item_ids, weights, guessed = read_pairs(
        file,
        user=user or "user",
        item=item or "item",
        weight=weight,
        default_weight=default_weight,
        layout=layout,
        min_rating=least,
    )
    if rows.merged and not (layout is not None and layout.repeats):
        kept = "" if weights is None else ", with its largest weight"
        warnings.warn(
            f"{file.name} repeats {rows.merged} of its pairs; each counts once{kept}.", HetdpWarning, stacklevel=2
        )
    return Profiles(rows.indptr, rows.indices, rows.weights, user_ids, item_ids, guessed), weights


def the_file(path: Path) -> Path:
    """Return the file itself, or the one in a folder that is known by its name.

    Examples
    --------
    >>> the_file(Path("likes.csv")).name
    'likes.csv'
    """
    if not path.is_dir():
        return path
    found = [name for name in KNOWN_FILES if (path / name).is_file()]
    if len(found) != 1:
        names = ", ".join(repr(name) for name in found) or "none"
        raise DataError(
            f"the folder {str(path)!r} must hold one of {', '.join(KNOWN_FILES)}. Got {names} instead. "
            "Give the path of the file."
        )
    return path / found[0]
