"""Sparse profiles: every way in, every way out, and what is refused on the way."""

import copy
import pickle
import subprocess
import sys
import unicodedata
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from tests.support.errors import refused

from hetdp.profiles import PrivacyWeights, Profiles, formats
from hetdp.profiles.ids import person_id

#: Each is the one form of its id, and another than all others.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=4).filter(
    lambda text: person_id(text) == text and text == unicodedata.normalize("NFC", text)
)
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


@pytest.mark.slow
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


@pytest.mark.slow
@given(some_pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(pairs, random):
    shuffled = list(pairs.items())
    random.shuffle(shuffled)
    assert built(dict(shuffled)) == built(pairs)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "column", [pd.Series, pl.Series, pa.array, np.array, tuple, lambda x: pa.chunked_array([x, []])]
)
def test_columns_of_every_kind(column):
    profiles = Profiles.from_pairs(column(["x", "y"]), column([5, 6]), column([0.5, 1.0]))
    assert as_dict(profiles) == {("x", 5): 0.5, ("y", 6): 1.0}
    assert Profiles.from_pairs(np.array([1], dtype=np.uint8), np.array(["é"])).profile(1) == {"é": 1.0}


def test_repeated_pairs_count_once_with_the_smallest_weight():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # how many there were is private
        profiles = Profiles.from_pairs([1, 1, 1, 2], ["a", "a", "a", "a"], weights=[0.5, 0.75, 0.25, 0.1])
        assert as_dict(profiles) == {(1, "a"): 0.25, (2, "a"): 0.1}
        assert Profiles.from_pairs([1, 1], ["a", "a"]).n_pairs == 1
        twice = sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 1))
        assert Profiles.from_csr(twice).n_pairs == 1
        weights = sparse.coo_array(([0.5, 0.25], ([0, 0], [0, 0])), shape=(1, 1))
        assert Profiles.from_csr(twice, weights).profile(0) == {0: 0.25}


def test_users_without_items_and_items_without_users():
    profiles = Profiles.from_pairs(["b"], ["y"], user_ids=["c", "b", "a"], item_ids=["z", "y"])
    assert profiles.user_ids.tolist() == ["c", "b", "a"]
    assert profiles.sizes.tolist() == [0, 1, 0]
    assert profiles.popularity.tolist() == [0, 1]
    assert profiles.profile("a") == {}
    assert profiles.owners.tolist() == [1]
    nobody = Profiles.from_pairs([], [])
    assert repr(nobody) == "Profiles(private: 0 users, 0 items, 0 pairs)"
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


@pytest.mark.slow
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
    assert one != Profiles.from_pairs([1, 2], ["a", "c"])
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
    with refused("weights") as found:
        Profiles.from_pairs([1, 2], [1, 2], bad)
    assert not any(secret in str(found.error) for secret in ("1.5", "0.25", "0.375", "secret", "inf"))


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: Profiles.from_pairs([True], [1]), "user_ids"),
        (lambda: Profiles.from_pairs("ann", [1]), "user_ids"),
        (lambda: Profiles.from_pairs(np.ones((2, 2), int), [1]), "user_ids"),
        (lambda: Profiles.from_pairs([1, 2], [1]), "items"),
        (lambda: Profiles.from_pairs([1], [1], [1, 1]), "weights"),
        (lambda: Profiles.from_pairs([1, 9], [1, 1], user_ids=[1]), "user_ids"),
        (lambda: Profiles.from_pairs([1], [1], item_ids=[1, 1]), "item_ids"),
        (lambda: Profiles.from_pairs([1], [1], user_ids=[1, "1.0"]), "user_ids"),
        (lambda: Profiles.from_csr([[1]]), "matrix"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), user_ids=["a"]), "user_ids"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), sparse.eye_array(3)), "weights"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), 2 * sparse.eye_array(2)), "weights"),
        (lambda: Profiles.from_csr(sparse.eye_array(2), sparse.csr_array([[1, 1], [0, 1]])), "weights"),
        (lambda: Profiles.from_pairs([1], [1]).profile(2), "user"),
        (lambda: Profiles.from_pairs([1], [1]).keep(np.array([1])), "chosen"),
        (lambda: Profiles.from_frame({"user": [1]}), "frame"),
        (lambda: Profiles.from_frame(pd.DataFrame({"user": [1]})), "item"),
        (lambda: Profiles.from_frame(pd.DataFrame()), "user"),
        (lambda: Profiles.from_frame(pl.DataFrame({"user": [1]}), item="user"), "item"),
        (lambda: Profiles.from_frame(pa.table({"user": [1], "item": [1]}), weight="weight"), "weight"),
        (lambda: Profiles.from_frame(pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"])), "frame"),
        (lambda: Profiles([0, 2], [1, 0], [1, 1], ["a"], ["x", "y"]), "indices"),
        (lambda: Profiles([0, 2], [1, 1], [1, 1], ["a"], ["x", "y"]), "indices"),
        (lambda: Profiles([0, 1], [2], [1], ["a"], ["x", "y"]), "indices"),
        (lambda: Profiles([0, 2], [1], [1], ["a"], ["x", "y"]), "indptr"),
        (lambda: Profiles([0], [], [], ["a"], []), "indptr"),
        (lambda: Profiles([0, 1], [0.5], [1], ["a"], ["x"]), "indices"),
    ],
)
def test_bad_input_is_explained(call, parameter):
    with refused(parameter) as found:
        call()
    assert "ann" not in str(found.error)


@pytest.mark.slow
@given(some_pairs)
def test_parquet_files_survive(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / "pairs.parquet"
    pq.write_table(pa.table(dict(zip(("user", "item", "weight"), columns(pairs), strict=True))), path)
    assert Profiles.read(path) == built(pairs)


@pytest.mark.slow
@given(pairs=some_pairs, block=st.sampled_from([2**10, 2**26]))
def test_csv_files_survive(tmp_path_factory, pairs, block):
    """Texts that look like numbers become numbers; nothing else changes."""
    path = tmp_path_factory.getbasetemp() / "pairs.csv"
    frame = pd.DataFrame(dict(zip(("user", "item", "weight"), columns(pairs), strict=True)))
    frame.to_csv(path, index=False, quoting=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "_BLOCK", block)
        profiles = Profiles.read(path, user_ids=sorted(set(frame["user"])), item_ids=sorted(set(frame["item"])))
    assert profiles == built(pairs)


@pytest.mark.slow
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
