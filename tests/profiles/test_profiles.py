"""Sparse profiles: every way in, every way out, and what is refused on the way."""

import copy
import gzip
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, strategies as st
from scipy import sparse

from hetdp import errors
from hetdp.profiles import PrivacyWeights, Profiles
from hetdp.profiles import formats as files
from hetdp.profiles.reading import PairCollector

SURVEY = Path(__file__).parents[3] / "shared" / "data" / "survey" / "survey.csv.gz"

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=4)
numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)
weights = st.floats(0, 1, allow_subnormal=False)


def pairs_of(ids):
    return st.dictionaries(st.tuples(ids, ids), weights, min_size=1, max_size=30)


some_pairs = pairs_of(texts) | pairs_of(numbers)


def built(pairs):
    return Profiles.from_pairs(*columns(pairs))


def columns(pairs):
    return [user for user, _ in pairs], [item for _, item in pairs], list(pairs.values())


def as_dict(profiles):
    users, items, values = profiles.to_pairs()
    return {(u, i): v for u, i, v in zip(users.tolist(), items.tolist(), values.tolist(), strict=True)}


@given(some_pairs)
def test_pairs_survive_with_their_ids_and_weights(pairs):
    profiles = built(pairs)
    assert as_dict(profiles) == pairs
    assert profiles.n_pairs == len(pairs)
    assert profiles.user_ids.tolist() == sorted({user for user, _ in pairs})
    assert profiles.item_ids.tolist() == sorted({item for _, item in pairs})
    assert Profiles.from_pairs(*profiles.to_pairs()) == profiles
    for user, item in pairs:
        assert profiles.profile(user)[item] == pairs[user, item]


@given(some_pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(pairs, random):
    shuffled = list(pairs.items())
    random.shuffle(shuffled)
    assert built(dict(shuffled)) == built(pairs)


@given(some_pairs)
def test_matrices_survive(pairs):
    profiles = built(pairs)
    presence, values = profiles.to_csr()
    again = Profiles.from_csr(presence, values, user_ids=profiles.user_ids, item_ids=profiles.item_ids)
    assert again == profiles
    values.eliminate_zeros()  # what is not stored weighs 0
    assert Profiles.from_csr(presence, values, profiles.user_ids, profiles.item_ids) == profiles
    assert presence.sum() == profiles.n_pairs
    presence.data[:] = 7  # copies: the profiles stay as they were
    assert profiles == again


@given(some_pairs)
def test_the_constructor_and_pickles_give_the_same_back(pairs):
    profiles = built(pairs)
    parts = (profiles.indptr, profiles.indices, profiles.weights, profiles.user_ids, profiles.item_ids)
    for other in (Profiles(*parts), pickle.loads(pickle.dumps(profiles)), copy.deepcopy(profiles)):  # noqa: S301
        assert other == profiles
        assert hash(other) == hash(profiles)
        assert not other.weights.flags.writeable


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, lambda columns: pd.DataFrame(columns).astype("category")],
    ids=["pandas", "polars", "polars lazy", "arrow", "pandas categories"],
)
@pytest.mark.parametrize("ids", [["ann", "ann", "bob"], [3, 3, -1]], ids=["texts", "numbers"])
def test_frames_of_every_library(make, ids, weighted):
    data = {"user": ids, "item": ["b", "a", "b"], "age": [1.5, 2.5, 3.5]}
    given_weights = [0.25, 1.0, 0.5] if weighted else None
    frame = make(data)
    if weighted:
        frame = pl.LazyFrame(data | {"weight": given_weights}) if isinstance(frame, pl.LazyFrame) else frame
        if isinstance(frame, pd.DataFrame):
            frame = frame.assign(weight=given_weights)
        elif not isinstance(frame, pl.LazyFrame):
            frame = make(data | {"weight": given_weights})
    assert Profiles.from_frame(frame) == Profiles.from_pairs(ids, data["item"], given_weights)


def test_columns_can_have_any_name_and_a_weight_column_is_never_overlooked():
    frame = pd.DataFrame({"who": [1], "what": [2], "weight": [0.5], "strictness": [0.25]})
    assert Profiles.from_frame(frame, user="who", item="what").profile(1) == {2: 0.5}
    assert Profiles.from_frame(frame, user="who", item="what", weight="strictness").profile(1) == {2: 0.25}
    assert Profiles.from_frame(frame, user="who", item="what", weight=False).profile(1) == {2: 1.0}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "txt"])
def test_what_was_taken_for_weights_is_named_and_can_be_ignored(tmp_path, ending):
    path = tmp_path / f"plays.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"user": [1, 2], "item": ["a", "b"], "weight": [17, 1]}), path)
    else:
        write(path, "user item weight\n1 a 17\n2 b 1\n".replace(" ", {"csv": ",", "tsv": "\t", "txt": " "}[ending]))
    taken = "the third column" if ending == "txt" else "column 'weight'"
    with pytest.raises(
        errors.DataError, match=r"weights must lie in \[0, 1\]. Got others .private: 1 of 2. in "
    ) as caught:
        Profiles.read(path)
    by = "place" if ending == "txt" else "name"
    assert f"{taken} instead. It was taken for privacy weights by its {by}" in str(caught.value)
    assert "weight=False (--no-weights)" in str(caught.value)
    assert "17" not in str(caught.value)
    assert Profiles.read(path, weight=False) == Profiles.from_pairs([1, 2], ["a", "b"])


def test_a_column_that_was_named_is_not_called_a_guess():
    frame = pd.DataFrame({"user": [1], "item": [2], "plays": [17]})
    with pytest.raises(errors.InvalidInput, match=r"[(]got others .private: 1 of 1. in column 'plays'[)]\.$"):
        Profiles.from_frame(frame, weight="plays")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_weights_are_filled_only_when_told(tmp_path, make):
    expected = Profiles.from_pairs([1, 1, 2], ["a", "b", "a"], [0.1, 0.5, 1.0])
    frame = make({"user": [1, 1, 2], "item": ["a", "b", "a"], "weight": [0.1, None, 1.0]})
    path = write(tmp_path / "x.csv", "user,item,weight\n1,a,0.1\n1,b,\n2,a,1\n")
    for read, source in ((Profiles.from_frame, frame), (Profiles.read, path)):
        assert read(source, default_weight=0.5) == expected
        with pytest.raises(
            errors.InvalidInput,
            match=r"weights must not be missing. Got empty cells \(private: 1 of 3\).*default_weight",
        ):
            read(source)
        with pytest.raises(errors.InvalidInput, match=r"default_weight must lie in \[0, 1\] [(]got 2[)]"):
            read(source, default_weight=2)
        with pytest.raises(errors.InvalidInput, match=r"default_weight must come with a column of weights"):
            read(source, default_weight=0.5, weight=False)


def test_a_default_weight_without_weights_is_not_overlooked(tmp_path):
    """Otherwise items that were meant to weigh a half would weigh one."""
    frame = pd.DataFrame({"user": [1], "item": [2]})
    with pytest.raises(errors.DataError, match="frame must have a column of weights for default_weight to count"):
        Profiles.from_frame(frame, default_weight=0.5)
    for name, text in {"x.csv": "user,item\n1,2\n", "x.txt": "1 2\n"}.items():
        with pytest.raises(errors.DataError, match=f"{name} must have a column of weights for default_weight to count"):
            Profiles.read(write(tmp_path / name, text), default_weight=0.5)


@pytest.mark.parametrize(
    "column", [pd.Series, pl.Series, pa.array, np.array, tuple, lambda x: pa.chunked_array([x, []])]
)
def test_columns_of_every_kind(column):
    profiles = Profiles.from_pairs(column(["x", "y"]), column([5, 6]), column([0.5, 1.0]))
    assert as_dict(profiles) == {("x", 5): 0.5, ("y", 6): 1.0}
    assert Profiles.from_pairs(np.array([1], dtype=np.uint8), np.array(["é"])).profile(1) == {"é": 1.0}


def test_repeated_pairs_are_merged_and_counted():
    with pytest.warns(errors.HetdpWarning, match=r"^2 repeated pairs were merged; the largest weight") as caught:
        profiles = Profiles.from_pairs([1, 1, 1, 2], ["a", "a", "a", "a"], weights=[0.5, 0.75, 0.25, 0.1])
    assert as_dict(profiles) == {(1, "a"): 0.75, (2, "a"): 0.1}
    assert "0.75" not in str(caught[0].message)
    assert caught[0].filename == __file__
    with pytest.warns(errors.HetdpWarning, match="1 repeated pair was merged"):
        assert Profiles.from_pairs([1, 1], ["a", "a"]).n_pairs == 1
    twice = sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 1))
    with pytest.warns(errors.HetdpWarning, match="1 repeated pair was merged"):
        assert Profiles.from_csr(twice).n_pairs == 1


def test_users_without_items_and_items_without_users():
    profiles = Profiles.from_pairs(["b"], ["y"], user_ids=["c", "b", "a"], item_ids=["z", "y"])
    assert profiles.user_ids.tolist() == ["c", "b", "a"]
    assert profiles.sizes.tolist() == [0, 1, 0]
    assert profiles.popularity.tolist() == [0, 1]
    assert profiles.profile("a") == {}
    assert profiles.density == pytest.approx(1 / 6)
    assert profiles.owners.tolist() == [1]
    nobody = Profiles.from_pairs([], [])
    assert repr(nobody) == "Profiles(private: 0 users, 0 items, 0 pairs)"
    assert nobody.density == 0
    assert nobody == Profiles.from_csr(sparse.csr_array((0, 0)))
    nothing = Profiles.from_pairs([], [], user_ids=["a", "b"], item_ids=range(3))
    assert (nothing.n_users, nothing.n_items, nothing.n_pairs) == (2, 3, 0)
    assert Profiles.from_csr(*nothing.to_csr(), ["a", "b"]) == nothing


def test_nothing_secret_is_shown_and_nothing_can_be_changed():
    profiles = Profiles.from_pairs(["secretive"] * 1200, range(1200), weights=0.123)
    assert repr(profiles) == str(profiles) == "Profiles(private: 1 user, 1,200 items, 1,200 pairs)"
    with pytest.raises(AttributeError):
        profiles.weights = None
    for part in (profiles.indptr, profiles.indices, profiles.weights, profiles.user_ids, profiles.item_ids):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0
    source = np.array([0.5])
    kept = Profiles.from_pairs([1], [1], source)
    source[0] = 1
    assert kept.profile(1) == {1: 0.5}


@given(pairs=some_pairs, data=st.data())
def test_rows_are_people_with_all_they_have(pairs, data):
    profiles = built(pairs)
    assert profiles.shape == (profiles.n_users, profiles.n_items)
    places = data.draw(st.lists(st.integers(0, profiles.n_users - 1), unique=True))
    for rows in (np.array(places, dtype=np.int64), (np.array(places, dtype=np.int64), Ellipsis)):
        some = profiles[rows]
        assert some.user_ids.tolist() == profiles.user_ids[places].tolist()
        assert some.item_ids.tolist() == profiles.item_ids.tolist()
        assert [some.profile(user) for user in some.user_ids] == [profiles.profile(user) for user in some.user_ids]
    assert profiles[:] == profiles[np.ones(profiles.n_users, dtype=bool)] == profiles
    assert profiles[0].user_ids.tolist() == profiles.user_ids[:1].tolist()
    with pytest.raises(IndexError):
        _ = profiles[profiles.n_users]


def test_profiles_compare_by_value():
    one = Profiles.from_pairs([1, 2], ["a", "b"])
    assert one == Profiles.from_pairs([2, 1], ["b", "a"], weights=1.0)
    assert one != one.with_weights(0.5)
    assert one != Profiles.from_pairs(["1", "2"], ["a", "b"])
    assert one != Profiles.from_pairs([1, 2], ["a", "b"], user_ids=[1, 2, 3])
    assert one != "profiles"


def test_weights_are_never_rounded_up():
    """In float32, 0.1 would become slightly more than what its owner allowed."""
    profiles = Profiles.from_pairs([1], [1])
    assert profiles.weights.dtype == np.float32
    assert profiles.with_weights(0.1).weights[0] == 0.1
    assert profiles.with_weights(np.array([0.1], dtype=np.float32)).weights.dtype == np.float32
    assert profiles.with_weights(PrivacyWeights([0.25])).weights.tolist() == [0.25]
    assert not np.signbit(profiles.with_weights([-0.0]).weights[0])
    assert profiles.with_weights([True]).weights.tolist() == [1]


@pytest.mark.parametrize(
    "bad", [[1.5, 1], [-0.25, 1], [float("nan"), 1], [0.5, None], ["0.375", 1], ["secret", 1], [float("inf"), 0]]
)
def test_bad_weights_are_refused_without_showing_them(bad):
    with pytest.raises(errors.InvalidInput, match=r"^weights must .* instead( \(private: 1 of 2\))?\.$") as caught:
        Profiles.from_pairs([1, 2], [1, 2], bad)
    assert not any(secret in str(caught.value) for secret in ("1.5", "0.25", "0.375", "secret", "inf"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Profiles.from_pairs([1.0], [1]), "user ids must be texts or whole numbers [(]got double[)]"),
        (lambda: Profiles.from_pairs([1], np.array([1.5])), "item ids must be texts or whole numbers. Got double"),
        (lambda: Profiles.from_pairs([1, None], [1, 1]), "user ids must not be missing or empty [(]got 1 such[)]"),
        (lambda: Profiles.from_pairs(["", "a"], [1, 1]), "user ids must not be missing or empty [(]got 1 such[)]"),
        (lambda: Profiles.from_pairs([1, "ann"], [1, 1]), "user ids must be all texts or all whole numbers"),
        (lambda: Profiles.from_pairs([True], [1]), "user ids must be texts or whole numbers [(]got bool[)]"),
        (lambda: Profiles.from_pairs([b"a"], [1]), "user ids must be texts or whole numbers [(]got binary[)]"),
        (lambda: Profiles.from_pairs([2**64], [1]), r"user ids must be all texts or all whole numbers below 2\*\*63"),
        (lambda: Profiles.from_pairs(np.array([2**63], np.uint64), [1]), r"user ids must be below 2\*\*63"),
        (lambda: Profiles.from_pairs(np.ones((2, 2), int), [1]), r"user ids must be a vector. Got shape \(2, 2\)"),
        (lambda: Profiles.from_pairs([1, 2], [1]), r"items must be as many as users \(2\) [(]got 1[)]"),
        (lambda: Profiles.from_pairs([1], [1], [1, 1]), r"weights must be one per pair \(1\). Got shape \(2,\)"),
        (
            lambda: Profiles.from_pairs([1, 9], [1, 1], user_ids=[1]),
            "user ids must be among .* Got 1 of 2 that are not",
        ),
        (lambda: Profiles.from_pairs([1], [1], user_ids=["1"]), "One side is text, the other whole numbers"),
        (lambda: Profiles.from_pairs([1], [1], item_ids=[1, 1]), "item_ids must all be different. Got 1 repeated"),
        (lambda: Profiles.from_csr([[1]]), "matrix must be a scipy sparse matrix [(]got list[)]"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), user_ids=["a"]), r"must fit the matrix \(2 x 2\). Got 1 and 2"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), sparse.eye_array(3)), "weights must be 2 x 2. Got 3 x 3"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), 2 * sparse.eye_array(2)), r"private: 2 of 2"),
        (
            lambda: Profiles.from_csr(sparse.eye_array(2), sparse.csr_array([[1, 1], [0, 1]])),
            "weights must belong to pairs that exist. Got 1 of other pairs",
        ),
        (lambda: Profiles.from_pairs([1], [1]).profile(2), "user must be one of the 1 users [(]got 2[)]"),
        (lambda: Profiles.from_pairs([1], [1]).profile("1"), "user must be one of the 1 users [(]got '1'[)]"),
        (
            lambda: Profiles.from_pairs([1], [1]).keep(np.array([1])),
            r"chosen must be one bool per pair \(1\). Got int64",
        ),
        (lambda: Profiles.from_frame({"user": [1]}), "frame must be a pandas, polars or arrow table. Got dict"),
        (lambda: Profiles.from_frame(pd.DataFrame({"user": [1]})), "must have a column 'item'. Got the columns 'user'"),
        (lambda: Profiles.from_frame(pd.DataFrame()), "must have a column 'user'. Got the columns no column at all"),
        (lambda: Profiles.from_frame(pl.DataFrame({"user": [1]}), item="user"), "must be different columns"),
        (
            lambda: Profiles.from_frame(pa.table({"user": [1], "item": [1]}), weight="weight"),
            "must have a column 'weight'",
        ),
        (lambda: Profiles.from_frame(pd.DataFrame({"user": [1, "ann"], "item": 1})), "[(]got a mixed column[)]"),
        (lambda: Profiles.from_frame(pd.DataFrame({"user": [1, None], "item": 1})), "A missing id turns whole numbers"),
        (lambda: Profiles.from_frame(pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"])), "column"),
        (lambda: Profiles([0, 2], [1, 0], [1, 1], ["a"], ["x", "y"]), "indices must be sorted and different"),
        (lambda: Profiles([0, 2], [1, 1], [1, 1], ["a"], ["x", "y"]), "indices must be sorted and different"),
        (lambda: Profiles([0, 1], [2], [1], ["a"], ["x", "y"]), "indices must be >= 0 and below the number of items"),
        (lambda: Profiles([0, 2], [1], [1], ["a"], ["x", "y"]), "indptr must rise from 0 to the number of pairs"),
        (lambda: Profiles([0], [], [], ["a"], []), "indptr must hold one whole number more"),
        (lambda: Profiles([0, 1], [0.5], [1], ["a"], ["x"]), "indices must be a vector of whole numbers"),
    ],
)
def test_bad_input_is_explained(call, message):
    with pytest.raises(errors.InvalidInput, match=message) as caught:
        call()
    assert "ann" not in str(caught.value)


def write(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


EXPECTED = Profiles.from_pairs([10, 10, 2], ["tea", "jazz", "tea"], [0.5, 1.0, 0.0])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "user,item,weight\n10,tea,0.5\n10,jazz,1\n2,tea,0\n"),
        ("x.CSV", "\ufeffage,weight,user,item\r\n1,0.5,10,tea\r\n2,1,10,jazz\r\n3,0,2,tea\r\n"),
        ("x.csv.gz", 'user,item,weight\n10,"tea",0.5\n10,jazz,1\n2,tea,0'),
        ("x.tsv", "user\titem\tweight\n10\ttea\t0.5\n10\tjazz\t1\n2\ttea\t0\n"),
        ("x.txt", "10 tea 0.5\n10 jazz 1\n2 tea 0\n"),
        ("x.dat", "\ufeff# a comment\n\nuser item weight\n  10\ttea   0.5 \r\n10 jazz 1\r\n\r\n2 tea 0"),
        ("x.txt.gz", "10 tea 0.5\n10 jazz 1\n2 tea 0\n"),
        ("x", "10 tea 0.5\n10 jazz 1\n2 tea 0\n"),
        ("x.pairs", "# no final line break\n10 tea 0.5\n10 jazz 1\n2 tea 0"),
    ],
)
@pytest.mark.parametrize("block", [None, 40])
def test_text_files(tmp_path, monkeypatch, name, text, block):
    if block:
        monkeypatch.setattr(files, "_BLOCK", block)
    assert Profiles.read(write(tmp_path / name, text)) == EXPECTED
    assert Profiles.read(str(tmp_path / name)) == EXPECTED


def test_a_file_of_one_line(tmp_path):
    assert Profiles.read(write(tmp_path / "x.txt", "7 8")).profile(7) == {8: 1.0}


@given(some_pairs)
def test_parquet_files_survive(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / "pairs.parquet"
    pq.write_table(pa.table(dict(zip(("user", "item", "weight"), columns(pairs), strict=True))), path)
    assert Profiles.read(path) == built(pairs)


@given(pairs=some_pairs, block=st.sampled_from([2**10, 2**26]))
def test_csv_files_survive(tmp_path_factory, pairs, block):
    """Texts that look like numbers become numbers; nothing else changes."""
    path = tmp_path_factory.getbasetemp() / "pairs.csv"
    frame = pd.DataFrame(dict(zip(("user", "item", "weight"), columns(pairs), strict=True)))
    assume(
        not any("." in str(name) for column in ("user", "item") for name in frame[column])
    )  # numbers with it: refused
    frame.to_csv(path, index=False, quoting=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_BLOCK", block)
        profiles = Profiles.read(path, user_ids=sorted(set(frame["user"])), item_ids=sorted(set(frame["item"])))
    assert profiles == built(pairs)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "12", "-4"], [-4, 3, 12]),
        (["007", "7", "12"], ["007", "12", "7"]),
        (["1", "2", "x"], ["1", "2", "x"]),
        (["x", "1", "2"], ["1", "2", "x"]),
        (["1.5", "x", "2"], ["1.5", "2", "x"]),
        (["NA", "null", "nan"], ["NA", "nan", "null"]),
        (["99999999999999999999", "1"], ["1", "99999999999999999999"]),
        (["9223372036854775807", "0"], [0, 2**63 - 1]),
    ],
)
@pytest.mark.parametrize("block", [None, 12])
def test_ids_in_text_files_are_numbers_only_if_nothing_is_lost(tmp_path, monkeypatch, ids, expected, block):
    if block:  # so small that each line is a batch: what looked like numbers may turn out to be text later
        monkeypatch.setattr(files, "_BLOCK", block)
    profiles = Profiles.read(write(tmp_path / "x.txt", "".join(f"{user} a\n" for user in ids)))
    assert profiles.user_ids.tolist() == expected
    assert profiles.sizes.tolist() == [1] * len(ids)


@pytest.mark.parametrize("line", ["dims 3 5", "# dims 3 5", "DIMS: 3 x 5", "% dims=3,5"])
@pytest.mark.parametrize(("pairs", "first"), [("1 5\n3 2\n", 1), ("0 4\n2 1\n", 0)])
def test_a_dims_line_declares_users_and_items(tmp_path, line, pairs, first):
    profiles = Profiles.read(write(tmp_path / "x.txt", f"{line}\n{pairs}"))
    assert profiles.user_ids.tolist() == [first, first + 1, first + 2]
    assert profiles.n_items == 5
    assert profiles.sizes.tolist() == [1, 0, 1]
    assert Profiles.read(tmp_path / "x.txt", user_ids=range(9)).n_users == 9


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "", "x.csv must hold at least one pair"),
        ("x.csv.gz", "", "x.csv.gz must hold at least one pair"),
        ("x.csv", "user,item\n", "x.csv must hold at least one pair"),
        ("x.txt", "dims 3 4\n", "x.txt must hold at least one pair"),
        ("x.csv", "user,film\nann,chai\n", "x.csv must have a column 'item' [(]got the columns 'user', 'film'[)]"),
        (
            "x.csv",
            "user;item\nann;chai\n",
            r"separator a semicolon\? Save it with commas.*pandas.read_csv\('OLD.csv', sep=';'",
        ),
        (
            "x.csv",
            "user\titem\nann\tchai\n",
            r"separator a tab\? Save it with commas.*pandas.read_csv\('OLD.csv', sep='\\t'",
        ),
        ("x.csv", "user,user,item\nann,bob,chai\n", "x.csv must have one column 'user' [(]got 2[)]"),
        ("x.csv", "user,item\nann,chai\nann\n", r"x.csv must be a readable .csv file \(UTF-8, rows as long as"),
        (
            "x.csv",
            "user,item\n1.0,chai\n2.5,chai\n",
            "x.csv: user ids must be texts or whole numbers. Got numbers with a",
        ),
        ("x.csv", "user,item\n,chai\nann,chai\n", "x.csv: user ids must not be missing or empty. Got 1 such"),
        (
            "x.csv",
            "user,item,weight\nann,chai,0.125\nann,jazz,1.125\n",
            r"x.csv: weights must lie in \[0, 1\]. Got others \(private: 1 of 2",
        ),
        ("x.csv", "user,item,weight\nann,chai,nan\n", "x.csv: weights must not be missing. Got empty cells"),
        ("x.csv", "user,item,weight\nann,chai,strict\n", "x.csv: weights must be numbers in"),
        (
            "x.csv",
            "user,item,weight\nann,chai,\n",
            "x.csv: weights must not be missing. Got empty cells .private: 1 of 1. in column 'weight'",
        ),
        ("x.parquet", "user,item\nann,chai\n", "x.parquet must be a readable parquet file. Got something else"),
        ("x.txt", "ann chai\nann\n", "x.txt must be a readable text file .*a line 'user item'"),
        ("x.txt", "ann chai 1 5\n", "x.txt must be a readable text file .*a line 'user item'"),
        ("x.txt", "ann\nbob\n", "x.txt must be a readable text file .*a line 'user item'"),
        ("x.txt", "dims 1 1\n5 5\n", "x.txt: user ids must be among those declared .*dims line.* Got 1 of 1"),
        ("x.txt", "dims 1 1\nann 1\n", "One side is text"),
        ("x.xlsx", "ann chai\n", "the name of the data file must end in .csv, .tsv, .parquet, .* [(]got 'x.xlsx'[)]"),
    ],
)
def test_bad_files_are_explained_without_quoting_them(tmp_path, name, text, message):
    with pytest.raises(errors.DataError, match=message) as caught:
        Profiles.read(write(tmp_path / name, text))
    assert not any(secret in str(caught.value) for secret in ("ann", "chai", "1.125", "2.5", "strict"))
    assert caught.value.__cause__ is None


def test_files_that_cannot_be_read_at_all(tmp_path):
    with pytest.raises(errors.DataError, match=r"the data file must exist\. Got .*nowhere\.csv"):
        Profiles.read(tmp_path / "nowhere.csv")
    broken = tmp_path / "x.csv.gz"
    broken.write_bytes(gzip.compress(b"user,item\n" + b"1,2\n" * 10_000)[:40])
    with pytest.raises(errors.DataError, match=r"x\.csv\.gz must be a whole gzip file\. Got one that is damaged"):
        Profiles.read(broken)
    latin = tmp_path / "x.csv"
    latin.write_bytes(b"user,item\n\xe9,1\n")
    with pytest.raises(errors.DataError, match=r"x\.csv must be a readable \.csv file"):
        Profiles.read(latin)


def test_a_file_whose_pairs_do_not_fit_says_so(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(PairCollector, "add", full)
    with pytest.raises(errors.DataError, match=r"x\.txt must fit in memory as profiles"):
        Profiles.read(write(tmp_path / "x.txt", "1 1\n"))


def test_real_survey():
    if not SURVEY.is_file():
        pytest.skip(f"the survey data are not in {SURVEY}")
    profiles = Profiles.read(SURVEY)
    assert repr(profiles) == "Profiles(private: 120 users, 200 items, 8,160 pairs)"
    assert profiles.sizes.mean() == 68
    assert profiles.user_ids.tolist() == list(range(1, 121))
    assert profiles == Profiles.from_frame(pd.read_csv(SURVEY)) == Profiles.from_frame(pl.read_csv(SURVEY))
    assert profiles == Profiles.from_csr(*profiles.to_csr(), profiles.user_ids, profiles.item_ids)


@pytest.mark.slow
def test_a_million_pairs_go_through_every_path_alike(tmp_path):
    """No time is asserted; a Python loop per pair would be felt by whoever runs this."""
    generator = np.random.default_rng(5)
    keys = np.unique(generator.integers(0, 10**9, 1_000_000))
    generator.shuffle(keys)
    users, items = keys // 10_000, keys % 10_000
    profiles = Profiles.from_pairs(users, items)
    order = np.argsort(keys)
    assert np.array_equal(profiles.user_ids[profiles.owners], users[order])
    assert np.array_equal(profiles.item_ids[profiles.indices], items[order])
    frame = pl.DataFrame({"user": users, "item": items})
    frame.write_csv(tmp_path / "x.csv")
    frame.write_parquet(tmp_path / "x.parquet")
    frame.write_csv(tmp_path / "x.txt", separator=" ", include_header=False)
    for name in ("x.csv", "x.parquet", "x.txt"):
        assert Profiles.read(tmp_path / name) == profiles
    far_apart = Profiles.from_pairs(users * 10**12, items)  # hashed rather than tabulated
    assert np.array_equal(far_apart.indices, profiles.indices)


def test_importing_and_building_loads_no_frame_library():
    script = (
        "import sys, hetdp.profiles as p\n"
        "heavy = {'pandas', 'polars', 'pyarrow', 'scipy', 'narwhals'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "p.Profiles.from_pairs([1], ['a']).with_weights(0.5)\n"
        "print(sorted((heavy - {'pyarrow', 'pandas'}) & set(sys.modules)))"  # arrow loads pandas where it is installed
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


def test_no_warning_without_a_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Profiles.from_pairs([2, 1], ["b", "a"]).with_weights(0.5).keep(np.array([True, False]))
