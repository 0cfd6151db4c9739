"""`hetdp.datasets.load`: MovieLens, HetRec 2011 and our own formats, recognised by what is in the file."""

import bz2
import gzip
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hetdp import datasets, errors
from hetdp.profiles import Profiles, formats as files
from hetdp.profiles.formats import recognise

SURVEY = Path(__file__).parents[4] / "shared" / "data" / "survey" / "survey.csv.gz"

#: The same ratings in every format: user 1 gave film 10 five stars and film 20 two and a half, user 2 film 10 four.
LENS_DAT = "1::10::5::978300760\n1::20::2.5::978302109\n2::10::4::978298413\n"
LENS_DAT_SHORT = "1::10::5\n1::20::2.5\n2::10::4\n"
LENS_TABS = "1\t10\t5\t881250949\n1\t20\t2.5\t881250950\n2\t10\t4\t881250951\n"
LENS_CSV = "userId,movieId,rating,timestamp\n1,10,5.0,964982703\n1,20,2.5,964981247\n2,10,4.0,964982224\n"
LENS_CSV_SHORT = "userId,movieId,rating\n1,10,5\n1,20,2.5\n2,10,4\n"
LENS_QUOTED = '"userId","movieId","rating"\n"1","10","5"\n"1","20","2.5"\n"2","10","4"\n'
HETREC_FILMS = "userID\tmovieID\trating\tdate_day\r\n1\t10\t5\t29\r\n1\t20\t2.5\t29\r\n2\t10\t4\t1\r\n"
BOOKS = "user_id,book_id,rating\n1,10,5\n1,20,2.5\n2,10,4\n"
OWN_CSV = "user,item,rating\n1,10,5\n1,20,2.5\n2,10,4\n"
RATINGS = {
    "ratings.dat": LENS_DAT,
    "short.dat": LENS_DAT_SHORT,
    "u.data": LENS_TABS,
    "u1.base": LENS_TABS,
    "ratings.csv": LENS_CSV,
    "short.csv": LENS_CSV_SHORT,
    "quoted.csv": LENS_QUOTED,
    "bom.csv": "\ufeff" + LENS_CSV,
    "blank.csv": "\n\n" + LENS_CSV,
    "user_ratedmovies.dat": HETREC_FILMS,
    "ratings_tabs.tsv": LENS_CSV.replace(",", "\t"),
    "books.csv": BOOKS,
    "own.csv": OWN_CSV,
}
ALL = {(1, 10), (1, 20), (2, 10)}


def pairs_of(profiles):
    users, items, weights = profiles.to_pairs()
    assert (weights == 1).all()
    return set(zip(users.tolist(), items.tolist(), strict=True))


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("name", RATINGS)
def test_files_of_ratings(tmp_path, name):
    path = written(tmp_path, name, RATINGS[name])
    assert pairs_of(datasets.load(path)) == ALL
    assert pairs_of(datasets.load(str(path), min_rating=4)) == {(1, 10), (2, 10)}
    assert pairs_of(datasets.load(path, min_rating=4.5)) == {(1, 10)}
    assert pairs_of(datasets.load(path, min_rating=-1)) == ALL
    with pytest.raises(errors.DataError, match=rf"{name} must hold at least one rating of 6 or more"):
        datasets.load(path, min_rating=6)


@pytest.mark.parametrize("name", ["ratings.dat", "u.data", "ratings.csv"])
def test_compressed_and_in_many_batches(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "_BLOCK", 64)
    zipped, squeezed = tmp_path / f"{name}.gz", tmp_path / f"{name}.bz2"
    zipped.write_bytes(gzip.compress(RATINGS[name].encode()))
    squeezed.write_bytes(bz2.compress(RATINGS[name].encode()))
    assert pairs_of(datasets.load(zipped)) == pairs_of(datasets.load(squeezed)) == ALL
    assert pairs_of(datasets.load(zipped, min_rating=5)) == {(1, 10)}


def test_tags_repeat_their_pairs_without_a_warning(tmp_path):
    text = "userID\tbookmarkID\ttagID\tday\n8\t1\t1\t8\n8\t1\t2\t8\n8\t7\t6\t8\n9\t1\t1\t8\n"
    path = written(tmp_path, "user_taggedbookmarks.dat", text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pairs_of(datasets.load(path)) == {(8, 1), (8, 7), (9, 1)}
    tags = written(tmp_path, "tags.csv", 'userId,movieId,tag,timestamp\n2,60,"funny, very",1\n2,60,will,2\n')
    assert pairs_of(datasets.load(tags)) == {(2, 60)}
    with pytest.raises(errors.DataError, match=r"tags.csv must have a column of ratings for min_rating to count"):
        datasets.load(tags, min_rating=3)


def test_other_repeated_pairs_are_counted(tmp_path):
    path = written(tmp_path, "u.data", LENS_TABS + "1\t10\t1\t881250952\n")
    with pytest.warns(errors.HetdpWarning, match=r"u.data repeats 1 of its pairs; each counts once"):
        assert pairs_of(datasets.load(path)) == ALL


def test_plays_are_not_weights(tmp_path):
    path = written(tmp_path, "user_artists.dat", "userID\tartistID\tweight\n2\t51\t13883\n2\t52\t11690\n3\t51\t9\n")
    assert pairs_of(datasets.load(path)) == {(2, 51), (2, 52), (3, 51)}
    assert pairs_of(datasets.load(path, min_rating=12_000)) == {(2, 51)}


def test_any_other_weight_is_a_privacy_weight(tmp_path):
    """Ignoring what people wish for their items must never happen by accident."""
    path = written(tmp_path, "mine.csv", "user_id,item_id,weight\n2,51,0.5\n")
    assert datasets.load(path).profile(2) == {51: 0.5}
    plays = written(tmp_path, "plays.csv", "user_id,artist_id,weight\n2,51,13883\n")
    with pytest.raises(errors.DataError, match=r"weights must lie in .0, 1.. Got others .private: 1 of 1."):
        datasets.load(plays)


def test_our_own_formats(tmp_path):
    csv = written(tmp_path, "likes.csv", "user,item,weight\nann,tea,0.5\nbob,tea,1\n")
    assert datasets.load(csv) == Profiles.read(csv)
    assert datasets.load(csv).profile("ann") == {"tea": 0.5}
    tsv = written(tmp_path, "likes.tsv", "user\titem\nann\ttea\n")
    assert datasets.load(tsv) == Profiles.read(tsv)
    table = pa.table({"user": [1, 1, 2], "item": [10, 20, 10], "rating": [5.0, 2.5, None]})
    pq.write_table(table, tmp_path / "likes.parquet")
    assert pairs_of(datasets.load(tmp_path / "likes.parquet")) == ALL
    assert pairs_of(datasets.load(tmp_path / "likes.parquet", min_rating=1)) == {(1, 10), (1, 20)}  # no rating, no row
    weighted = pa.table({"user": [1, 2], "item": [10, 20], "weight": [0.25, 1.0], "rating": [1, 5]})
    pq.write_table(weighted, tmp_path / "weighted.parquet")
    assert datasets.load(tmp_path / "weighted.parquet", min_rating=2).profile(2) == {20: 1.0}


@pytest.mark.parametrize("header", ["dims 120 200\n", "# dims: 120 200\n", "DIMS 120 200\n"])
def test_plain_pairs_with_dims(tmp_path, header):
    profiles = datasets.load(written(tmp_path, "likes.txt", header + "1 1\n120 200\n"))
    assert (profiles.n_users, profiles.n_items, profiles.n_pairs) == (120, 200, 2)
    assert datasets.load(written(tmp_path, "short.dat", "1 1\n120 200\n")).n_users == 2


def test_named_columns_are_taken_as_they_are(tmp_path):
    path = written(tmp_path, "x.csv", "userId,movieId,film,care\n1,10,alien,0.5\n")
    assert datasets.load(path).item_ids.tolist() == [10]
    named = datasets.load(path, user="userId", item="film", weight="care")
    assert named.profile(1) == {"alien": 0.5}


def test_a_folder_with_one_known_file(tmp_path):
    written(tmp_path, "README", "hello")
    with pytest.raises(errors.DataError, match=r"must hold one of ratings.dat, .* . Give the path"):
        datasets.load(tmp_path)
    written(tmp_path, "u.data", LENS_TABS)
    assert pairs_of(datasets.load(tmp_path, min_rating=5)) == {(1, 10)}
    written(tmp_path, "ratings.csv", LENS_CSV)
    with pytest.raises(errors.DataError, match=r"[(]got 'ratings.csv', 'u.data'[)]"):
        datasets.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "user_friends.dat",
            "userID\tfriendID\n2\t275\n",
            "must have a column of items, .* columns 'userID', 'friendID'",
        ),
        (
            "people.csv",
            "name,age\nann,3\n",
            "people.csv must have a column 'user' [(]got the columns 'name', 'age'[)]",
        ),
        ("one.csv", "user\nann\n", "one.csv must have a column 'item' [(]got the columns 'user'[)]"),
        ("notes.doc", "hello\n", "the name of the data file must end in .csv, .* [(]got 'notes.doc'[)]"),
        ("ratings.dat", LENS_DAT + "garbage\n", "must be a readable file of MovieLens ratings.dat .rows as long as"),
        ("u.data", LENS_TABS + "3\t10\n", "must be a readable file of MovieLens u.data"),
        ("ratings.csv", LENS_CSV + "7,,3,1\n", "item ids must not be missing or empty [(]got 1 such[)]"),
        ("ratings.csv", "userId,movieId,rating\n", "ratings.csv must hold at least one pair"),
        ("empty.csv", "", "empty.csv must hold at least one pair"),
    ],
)
def test_clear_errors(tmp_path, name, text, message):
    with pytest.raises(errors.DataError, match=message) as caught:
        datasets.load(written(tmp_path, name, text))
    assert "275" not in str(caught.value)
    assert "garbage" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "ways"),
    [
        ({}, "they are by user=... (--user-column) and item=... (--item-column)"),
        ({"user": "person"}, "it is by item=... (--item-column)"),
        ({"user": "person", "item": "film", "weight": "dial"}, "it is by weight=... (--weight-column)"),
        ({"user": "person", "item": "film", "min_rating": 4}, "it is by rating=... (--rating-column)"),
        (
            {"user": "person", "item": "film", "min_rating": 4, "rating": "grade"},
            "it is by rating=... (--rating-column)",
        ),
    ],
)
def test_a_missing_column_comes_with_those_found_and_with_what_names_it(tmp_path, given, ways):
    path = written(tmp_path, "likes.csv", "person,film,stars\nsecret,hidden,5\n")
    with pytest.raises(errors.DataError) as caught:
        datasets.load(path, **given)
    assert f"[(]got the columns 'person', 'film', 'stars'[)]. Tell which {ways}." in str(caught.value)
    assert "secret" not in str(caught.value)


def test_ratings_may_have_another_name(tmp_path):
    path = written(tmp_path, "likes.csv", "person,film,stars\n1,10,5\n1,20,2\n2,10,4\n")
    found = datasets.load(path, user="person", item="film", rating="stars", min_rating=4)
    assert pairs_of(found) == {(1, 10), (2, 10)}
    lens = written(tmp_path, "ratings.csv", "userId,movieId,rating,again\n1,10,5,1\n1,20,2,5\n")
    assert pairs_of(datasets.load(lens, rating="again", min_rating=4)) == {(1, 20)}
    with pytest.raises(errors.InvalidInput, match=r"rating must come with min_rating.* Got 'stars' alone"):
        datasets.load(path, user="person", item="film", rating="stars")


def test_more_clear_errors(tmp_path):
    with pytest.raises(errors.DataError, match=r"the data file must exist. Got .*nowhere.csv"):
        datasets.load(tmp_path / "nowhere.csv")
    path = written(tmp_path, "ratings.csv", LENS_CSV + "7,8,good,1\n")
    assert datasets.load(path).n_pairs == 4
    with pytest.raises(
        errors.DataError, match=r"ratings must be numbers. Got something that is not a number"
    ) as caught:
        datasets.load(path, min_rating=4)
    assert "good" not in str(caught.value)
    with pytest.raises(errors.InvalidInput, match=r"min_rating must be a finite number [(]got nan[)]"):
        datasets.load(path, min_rating=float("nan"))
    for other, text in {"likes.txt": "1 10\n", "bare.csv": "user,item\n1,10\n"}.items():
        with pytest.raises(errors.DataError, match=r"must have a column"):
            datasets.load(written(tmp_path, other, text), min_rating=4)


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("ratings.csv.gz", b"\x1f\x8bnot really", "gzip"),
        ("u.data.gz", gzip.compress(LENS_TABS.encode() * 500)[:-9], "gzip"),
        ("u.data.bz2", bz2.compress(LENS_TABS.encode() * 500)[:-9], "bz2"),
        ("likes.csv.zst", b"user,item\n1,2\n", "zstd"),
    ],
)
def test_a_damaged_compressed_file_is_called_so(tmp_path, name, content, form):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(errors.DataError, match=rf"{name} must be a whole {form} file. Got one that is damaged"):
        datasets.load(path)


def test_a_whole_compressed_file_with_bad_rows_is_not_called_damaged(tmp_path):
    path = tmp_path / "likes.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n1,2\n3\n"))
    with pytest.raises(errors.DataError, match=r"likes.csv.gz must be a readable .csv file"):
        datasets.load(path)


def test_weights_of_known_files(tmp_path):
    path = written(tmp_path, "r.csv", "userId,movieId,weight,care\n1,10,17,0.5\n1,20,1,\n")
    with pytest.raises(
        errors.DataError, match=r"others .private: 1 of 2. in column 'weight' instead. It was taken .* by its name"
    ):
        datasets.load(path)
    assert pairs_of(datasets.load(path, weight=False)) == {(1, 10), (1, 20)}
    assert datasets.load(path, weight="care", default_weight=0.25).profile(1) == {10: 0.5, 20: 0.25}


def test_what_is_not_a_public_set_is_left_alone():
    for line in ("", "user,item", "ann::tea", "1::2", "1\t2", "1\t2\t0.5", "1 2 3 4", "dims 120 200", "id,userId"):
        assert recognise(line, "file") is None


def test_the_real_survey():
    if not SURVEY.is_file():
        pytest.skip(f"the survey data are not in {SURVEY}")
    assert datasets.load(SURVEY) == Profiles.read(SURVEY)


def test_public_sets_are_known_by_their_first_line():
    lens = recognise("196\t242\t3\t881250949", "u.data")
    assert lens.format.described == "file of MovieLens u.data (rows as long as the first)"
    assert recognise("userID\tartistID\tweight", "user_artists.dat").rating == "weight"
    assert recognise("user,item", "likes.csv") is None
    assert recognise("user_id,user,item", "likes.csv") is None  # our own names count first


def test_what_is_known_before_anything_is_read():
    with files.open_file(__file__) as file:
        assert (file.ending, file.compression, file.first_line[3:18]) == (".py", None, "`hetdp.datasets")
