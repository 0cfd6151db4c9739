"""What `fit` and `kneighbors` take: a table of pairs is never taken for a matrix, nor the other way round."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support.errors import refused

from hetdp import PrivateNeighbors, Profiles
from hetdp.core.errors import HetdpWarning
from hetdp.profiles.matrix import given_profiles

RANDOM = np.random.default_rng(0)
#: Sixty people with eight of forty items each, in order of time.
USERS = np.repeat(np.arange(60), 8)
ITEMS = np.concatenate([RANDOM.choice(40, 8, replace=False) for _ in range(60)])
TIMES = np.arange(480) + 880_000_000
STARS = RANDOM.integers(1, 6, 480)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_with_the_names_of_pairs_holds_pairs(library, weighted):
    columns = {"item": ITEMS, "user": USERS} | ({"weight": STARS / 5} if weighted else {})
    profiles, matrix = given_profiles(library(columns))
    assert not matrix
    assert profiles == Profiles.from_pairs(USERS, ITEMS, STARS / 5 if weighted else None)
    model = PrivateNeighbors(3, random_state=0).fit(library(columns))
    assert model.user_ids_.size == 60
    new = library({"user": ["zoe"] * 3, "item": ITEMS[:3]})
    assert model.kneighbors(new)[1].shape == (1, 3)


TABLES = {
    "MovieLens": {"userId": USERS, "movieId": ITEMS, "rating": STARS, "timestamp": TIMES},
    "RecBole": {"user_id:token": USERS, "item_id:token": ITEMS, "rating:float": STARS * 1.0},
    "capitals": {"User ID": USERS, "Product": ITEMS},
    "texts": {"who": [f"u{user}" for user in USERS], "what": [f"i{item}" for item in ITEMS]},
    "one text": {"who": USERS, "what": [f"i{item}" for item in ITEMS], "stars": STARS},
}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_pairs_under_other_names_is_not_taken_for_a_matrix(library, name):
    with refused("X", "Profiles.from_frame(X, us"):
        PrivateNeighbors(3).fit(library(TABLES[name]))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_further_columns_of_a_table_of_pairs_are_named_once(library):
    table = library({"user": USERS, "item": ITEMS, "rating": STARS, "timestamp": TIMES})
    with pytest.warns(HetdpWarning, match="not read: rating, timestamp") as caught:
        profiles, matrix = given_profiles(table)
    assert len(caught) == 1
    assert not matrix
    assert profiles == Profiles.from_pairs(USERS, ITEMS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("MovieLens", "user='userId', item='movieId'"),
        ("RecBole", "user='user_id:token', item='item_id:token'"),
        ("capitals", "user='User ID', item='Product'"),
        ("texts", "user='who', item='what'"),
    ],
)
def test_the_error_says_what_to_write(name, said):
    table = pd.DataFrame(TABLES[name])
    with refused("X", said):
        given_profiles(table)
    assert eval(f"Profiles.from_frame(table, {said})").n_users == 60  # noqa: S307  (what it told us to do works)


MATRICES = {
    "who has what": RANDOM.random((60, 6)) < 0.4,
    "zeros and ones": (RANDOM.random((60, 2)) < 0.4) * 1,
    "stars": RANDOM.integers(0, 6, (60, 5)),
    "all have stars": RANDOM.integers(1, 6, (60, 5)),
    "how often": RANDOM.poisson(0.7, (60, 4)) * RANDOM.integers(1, 50, (60, 4)),
    "shares": RANDOM.random((60, 3)),
    "wide": np.tile(np.arange(1, 61)[:, None], (1, 9)) + RANDOM.integers(0, 9, (60, 9)),
    "one column": np.arange(60)[:, None],
}


@pytest.mark.parametrize("names", ["abcdefghi", ["user", "item", *"cdefghi"], ["tea", "jazz", "item", *"defghi"]])
@pytest.mark.parametrize("name", MATRICES)
def test_an_honest_matrix_is_one(name, names):
    cells = MATRICES[name]
    frame = pd.DataFrame(cells, columns=list(names)[: cells.shape[1]])
    if {"user", "item"} <= set(frame.columns) and cells.shape[1] <= 8:
        frame = frame.to_numpy()  # a small table with these names is one of pairs
    profiles, matrix = given_profiles(frame)
    assert matrix
    assert (profiles.n_users, profiles.n_items) == cells.shape
    assert profiles.n_pairs == np.count_nonzero(cells)


def test_arrays_are_matrices_whatever_they_hold():
    pairs = np.column_stack([USERS, ITEMS])
    assert given_profiles(pairs)[0].n_users == 480
    with refused("X", "must hold numbers"):
        given_profiles(np.array([["ann", "tea"]], dtype=object))


def test_messages_name_who_asks():
    model = PrivateNeighbors(1, random_state=0).fit(np.eye(4))
    with refused("", "X has 3 features, but PrivateNeighbors is expecting 4 features"):  # scikit-learn's words
        model.kneighbors(np.eye(3))


@pytest.mark.parametrize("labels", [["ann", "ann", "bob"], [1, 1, 2], ["1", " 1", "2"]])
def test_somebody_with_several_rows_of_a_matrix_is_not_several_people(labels):
    with refused("X", "reset_index"):
        given_profiles(pd.DataFrame([[1, 0], [0, 1], [1, 1]], index=labels, columns=["tea", "jazz"]))


def test_labels_of_several_levels_are_no_people():
    levels = pd.MultiIndex.from_tuples([("ann", 1), ("ann", 2), ("bob", 1)])
    with refused("X", "one row for each person"):
        given_profiles(pd.DataFrame([[1, 0], [0, 1], [1, 1]], index=levels, columns=["tea", "jazz"]))
