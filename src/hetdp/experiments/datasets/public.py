"""Public data sets that `load` reads: what they are, where to get them, and on which terms. Nothing is downloaded."""

from dataclasses import dataclass

__all__ = ["PUBLIC", "PublicSet"]


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A data set that others publish.

    Attributes
    ----------
    name, contents
        What it is.
    address
        Where to get it.
    file
        The file in it to give to `load`.
    terms
        On which terms, in short; the text that comes with the data is what counts.

    Privacy
    -------
    People in public data sets did not all agree to be studied; some sets were linked to names later on. Look at the
    terms.
    """

    name: str
    contents: str
    address: str
    file: str
    terms: str


_RESEARCH = "research; acknowledge in publications; no commercial use without permission"
_NON_COMMERCIAL = "non-commercial use; cite the source"

#: Checked against the read-me files of the sets.
PUBLIC: tuple[PublicSet, ...] = (
    PublicSet(
        name="MovieLens 100K",
        contents="943 users, 1,682 films, 100,000 ratings",
        address="https://grouplens.org/datasets/movielens/100k/",
        file="u.data",
        terms=f"{_RESEARCH}; no redistribution without permission",
    ),
    PublicSet(
        name="MovieLens 1M",
        contents="6,040 users, about 3,900 films, 1,000,209 ratings",
        address="https://grouplens.org/datasets/movielens/1m/",
        file="ratings.dat",
        terms=f"{_RESEARCH}; no redistribution without permission",
    ),
    PublicSet(
        name="MovieLens Latest Small",
        contents="610 users, 9,742 films, 100,836 ratings (2018)",
        address="https://grouplens.org/datasets/movielens/latest/",
        file="ratings.csv",
        terms=f"{_RESEARCH}; redistribution on the same terms",
    ),
    PublicSet(
        name="HetRec 2011 Delicious",
        contents="1,867 users, 69,226 pages, 104,799 bookmarks",
        address="https://grouplens.org/datasets/hetrec-2011/",
        file="user_taggedbookmarks.dat",
        terms=_NON_COMMERCIAL,
    ),
    PublicSet(
        name="HetRec 2011 Last.fm",
        contents="1,892 users, 17,632 artists, 92,834 listening counts",
        address="https://grouplens.org/datasets/hetrec-2011/",
        file="user_artists.dat",
        terms=_NON_COMMERCIAL,
    ),
    PublicSet(
        name="HetRec 2011 MovieLens",
        contents="2,113 users, 10,197 films, 855,598 ratings",
        address="https://grouplens.org/datasets/hetrec-2011/",
        file="user_ratedmovies.dat",
        terms=_NON_COMMERCIAL,
    ),
    PublicSet(
        name="goodbooks-10k",
        contents="53,424 users, 10,000 books, about 6 million ratings",
        address="https://github.com/zygmuntz/goodbooks-10k",
        file="ratings.csv",
        terms="CC BY-SA 4.0",
    ),
)
