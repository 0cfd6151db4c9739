"""Load a data set from a file: our own formats, MovieLens and HetRec 2011, recognised by what is in it."""

import os
import warnings
from pathlib import Path

from hetdp.checks import finite
from hetdp.errors import DataError, HetdpWarning
from hetdp.profiles import Profiles
from hetdp.profiles.layouts import KNOWN_FILES, recognise
from hetdp.profiles.loading import first_line, read_pairs

__all__ = ["load"]


def load(
    path: str | os.PathLike[str],
    *,
    min_rating: float | None = None,
    user: str | None = None,
    item: str | None = None,
    weight: str | None = None,
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
    user, item, weight
        Names of the columns, where they are others. Then nothing is guessed.

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
    least = None if min_rating is None else finite("min_rating", min_rating)
    file = _the_file(Path(path))
    named = not (user is None and item is None and weight is None)
    layout = None if named else recognise(first_line(file), file.name)
    rows, user_ids, item_ids = read_pairs(
        file, user=user or "user", item=item or "item", weight=weight, layout=layout, min_rating=least
    )
    if rows.merged and not (layout is not None and layout.repeats):
        warnings.warn(f"{file.name} repeats {rows.merged} of its pairs; each counts once.", HetdpWarning, stacklevel=2)
    return Profiles(rows.indptr, rows.indices, rows.weights, user_ids, item_ids)


def _the_file(path: Path) -> Path:
    """Return the file itself, or the one in a folder that is known by its name."""
    if not path.is_dir():
        return path
    found = [name for name in KNOWN_FILES if (path / name).is_file()]
    if len(found) != 1:
        names = ", ".join(repr(name) for name in found) or "none"
        raise DataError(
            f"the folder {path.name!r} must hold one of {', '.join(KNOWN_FILES)}. Got {names} instead. "
            "Give the path of the file."
        )
    return path / found[0]
