"""Pairs from files and frames, as a user meets them: layouts, columns by name, weights, ratings, odd rows."""

import bz2
import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.errors import refused

from hetdp import Profiles, errors
from hetdp.profiles import formats
from hetdp.profiles.reading import (
    PairCollector,
    PairOptions,
    merge_pairs,
    named_like,
    open_pairs,
    rename_items,
    weight_vector,
)

SURVEY = Path(__file__).parents[3] / "shared" / "data" / "survey" / "survey.csv.gz"

#: The same ratings in every layout: user 1 gave film 10 five stars and film 20 two and a half, user 2 film 10 four.
LENS_DAT = "1::10::5::978300760\n1::20::2.5::978302109\n2::10::4::978298413\n"
LENS_TABS = "1\t10\t5\t881250949\n1\t20\t2.5\t881250950\n2\t10\t4\t881250951\n"
LENS_CSV = "userId,movieId,rating,timestamp\n1,10,5.0,964982703\n1,20,2.5,964981247\n2,10,4.0,964982224\n"
RATINGS = {
    "ratings.dat": LENS_DAT,
    "short.dat": "1::10::5\n1::20::2.5\n2::10::4\n",
    "u.data": LENS_TABS,
    "u1.base": LENS_TABS,
    "ratings.csv": LENS_CSV,
    "quoted.csv": '"userId","movieId","rating"\n"1","10","5"\n"1","20","2.5"\n"2","10","4"\n',
    "bom.csv": "\ufeff" + LENS_CSV,
    "blank.csv": "\n\n" + LENS_CSV,
    "user_ratedmovies.dat": "userID\tmovieID\trating\tdate\r\n1\t10\t5\t29\r\n1\t20\t2.5\t29\r\n2\t10\t4\t1\r\n",
    "tabs.tsv": LENS_CSV.replace(",", "\t"),
    "tabs.csv": LENS_CSV.replace(",", "\t"),
    "semicolons.csv": "user;item;rating\n1;10;5\n1;20;2,5\n2;10;4\n",
    "books.csv": "user_id,book_id,rating\n1,10,5\n1,20,2.5\n2,10,4\n",
    "recbole.csv": "user_id:token,item_id:token,rating:float\n1,10,5\n1,20,2.5\n2,10,4\n",
    "own.txt": "user,item,rating\n1,10,5\n1,20,2.5\n2,10,4\n",
}
ALL = {(1, 10), (1, 20), (2, 10)}


def pairs_of(profiles):
    users, items, _ = profiles.to_pairs()
    return set(zip(users.tolist(), items.tolist(), strict=True))


def written(path, text):
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes({".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)(data))
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("name", RATINGS)
@pytest.mark.parametrize("block", [None, 64])
def test_every_layout_compressed_or_not_in_one_batch_or_many(tmp_path, monkeypatch, name, ending, block):
    path = tmp_path / f"{name}{ending}"
    if ending == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(RATINGS[name].encode())
    else:
        written(path, RATINGS[name])
    if block:
        monkeypatch.setattr(formats, "_BLOCK", block)
    assert pairs_of(Profiles.read(path)) == ALL
    assert pairs_of(Profiles.read(str(path), min_rating=4)) == {(1, 10), (2, 10)}
    assert pairs_of(Profiles.read(path, min_rating=2.5)) == ALL
    assert pairs_of(Profiles.read(path, min_rating=6)) == set()


def test_people_whose_ratings_are_all_too_small_stay_listed(tmp_path):
    profiles = Profiles.read(written(tmp_path / "r.csv", LENS_CSV), min_rating=5)
    assert (profiles.user_ids.tolist(), profiles.item_ids.tolist()) == ([1, 2], [10])


def test_a_folder_with_one_known_file(tmp_path):
    written(tmp_path / "README", "hello")
    with pytest.raises(errors.DataError, match="none of them"):
        Profiles.read(tmp_path)
    written(tmp_path / "u.data", LENS_TABS)
    assert pairs_of(Profiles.read(tmp_path)) == ALL
    written(tmp_path / "ratings.csv", LENS_CSV)
    with pytest.raises(errors.DataError, match=r"ratings.csv, u.data"):
        Profiles.read(tmp_path)


def test_tags_repeat_their_pairs_silently(tmp_path):
    text = "userID\tbookmarkID\ttagID\tday\n8\t1\t1\t8\n8\t1\t2\t8\n8\t7\t6\t8\n9\t1\t1\t8\n"
    path = written(tmp_path / "user_taggedbookmarks.dat", text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pairs_of(Profiles.read(path)) == {(8, 1), (8, 7), (9, 1)}
    tags = written(tmp_path / "tags.csv", 'userId,movieId,tag,timestamp\n2,60,"funny, very",1\n2,60,will,2\n')
    assert pairs_of(Profiles.read(tags)) == {(2, 60)}


def test_plays_are_not_weights(tmp_path):
    path = written(tmp_path / "user_artists.dat", "userID\tartistID\tweight\n2\t51\t13883\n2\t52\t11690\n3\t51\t9\n")
    assert (Profiles.read(path).weights == 1).all()
    assert pairs_of(Profiles.read(path, min_rating=12_000)) == {(2, 51)}


# Columns by name.


def test_one_named_column_does_not_hide_the_others(tmp_path):
    path = written(tmp_path / "likes.csv", "userId,movie,film,weight\n1,10,alien,0.5\n")
    assert Profiles.read(path, item="film").profile(1) == {"alien": 0.5}
    assert Profiles.read(path, item="movie").profile(1) == {10: 0.5}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_further_columns_of_a_frame_do_not_matter(make):
    data = {"user": ["ann", "ann", "bob"], "item": ["b", "a", "b"], "rating": [5, 1, 4], "timestamp": [7, 8, 9]}
    assert Profiles.from_frame(make(data)) == Profiles.from_pairs(data["user"], data["item"])
    liked = Profiles.from_frame(make(data), min_rating=4)
    assert pairs_of(liked) == {("ann", "b"), ("bob", "b")}
    other = make({"customer": data["user"], "product_id": data["item"], "stars": data["rating"]})
    assert Profiles.from_frame(other, rating="stars", min_rating=4) == liked


def test_columns_are_known_by_name():
    for name in ("user", "userId", "user_id", "User ID", "users", "customer", "uid", "user_id:token"):
        assert named_like("user", ["age", name]) == [name]
    for name in ("item", "movieId", "item_id", "Product", "items", "isbn"):
        assert named_like("item", ["age", name]) == [name]
    assert named_like("user", ["user", "userId"]) == ["user"]
    assert named_like("item", ["movie", "film"]) == ["movie", "film"]
    assert not named_like("user", ["id", "username", "abuser"])


def test_all_that_is_missing_is_said_at_once(tmp_path):
    path = written(tmp_path / "likes.csv", "who,what,how\nsecret,hidden,5\n")
    with pytest.raises(errors.DataError) as caught:
        Profiles.read(path, min_rating=3)
    assert [problem.parameter for problem in caught.value.problems] == ["user", "item", "rating"]
    assert "who, what, how" in str(caught.value)
    with pytest.raises(errors.DataError) as caught:
        Profiles.read(path, user="wo", item="wat")
    assert [(problem.parameter, problem.got) for problem in caught.value.problems] == [("user", "wo"), ("item", "wat")]
    assert "secret" not in str(caught.value)
    with pytest.raises(errors.InvalidInput) as caught:
        Profiles.read(path, weight=False, default_weight=2, rating="how")
    assert {problem.parameter for problem in caught.value.problems} == {"default_weight", "min_rating"}
    assert len(caught.value.problems) == 3


def test_two_columns_that_may_hold_items_are_not_guessed_between(tmp_path):
    path = written(tmp_path / "likes.csv", "user,movie,film\n1,10,alien\n")
    with refused("item", "ambiguous", kind=errors.DataError):
        Profiles.read(path)
    with refused("item", "another column", kind=errors.DataError):
        Profiles.read(path, item="user")


@pytest.mark.parametrize("name", ["likes.txt", "likes.csv", "likes.dat"])
@pytest.mark.parametrize(
    "text", ["1 2\n3 4\n", "7,8\n9,10\n", "dims 120 200\n1 2\n", "anna tea\nbob tea\n", "7\t8\t0.5\n"]
)
def test_without_names_of_columns_the_error_says_how_to_write_them(tmp_path, name, text):
    with refused("user", kind=errors.DataError) as found:
        Profiles.read(written(tmp_path / name, text))
    assert "such as user,item,weight" in str(found.error)
    assert not any(cell in str(found.error) for cell in "1279")


def test_a_header_may_be_longer_than_the_first_look(tmp_path):
    names = [f"column{number}" for number in range(20_000)]
    text = ",".join([*names, "user", "item"]) + "\n" + ",".join([*("x" for _ in names), "ann", "tea"]) + "\n"
    assert Profiles.read(written(tmp_path / "wide.csv", text)).profile("ann") == {"tea": 1.0}


# Weights.


@pytest.mark.parametrize("name", ["weight", "Weight", "weights", "privacy_weight"])
def test_a_column_of_weights_is_never_overlooked(tmp_path, name):
    path = written(tmp_path / "likes.csv", f"user,item,{name},care\n1,10,0.5,0.25\n")
    assert Profiles.read(path).profile(1) == {10: 0.5}
    assert open_pairs(path, PairOptions()).weights == f"column {name!r}"
    assert Profiles.read(path, weight="care").profile(1) == {10: 0.25}
    assert Profiles.read(path, weight=False).profile(1) == {10: 1.0}
    assert Profiles.from_frame(pd.read_csv(path)).profile(1) == {10: 0.5}


@pytest.mark.parametrize("cell", ["", "nan", "2", "-1", "1e400", "strict", "None", "x" * 2_000_000])
@pytest.mark.parametrize("default", [None, 0.75])
def test_no_single_weight_is_a_reason_to_refuse(tmp_path, cell, default):
    path = written(tmp_path / "likes.csv", f"user,item,weight\n1,a,0.1\n1,b,{cell}\n2,a,1\n")
    profiles = Profiles.read(path, default_weight=default)
    assert profiles.profile(1) == {"a": 0.1, "b": (default or 0) if cell == "" else 0}
    assert profiles.profile(2) == {"a": 1}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_weights_of_frames(make):
    frame = make({"user": [1, 1, 2], "item": ["a", "b", "a"], "weight": [0.1, None, 1.0]})
    assert Profiles.from_frame(frame).profile(1) == {"a": 0.1, "b": 0.0}
    assert Profiles.from_frame(frame, default_weight=0.5).profile(1) == {"a": 0.1, "b": 0.5}


def test_cells_never_decide_whether_a_column_holds_weights_but_its_type_does(tmp_path):
    path = written(tmp_path / "plays.csv", "user,item,weight\n1,a,17\n2,b,1383\n")
    assert (Profiles.read(path).weights == 0).all()
    assert (Profiles.read(path, weight=False).weights == 1).all()
    with refused("weight", "numbers", kind=errors.DataError):
        Profiles.from_frame(pa.table({"user": [1], "item": [2], "weight": [[0.5]]}))


def test_a_default_weight_without_weights_is_not_overlooked(tmp_path):
    """Otherwise items that were meant to weigh a half would weigh one."""
    with refused("weight", "required", kind=errors.DataError):
        Profiles.from_frame(pd.DataFrame({"user": [1], "item": [2]}), default_weight=0.5)
    with refused("weight", "required", kind=errors.DataError):
        Profiles.read(written(tmp_path / "x.csv", "user,item\n1,2\n"), default_weight=0.5)


def test_remarks_are_the_same_whatever_the_rows_hold(tmp_path):
    plain = written(tmp_path / "a.csv", "user,item,weight,age\n1,a,1,3\n")
    odd = written(tmp_path / "b.csv", b"user,item,weight,age\n\xff,a,,3\n1,,7,3\n1,a,1,3\n1,a,0,3\n")
    said = open_pairs(plain, PairOptions()).remarks
    assert said == open_pairs(odd, PairOptions()).remarks
    assert any("weight 0" in remark for remark in said)
    assert any("smallest weight" in remark for remark in said)
    assert "Columns that are not read: age." in said
    filled = open_pairs(plain, PairOptions(default_weight=0.5)).remarks
    assert any("0.5" in remark for remark in filled)


def test_a_repeated_pair_keeps_its_smallest_weight_whatever_its_ratings(tmp_path):
    text = "user,item,weight,rating\n1,a,0.75,5\n1,a,0.5,1\n1,a,1,4\n1,b,1,1\n2,a,0,1\n2,a,1,5\n"
    path = written(tmp_path / "r.csv", text)
    assert Profiles.read(path).profile(1) == {"a": 0.5, "b": 1.0}
    liked = Profiles.read(path, min_rating=4)
    assert (liked.profile(1), liked.profile(2)) == ({"a": 0.5}, {"a": 0.0})
    assert Profiles.from_frame(pd.read_csv(path), min_rating=4) == liked
    pairs = Profiles.from_pairs([1, " 1", 2], ["a", "a", "a"], weights=[0.5, 0.25, 1])
    assert pairs.profile(1) == {"a": 0.25}


# Odd rows.

ODD_ROWS = {
    "bytes as user": b"\xff,tea,0\n",
    "bytes as item": b"ann,\xff\xfe,0\n",
    "bytes as weight": b"ann,tea,\xff\n",
    "no user": b",tea,0\n",
    "no item": b"ann,,0\n",
    "nothing": b",,\n",
    "blank user": b'" ",tea,0\n',
    "huge item": b"ann," + b"x" * 3_000_000 + b",0\n",
    "huge user": b"y" * 3_000_000 + b",tea,0\n",
    "text among numbers": b"ann,tea,0\n",
}


@pytest.mark.parametrize("odd", ODD_ROWS)
@pytest.mark.parametrize("block", [None, 64])
def test_an_odd_row_loses_no_other_row(tmp_path, monkeypatch, odd, block):
    if block:
        monkeypatch.setattr(formats, "_BLOCK", block)
    rows = b"user,item,weight\nann,jazz,1\n" + ODD_ROWS[odd] + b"bob,jazz,0.5\n"
    profiles = Profiles.read(written(tmp_path / "likes.csv", rows))
    counting = profiles.keep(profiles.weights > 0)
    assert (counting.profile("ann"), counting.profile("bob")) == ({"jazz": 1.0}, {"jazz": 0.5})


def test_a_row_of_weight_0_tells_nothing_by_what_else_is_in_it(tmp_path):
    """Whoever is listed stays listed, and in the same order, whatever their rows of weight 0 hold."""
    found = []
    for cells in (b"cleo,tea,0,5", b"cleo,\xff,0,5", b"cleo,,0,", b"cleo,7,0,1", b"cleo,jazz,0,good"):
        rows = b"user,item,weight,rating\nann,jazz,1,5\n" + cells + b"\nbob,jazz,0.5,4\n"
        path = written(tmp_path / "likes.csv", rows)
        for options in ({}, {"min_rating": 4}):
            profiles = Profiles.read(path, **options)
            found.append((profiles.user_ids.tolist(), str(profiles.keep(profiles.weights > 0).to_pairs())))
    assert found == [found[0]] * len(found)
    assert found[0][0] == ["ann", "bob", "cleo"]


def test_frames_with_odd_cells():
    frame = pd.DataFrame({"user": [1, "ann", None, 2.5], "item": ["a", 7, "b", b"c"], "weight": [1, "x", 0.5, None]})
    profiles = Profiles.from_frame(frame)
    assert profiles.user_ids.tolist() == ["1", "2.5", "ann"]
    assert (profiles.profile(1), profiles.profile("ann"), profiles.profile("2.5")) == ({"a": 1}, {"7": 0}, {"c": 0})
    gaps = pd.DataFrame({"user": [1, None, 3], "item": [5, 6, None]})
    assert pairs_of(Profiles.from_frame(gaps)) == {(1, 5)}


def test_columns_that_are_not_read_may_be_in_another_encoding(tmp_path):
    path = written(tmp_path / "likes.csv", "user,item,title\nann,tea,caf\u00e9\n".encode("latin-1"))
    assert Profiles.read(path).profile("ann") == {"tea": 1.0}


def test_parquet_with_bytes_that_are_no_text(tmp_path):
    users = pa.array([b"ann", b"\xff", b"bob"]).view(pa.string())
    pq.write_table(pa.table({"user": users, "item": ["a", "b", "c"]}), tmp_path / "x.parquet")
    assert Profiles.read(tmp_path / "x.parquet").user_ids.tolist() == ["ann", "bob"]


# Files that cannot be read.


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b""),
        ("x.csv", b"\n\n"),
        ("x.csv", b"user,item\n"),
        ("x.csv", b"user,item\nanna,chai\nanna\n"),
        ("x.csv", b"user,item\n,chai\n"),
        ("x.csv", b"user,user,item\nanna,bob,chai\n"),
        ("x.csv", b"\xff\xfesecret,item\nanna,chai\n"),
        ("x.parquet", b"user,item\nanna,chai\n"),
        ("x.xlsx", b"PK\x03\x04\xff\xfe\x00anna"),
        ("x.csv.gz", b"\x1f\x8bnot really"),
        ("x.csv.gz", gzip.compress(b"user,item\n" + b"anna,chai\n" * 10_000)[:-9]),
        ("x.csv.bz2", bz2.compress(b"user,item\n" + b"anna,chai\n" * 10_000)[:-9]),
        ("x.csv.zst", b"user,item\nanna,chai\n"),
        ("ratings.dat", LENS_DAT.encode() + b"anna\n"),
        ("u.data", LENS_TABS.encode() + b"3\t10\n"),
    ],
)
def test_a_damaged_file_is_named_and_no_cell_is_quoted(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(errors.DataError) as caught:
        Profiles.read(path)
    assert name in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("anna", "chai", "secret"))
    assert caught.value.__cause__ is None


def test_other_files_that_cannot_be_read(tmp_path):
    with pytest.raises(errors.DataError, match=r"^File not found: .*nowhere.csv"):
        Profiles.read(tmp_path / "nowhere.csv")
    with refused("min_rating", "finite number"):
        Profiles.read(tmp_path / "nowhere.csv", min_rating=float("nan"))


def test_a_file_whose_pairs_do_not_fit_says_so(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    path = written(tmp_path / "x.csv", "user,item\n1,1\n")
    monkeypatch.setattr(PairCollector, "finish", full)
    with pytest.raises(errors.DataError, match=r"x\.csv does not fit into memory"):
        Profiles.read(path)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "12", "-4"], [-4, 3, 12]),
        (["007", "7", "12"], ["007", "12", "7"]),
        (["x", "1", "2"], ["1", "2", "x"]),
        (["1.0", "2", " 3"], [1, 2, 3]),
        (["1.5", "2.0"], ["1.5", "2"]),
        (["NA", "null", "nan"], ["NA", "nan", "null"]),
        (["99999999999999999999", "1"], ["1", "99999999999999999999"]),
        (["9223372036854775807", "0"], [0, 2**63 - 1]),
    ],
)
@pytest.mark.parametrize("block", [None, 12])
def test_ids_of_people_in_text_files(tmp_path, monkeypatch, ids, expected, block):
    if block:  # so small that each line is a batch: what looked like numbers may turn out to be text later
        monkeypatch.setattr(formats, "_BLOCK", block)
    profiles = Profiles.read(written(tmp_path / "x.csv", "user,item\n" + "".join(f"{user},a\n" for user in ids)))
    assert profiles.user_ids.tolist() == expected
    assert profiles.sizes.tolist() == [1] * len(ids)


def test_the_real_survey():
    if not SURVEY.is_file():
        pytest.skip(f"the survey data are not in {SURVEY}")
    profiles = Profiles.read(SURVEY)
    assert profiles.shape == (120, 200)
    assert profiles.sizes.mean() == 68
    assert profiles == Profiles.from_frame(pd.read_csv(SURVEY)) == Profiles.from_frame(pl.read_csv(SURVEY))


@pytest.mark.slow
def test_many_pairs_go_through_every_path_alike(tmp_path):
    """No time is asserted; a Python loop per pair would be felt by anyone who runs this."""
    generator = np.random.default_rng(5)
    keys = np.unique(generator.integers(0, 10**9, 300_000))
    generator.shuffle(keys)
    users, items = keys // 10_000, keys % 10_000
    profiles = Profiles.from_pairs(users, items)
    order = np.argsort(keys)
    assert np.array_equal(profiles.user_ids[profiles.owners], users[order])
    assert np.array_equal(profiles.item_ids[profiles.indices], items[order])
    frame = pl.DataFrame({"user": users, "item": items})
    frame.write_csv(tmp_path / "x.csv")
    frame.write_parquet(tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        assert Profiles.read(tmp_path / name) == profiles
    far_apart = Profiles.from_pairs(users * 10**12, items)  # hashed rather than tabulated
    assert np.array_equal(far_apart.indices, profiles.indices)


# Rows.


def test_of_repeated_pairs_the_smallest_weight_holds():
    merged = merge_pairs(np.array([3, 0, 3]), np.array([0.25, 1.0, 0.5]), (2, 2))
    assert [part.tolist() for part in merged] == [[0, 1, 2], [0, 1], [1.0, 0.25]]


def test_renamed_items_are_sorted_again_and_those_without_a_place_go():
    rows = np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32), np.array([0.1, 0.2, 0.3])
    renamed = rename_items(*rows, np.array([1, -1, 0], dtype=np.int32))
    assert [part.tolist() for part in renamed] == [[0, 2, 2], [0, 1], [0.2, 0.1]]


def test_weights_keep_their_precision():
    assert weight_vector(1, 2).dtype == np.float32
    assert weight_vector([0.1, 0.2], 2).tolist() == [0.1, 0.2]


@pytest.mark.parametrize("odd", [b"cat,x,0", b"cat,\xff,0", b"\xff,x,0", b"cat,x,none", b"cat,x,\xff", b"cat,x,7"])
def test_no_cell_of_weight_0_changes_the_weights_of_others(tmp_path, odd):
    """A block with bytes that are no UTF-8 is read another way; empty cells of others still take the default."""
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"user,item,weight\nann,tea,\nbob,tea,\n" + odd + b"\n")
    found = Profiles.read(path, default_weight=0.5)
    assert [found.profile(user) for user in ("ann", "bob")] == [{"tea": 0.5}, {"tea": 0.5}]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()])
def test_an_empty_text_is_empty_in_every_type(kind):
    weights = pa.array(["", "1"]).cast(pa.binary()).cast(kind)
    frame = pa.table({"user": ["ann", "bob"], "item": ["tea", "tea"], "weight": weights})
    assert Profiles.from_frame(frame, default_weight=0.5).weights.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("rating", [1, 5])
def test_no_row_of_a_pair_of_weight_0_decides_whether_a_file_is_read(tmp_path, rating):
    path = tmp_path / "pairs.csv"
    path.write_text(f"user,item,rating,weight\nann,tea,1,1\ncat,x,{rating},1\ncat,x,5,0\n")
    assert Profiles.read(path, min_rating=4).weights.tolist() == [0.0]


def test_declared_items_are_compared_with_merged_pairs():
    found = Profiles.from_pairs([1, 2, 2], ["a", "x", "x"], [1, 0, 1], item_ids=["a"])  # the pair (2, x) weighs 0
    assert found.n_pairs == 1
    with refused("item_ids", "private: 1 of 2"):
        Profiles.from_pairs([1, 2, 2], ["a", "x", "x"], [1, 0.5, 1], item_ids=["a"])


@pytest.mark.parametrize("cell", ["\ud800", None, float("nan"), 1.5, 10**30, True], ids=repr)
def test_one_odd_id_does_not_turn_texts_into_numbers(cell):
    found = Profiles.from_pairs(["10", "9", "9"], ["10", "9", cell], [1, 1, 0])
    assert {"10", "9"} <= set(found.item_ids.tolist())


@pytest.mark.parametrize(
    "cell", ["x", "\ud800secret", np.array([1, 2]), pd.NA, object()], ids=lambda cell: type(cell).__name__
)
def test_a_weight_that_is_any_object_counts_as_0(cell):
    frame = pd.DataFrame({"user": list("ab"), "item": list("xy"), "weight": pd.Series([1, cell], dtype=object)})
    assert Profiles.from_frame(frame).weights.tolist() == [1.0, 0.0]


def test_a_number_of_thousands_of_digits_is_no_id_and_no_weight():
    huge = 10**5000
    frame = pd.DataFrame({"user": list("ab"), "item": ["x", huge], "weight": pd.Series([1, huge], dtype=object)})
    found = Profiles.from_frame(frame)
    assert (found.n_users, found.n_pairs) == (2, 1)
