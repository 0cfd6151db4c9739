"""Recall, precision, NDCG and coverage against plain definitions; what each user found."""

import math
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.support.errors import refused
from tests.support.plain_profiles import USERS, crowd, pairs, profiles_of

from hetdp import errors
from hetdp.evaluation import metrics
from hetdp.evaluation.neighbor_baselines import true_neighbors
from hetdp.profiles import Profiles, split


def plain_recall(indices, profiles, test):
    """The definition, word for word."""
    has = [set(profiles.profile(user)) for user in profiles.user_ids.tolist()]
    shares = []
    for user in range(profiles.n_users):
        wanted = set(test.profile(int(test.user_ids[user])))
        reach = set().union(*(has[neighbour] for neighbour in indices[user] if neighbour >= 0))
        shares.append(len(wanted & reach) / len(wanted) if wanted else 0.0)
    return shares


class Neighbours:
    def __init__(self, indices):
        self.indices = indices

    def kneighbors(self):
        return np.zeros(np.shape(self.indices)), np.array(self.indices)


class Recommender:
    """Recommends what it is told to, in the kind of frame it is told to."""

    def __init__(self, rows, frame=pd.DataFrame):
        self.rows, self.frame = rows, frame

    def recommend(self, *, n):
        del n
        users, items = zip(*self.rows, strict=True) if self.rows else ((), ())
        scores = np.arange(len(users), 0, -1.0)
        return self.frame({"user": list(users), "item": list(items), "score": scores})


@pytest.mark.slow
@given(
    pairs,
    pairs,
    st.lists(st.lists(st.integers(-1, USERS - 1), min_size=3, max_size=3), min_size=USERS, max_size=USERS),
    st.booleans(),
)
def test_recall_is_what_the_definition_says(full, tested, drawn, small):
    indices = [[-1 if neighbour == user else neighbour for neighbour in row] for user, row in enumerate(drawn)]
    profiles, test = profiles_of(full | tested), profiles_of(tested)
    kernels = sys.modules.get("hetdp.evaluation._kernels")
    with pytest.MonkeyPatch.context() as patch:
        if kernels is not None and not small:
            patch.setattr(kernels, "_SMALL", 0)  # the search that large sets need
        found = metrics.recall_per_user(Neighbours(indices), profiles, test)
    assert found.tolist() == pytest.approx(plain_recall(indices, profiles, test))
    assert metrics.recall(Neighbours(indices), profiles, test) == pytest.approx(found.mean())


@pytest.mark.parametrize("limit", [0, 2**62])
def test_the_search_and_the_table_agree_on_a_larger_set(limit, monkeypatch):
    from hetdp.evaluation import _kernels as kernels

    profiles = crowd()
    train, test = split(profiles)
    monkeypatch.setattr(kernels, "_SMALL", limit)
    indices = true_neighbors(train, 5)[1]
    assert metrics.recall_per_user((None, indices), profiles, test).tolist() == plain_recall(indices, profiles, test)
    assert metrics.recall((None, indices), profiles, test) == metrics.recall(Neighbours(indices), profiles, test)


def test_a_user_without_test_items_counts_zero():
    profiles = Profiles.from_pairs([0, 1, 1], ["a", "a", "b"])
    test = profiles.keep(np.array([True, False, False]))
    assert metrics.recall_per_user(Neighbours([[1], [0]]), profiles, test).tolist() == [1.0, 0.0]
    assert metrics.recall(Neighbours([[1], [0]]), profiles, test.keep(np.array([False]))) == 0.0


def test_weights_do_not_change_a_recall():
    profiles = crowd().with_weights(0)
    train, test = split(profiles)
    indices = true_neighbors(train, 5)[1]
    assert metrics.recall((None, indices), profiles, test) == metrics.recall(
        (None, indices), crowd(), split(crowd())[1]
    )


@pytest.mark.parametrize(
    ("indices", "problem"),
    [
        ([[1], [0]], "int64 of shape (2, 1)"),
        ([[1.0], [0.0], [0.0]], "float64 of shape (3, 1)"),
        ([1, 0, 0], "int64 of shape (3,)"),
        ([[1], [0], [3]], "-1 or below"),
        ([[1], [0], [-2]], "-1 or below"),
        ([[1], [1], [0]], "their own neighbour"),
    ],
)
def test_bad_neighbours_are_refused(indices, problem):
    profiles = Profiles.from_pairs([0, 1, 2], ["a", "a", "a"])
    with refused("indices", problem):
        metrics.recall_per_user((None, indices), profiles, profiles)


def test_test_items_of_others_are_refused():
    profiles = Profiles.from_pairs([0, 1], ["a", "a"])
    with refused("test"):
        metrics.recall_per_user((None, [[1], [0]]), profiles, Profiles.from_pairs([0, 2], ["a", "a"]))
    with refused("test"):
        metrics.recall_per_user((None, [[1], [0]]), profiles, Profiles.from_pairs([0, 1], ["a", "b"]))


FULL = Profiles.from_pairs(
    ["ann", "ann", "ann", "bob", "bob", "eve", "eve"],
    ["tea", "jazz", "chess", "tea", "jazz", "chess", "go"],
)
#: jazz and chess of ann, tea of bob; eve has no test item.
TEST = FULL.keep(
    np.array(
        [
            (u, i) in {("ann", "jazz"), ("ann", "chess"), ("bob", "tea")}
            for u, i, _ in zip(*FULL.to_pairs(), strict=True)
        ]
    )
)
ROWS = [("ann", "go"), ("ann", "jazz"), ("bob", "chess"), ("bob", "tea"), ("eve", "jazz"), ("eve", "tea")]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("rows", [ROWS, ROWS[::2] + ROWS[1::2]])  # user by user, or rank by rank
def test_lists_are_judged_as_their_definitions_say(frame, rows):
    model = Recommender(rows, frame)
    second = 1 / math.log2(3)
    found = metrics.judge(model, FULL, TEST, n=2)
    assert found.precision == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert found.recall == pytest.approx((1 / 2 + 1) / 2)
    assert found.ndcg == pytest.approx((second / (1 + second) + second) / 2)
    assert found.coverage == pytest.approx(4 / 4)


def test_only_the_first_n_are_judged_and_short_lists_are_not_rewarded():
    model = Recommender(ROWS)
    assert metrics.judge(model, FULL, TEST, n=1) == metrics.Ranking(0.0, 0.0, 0.0, 3 / 4)  # go, chess and jazz
    assert metrics.judge(model, FULL, TEST, n=10).precision == pytest.approx((1 / 10 + 1 / 10) / 2)
    assert metrics.judge(Recommender([]), FULL, TEST) == metrics.Ranking(0.0, 0.0, 0.0, 0.0)


def test_a_perfect_list_is_perfect():
    perfect = Recommender([("ann", "jazz"), ("ann", "chess"), ("bob", "tea")])
    assert metrics.judge(perfect, FULL, TEST, n=2).ndcg == pytest.approx(1.0)
    assert metrics.judge(perfect, FULL, TEST, n=1).precision == 1.0


def test_an_item_nobody_has_in_training_does_not_count_for_coverage():
    profiles = Profiles.from_pairs([1, 2, 2], ["a", "a", "b"])
    test = profiles.keep(np.array([False, False, True]))
    assert metrics.judge(Recommender([(1, "b")]), profiles, test).coverage == 0.0
    assert metrics.judge(Recommender([(1, "a"), (1, "b")]), profiles, test).coverage == 1.0


@pytest.mark.parametrize(
    ("rows", "n", "test", "message"),
    [
        (ROWS, 0, TEST, "n must be a whole number"),
        (ROWS, 2, FULL.keep(np.zeros(7, bool)), "test must hold at least one item"),
        ([("ann", "go"), ("ann", "go")], 2, TEST, "at most once"),
        ([("zoe", "go")], 2, TEST, "user_ids must list every id"),
        ([("ann", "poker")], 2, TEST, "item_ids must list every id"),
        ([(1, "go")], 2, TEST, "user_ids must list every id"),
    ],
)
def test_bad_lists_are_refused(rows, n, test, message):
    with pytest.raises(errors.InvalidInput, match=message):
        metrics.judge(Recommender(rows), FULL, test, n=n)


def test_what_each_user_found_adds_up_to_the_ranking():
    model = Recommender(ROWS)
    found = metrics.judge_per_user(model, FULL, TEST, n=2)
    assert found.tested.tolist() == [2, 1, 0]
    assert found.hits.tolist() == [1, 1, 0]
    assert found.precision.tolist() == [0.5, 0.5, 0.0]
    assert found.recall.tolist() == [0.5, 1.0, 0.0]
    hits = {(str(FULL.user_ids[u]), str(FULL.item_ids[i])) for u, i in zip(found.users, found.items, strict=True)}
    assert hits == {("ann", "jazz"), ("bob", "tea")}
    assert metrics.judge(model, FULL, TEST, n=2).ndcg == pytest.approx(found.ndcg[:2].mean())
