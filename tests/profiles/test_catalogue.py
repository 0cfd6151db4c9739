"""Public lists of items, and profiles on them."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.errors import refused

from hetdp import errors
from hetdp.profiles import Profiles
from hetdp.profiles.catalogue import on_catalogue, read_catalogue


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("items.txt", "10\n\n20\r\n5\n20\n"),
        ("items", "\ufeff10\n20\n5"),
        ("items.csv", "title,item\nx,10\ny,20\nz,5\n"),
        ("items.tsv", "item\ttitle\n10\tx\n20\ty\n5\tz\n"),
        ("films.csv", "title,movieId\nx,10\ny,20\nz,5\n"),
        ("one.csv", "movieId\n10\n20\n5\n"),
    ],
)
def test_files(tmp_path, name, text):
    assert read_catalogue(written(tmp_path, name, text)).tolist() == [5, 10, 20]


def test_more_files(tmp_path):
    zipped = tmp_path / "items.txt.gz"
    zipped.write_bytes(gzip.compress(b"tea, green\njazz\n"))
    assert read_catalogue(zipped).tolist() == ["jazz", "tea, green"]
    pq.write_table(pa.table({"movieId": ["b", "a"], "title": ["x", "y"]}), tmp_path / "films.parquet")
    assert read_catalogue(tmp_path / "films.parquet", item="movieId").tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "parameter"),
    [
        ("empty.txt", b"\n", ""),
        ("empty.csv", b"", ""),
        ("two.csv", b"a,b\nsecret,2\n", "item"),
        ("gap.csv", b"item,b\n,2\n", ""),
        ("latin.txt", b"secret\xe9\n", ""),
        ("bad.parquet", b"secret", ""),
        ("bad.txt.gz", b"secret", ""),
    ],
)
def test_bad_files(tmp_path, name, content, parameter):
    (tmp_path / name).write_bytes(content)
    with refused(parameter, name, kind=errors.DataError) as found:
        read_catalogue(tmp_path / name)
    assert "secret" not in str(found.error)


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.csv", tmp_path / "nowhere.txt"):
        with pytest.raises(errors.DataError):
            read_catalogue(path)


def test_the_list_of_one_person_may_be_rated(tmp_path):
    path = written(tmp_path, "mine.csv", "movie,stars\nalien,5\ncats,1\n")
    assert read_catalogue(path, rating="stars", min_rating=4).tolist() == ["alien"]
    assert read_catalogue(path, min_rating=4).tolist() == ["alien"]
    with refused("rating", "Columns of mine.csv: movie, stars", kind=errors.DataError):
        read_catalogue(path, rating="grade", min_rating=4)


def test_profiles_keep_their_pairs():
    profiles = Profiles.from_pairs([1, 1, 2], [30, 10, 20], [0.1, 0.2, 0.3])
    for order in ([10, 20, 30, 40], [40, 30, 20, 10]):
        listed = on_catalogue(profiles, np.array(order))
        assert listed.item_ids.tolist() == order
        assert [listed.profile(user) for user in (1, 2)] == [profiles.profile(user) for user in (1, 2)]


def test_numbers_and_texts_are_told_to_be_the_same():
    numbers = Profiles.from_pairs([1], [10])
    assert on_catalogue(numbers, np.array(["10", "x"], dtype=object)).profile(1) == {"10": 1}
    texts = Profiles.from_pairs([1], ["10"])
    assert on_catalogue(texts, np.array([10, 11])).profile(1) == {10: 1}  # the catalogue decides


def test_items_that_are_not_listed_are_counted_and_not_named():
    profiles = Profiles.from_pairs([1, 1, 2], ["secret", "tea", "dope"], item_ids=["tea", "dope", "secret", "unused"])
    with refused("", "private: 2 of 3", kind=errors.DataError) as found:
        on_catalogue(profiles, np.array(["tea"], dtype=object), "items.txt")
    assert "secret" not in str(found.error)
    assert on_catalogue(profiles, np.array(["tea", "secret", "dope"], dtype=object)).n_items == 3


def test_a_catalogue_is_sorted_and_profiles_lie_on_it(tmp_path):
    items = read_catalogue(written(tmp_path, "items.txt", "tea\njazz\n"))
    assert items.tolist() == ["jazz", "tea"]
    listed = on_catalogue(Profiles.from_pairs(["ann"], ["tea"]), items)
    assert repr(listed) == "Profiles(private: 1 user, 2 items, 1 pair)"
